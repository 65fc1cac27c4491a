//! Value dates that have passed.

use crate::rig::{Rig, SMALL, value};
use touchline_fx_days::{Timestamp, digits, new_york_date};
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Encoder;
use touchline_fx_events::event::SessionChange;
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
    rig.value_date = Some(0);
    assert_that_it_is_stopped(&mut rig, 0);
}

/// Simulated banks trade a past day: they state its value date, or the configuration is marked as a rehearsal.
#[test]
fn a_day_of_long_ago_is_traded_with_banks_that_state_it_or_in_a_rehearsal() {
    let mut rig = Rig::open(SMALL, "");
    rig.order("P1");
    assert_eq!(alarms(&rig), [""; 0]);
    let mut rig = Rig::open(SMALL, "");
    rig.value_date = Some(0);
    rig.start_with("[run]", "rehearsal = true\n[run]");
    rig.show(110_000);
    assert_eq!(alarms(&rig), [""; 0]);
}

/// New York's date in two days, `YYYYMMDD`.
fn in_two_days() -> String {
    let later_ns = wall_ns() + 2 * 86_400_000_000_000;
    let later = Timestamp::from_nanosecond(i128::from(later_ns));
    digits(new_york_date(later.expect("a time of these years")))
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
    batch.session(0, SessionChange::Down);
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
    rig.start_with("20260107", &in_two_days());
    let now_ns = rig.trader().engine().now_ns().expect("a time");
    assert!(now_ns > wall_ns() + 10 * 86_400_000_000_000, "no test");
    rig.rounds(50);
    assert!(!rig.trader().engine().trading().is_stopped(0));
    assert!(!is_passed(&rig), "{:?}", rig.incidents);
}

/// With calendars an order has the spot date of today; a stated one that differs is refused, with both dates.
#[test]
fn spot_dates_follow_from_calendars() {
    let mut rig = Rig::open(SMALL, "");
    let refused = rig.refused_with("[run]", "[calendars]\n[run]");
    let said = "20260107 is not the spot date of the calendars, which is ";
    assert!(
        refused.contains(said) && !refused.contains('\n'),
        "{refused}"
    );
    rig.value_date = Some(0);
    let pair = "[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n";
    rig.start_with(
        &format!("{pair}spot_date = \"20260107\"\n"),
        &format!("[calendars]\n{pair}"),
    );
    let order = rig.order("P1");
    let spot = refused.split(said).nth(1).expect("a date")[..8].to_owned();
    assert_eq!(value(&order, 64), spot);
    let pair = &rig.trader().engine().setup().pairs[0];
    assert_eq!(pair.spot_date.to_string(), spot);
    let prefix = format!("Te2d{}-P1-1", pair.trade_date % 1_000_000);
    assert_eq!(value(&order, 11), prefix);
    // The next run has the day of the journal, and says it once.
    let days = |rig: &Rig| rig.trader().engine().setup().pairs[0].began_ns;
    let began_ns = days(&rig);
    rig.crash();
    rig.start();
    assert_eq!(days(&rig), began_ns);
    // It reads quotes with the date of that day.
    rig.value_date = spot.parse().ok();
    rig.show(110_000);
}
