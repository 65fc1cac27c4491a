//! Fills whose price is better than the order's by more than the collar: booked, with an alarm after their positions.

use crate::world::{World, values};

const ID: &str = "T-P1-1";

/// An order of P1 at bank A for 1 million, to buy at 1.10002 or to sell at 1.09998. The collar is 100 ticks.
fn with_order(side: &str) -> World {
    let mut world = World::up("", &[("A", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", side, 1_000_000, ",\"deadline_ms\":60000");
    world.at(20);
    world.read();
    world
}

/// The alarms since the last call, with their order.
fn alarms(world: &mut World) -> Vec<String> {
    values(&world.alarm_lines(), &["what", "clordid"])
}

/// Exactly the collar is within it; the comparison is exact, on both sides.
#[test]
fn a_trade_beyond_the_collar_in_our_favour_is_booked_with_an_alarm() {
    let rows = [
        ("buy", "1.09902", false),
        ("buy", "1.099019999", true),
        ("buy", "0.55", true),
        ("buy", "0.000000001", true),
        ("sell", "1.10098", false),
        ("sell", "1.100980001", true),
        ("sell", "9199999999", true),
    ];
    for (side, price, is_off) in rows {
        let mut world = with_order(side);
        let more = format!("|32=400000|31={price}|151=600000");
        world.execution("A", ID, ("E1", "F", "1", 400_000), &more);
        assert_eq!(
            values(&world.fills(), &["kind", "price"]),
            [format!("fill {price}")]
        );
        let expected = if is_off {
            vec![format!("off_price {ID}")]
        } else {
            vec![]
        };
        assert_eq!(alarms(&mut world), expected, "{side} {price}");
        assert_eq!(world.order(0).0, "Partial", "{side} {price}");
    }
}

/// Each fill that a bank reports is checked: both fills of a report, the price that an average implies, the late
/// original, the correction. A bust and the desk's own bookings give no such alarm.
#[test]
fn every_fill_that_a_bank_reports_is_judged() {
    // A lost trade, implied by the average, and the trade itself: one alarm for each that is off.
    for (last, average, fills, count) in [
        ("0.55", "0.55", ["status 0.55", "fill 0.55"], 2),
        ("1.10002", "0.82501", ["status 0.55", "fill 1.10002"], 1),
        ("0.55", "0.82501", ["status 1.10002", "fill 0.55"], 1),
        ("1.10002", "1.10002", ["status 1.10002", "fill 1.10002"], 0),
    ] {
        let mut world = with_order("buy");
        let more = format!("|32=500000|31={last}|6={average}");
        world.execution("A", ID, ("E1", "F", "2", 1_000_000), &more);
        assert_eq!(values(&world.fills(), &["kind", "price"]), fills);
        assert_eq!(
            alarms(&mut world),
            vec![format!("off_price {ID}"); count],
            "{more}"
        );
    }
    // A status, then its original at another price, then its correction, then its bust.
    let mut world = with_order("buy");
    world.execution("A", ID, ("E1", "4", "4", 400_000), "|6=1.1|151=0");
    assert!(alarms(&mut world).is_empty());
    world.execution("A", ID, ("E2", "F", "1", 400_000), "|32=400000|31=0.9");
    assert_eq!(alarms(&mut world), [format!("off_price {ID}")]);
    world.execution(
        "A",
        ID,
        ("E3", "G", "4", 400_000),
        "|19=E2|32=400000|31=0.8",
    );
    let lines = [format!("off_price {ID}"), format!("correct {ID}")];
    assert_eq!(alarms(&mut world), lines);
    world.execution("A", ID, ("E4", "H", "4", 400_000), "|19=E3");
    assert_eq!(alarms(&mut world), [format!("bust {ID}")]);
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind"]),
        ["SE1 status", "E2 named", "E2 bust", "E3 correct", "E3 bust"]
    );
    // The desk's word is its own.
    let mut world = with_order("buy");
    world.wait(20_000);
    assert_eq!(world.order(0).0, "Unknown");
    world.read();
    world.desk(&format!(
        "{{\"op\":\"resolve\",\"clordid\":\"{ID}\",\"cum\":1000000,\"price\":\"0.5\"}}"
    ));
    assert_eq!(values(&world.fills(), &["kind"]), ["manual"]);
    assert!(alarms(&mut world).is_empty());
}

/// The alarm is behind the position line, and before the alarms of a late fill and of the account.
#[test]
fn the_alarm_stands_before_those_of_the_end_and_the_account() {
    let mut world = with_order("buy");
    world.execution("A", ID, ("E1", "4", "4", 0), "|151=0");
    world.read();
    let more = "|32=1000000|31=0.5|1=other";
    world.execution("A", ID, ("E2", "F", "2", 1_000_000), more);
    let expected = ["off_price", "fill_after_end", "account"].map(|what| format!("{what} {ID}"));
    assert_eq!(alarms(&mut world), expected);
}
