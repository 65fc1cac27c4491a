//! What a bank does with open orders when a connection is lost, and at the end of a session.

use crate::world::{World, config, values};
use touchline_fx::Setup;

const REST: &str = "answer_ms = 1000\nstatus_ms = 50\nstatus_tries = 2\nstatus_final = false\n";

/// An order of P1 at bank A to buy 1 million, sent at 10 ms; B quotes worse.
fn with_order(after_loss: &str) -> World {
    let bank = format!("{REST}after_loss = \"{after_loss}\"");
    let mut world = World::up("", &[("A", bank.as_str()), ("B", "")]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
    world.read();
    world
}

/// Events of orders, with their states.
fn events(world: &mut World) -> Vec<String> {
    values(&world.orders(), &["event", "state"])
}

/// A bank whose rules drop orders with a connection is asked nothing; behind everything that was missed, and the time of a last look, an
/// order without a report is canceled, and its parent goes on.
#[test]
fn a_bank_that_drops_orders_ends_them_once_all_has_come() {
    let mut world = with_order("canceled");
    world.at(20).line("A.o !down");
    assert_eq!(events(&mut world), ["down unknown"]);
    world.at(5_000).line("A.o !up");
    world.at(5_400).line("A.o !settled");
    world.wait(5_999);
    assert_eq!(events(&mut world), [""; 0], "no question");
    assert_eq!(world.order(0).0, "Unknown", "reports may still come");
    world.wait(6_000);
    let lines = world.orders();
    assert_eq!(
        values(&lines[..1], &["event", "state", "code"]),
        ["down canceled N"]
    );
    assert!(world.alarms().is_empty());
    let parent = world.replay.engine().trading().parents().get(0);
    assert!(parent.open() > 0, "the quantity is free again");
}

/// Missed messages may take longer than a last look: then the order is gone with the last of them.
#[test]
fn an_order_is_gone_once_all_has_come_and_no_earlier() {
    let mut world = with_order("canceled");
    world.at(20).line("A.o !down").at(5_000).line("A.o !up");
    world.wait(7_000);
    assert_eq!(world.order(0).0, "Unknown");
    world.line("A.o !settled").wait(7_001);
    assert_eq!(world.order(0).0, "Canceled");
}

/// A report of a last look that outlived the connection comes after the Logon: it is the order's fill, and the quantity is not sent
/// again. One that comes after `answer_ms` is booked, with an alarm.
#[test]
fn a_last_look_that_outlives_the_connection_is_waited_for() {
    for (at_ms, state, alarms, sent) in [
        (5_001, "Filled", &[][..], 1),
        (5_999, "Filled", &[][..], 1),
        (7_000, "Filled", &["fill_after_end"][..], 2),
    ] {
        let mut world = with_order("canceled");
        world.at(20).line("A.o !down").at(5_000).line("A.o !up");
        world.line("A.o !settled");
        world.wait(at_ms);
        // The parent trades its open quantity.
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.execution(
            "A",
            "T-P1-1",
            ("E1", "F", "2", 1_000_000),
            "|32=1000000|31=1.10002|151=0",
        );
        assert_eq!(world.order(0), (state.into(), 1_000_000, 0), "{at_ms}");
        assert_eq!(world.alarms(), alarms, "{at_ms}");
        world.wait(8_000);
        assert_eq!(world.sent(), sent, "{at_ms}");
    }
}

/// The connection is lost again in that time: it begins again with the next Logon.
#[test]
fn the_time_of_a_last_look_begins_with_each_logon() {
    let mut world = with_order("canceled");
    world.at(20).line("A.o !down").at(5_000).line("A.o !up");
    world.line("A.o !settled").at(5_500).line("A.o !down");
    world.wait(6_500);
    assert_eq!(world.order(0).0, "Unknown");
    world.at(7_000).line("A.o !up").line("A.o !settled");
    world.wait(7_999);
    assert_eq!(world.order(0).0, "Unknown");
    world.wait(8_000);
    assert_eq!(world.order(0).0, "Canceled");
}

/// A report that was lost with the numbers does not come behind a further loss either: no rule ends the order.
#[test]
fn an_order_in_doubt_stays_in_doubt_behind_a_further_loss() {
    for after_loss in ["canceled", "ask_then_canceled"] {
        let mut world = with_order(after_loss);
        world.at(20).line("A.o !down").at(30).line("A.o !up");
        world.line("A.o !doubted").wait(500);
        world.at(600).line("A.o !down").at(700).line("A.o !up");
        world.line("A.o !settled").wait(5_000);
        assert_eq!(world.order(0).0, "Unknown", "{after_loss}");
        assert_eq!(world.alarms(), ["manual"; 2], "{after_loss}");
    }
}

/// A report that was lost while its order was open does not come behind a loss of the connection either.
#[test]
fn an_open_order_in_doubt_stays_in_doubt_behind_a_loss() {
    for after_loss in ["canceled", "ask_then_canceled"] {
        let mut world = with_order(after_loss);
        world.at(20).line("A.o !doubted");
        assert_eq!(events(&mut world), [""; 0], "it is not asked for");
        world.at(30).line("A.o !down").at(40).line("A.o !up");
        world.line("A.o !settled").wait(5_000);
        assert_eq!(world.order(0).0, "Unknown", "{after_loss}");
        assert_eq!(world.alarms(), ["manual"], "{after_loss}");
    }
}

/// A bank that answers no question so that it can be read is asked as often as one that does not answer.
#[test]
fn doubts_do_not_hasten_the_questions() {
    let mut world = with_order("ask_then_canceled");
    world.at(20).line("A.o !down").at(30).line("A.o !up");
    for at_ms in [31, 32, 33, 34] {
        world.at(at_ms).line("A.o !doubted");
    }
    assert_eq!(world.alarms(), [""; 0]);
    world.wait(1_000).line("A.o !doubted");
    assert_eq!(world.alarms(), ["manual"]);
}

/// A bank that is asked for all orders at once, and does not answer, is asked for each, and then its rule ends them, or the desk is
/// called.
#[test]
fn a_mass_status_without_an_answer_ends_by_the_rule_of_the_bank() {
    for (after_loss, state, alarms) in [
        ("ask_then_canceled", "Canceled", &[][..]),
        ("ask", "Unknown", &["manual"]),
    ] {
        let mut world = with_order(&format!("{after_loss}\"\nrecover = \"AF"));
        world.at(20).line("A.o !down").at(30).line("A.o !up");
        world.line("A.o !settled").wait(179);
        assert_eq!(world.order(0).0, "Unknown", "{after_loss}");
        world.wait(1_030);
        assert_eq!(world.order(0).0, state, "{after_loss}");
        let sent = events(&mut world);
        let sent = sent.iter().filter(|event| event.starts_with("sent"));
        assert_eq!(sent.take(3).count(), 3, "{after_loss}");
        assert_eq!(world.alarms(), alarms, "{after_loss}");
    }
}

/// Without a rule the bank has the time of all questions to list its orders. A bank that refuses to is asked for each at once.
#[test]
fn a_mass_status_that_is_refused_or_never_complete_ends_at_the_desk() {
    for is_refused in [false, true] {
        let mut world = with_order("ask\"\nrecover = \"AF");
        world.at(20).line("A.o !down").at(30).line("A.o !up");
        world.orders();
        if is_refused {
            world.report("A", "35=j|372=AF|380=3");
        }
        let first_ms = if is_refused { 30 } else { 130 };
        if !is_refused {
            world.wait(129);
            assert_eq!(events(&mut world), [""; 0]);
        }
        for at_ms in [first_ms, first_ms + 50] {
            world.wait(at_ms);
            assert_eq!(events(&mut world), ["sent unknown"], "{is_refused} {at_ms}");
        }
        assert!(world.alarms().is_empty());
        world.wait(first_ms + 100);
        assert_eq!(world.alarms(), ["manual"], "{is_refused}");
        assert_eq!(world.order(0).0, "Unknown");
    }
}

/// Questions without an answer end nothing while messages may be missing: one of them may be a fill, and another loss begins again.
/// Then a last look may go on. Messages that will not come leave the order to the desk.
#[test]
fn questions_without_an_answer_end_no_order_before_everything_has_come() {
    let mut world = with_order("ask_then_canceled");
    world.at(20).line("A.o !down").at(30).line("A.o !up");
    world.wait(10_000);
    assert_eq!(world.order(0).0, "Unknown");
    assert!(world.alarms().is_empty());
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    let fill = "|43=Y|32=1000000|31=1.10002|151=0";
    world.execution("A", "T-P1-1", ("E1", "F", "2", 1_000_000), fill);
    world.line("A.o !settled").wait(12_000);
    assert_eq!(world.order(0), ("Filled".into(), 1_000_000, 0));
    assert_eq!(world.sent(), 1);

    let mut world = with_order("ask_then_canceled");
    world.at(20).line("A.o !down").at(30).line("A.o !up");
    world.line("A.o !settled").wait(1_029);
    assert_eq!(world.order(0).0, "Unknown", "a last look may go on");
    world.wait(1_030);
    assert_eq!(world.order(0).0, "Canceled");

    let mut world = with_order("ask_then_canceled");
    world.at(20).line("A.o !down").at(30).line("A.o !up");
    world.wait(4_000);
    world.line("A.o !doubted").wait(10_000);
    assert_eq!(world.order(0).0, "Unknown");
    assert_eq!(world.alarms(), ["manual"]);
}

/// A rule that cancels an order without an answer needs a question.
#[test]
fn a_rule_that_asks_needs_a_question() {
    let refused = |rule: &str| {
        let bank = format!("status_tries = 0\nafter_loss = \"{rule}\"");
        Setup::parse(&config("", &[("A", &bank)]))
    };
    let said = refused("ask_then_canceled")
        .expect_err("no question")
        .to_string();
    assert!(
        said.contains("status_tries") && said.contains("give 1 or more"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(refused("ask").is_ok() && refused("canceled").is_ok());
}

/// A session that comes up near its end gets no order, and neither does one whose hours are over, until the next session.
#[test]
fn no_order_is_sent_between_the_questions_and_the_next_session() {
    for events in [
        &["A.o !down", "A.o !closing", "A.o !up"][..],
        &["A.o !closing", "A.o !closed"],
        &["A.o !closed"],
    ] {
        let mut world = World::up("", &[("A", REST)]);
        for event in events {
            world.at(20).line(event);
        }
        world.book("A", &[(-2, 5000)], &[(2, 5000)]);
        world.parent("P1", "buy", 1_000_000, ",\"deadline_ms\":60000");
        world.wait(10_000);
        assert_eq!(world.sent(), 0, "{events:?}");
        world
            .at(20_000)
            .line("A.o !down")
            .at(30_000)
            .line("A.o !up");
        assert_eq!(world.sent(), 1, "{events:?}");
    }
}

/// A fill that was missed comes first: the rest alone is canceled. A report of before the loss does not say that the order lives.
#[test]
fn a_fill_that_was_missed_counts_and_the_rest_is_canceled() {
    let mut world = with_order("canceled");
    world.at(20).line("A.o !down").at(30).line("A.o !up");
    world.execution(
        "A",
        "T-P1-1",
        ("E1", "F", "1", 400_000),
        "|43=Y|32=400000|31=1.10002|151=600000",
    );
    world.line("A.o !settled").wait(1_030);
    assert_eq!(world.order(0), ("Canceled".into(), 400_000, 0));
}

/// An order that the bank calls alive behind the Logon, or in any other open state, is not gone: it is asked for, and then the desk
/// is called.
#[test]
fn an_order_that_the_bank_calls_alive_is_not_canceled_by_a_rule() {
    let states = [("0", "0"), ("I", "6"), ("I", "9"), ("I", "E")];
    let rules = ["canceled", "ask_then_canceled"];
    for (after_loss, (kind, state)) in rules.iter().flat_map(|rule| states.map(|of| (*rule, of))) {
        let mut world = with_order(after_loss);
        world.at(20).line("A.o !down").at(30).line("A.o !up");
        world.execution("A", "T-P1-1", ("E1", kind, state, 0), "|151=1000000");
        world.line("A.o !settled");
        world.wait(1_000);
        assert_eq!(world.order(0).0, "Unknown", "{after_loss} {state}");
        assert_eq!(world.alarms(), ["manual"], "{after_loss} {state}");
    }
}

/// A connection that is up was not lost by missing messages.
#[test]
fn orders_in_doubt_on_a_connection_that_is_up_are_asked_for() {
    let mut world = with_order("canceled");
    world
        .at(20)
        .line("A.o !down")
        .line("A.o !up")
        .line("A.o !doubted");
    world.line("A.o !settled");
    world.wait(1_000);
    let sent = events(&mut world);
    assert_eq!(sent, ["down unknown", "sent unknown", "sent unknown"]);
    assert_eq!(world.order(0).0, "Unknown");
    assert_eq!(world.alarms(), ["manual"]);
}

/// Questions without an answer end as the bank's rule says; without a rule, and for an order without an answer on a session that
/// was never lost, the desk is called.
#[test]
fn questions_without_an_answer_end_by_the_rule_of_the_bank() {
    for (after_loss, is_lost, state, alarms) in [
        ("ask_then_canceled", true, "Canceled", &[][..]),
        ("ask", true, "Unknown", &["manual"][..]),
        ("ask_then_canceled", false, "Unknown", &["manual"][..]),
        ("canceled", false, "Unknown", &["manual"][..]),
    ] {
        let mut world = with_order(after_loss);
        if is_lost {
            world.at(20).line("A.o !down").at(30).line("A.o !up");
            world.line("A.o !settled");
        }
        world.wait(129);
        let early = world.order(0).0;
        assert!(early == "Unknown" || !is_lost, "{after_loss}: {early}");
        world.wait(130).wait(70_000);
        assert_eq!(world.order(0).0, state, "{after_loss} {is_lost}");
        let mut found = world.alarms();
        found.retain(|alarm| alarm == "manual");
        assert_eq!(found, alarms, "{after_loss} {is_lost}");
    }
}

/// Before the end each open order is asked for, and the bank gets no further one; the next session has both again.
#[test]
fn orders_are_asked_for_before_the_end_of_a_session() {
    let mut world = with_order("ask");
    world.at(20).line("A.o !closing");
    let lines = world.orders();
    assert_eq!(values(&lines, &["event", "state"]), ["sent sent"]);
    assert!(lines[0].contains("35=H|11=T-P1-1|"), "{lines:?}");
    world.line("A.o !closing");
    assert!(world.orders().is_empty(), "once");
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.parent("P2", "buy", 1_000_000, ",\"deadline_ms\":60000");
    assert_eq!(world.sent(), 1, "no order is sent before the end");
    world.at(30).line("A.o !down").at(240_000).line("A.o !up");
    let lines = world.orders();
    let events = values(&lines, &["event", "state"]);
    assert_eq!(events, ["down unknown", "sent unknown"], "asked for again");
    world.execution(
        "A",
        "T-P1-1",
        ("0", "I", "2", 1_000_000),
        "|6=1.10002|151=0",
    );
    assert_eq!(world.order(0).0, "Filled");
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world.parent("P3", "buy", 1_000_000, ",\"deadline_ms\":60000");
    assert_eq!(world.sent(), 2);
}

/// A report of the day before, sent again in the next one, is recognized.
#[test]
fn a_report_of_the_old_day_is_booked_once() {
    let mut world = with_order("ask");
    let fill = "|32=1000000|31=1.10002|151=0";
    world.execution("A", "T-P1-1", ("E1", "F", "2", 1_000_000), fill);
    world.at(30).line("A.o !down").at(240_000).line("A.o !up");
    world.read();
    world.execution("A", "T-P1-1", ("E1", "F", "2", 1_000_000), fill);
    assert!(world.fills().is_empty());
    assert_eq!(world.order(0), ("Filled".into(), 1_000_000, 0));
    assert!(world.alarms().is_empty());
}
