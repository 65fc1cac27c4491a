//! Value dates that have passed.

use crate::rig::Rig;

const SMALL: &str = "segment_bytes = 1048576\ntail_bytes = 1048576";

/// Texts of the alarms about value dates.
fn alarms(rig: &Rig) -> Vec<String> {
    let told = rig.incidents.iter();
    let told = told.filter(|incident| incident.reason() == "value_date_passed");
    told.map(ToString::to_string).collect()
}

/// One alarm, and no order of a parent.
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

/// A spot date of before today gets one alarm and no order, also with banks of this host.
#[test]
fn a_pair_whose_spot_date_has_passed_gets_one_alarm_and_no_order() {
    let mut rig = Rig::open(SMALL, "");
    rig.start_with("date = \"20260105\"", "date = \"20991231\"");
    assert_that_it_is_stopped(&mut rig, 0);
}

/// A configuration of long ago does not trade with a bank of today behind a proxy of this host, which states no value date (and whose
/// quotes of today's value date its gateway refuses).
#[test]
fn banks_of_this_host_that_state_no_value_date_get_no_orders_of_a_passed_one() {
    let mut rig = Rig::open(SMALL, "");
    rig.is_dated = false;
    assert_that_it_is_stopped(&mut rig, 0);
}

/// Simulated banks trade a day of long ago: they state its value date, or the configuration says that it is a rehearsal.
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
