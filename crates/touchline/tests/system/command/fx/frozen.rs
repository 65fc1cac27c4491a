//! A trading engine that is frozen by a signal for more than a second while quotes flow.

use super::full_disk::counter;
use super::live::{end, publisher, start};
use super::scripted_bank::ScriptedBank;
use crate::command::Desk;
use crate::command::until;
use std::thread::sleep;
use std::time::{Duration, Instant};
use touchline_lab::bank::bus;
use touchline_lab::bank::guards::{PAIR_OFF, RISK_OFF};
use touchline_lab::bank::scripted::value;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root};
use touchline_types::Timestamps;

/// Quotes of the time in which the engine is frozen, one each 15 ms.
const QUOTES: usize = 80;
/// Room for ten times as many, so that the engine is not overrun, and reads the oldest first.
const RING_BYTES: u64 = 1 << 20;

/// The bank quotes, with this ask in ticks.
fn quote(publisher: &mut Publisher, ask: i64) {
    bus::quote(ask, |update| {
        publisher.publish(update, &Timestamps::default())
    });
    publisher.commit();
}

/// An engine with this `pause_max_ms` and a parent that buys at 1.099 or lower. The bank's ask is 1.098 for a moment while
/// the engine is frozen, and 1.1 before and after: whether an order comes in the time `wait` after it wakes. Then the ask is 1.098
/// again, and an order must come.
fn is_order_on_gone_price(pause_max_ms: u64, wait: Duration) -> bool {
    let desk = Desk::bare(&format!("fx-frozen-{pause_max_ms}"));
    let mut publisher = publisher(&Root::at(desk.path("buses")), 1, RING_BYTES);
    let bank = ScriptedBank::open("LP01");
    std::fs::create_dir_all(desk.path("fx")).expect("our folder");
    let text = format!(
        "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\nbus = \"fx-run\"\njournal = \"journal\"\n\
         segment_bytes = 1048576\ntail_bytes = 1048576\npause_max_ms = {pause_max_ms}\n\
         [risk]\nlift_by_one_user = true\n{RISK_OFF}\
         [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n{PAIR_OFF}\
         [[banks]]\nname = \"LP01\"\npairs = [\"EUR/USD\"]\nstatus_final = true\nstale_ms = 0\nsilence_ms = 60000\n\
         [[sessions]]\nbank = \"LP01\"\nbus = \"lp001\"\nhost = \"{}\"\nsender = \"TOUCHLINE\"\nheartbeat_s = 30\n\
         [[clients]]\nname = \"desk\"\nmay = [\"send\"]\n[[clients]]\nname = \"chief\"\nmay = [\"lift\"]\n",
        bank.address
    );
    desk.write("fx/run.toml", text);
    let line = "fx run --config fx/run.toml --until-eof";
    let engine = start(&desk, line, "engine.txt");
    until("an engine that takes a parent", || {
        quote(&mut publisher, 110_000);
        let send = "fx send EUR/USD buy 1000000 --limit 1.099 --deadline-ms 60000";
        desk.run(send).status == 0
    });
    until("a session with the bank", || {
        quote(&mut publisher, 110_000);
        counter(&desk, "fx_sessions") == 1
    });
    let mut flow = |asks: &mut dyn Iterator<Item = i64>| {
        for ask in asks {
            quote(&mut publisher, ask);
            sleep(Duration::from_millis(15));
        }
    };
    flow(&mut [110_000; 10].into_iter());
    engine.signal("STOP");
    flow(&mut std::iter::once(109_800).chain([110_000; QUOTES]));
    engine.signal("CONT");
    let began = Instant::now();
    let mut is_ordered = false;
    while !is_ordered && began.elapsed() < wait {
        flow(&mut [110_000].into_iter());
        is_ordered = bank.within("D", Duration::ZERO).is_some();
    }
    if !is_ordered {
        until("an order at a price of now", || {
            flow(&mut [109_800].into_iter());
            let order = bank.within("D", Duration::ZERO);
            order.is_some_and(|order| value(&order, 44) == "1.098")
        });
    }
    end(engine);
    is_ordered
}

/// No order is sent on a price that came and went while the engine was frozen. An engine that takes no pause for too long sends
/// an order on it, so the test can see one.
#[test]
fn a_resumed_engine_sends_no_order_on_old_prices() {
    assert!(!is_order_on_gone_price(50, Duration::from_millis(300)));
    assert!(is_order_on_gone_price(60_000, Duration::from_secs(20)));
}
