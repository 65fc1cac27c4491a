//! Reports that contradict themselves, the order or the booked quantities: no quantity becomes free, and no fill is
//! lost without an alarm.

use crate::world::{World, values};

const ID: &str = "T-P1-1";

/// An order of P1 at bank A to buy 1 million at 1.10002; B quotes one tick worse.
fn with_order() -> World {
    let mut world = World::up("", &[("A", ""), ("B", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.book("B", &[(-3, 5000)], &[(3, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.at(20);
    world.read();
    world
}

/// A trade of 400,000 is booked.
fn partly_filled() -> World {
    let mut world = with_order();
    world.execution(
        "A",
        ID,
        ("E1", "F", "1", 400_000),
        "|32=400000|31=1.10001|151=600000",
    );
    assert_eq!(world.order(0), ("Partial".into(), 400_000, 600_000));
    world.read();
    world
}

/// Each report that contradicts itself or the booked quantities: the order is disputed and asked for once, no quantity
/// becomes free or is sent to another bank, and later reports are not booked until the desk resolves the order.
#[test]
fn a_contradiction_frees_nothing_and_is_asked_for_once() {
    let trade = "|32=600000|31=1.10002";
    // ExecType, OrdStatus, CumQty, further fields, units booked of a report that is a trade.
    let rows: [(&str, &str, i64, &str, i64); 20] = [
        ("F", "2", 0, trade, 0),
        ("F", "1", 400_000, trade, 0),
        ("F", "1", 900_000, trade, 0),
        (
            "F",
            "1",
            1_000_000,
            "|32=500000|31=1.10002|6=11.00020",
            500_000,
        ),
        ("F", "2", 900_000, "|32=500000|31=1.10002|151=0", 500_000),
        (
            "F",
            "4",
            900_000,
            "|32=500000|31=1.10002|151=100000",
            500_000,
        ),
        (
            "F",
            "1",
            900_000,
            "|32=500000|31=1.10002|151=100001",
            500_000,
        ),
        ("F", "1", 900_000, "|32=500000|31=1.10002|151=-1", 500_000),
        ("0", "2", 999_000, "|151=0", 0),
        ("0", "1", 400_000, "|151=1000001", 0),
        ("0", "1", 400_000, "|151=-600000", 0),
        ("I", "1", 400_000, "|151=99999999999999999999|790=T-H1", 0),
        ("4", "4", 400_000, "|151=1", 0),
        ("8", "8", 400_000, "|151=600000", 0),
        ("C", "C", 400_000, "|151=600000", 0),
        ("I", "1", 500_000, "|151=500001|790=T-H1", 0),
        ("I", "0", 399_999, "|151=600001|790=T-H1", 0),
        ("I", "8", 0, "|103=5|151=0|790=T-H1", 0),
        ("I", "8", 400_000, "|103=5|151=0|790=T-H1", 0),
        ("I", "2", 1_000_000, "|6=11.00020|790=T-H1", 0),
    ];
    for (kind, status, cum, more, booked) in rows {
        let what = format!("150={kind} 39={status} 14={cum}{more}");
        let mut world = partly_filled();
        world.execution("A", ID, ("E2", kind, status, cum), more);
        let cum = 400_000 + booked;
        let disputed = ("Disputed".to_owned(), cum, 1_000_000 - cum);
        assert_eq!(world.order(0), disputed, "{what}");
        let lines = world.orders();
        assert_eq!(
            values(&lines, &["event", "state"]),
            ["report disputed", "sent disputed"],
            "{what}"
        );
        assert!(lines[1].contains("35=H|11=T-P1-1"), "{what}");
        assert_eq!(world.alarms(), ["contradiction"], "{what}");
        // The answer is in the record for the desk, and so is everything else.
        world.execution("A", ID, ("0", "I", "2", 1_000_000), "|6=1.10002|790=T-H1");
        world.execution(
            "A",
            ID,
            ("E3", "F", "2", 1_000_000),
            "|32=100000|31=1.10002",
        );
        world.report("A", "35=j|372=D|379=T-P1-1");
        world.wait(50_000);
        assert_eq!(world.order(0), disputed, "{what}");
        assert_eq!(world.sent(), 1, "{what}");
        assert_eq!(world.orders().len(), 3, "{what}: a line each, no question");
        world.desk(&format!(
            "{{\"op\":\"resolve\",\"clordid\":\"{ID}\",\"cum\":1000000,\"price\":\"1.10002\"}}"
        ));
        assert_eq!(world.order(0), ("Filled".into(), 1_000_000, 0), "{what}");
        assert!(world.alarms().is_empty(), "{what}");
    }
}

/// A business reject of an order with fills contradicts the fills: no quantity becomes free, and the status is
/// requested once; also for an unknown order. If all fills were busted, the reject ends the order.
#[test]
fn a_business_reject_of_an_order_with_fills_frees_nothing() {
    let reject = "35=j|372=D|379=T-P1-1|380=0";
    for unknown in [false, true] {
        let mut world = partly_filled();
        if unknown {
            world.line("A.o !down").line("A.o !up");
            assert_eq!(world.order(0).0, "Unknown");
        }
        world.orders();
        world.report("A", reject);
        let disputed = ("Disputed".to_owned(), 400_000, 600_000);
        assert_eq!(world.order(0), disputed);
        let lines = world.orders();
        assert_eq!(
            values(&lines, &["event", "state"]),
            ["report disputed", "sent disputed"]
        );
        assert!(lines[1].contains("35=H|11=T-P1-1"), "{lines:?}");
        assert_eq!(world.alarms(), ["contradiction"]);
        world.wait(50_000);
        assert_eq!(world.order(0), disputed);
        assert_eq!(world.sent(), 1, "the rest is not traded again");
    }
    let mut world = partly_filled();
    world.report("A", "35=8|11=T-P1-1|17=B1|150=H|19=E1|39=1|14=400000");
    world.report("A", reject);
    assert_eq!(world.order(0), ("Rejected".to_owned(), 400_000, 0));
}

/// A CumQty that is absent or not a whole number counts as the booked quantity.
#[test]
fn a_trade_without_a_whole_cum_qty_contradicts_itself() {
    for cum in ["", "|14=1000.5", "|14=-1", "|14=x"] {
        let mut world = with_order();
        world.report(
            "A",
            &format!("35=8|11={ID}|17=E1|150=F|39=2|32=1000000|31=1.1{cum}"),
        );
        assert_eq!(world.order(0).0, "Disputed", "{cum}");
    }
}

/// Repeated old states, a choice price of one tick, and an open rest are not contradictions.
#[test]
fn what_is_explained_is_no_contradiction() {
    for (kind, status, cum, more) in [
        ("0", "0", 0, "|43=Y|151=1000000"),
        ("A", "A", 0, "|97=Y|151=1000000"),
        ("6", "6", 0, "|97=Y|151=1000000"),
        ("0", "1", 400_000, "|151=600000"),
        ("I", "1", 500_000, "|6=1.10003|151=500000|790=T-H1"),
        ("4", "4", 400_000, "|151=0"),
        ("I", "2", 1_000_000, "|151=0|790=T-H1"),
    ] {
        let mut world = partly_filled();
        world.execution("A", ID, ("E2", kind, status, cum), more);
        assert_ne!(world.order(0).0, "Disputed", "{kind} {status} {more}");
        assert!(world.alarms().is_empty(), "{kind} {status} {more}");
    }
    // The same old state without its mark is one.
    let mut world = partly_filled();
    world.execution("A", ID, ("E2", "0", "0", 0), "|151=1000000");
    assert_eq!(world.order(0).0, "Disputed");
}

/// An ended order stays unchanged: an unexplained trade, and an average price beyond the order's limit, are alarms
/// alone.
#[test]
fn a_contradiction_after_the_end_is_an_alarm_alone() {
    for (kind, cum, more) in [
        ("F", 0, "|32=1000000|31=1.10002"),
        ("F", 500_000, "|32=600000|31=1.10002"),
        ("I", 1_000_000, "|6=11.00020|790=T-H1"),
    ] {
        let mut world = with_order();
        world.execution("A", ID, ("E1", "4", "4", 0), "|151=0");
        world.read();
        world.execution("A", ID, ("E2", kind, "2", cum), more);
        assert_eq!(world.order(0), ("Canceled".into(), 0, 0));
        assert_eq!(
            values(&world.orders()[..1], &["event", "state"]),
            ["report canceled"]
        );
        assert_eq!(world.alarms(), ["contradiction"], "{kind} {more}");
        assert!(world.fills().is_empty());
    }
}

/// Trades with missing fields, of another date or currency, and worse by a part of a tick: refused, with OrderQty in Q.
#[test]
fn trades_that_cannot_be_booked_are_refused() {
    let whole = "|14=1000000|32=1000000|31=1.10002";
    for (letter, fields) in [
        ('Z', "|17=E1|14=1000000|32=1000000".to_owned()),
        ('Z', "|17=E1|14=1000000|32=1000000|31=0".to_owned()),
        (
            'Z',
            "|17=E1|14=1000000|32=1000000|31=1.0999999999".to_owned(),
        ),
        ('Z', "|17=E1|14=1000000|32=1000000|31=x".to_owned()),
        ('Z', "|17=E1|14=1000000|31=1.1".to_owned()),
        ('Z', "|17=E1|14=1000000|32=0|31=1.1".to_owned()),
        ('Z', "|17=E1|14=1000000|32=0.5|31=1.1".to_owned()),
        ('Z', "|14=1000000|32=1000000|31=1.1".to_owned()),
        ('Z', format!("|17=E1{whole}|64=20260115")),
        ('Z', format!("|17=E1{whole}|15=USD")),
        (
            'E',
            "|17=E1|14=1000000|32=1000000|31=1.100020001".to_owned(),
        ),
        (
            'E',
            "|17=E1|14=1000000|32=1000000|31=1.2|64=20260115".to_owned(),
        ),
    ] {
        let mut world = with_order();
        world.report("A", &format!("35=8|11={ID}|150=F|39=2|38=1000000{fields}"));
        assert_eq!(
            world.order(0),
            ("Disputed".into(), 0, 1_000_000),
            "{fields}"
        );
        let lines = world.orders();
        assert_eq!(lines.len(), 2, "{fields}: no question");
        assert!(
            lines[1].contains("35=Q|") && lines[1].contains("|38=1000000|"),
            "{fields}: {}",
            lines[1]
        );
        assert_eq!(world.alarms(), [format!("dk_{letter}")], "{fields}");
    }
    // The order's own date and currency, and zeros behind the ninth decimal, are as ordered. A date of zeros is none.
    for (date, booked) in [("20260107", "20260107"), ("00000000", "null")] {
        let mut world = with_order();
        let more = format!("|32=1000000|31=1.1000100000000000|15=EUR|64={date}");
        world.execution("A", ID, ("E1", "F", "2", 1_000_000), &more);
        assert_eq!(
            values(&world.fills(), &["price", "settl_date", "currency"]),
            [format!("1.10001 {booked} EUR")]
        );
    }
}

/// Traded prices and cash are exact; the average of the parent is rounded against it.
#[test]
fn parts_of_a_tick_are_booked_exactly() {
    let mut world = with_order();
    for (exec_id, cum, price) in [
        ("E1", 333_000, "1.100001234"),
        ("E2", 1_000_000, "1.100019999"),
    ] {
        let last = if cum == 333_000 { 333_000 } else { 667_000 };
        let more = format!("|32={last}|31={price}");
        world.execution("A", ID, (exec_id, "F", "1", cum), &more);
    }
    assert_eq!(
        values(&world.fills(), &["price", "improve"]),
        ["1.100001234 1", "1.100019999 0"]
    );
    let positions = world.positions();
    assert_eq!(
        values(&positions, &["cash"]),
        ["-366300.410922", "-1100013.750255"]
    );
    let ended = world.decisions().pop().expect("the end");
    assert!(ended.contains("\"avg\":\"1.1000138\""), "{ended}");
}

/// Another account is booked, with one alarm.
#[test]
fn a_trade_of_another_account_is_booked_with_an_alarm() {
    let mut world = with_order();
    let more = "|32=1000000|31=1.10002|1=OTHER";
    world.execution("A", ID, ("E1", "F", "2", 1_000_000), more);
    assert_eq!(world.alarms(), ["account"]);
    assert_eq!(world.order(0), ("Filled".into(), 1_000_000, 0));
    let mut world = with_order();
    world.execution("A", ID, ("E1", "0", "0", 0), "|1=OTHER");
    world.execution(
        "A",
        ID,
        ("E2", "F", "2", 1_000_000),
        "|32=1000000|31=1.1|1=D",
    );
    assert!(world.alarms().is_empty());
}

/// ExecIDs are of an order: another one may use them again, and rejects that carry 0 are each taken. A trade of no order is refused
/// once.
#[test]
fn exec_ids_are_keyed_by_their_order() {
    let mut world = with_order();
    let more = "|32=1000000|31=1.10002";
    world.execution("A", ID, ("1", "F", "2", 1_000_000), more);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.parent("P2", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.execution("A", "T-P2-1", ("1", "F", "2", 1_000_000), more);
    assert_eq!(world.order(1), ("Filled".into(), 1_000_000, 0));
    // A bust of that ExecID is of its order.
    world.execution("A", ID, ("2", "H", "0", 0), "|19=1");
    assert_eq!(
        values(&world.fills()[2..], &["clordid", "kind"]),
        ["T-P1-1 bust"]
    );
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    for id in ["P3", "P4"] {
        world.at(if id == "P3" { 1_000 } else { 2_000 });
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent(id, "buy", 1_000_000, ",\"tif\":\"ioc\"");
        let order = format!("T-{id}-1");
        world.execution("A", &order, ("0", "8", "8", 0), "|103=32|151=0");
    }
    assert_eq!(world.order(2).0, "Rejected");
    assert_eq!(world.order(3).0, "Rejected");
    world.read();
    for (order, exec_id) in [("X", "1"), ("X", "1"), ("Y", "1"), ("X", "2")] {
        world.execution("A", order, (exec_id, "F", "2", 1), "|32=1|31=1.1");
    }
    assert_eq!(world.alarms(), ["dk_D"; 3]);
}

/// A fill known from a status is named by later originals, in parts, so that a bust of an original finds it.
#[test]
fn late_originals_name_what_a_status_told_of() {
    let mut world = with_order();
    world.execution(
        "A",
        ID,
        ("0", "I", "1", 600_000),
        "|6=1.10001|151=400000|790=T-H1",
    );
    world.read();
    world.execution(
        "A",
        ID,
        ("E1", "F", "1", 200_000),
        "|32=200000|31=1.10002|43=Y",
    );
    world.execution(
        "A",
        ID,
        ("E2", "F", "1", 600_000),
        "|32=400000|31=1.100005|43=Y",
    );
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price", "ref"]),
        [
            "E1 named 200000 1.10002 ST-H1",
            "E2 named 400000 1.100005 ST-H1"
        ]
    );
    assert_eq!(
        values(&world.positions(), &["position", "cash"]),
        ["600000 -660008", "600000 -660006"]
    );
    assert!(world.alarms().is_empty());
    // No unnamed quantity is left for a third trade: the report is a contradiction.
    world.execution("A", ID, ("E3", "F", "1", 300_000), "|32=100000|31=1.1|43=Y");
    assert_eq!(world.alarms(), ["contradiction"]);
    // A bust finds a named fill, also of a disputed order.
    world.execution("A", ID, ("E4", "H", "1", 400_000), "|19=E1");
    world.execution("A", ID, ("E5", "H", "1", 400_000), "|19=E1");
    assert_eq!(world.alarms(), ["bust", "unknown_exec"]);
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price"]),
        ["E1 bust 200000 1.10002"]
    );
}

/// A fill after a bust, by a bank that subtracts the bust from CumQty: not lost, but disputed.
#[test]
fn a_fill_behind_a_bust_is_not_dropped_without_a_word() {
    let mut world = partly_filled();
    world.execution("A", ID, ("E2", "H", "0", 0), "|19=E1|151=1000000");
    assert_eq!(world.alarms(), ["bust"]);
    // The bank's total without the busted fill is expected; it does not contradict the booked fills.
    world.execution("A", ID, ("E3", "0", "0", 0), "|151=1000000");
    assert_eq!(world.order(0).0, "New");
    world.execution(
        "A",
        ID,
        ("E4", "F", "1", 400_000),
        "|32=400000|31=1.10001|151=600000",
    );
    assert_eq!(world.order(0), ("Disputed".into(), 400_000, 600_000));
    assert_eq!(world.alarms(), ["contradiction"]);
}

/// A correction books its own price, quantity and date; one that cannot be booked changes nothing.
#[test]
fn corrections_that_cannot_be_booked_change_nothing() {
    for more in [
        "|19=E1|32=300000",
        "|19=E1|32=300000|31=1.0000000001",
        "|19=E1|32=0|31=1.1",
        "|19=E1|32=300000|31=1.1|15=USD",
        "|19=none|32=300000|31=1.1",
        "|32=300000|31=1.1",
    ] {
        let mut world = partly_filled();
        world.execution("A", ID, ("E2", "G", "1", 400_000), more);
        assert_eq!(world.alarms(), ["unknown_exec"], "{more}");
        assert!(
            world.fills().is_empty() && world.positions().is_empty(),
            "{more}"
        );
    }
    let mut world = partly_filled();
    let more = "|19=E1|32=900000|31=1.100000001|64=20260109|15=EUR";
    world.execution("A", ID, ("E2", "G", "1", 400_000), more);
    assert_eq!(
        values(
            &world.fills(),
            &["kind", "qty", "price", "settl_date", "currency"]
        ),
        [
            "bust 400000 1.10001 null null",
            "correct 400000 1.100000001 20260109 EUR"
        ]
    );
}

/// The desk resolves an order beyond its quantity; an impossible resolution has an alarm and changes nothing.
#[test]
fn the_desk_makes_positions_true() {
    let mut world = with_order();
    world.execution(
        "A",
        ID,
        ("E1", "F", "2", 1_500_000),
        "|32=1500000|31=1.10002",
    );
    assert_eq!(world.alarms(), ["dk_C"]);
    let resolve = |order: &str, cum: &str, price: &str| {
        format!("{{\"op\":\"resolve\",\"clordid\":\"{order}\",\"cum\":{cum},\"price\":{price}}}")
    };
    for (order, cum, price) in [
        ("none", "1500000", "\"1.1\""),
        (ID, "1500000", "null"),
        (ID, "1500000", "\"0\""),
        (ID, "-1", "\"1.1\""),
        (ID, "null", "\"1.1\""),
    ] {
        world.desk(&resolve(order, cum, price));
        assert_eq!(world.alarms(), ["not_resolved"], "{order} {cum} {price}");
        assert_eq!(world.order(0).0, "Disputed");
    }
    world.desk(&resolve(ID, "1500000", "\"1.100000001\""));
    assert_eq!(world.alarms(), ["overfill"]);
    assert_eq!(world.order(0), ("Filled".into(), 1_500_000, 0));
    world.desk(&resolve(ID, "1600000", "\"1.1\""));
    assert_eq!(world.alarms(), ["not_resolved"], "it has ended");
    let positions = world.positions();
    assert_eq!(
        values(&positions, &["position", "cash", "worst_long"]),
        ["1500000 -1650000.0015 1000000"]
    );
}
