//! Orders with an unknown outcome: they count as filled until the outcome is known.

use crate::world::{World, values};

/// An order of P1 at bank A to buy 1 million, sent at 10 ms.
fn with_order(bank: &str) -> World {
    let mut world = World::up("", &[("A", bank), ("B", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.orders();
    world.decisions();
    world
}

fn events(world: &mut World) -> Vec<String> {
    values(&world.orders(), &["event", "state"])
}

#[test]
fn an_order_without_an_answer_is_asked_for_and_then_the_desk_is_called() {
    let mut world = with_order("answer_ms = 100\nstatus_ms = 50\nstatus_tries = 2");
    world.wait(109);
    assert!(world.orders().is_empty());
    world.wait(110);
    let lines = world.orders();
    assert_eq!(
        values(&lines, &["event", "state"]),
        ["timeout unknown", "sent unknown"]
    );
    assert!(
        lines[1].contains("35=H|11=T-P1-1|54=1|55=EUR/USD|790=T-H1"),
        "{lines:?}"
    );
    world.wait(159);
    assert!(world.orders().is_empty());
    world.wait(160);
    assert_eq!(events(&mut world), ["sent unknown"]);
    world.decisions();
    world.wait(210);
    assert_eq!(
        values(&world.decisions(), &["event", "what"]),
        ["alarm manual"]
    );
    world.wait(10_000);
    assert!(
        world.orders().is_empty() && world.decisions().is_empty(),
        "silence"
    );
    assert_eq!(world.order(0), ("Unknown".into(), 0, 1_000_000));
    world.execution("A", "T-P1-1", ("E1", "0", "0", 0), "");
    assert_eq!(
        events(&mut world),
        ["report unknown"],
        "only an end is an answer"
    );
    world.execution(
        "A",
        "T-P1-1",
        ("E2", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002",
    );
    assert_eq!(world.order(0).0, "Filled");
}

#[test]
fn an_unknown_order_counts_as_filled_and_is_never_sent_again() {
    let mut world = with_order("answer_ms = 100\nstatus_tries = 1");
    world.wait(200).book("B", &[(-2, 5000)], &[(2, 5000)]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]).wait(5000);
    assert_eq!(world.sent(), 1, "nothing is open");
    world.parent(
        "P2",
        "buy",
        1_000_000,
        ",\"deadline_ms\":60000,\"urgency\":0",
    );
    assert_eq!(world.sent(), 2);
    let line = world.orders().pop().expect("the order of P2");
    assert_eq!(
        values(&[line], &["bank"]),
        ["B"],
        "a bank with an unknown order is sent nothing"
    );
}

#[test]
fn an_order_that_never_arrived_ends_with_n_where_the_answer_is_final() {
    for (is_final, state) in [
        ("", "Rejected"),
        ("status_final = true", "Rejected"),
        ("status_final = false", "Unknown"),
    ] {
        let mut world = with_order(&format!("answer_ms = 100\n{is_final}"));
        world.wait(110).orders();
        world.execution("A", "T-P1-1", ("0", "I", "8", 0), "|103=5|790=T-H1|151=0");
        assert_eq!(world.order(0).0, state, "{is_final}");
        let code = values(&world.orders()[..1], &["code"]);
        assert_eq!(
            code,
            [if state == "Rejected" { "N" } else { "null" }],
            "{is_final}"
        );
    }
}

#[test]
fn a_lost_session_makes_orders_unknown_and_each_is_asked_for_when_it_is_back() {
    let mut world = with_order("status_ms = 100\nstatus_tries = 1");
    world.at(20).line("A.o !down");
    assert_eq!(
        events(&mut world),
        ["down unknown"],
        "no questions while it is down"
    );
    world.wait(1000);
    assert!(world.orders().is_empty());
    world.line("A.o !up");
    let lines = world.orders();
    assert_eq!(values(&lines, &["event", "state"]), ["sent unknown"]);
    world.at(1010).line("A.o !down").line("A.o !up");
    assert_eq!(
        events(&mut world),
        ["sent unknown"],
        "tries count from the beginning"
    );
}

#[test]
fn a_mass_status_asks_for_what_it_leaves_out() {
    let mut world = World::up("", &[("A", "recover = \"AF\"")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000), (3, 5000)]);
    for id in ["P1", "P2", "P3"] {
        world.at(10).book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent(id, "buy", 1_000_000, ",\"deadline_ms\":60000");
    }
    world.at(20).line("A.o !down").orders();
    world.line("A.o !up");
    let lines = world.orders();
    assert_eq!(
        values(&lines, &["clordid", "event", "state"]),
        ["null sent null"]
    );
    assert!(lines[0].contains("35=AF|584=T-M1|585=7"), "{lines:?}");
    world.execution(
        "A",
        "T-P1-1",
        ("0", "I", "2", 1_000_000),
        "|584=T-M1|6=1.10002|151=0",
    );
    assert_eq!(
        values(&world.fills(), &["exec_id", "price"]),
        ["ST-M1-T-P1-1 1.10002"]
    );
    assert_eq!(events(&mut world), ["report filled"]);
    world.execution(
        "A",
        "T-P2-1",
        ("0", "I", "0", 0),
        "|584=T-M1|912=Y|151=1000000",
    );
    assert_eq!(
        values(&world.orders(), &["clordid", "event"]),
        ["T-P2-1 report", "T-P3-1 sent"]
    );
}

#[test]
fn the_desk_resolves_what_nobody_says() {
    let mut world = with_order("answer_ms = 100");
    let resolve = |cum, price| {
        format!("{{\"op\":\"resolve\",\"clordid\":\"T-P1-1\",\"cum\":{cum},\"price\":{price}}}")
    };
    world.desk(&resolve(0, "null"));
    assert_eq!(world.order(0).0, "Sent", "it may still be answered");
    world.wait(110).orders();
    for (cum, price) in [(-1, "\"1.1\""), (1000, "null"), (1000, "\"1.1000000001\"")] {
        world.desk(&resolve(cum, price));
        assert_eq!(world.order(0).0, "Unknown", "{cum} at {price}");
    }
    world.desk(&resolve(400_000, "\"1.10001\""));
    assert_eq!(
        values(&world.fills(), &["exec_id", "kind", "qty", "price"]),
        ["R-T-P1-1 manual 400000 1.10001"]
    );
    assert_eq!(
        values(&world.orders()[..1], &["event", "state", "code"]),
        ["report canceled null"]
    );

    let mut world = with_order("answer_ms = 100");
    world.wait(110).orders();
    world.desk(&resolve(0, "null"));
    assert_eq!(
        values(&world.orders()[..1], &["state", "code"]),
        ["canceled N"]
    );
}

#[test]
fn a_parent_of_one_attempt_ends_when_its_orders_are_unknown_and_is_settled_later() {
    let mut world = World::up("", &[("A", "answer_ms = 100")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"tif\":\"ioc\"")
        .wait(110);
    let ended = world.decisions().pop().expect("the end");
    assert!(ended.contains("\"ended\",\"parent\":\"P1\",\"reason\":\"ioc\",\"filled\":0,\"avg\":null,\"out\":1000000"), "{ended}");
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "2", 1_000_000),
        "|32=1000000|31=1.10002",
    );
    let settled = world.decisions().pop().expect("a line");
    assert!(
        settled.contains("\"settled\",\"parent\":\"P1\",\"reason\":null,\"filled\":1000000"),
        "{settled}"
    );
}

#[test]
fn a_restart_is_a_crash_as_everybody_outside_sees_it() {
    let mut world = with_order("");
    world.at(20).desk("{\"op\":\"restart\"}");
    assert_eq!(world.tops(), [None, None]);
    assert_eq!(
        values(&world.decisions(), &["event"])[..2],
        ["ended", "cooldown"]
    );
    assert_eq!(events(&mut world), ["down unknown"]);
}

/// An order that stays unknown takes its bank out of the order's pair alone, once the desk was called; a lost session
/// or a new unknown order takes the bank out of all pairs again.
#[test]
fn the_desk_s_call_ends_the_doubt_of_other_pairs() {
    let mut world = with_order("answer_ms = 100\nstatus_ms = 50\nstatus_tries = 1");
    let quote =
        "35=W|262=R|55=USD/JPY|268=2|269=0|270=150.001|271=5000000|269=1|270=150.003|271=5000000";
    let yen = |world: &mut World, id: &str| {
        world.quote("A", quote).desk(&format!(
            "{{\"op\":\"parent\",\"id\":\"{id}\",\"pair\":\"USD/JPY\",\"side\":\"buy\",\"qty\":1000000,\"tif\":\"ioc\"}}"
        ));
        world.sent()
    };
    world.wait(110);
    assert_eq!(yen(&mut world, "J1"), 1, "unknown, and nobody was called");
    world.wait(160);
    assert!(world.decisions().iter().any(|line| line.contains("manual")));
    assert_eq!(yen(&mut world, "J2"), 2);
    world.execution(
        "A",
        "T-J2-1",
        ("E1", "F", "2", 1_000_000),
        "|32=1000000|31=150.003",
    );
    world.at(500).book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.parent("P2", "buy", 1_000_000, ",\"tif\":\"ioc\"");
    assert_eq!(world.sent(), 2, "its own pair stays out");
    world.at(510).line("A.o !down").line("A.o !up");
    assert_eq!(yen(&mut world, "J3"), 2, "asked anew");
    world.wait(570);
    assert_eq!(yen(&mut world, "J4"), 3);
    // A disputed order counts in its pair alone, too.
    world.execution("A", "T-J4-1", ("E2", "F", "2", 0), "|32=1|31=150");
    assert_eq!(yen(&mut world, "J5"), 3);
}

/// An order that a mass status shows alive is asked for later; one that it leaves out at once.
#[test]
fn an_order_that_a_mass_status_shows_alive_is_asked_for_later() {
    let mut world = with_order("recover = \"AF\"\nstatus_ms = 50\nanswer_ms = 1000");
    world.at(20).line("A.o !down").line("A.o !up").orders();
    world.at(30).execution(
        "A",
        "T-P1-1",
        ("0", "I", "0", 0),
        "|584=T-M1|912=Y|151=1000000",
    );
    assert_eq!(events(&mut world), ["report unknown"]);
    world.wait(79);
    assert!(world.orders().is_empty());
    world.wait(80);
    assert_eq!(events(&mut world), ["sent unknown"]);
}
