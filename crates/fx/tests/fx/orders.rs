//! Orders: states, bookings of reports, refused reports.

use crate::world::{World, values};

const A: (&str, &str) = ("A", "");

/// Bank A quotes 5 million a side, 1.09998 at 1.10002, and has an order of P1 to buy 1 million.
fn with_order(bank: &str) -> World {
    let mut world = World::up("", &[("A", bank), ("B", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    assert_eq!(world.sent(), 1);
    world.decisions();
    world.orders();
    world
}

#[test]
fn an_order_is_journaled_then_sent_and_goes_through_its_states() {
    let mut world = World::up("", &[A]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.at(10).parent(
        "P1",
        "buy",
        1_000_000,
        ",\"deadline_ms\":60000,\"limit\":\"1.10003\"",
    );
    let lines = world.orders();
    assert_eq!(
        values(&lines, &["clordid", "event", "state", "leaves"]),
        ["T-P1-1 journal sent 1000000", "T-P1-1 sent sent 1000000"]
    );
    let message = "35=D|1=D|11=T-P1-1|15=EUR|38=1000000|40=2|44=1.10002|54=1|55=EUR/USD|59=3|60=20260105-09:00:00.010|64=20260107";
    assert!(
        lines[1].ends_with(&format!("\"fix\":\"{message}\"}}")),
        "{}",
        lines[1]
    );
    world
        .at(11)
        .execution("A", "T-P1-1", ("E1", "A", "A", 0), "");
    world.execution("A", "T-P1-1", ("E2", "0", "0", 0), "");
    world.execution(
        "A",
        "T-P1-1",
        ("E3", "F", "1", 400_000),
        "|32=400000|31=1.10001|151=600000",
    );
    world.execution(
        "A",
        "T-P1-1",
        ("E4", "F", "2", 1_000_000),
        "|32=600000|31=1.10002|151=0",
    );
    assert_eq!(
        values(&world.orders(), &["state", "cum", "leaves"]),
        [
            "pending_new 0 1000000",
            "new 0 1000000",
            "partial 400000 600000",
            "filled 1000000 0"
        ]
    );
    assert_eq!(
        values(
            &world.fills(),
            &["exec_id", "kind", "qty", "price", "improve", "hold_ns"]
        ),
        [
            "E3 fill 400000 1.10001 1 1000000",
            "E4 fill 600000 1.10002 0 1000000"
        ]
    );
    assert_eq!(
        values(
            &world.positions(),
            &[
                "position",
                "cash",
                "worst_long",
                "worst_short",
                "mid",
                "pnl"
            ]
        ),
        [
            "400000 -440004 1000000 400000 1.1 -4",
            "1000000 -1100016 1000000 1000000 1.1 -16"
        ]
    );
    let ended = world.decisions().pop().expect("the end");
    assert!(
        ended.ends_with("\"reason\":\"filled\",\"filled\":1000000,\"avg\":\"1.100016\",\"out\":0}"),
        "{ended}"
    );
}

#[test]
fn cum_qty_is_the_truth() {
    let mut world = with_order("");
    world.at(20).execution(
        "A",
        "T-P1-1",
        ("E2", "F", "1", 500_000),
        "|32=200000|31=1.10002|6=1.10001|151=500000",
    );
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price"]),
        ["SE2 status 300000 1.1", "E2 fill 200000 1.10002"]
    );
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 300_000),
        "|32=300000|31=1.1|151=700000",
    );
    assert_eq!(
        values(
            &world.fills(),
            &["exec_id", "kind", "qty", "price", "ref", "late"]
        ),
        ["E1 named 300000 1.1 SE2 false"],
        "a late original names what the report behind it told of"
    );
    assert_eq!(world.order(0), ("Partial".into(), 500_000, 500_000));
    world.execution(
        "A",
        "T-P1-1",
        ("E3", "F", "1", 600_000),
        "|32=100000|31=1.10002|151=400000",
    );
    world.execution("A", "T-P1-1", ("E4", "4", "4", 700_000), "|151=0");
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price"]),
        ["E3 fill 100000 1.10002", "SE4 status 100000 1.10002"]
    );
    assert_eq!(world.order(0), ("Canceled".into(), 700_000, 0));
}

#[test]
fn a_repeated_report_is_passed_over_and_a_repeated_status_is_not() {
    let mut world = with_order("");
    world.at(20).execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 400_000),
        "|32=400000|31=1.10002|151=600000",
    );
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 800_000),
        "|32=400000|31=1.10002|151=200000|43=Y",
    );
    assert_eq!((world.orders().len(), world.order(0).1), (1, 400_000));
    world.execution(
        "A",
        "T-P1-1",
        ("0", "I", "1", 400_000),
        "|790=T-H1|151=600000",
    );
    world.execution(
        "A",
        "T-P1-1",
        ("0", "I", "1", 500_000),
        "|790=T-H1|151=500000",
    );
    assert_eq!((world.orders().len(), world.order(0).1), (2, 500_000));
    assert_eq!(
        values(&world.fills()[1..], &["exec_id", "kind", "price"]),
        ["ST-H1 status 1.10002"]
    );
}

#[test]
fn the_rest_of_an_order_is_dead_where_nothing_is_left_and_filled_is_filled() {
    let mut world = with_order("");
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 400_000),
        "|32=400000|31=1.10002|151=0",
    );
    assert_eq!(world.order(0), ("Canceled".into(), 400_000, 0));
    let mut world = with_order("");
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 1_000_000),
        "|32=1000000|31=1.10002|151=7",
    );
    assert_eq!(world.order(0), ("Filled".into(), 1_000_000, 0));
}

#[test]
fn trades_that_are_not_as_ordered_are_refused() {
    for (reason, more, cum) in [
        ('A', "|32=1000|31=1.10002|55=USD/JPY", 1000),
        ('B', "|32=1000|31=1.10002|55=EUR/USD|54=2", 1000),
        ('C', "|32=1000|31=1.10002|54=1", 1_000_001),
        ('E', "|32=1000|31=1.10003", 1000),
    ] {
        let mut world = with_order("");
        world.execution("A", "T-P1-1", ("E1", "F", "1", cum), more);
        assert!(world.fills().is_empty());
        assert_eq!(
            world.order(0),
            ("Disputed".into(), 0, 1_000_000),
            "it may still be filled"
        );
        let lines = world.orders();
        assert_eq!(
            values(&lines, &["event", "state"]),
            ["report disputed", "sent disputed"]
        );
        assert!(
            lines[1].contains("\"35=Q|17=E1|31=1.1000")
                && lines[1].contains(&format!("|127={reason}\""))
        );
        assert!(world.decisions()[0].contains(&format!("\"what\":\"dk_{reason}\"")));
    }
}

/// A status or a change of state of another pair, side, value date or currency, or beyond the order: nothing is booked,
/// no quantity becomes free, and the desk decides.
#[test]
fn a_report_without_a_trade_that_contradicts_its_order_books_nothing() {
    for (reason, more, cum) in [
        ('A', "|55=USD/JPY|151=0", "1000"),
        ('A', "|55=USD/JPY|151=0", "0"),
        ('B', "|54=2|151=0", "0"),
        ('B', "|55=EUR/USD|54=2|151=0", "1000"),
        ('Z', "|64=20260108|151=0", "0"),
        ('Z', "|64=20260107|15=USD|151=0", "1000"),
        ('C', "|151=0", "1000001"),
        ('C', "|151=0", "99999999999999999999"),
    ] {
        for kind in ["I", "4", "0"] {
            let mut world = with_order("");
            let report = format!("35=8|11=T-P1-1|17=E1|150={kind}|39=4|14={cum}{more}");
            world.report("A", &report);
            assert!(world.fills().is_empty(), "{report}");
            assert_eq!(world.order(0), ("Disputed".into(), 0, 1_000_000));
            assert_eq!(
                values(&world.orders(), &["event", "state"]),
                ["report disputed"]
            );
            assert!(world.decisions()[0].contains(&format!("\"what\":\"dk_{reason}\"")));
        }
    }
}

#[test]
fn a_trade_of_no_order_of_the_bank_is_refused() {
    let mut world = with_order("");
    world.execution(
        "B",
        "T-P1-1",
        ("E1", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002|55=EUR/USD",
    );
    world.execution("B", "X", ("E2", "0", "0", 0), "");
    assert_eq!(world.order(0), ("Sent".into(), 0, 1_000_000));
    let lines = world.orders();
    assert_eq!(
        values(&lines, &["clordid", "bank", "event", "state", "cum"]),
        [
            "T-P1-1 B report null null",
            "T-P1-1 B sent null null",
            "X B report null null"
        ]
    );
    assert!(lines[1].contains("|127=D\""));
}

/// A report without ClOrdID (11) and OrigClOrdID (41) is of the order that has its OrderID (37), at this bank; placeholders name none.
#[test]
fn a_fill_that_names_its_order_by_order_id_alone_is_booked() {
    let fill = "35=8|37=ID|17=E2|150=F|39=2|14=1000000|32=1000000|31=1.10002|151=0";
    let placeholders = [
        "NONE", "none", "0", "000", "UNKNOWN", "Unknown", "N/A", "-", "",
    ];
    let placeholders = placeholders.map(|word| (format!("|37={word}"), word, false));
    for (first, named, booked) in [
        ("|37=O77".to_owned(), "O77", true),
        ("|37=O77".to_owned(), "O78", false),
        // A report without an OrderID, and the report after it.
        ("|37=UNKNOWN".to_owned(), "O77", false),
        (String::new(), "O77", false),
    ]
    .into_iter()
    .chain(placeholders)
    {
        let mut world = with_order("");
        world.execution("A", "T-P1-1", ("E1", "0", "0", 0), &first);
        world.report("B", &fill.replace("37=ID", "37=O77"));
        assert_eq!(world.order(0).1, 0, "of another bank");
        world.report("A", &fill.replace("37=ID", &format!("37={named}")));
        let cum = if booked { 1_000_000 } else { 0 };
        assert_eq!(world.order(0).1, cum, "{first} {named}");
        // The same report again, with its ClOrdID: it was booked.
        world.report("A", &fill.replace("37=ID", "11=T-P1-1|37=O77"));
        let fills = world.fills();
        assert_eq!(fills.len(), 1, "{fills:?}");
    }
    let mut world = with_order("");
    world.execution("A", "T-P1-1", ("E1", "A", "A", 0), "|37=0");
    world.execution("A", "T-P1-1", ("E1", "0", "0", 0), "|37=O77");
    world.report("A", &fill.replace("37=ID", "37=O77"));
    assert_eq!(world.order(0).1, 1_000_000, "behind a placeholder");
}

/// An OrderID that a bank gave to two orders of a day names neither, whether or not one of them has ended; the id of an order that ended on
/// an earlier day names the new one.
#[test]
fn an_order_id_of_two_orders_names_none() {
    const DAY_MS: u64 = 86_400_000;
    let fill = "35=8|37=O1|17=E3|150=F|39=2|14=1000000|32=1000000";
    for (has_ended, later_ms, names) in [
        (true, 2_000, false),
        (true, DAY_MS - 1_000, false),
        (true, DAY_MS + 2_000, true),
        (false, 20, false),
    ] {
        let mut world = with_order("");
        let (status, more) = match has_ended {
            true => ("4", "|37=O1|151=0"),
            false => ("0", "|37=O1"),
        };
        world.execution("A", "T-P1-1", ("E1", status, status, 0), more);
        if has_ended {
            world.desk("{\"op\":\"cancel\",\"id\":\"P1\"}");
        }
        world.at(later_ms).book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent("P2", "buy", 1_000_000, ",\"deadline_ms\":60000");
        assert_eq!(world.sent(), 2, "{has_ended} {later_ms}");
        world.execution("A", "T-P2-1", ("E2", "0", "0", 0), "|37=O1");
        world.report("A", &format!("{fill}|31=1.10002"));
        let expected = if names { 1_000_000 } else { 0 };
        let cums = [world.order(0).1, world.order(1).1];
        assert_eq!(cums, [0, expected], "{has_ended} {later_ms}");
    }
    // An order that is still unknown on the next day, and one of another pair.
    let mut world = with_order("");
    world.execution("A", "T-P1-1", ("E1", "0", "0", 0), "|37=O1");
    world.wait(DAY_MS + 2_000);
    assert_eq!(world.order(0).0, "Unknown");
    world.quote(
        "A",
        "35=W|262=J|55=USD/JPY|268=2|269=0|278=J0|270=150|271=5000000|269=1|278=J1|270=150.01|271=5000000",
    );
    world.desk(
        "{\"op\":\"parent\",\"id\":\"P2\",\"pair\":\"USD/JPY\",\"side\":\"buy\",\"qty\":1000000,\"deadline_ms\":60000}",
    );
    assert_eq!(world.sent(), 2);
    world.execution("A", "T-P2-1", ("E2", "0", "0", 0), "|37=O1");
    world.report("A", &format!("{fill}|31=150.01"));
    assert_eq!([world.order(0).1, world.order(1).1], [0, 0]);
}

#[test]
fn a_fill_after_the_end_is_booked_with_an_alarm() {
    let mut world = with_order("");
    world.execution("A", "T-P1-1", ("E1", "4", "4", 0), "|151=0");
    world.execution(
        "A",
        "T-P1-1",
        ("E2", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002",
    );
    assert_eq!(values(&world.fills(), &["exec_id", "late"]), ["E2 true"]);
    let decisions = world.decisions();
    assert!(
        decisions.iter().any(|line| line.contains("fill_after_end")),
        "{decisions:?}"
    );
    assert!(
        decisions
            .last()
            .is_some_and(|line| line.contains("\"filled\":1000000")),
        "{decisions:?}"
    );
}

#[test]
fn busts_and_corrections_change_positions_and_no_order() {
    let mut world = with_order("");
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002",
    );
    world.fills();
    world.orders();
    world.execution(
        "A",
        "T-P1-1",
        ("E2", "G", "2", 1_000_000),
        "|19=E1|32=900000|31=1.1",
    );
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price"]),
        ["E1 bust 1000000 1.10002", "E2 correct 900000 1.1"]
    );
    world.execution("A", "T-P1-1", ("E3", "H", "2", 0), "|19=E2");
    world.execution("A", "T-P1-1", ("E4", "H", "2", 0), "|19=E2");
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty"]),
        ["E2 bust 900000"]
    );
    assert_eq!(
        values(&world.positions()[3..], &["position", "cash"]),
        ["0 0"]
    );
    assert!(world.orders().is_empty());
    let decisions = world.decisions();
    let alarms: Vec<_> = decisions
        .iter()
        .filter(|line| line.contains("alarm"))
        .cloned()
        .collect();
    assert_eq!(
        values(&alarms, &["what", "clordid"]),
        ["correct T-P1-1", "bust T-P1-1", "unknown_exec T-P1-1"]
    );
    assert_eq!(
        world.at(1000).sent(),
        1,
        "what was busted is not traded again"
    );
}

#[test]
fn each_end_without_a_fill_has_its_code() {
    let map = "reject_map = { \"late\" = \"A-2\", \"77\" = \"C\" }";
    for (report, code) in [
        ("|103=30", "A-1"),
        ("|103=31", "A-2"),
        ("|103=031", "A-2"),
        ("|103=32", "B"),
        ("|103=16", "B"),
        ("|103=25", "C"),
        ("|103=3", "C"),
        ("|103=15", "D"),
        ("|103=33", "D"),
        ("|103=99", "E"),
        ("", "E"),
        ("|103=1", "F"),
        ("|103=30|58=late", "A-2"),
        ("|103=77", "C"),
    ] {
        let mut world = with_order(map);
        world.execution("A", "T-P1-1", ("E1", "8", "8", 0), report);
        assert_eq!(
            values(&world.orders()[..1], &["state", "code"]),
            [format!("rejected {code}")],
            "{report}"
        );
    }
    for (status, report, code) in [("4", "", "B"), ("C", "", "B"), ("C", "|103=31", "A-2")] {
        let mut world = with_order("");
        world.execution("A", "T-P1-1", ("E1", status, status, 0), report);
        assert_eq!(values(&world.orders()[..1], &["code"]), [code], "{status}");
    }
    let mut world = with_order("");
    world.execution("A", "T-P1-1", ("E1", "4", "4", 500_000), "|103=32");
    assert_eq!(
        values(&world.orders()[..1], &["code"]),
        ["null"],
        "something was filled"
    );
    let mut world = with_order("");
    world.report("A", "35=j|372=D|379=T-P1-1|380=0");
    assert_eq!(
        values(&world.orders()[..1], &["state", "code"]),
        ["rejected E"]
    );
}

#[test]
fn a_cancel_that_is_refused_takes_the_order_back() {
    let mut world = with_order("");
    world.execution("A", "T-P1-1", ("E1", "0", "0", 0), "");
    world.at(20).desk("{\"op\":\"cancel\",\"id\":\"P1\"}");
    let lines = world.orders();
    assert!(
        lines[1].contains("\"state\":\"pending_cancel\""),
        "{lines:?}"
    );
    let message = "35=F|11=T-P1-2|38=1000000|41=T-P1-1|54=1|55=EUR/USD|60=20260105-09:00:00.020";
    assert!(lines[1].contains(message), "{lines:?}");
    world.report("A", "35=9|11=T-P1-2|41=T-P1-1|39=0|102=0");
    assert_eq!(values(&world.orders(), &["event", "state"]), ["report new"]);
    world.execution("A", "T-P1-1", ("E2", "4", "4", 0), "");
    assert_eq!(
        values(&world.orders(), &["code"]),
        ["B"],
        "no cancel counts as asked for"
    );

    let mut world = with_order("");
    world.desk("{\"op\":\"cancel\",\"id\":\"P1\"}");
    world.execution("A", "T-P1-1", ("E1", "0", "0", 0), "");
    assert_eq!(world.order(0).0, "PendingCancel");
    world.report("A", "35=9|11=T-P1-2|41=T-P1-1|39=8|102=1");
    assert_eq!(
        values(&world.orders()[2..], &["event", "state"]),
        ["report unknown", "sent unknown"],
        "asked at once"
    );
}
