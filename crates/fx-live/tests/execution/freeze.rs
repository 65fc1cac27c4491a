//! An engine that was stopped.

use crate::rig::{Rig, value};
use std::time::Duration;
use touchline_fx_live::execution::Incident;

/// A price that came and went while the engine was stopped is not traded on, although it is the first that the engine reads.
#[test]
fn nothing_is_sent_on_prices_of_the_time_in_which_it_was_stopped() {
    let mut rig = Rig::open(
        "pause_max_ms = 30\nsegment_bytes = 1048576\ntail_bytes = 1048576",
        "",
    );
    rig.show(110_000);
    rig.buy("P1", 109_900);
    rig.until("a parent", |rig| rig.trader().totals().commands == 1);
    rig.rounds(20);
    // More than a round reads.
    rig.quote(109_800);
    (0..600).for_each(|_| rig.quote(110_000));
    std::thread::sleep(Duration::from_millis(60));
    rig.rounds(50);
    let is_pause = |incident: &Incident| matches!(incident, Incident::Paused { .. });
    assert!(rig.incidents.iter().any(is_pause), "{:?}", rig.incidents);
    assert_eq!(rig.bank.count("D"), 0, "{:?}", rig.bank.received);
    // The same price, now.
    rig.quote(109_800);
    rig.until("an order", |rig| rig.bank.count("D") == 1);
    assert_eq!(value(&rig.bank.take("D"), 44), "1.098");
}
