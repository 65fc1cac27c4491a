//! A bank's bus, and a composer whose host's clock is set.

use super::*;
use std::time::Duration;
use touchline_lab::bank::bus::{self, SPOT, TICK};
use touchline_testing::{Folder, until};
use touchline_transport::clock::wall_ns;
use touchline_transport::shm::{CountersFile, CountersView, Settings};
use touchline_types::{CounterInfo, PacketInfo, Side};

/// Longest reaction time of the composer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Received now.
fn now() -> Timestamps {
    Timestamps {
        packet: PacketInfo {
            receive_ns: wall_ns(),
            ..PacketInfo::default()
        },
        ..Timestamps::default()
    }
}

/// The best ask, ticks.
fn best(composer: &Composer<Publisher>) -> Option<i64> {
    let asks = composer.output().ladder(0).levels(Side::Ask);
    asks.first().map(|level| level.price.0 / TICK)
}

/// A composer of one bank in this folder.
fn composer(folder: &Folder) -> Composer<Publisher> {
    let text = format!(
        "bus = \"fx\"\ndirectory = {:?}\nring_bytes = 1048576\n\
         [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nlot = 1\nspot_date = \"{SPOT}\"\n\
         [[banks]]\nname = \"LP0\"\nstale_ms = 0\nsilence_ms = 0\n",
        folder.display().to_string()
    );
    let config = Config::parse(&text).expect("a configuration");
    Composer::open(&config, None).expect("a composer")
}

/// The bus of the bank.
fn gateway(folder: &Folder) -> Publisher {
    let settings = Settings {
        ring_bytes: 65_536,
        instruments_max: 4,
        orders_max: 1,
        ..Settings::default()
    };
    Publisher::open(&Root::at(folder), "lp0", &settings).expect("a bus")
}

/// After a step of the wall clock earlier quotes do not count; the same bank counts again with its next ones.
#[test]
fn quotes_of_before_a_step_of_the_wall_clock_do_not_count() {
    let folder = Folder::new("step");
    let mut composer = composer(&folder);
    let mut bank = gateway(&folder);
    bus::announce(|update| bank.publish(update, &now()));
    bank.commit();
    // Until the composer has joined.
    until("quotes", PATIENCE, || {
        bus::quote(110_000, |update| bank.publish(update, &now()));
        bank.commit();
        composer.work().expect("a round");
        best(&composer)
    });
    for (steps, step_ns) in [(1, 3_600_000_000_000), (2, -200_000_000)] {
        composer.wall_stepped(step_ns);
        assert_eq!(best(&composer), None);
        for _ in 0..100 {
            composer.work().expect("a round");
        }
        assert_eq!(best(&composer), None, "quotes of before");
        assert_eq!(composer.counters().wall_clock_steps, steps);
        assert_eq!(composer.next_incident(), Some(Incident::ClockStep(step_ns)));
        assert_eq!(composer.next_incident(), None);
        let ask = 110_000 + steps as i64;
        bus::quote(ask, |update| bank.publish(update, &now()));
        bank.commit();
        until("the new quotes", PATIENCE, || {
            composer.work().expect("a round");
            best(&composer) == Some(ask)
        });
    }
}

/// A bank is closed while its gateway says so and writes its counters, and until its quotes count.
#[test]
fn a_bank_outside_its_hours_is_counted_as_closed() {
    const CLOSED: CounterInfo = CounterInfo {
        name: crate::compose::CLOSED_UNTIL,
        unit: "ns now",
        help: "The next session.",
    };
    let folder = Folder::new("closed");
    let mut composer = composer(&folder);
    let mut bank = gateway(&folder);
    let mut gateway = CountersFile::create(bank.lock(), 1.0, &[CLOSED], []).expect("a file");
    let shown = || {
        let view = CountersView::open(&Root::at(&folder), "fx").expect("the composer's bus");
        view.and_then(|view| view.counter("bank_closed_until:LP0"))
    };
    let mut until_shown = |closed: u64, each: &mut dyn FnMut()| {
        until("the hours", PATIENCE, || {
            each();
            composer.work().expect("a round");
            (shown() == Some(closed)).then_some(())
        });
    };
    until_shown(7_000, &mut || gateway.show([7_000]));
    let hour_ago_ns = wall_ns() - 3_600_000_000_000;
    until_shown(0, &mut || gateway.show_at(hour_ago_ns, [7_000]));
    until_shown(8_000, &mut || gateway.show([8_000]));
    bus::announce(|update| bank.publish(update, &now()));
    until_shown(0, &mut || {
        gateway.show([8_000]);
        bus::quote(110_000, |update| bank.publish(update, &now()));
        bank.commit();
    });
}
