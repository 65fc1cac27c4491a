//! Value dates that have passed.

use crate::rig::{Rig, SMALL};
use touchline_fx::value_dates::{day_of, new_york_day};
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Encoder;
use touchline_journal::{Journal, Options, Root, WriterLock};
use touchline_transport::clock::wall_ns;

/// Texts of the alarms about value dates.
fn alarms(rig: &Rig) -> Vec<String> {
    let told = rig.incidents.iter();
    let told = told.filter(|incident| incident.reason() == "value_date_passed");
    told.map(ToString::to_string).collect()
}

/// Asserts one alarm, and no order of a parent.
fn assert_that_it_is_stopped(rig: &mut Rig, orders: usize) {
    // Until the engine has the bank's prices, a limit is refused.
    for number in 0..100 {
        rig.quote(110_000);
        rig.rounds(20);
        let commands = rig.trader().totals().commands;
        rig.buy(&format!("Q{number}"), 110_000);
        rig.until("a command", |rig| rig.trader().totals().commands > commands);
    }
    rig.until("an alarm", |rig| !alarms(rig).is_empty());
    rig.rounds(200);
    assert_eq!(rig.bank.count("D"), orders, "{:?}", rig.bank.received);
    let told = alarms(rig);
    assert_eq!(told.len(), 1, "{told:?}");
    let said = "20260107 of EUR/USD has passed";
    assert!(told[0].contains(said), "{told:?}");
}

/// A spot date before today gets one alarm and no order, also with banks of this host.
#[test]
fn a_pair_whose_spot_date_has_passed_gets_one_alarm_and_no_order() {
    let mut rig = Rig::open(SMALL, "");
    rig.start_with("date = \"20260105\"", "date = \"20991231\"");
    assert_that_it_is_stopped(&mut rig, 0);
}

/// A configuration of a past day does not trade with a live bank behind a proxy on this host, which states no value
/// date (and whose quotes with today's value date the gateway refuses).
#[test]
fn banks_of_this_host_that_state_no_value_date_get_no_orders_of_a_passed_one() {
    let mut rig = Rig::open(SMALL, "");
    rig.is_dated = false;
    assert_that_it_is_stopped(&mut rig, 0);
}

/// Simulated banks trade a past day: they state its value date, or the configuration is marked as a rehearsal.
#[test]
fn a_day_of_long_ago_is_traded_with_banks_that_state_it_or_in_a_rehearsal() {
    let mut rig = Rig::open(SMALL, "");
    rig.order("P1");
    assert_eq!(alarms(&rig), [""; 0]);
    let mut rig = Rig::open(SMALL, "");
    rig.is_dated = false;
    rig.start_with("[run]", "rehearsal = true\n[run]");
    rig.order("P2");
    assert_eq!(alarms(&rig), [""; 0]);
}

/// The first date from a day on that every month has, `YYYYMMDD`.
fn date_from(day: i64) -> String {
    let dates = (2_026..2_100).flat_map(|year| {
        (1..=12).flat_map(move |month| (1..=28).map(move |day| year * 10_000 + month * 100 + day))
    });
    let mut dates = dates.filter(|date| day_of(*date) >= day);
    dates.next().expect("a date").to_string()
}

/// Writes a record of twenty days later, as written by a run whose wall clock was ahead and was set back since.
fn append_record_of_later(rig: &Rig) {
    let root = Root::at(rig.folder.join("buses"));
    let bus = WriterLock::acquire(root.create("fx-run").expect("a bus")).expect("its lock");
    let options = Options {
        segment_bytes: 1 << 20,
        ring_bytes: 1 << 20,
        ..Options::orders("fx")
    };
    let directory = rig.folder.join("journal");
    let mut journal = Journal::open(&directory, &bus, &options, wall_ns()).expect("a journal");
    let at_ns = wall_ns() + 20 * 86_400_000_000_000;
    let mut batch = Encoder::default();
    batch.begin(at_ns);
    batch.session(0, false);
    // Behind all numbers of the last run.
    assert_eq!(batch.finish(1_000_000), 1);
    let record = touchline_journal::Record {
        stream: records::STREAM,
        kind: records::kind::BATCH,
        time_ns: at_ns,
        body: batch.part(0),
    };
    journal.append(&record).expect("room");
    journal.close(at_ns).expect("an end");
}

/// A spot date is compared with the wall clock, which banks have too: not with the engine's clock, which does not follow its steps and is
/// weeks ahead here.
#[test]
fn a_spot_date_passes_by_the_wall_clock_and_not_by_the_engines() {
    let mut rig = Rig::open(SMALL, "");
    rig.start_with("date = \"20260105\"", "date = \"20991231\"");
    let is_passed = |rig: &Rig| {
        let mut incidents = rig.incidents.iter();
        incidents.any(|incident| incident.reason() == "value_date_passed")
    };
    assert!(is_passed(&rig), "no test: {:?}", rig.incidents);
    rig.crash();
    append_record_of_later(&rig);
    rig.incidents.clear();
    rig.start_with("20260107", &date_from(new_york_day(wall_ns()) + 2));
    let now_ns = rig.trader().engine().now_ns().expect("a time");
    assert!(now_ns > wall_ns() + 10 * 86_400_000_000_000, "no test");
    rig.rounds(50);
    assert!(!rig.trader().engine().trading().is_stopped(0));
    assert!(!is_passed(&rig), "{:?}", rig.incidents);
}
