//! Value dates that have passed.

use crate::rig::Rig;

const SMALL: &str = "segment_bytes = 1048576\ntail_bytes = 1048576";

/// A configuration of long ago trades with simulated banks of this host. The same spot date in a configuration that is not a rehearsal
/// has passed: one alarm, and no order.
#[test]
fn a_pair_whose_spot_date_has_passed_gets_one_alarm_and_no_order() {
    let mut rig = Rig::open(SMALL, "");
    assert!(rig.trader().is_rehearsal());
    rig.order("P1");
    rig.start_with("date = \"20260105\"", "date = \"20991231\"");
    assert!(!rig.trader().is_rehearsal());
    // Until the engine has the bank's prices, a limit is refused.
    for number in 0..100 {
        rig.show(110_000);
        rig.buy(&format!("Q{number}"), 110_000);
        rig.until("a command", |rig| {
            rig.trader().totals().commands == number + 1
        });
        if rig.trader().totals().refused <= number {
            break;
        }
    }
    // It waits, beside P1, whose order has no outcome.
    assert_eq!(rig.trader().engine().parents().live().len(), 2);
    rig.rounds(200);
    assert_eq!(rig.bank.count("D"), 0, "{:?}", rig.bank.received);
    let told = rig.incidents.iter();
    let told = told.filter(|incident| incident.reason() == "value_date_passed");
    let told: Vec<String> = told.map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("20260107 of EUR/USD has passed"),
        "{told:?}"
    );
}
