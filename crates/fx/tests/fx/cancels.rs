//! A kill and a cancel reach every order that may be live at a bank, in any state.

use crate::world::{World, values};

const KILL: &str = "{\"op\":\"kill\",\"by\":\"ann\"}";
const CANCEL: &str = "{\"op\":\"cancel\",\"id\":\"P1\"}";
const ID: &str = "T-P1-1";

/// An order of P1 at bank A to buy 1 million, sent at 10 ms; unknown at 110 ms.
fn with_order() -> World {
    let lifters = "[risk]\nkill_lifters = [\"ann\", \"bob\"]";
    let settings = "answer_ms = 100\nstatus_ms = 1000\nstatus_tries = 9";
    let mut world = World::up(lifters, &[("A", settings)]);
    world.book("A", &[(-2, 5000)], &[(2, 5000)]);
    world
        .at(10)
        .parent("P1", "buy", 1_000_000, ",\"tif\":\"ioc\"");
    world.at(20).orders();
    world
}

/// State of each cancel request that was sent since the last call.
fn cancels(world: &mut World) -> Vec<String> {
    let lines = world.orders();
    let sent: Vec<_> = lines
        .into_iter()
        .filter(|line| line.contains("\"fix\":\"35=F|"))
        .collect();
    values(&sent, &["state"])
}

/// In each state of the order: one request, which changes the state unless the order was unknown.
#[test]
fn every_order_that_has_not_ended_is_canceled() {
    type Before = fn(&mut World);
    let states: [(&str, Before); 6] = [
        ("pending_cancel", |_| ()),
        ("pending_cancel", |world| {
            world.execution("A", ID, ("E1", "0", "0", 0), "");
        }),
        ("pending_cancel", |world| {
            world.execution("A", ID, ("E1", "6", "6", 0), "");
        }),
        ("unknown", |world| {
            world.wait(200);
        }),
        ("disputed", |world| {
            world.execution("A", ID, ("E1", "F", "2", 0), "|32=1|31=1.1");
        }),
        ("disputed", |world| {
            world.execution("A", ID, ("E1", "0", "0", 0), "|55=GBP/USD");
        }),
    ];
    for command in [KILL, CANCEL] {
        for (state, before) in &states {
            let mut world = with_order();
            before(&mut world);
            world.orders();
            world.desk(command);
            assert_eq!(cancels(&mut world), [*state], "{command}");
            world.desk(command);
            assert!(cancels(&mut world).is_empty(), "one is out");
        }
    }
}

/// A request without an answer is repeated by the next command, and one that was refused by the next report that shows the order
/// alive; never by a timer.
#[test]
fn a_cancel_is_asked_for_again_at_events() {
    let mut world = with_order();
    world.wait(110).desk(KILL);
    assert_eq!(cancels(&mut world), ["unknown"]);
    world.wait(209).desk(KILL);
    assert!(cancels(&mut world).is_empty(), "the first is out until 210");
    world.wait(900);
    assert!(cancels(&mut world).is_empty(), "no timer asks");
    world.desk(KILL);
    assert_eq!(cancels(&mut world), ["unknown"]);
    world.report("A", "35=9|11=T-P1-3|41=T-P1-1|39=0|102=0");
    assert!(cancels(&mut world).is_empty());
    for (kind, status) in [("0", "0"), ("A", "A"), ("F", "1"), ("I", "1")] {
        let more = if kind == "F" { "|32=1000|31=1.1" } else { "" };
        let cum = world.order(0).1 + if kind == "F" { 1000 } else { 0 };
        world.execution("A", ID, ("E1", kind, status, cum), more);
        assert_eq!(cancels(&mut world), ["unknown"], "150={kind}");
        world.report("A", "35=9|11=x|41=T-P1-1|39=0|102=0");
        world.orders();
    }
    // A repeated trade, a bust and an end do not show it alive.
    world.execution("A", ID, ("E1", "F", "1", 1000), "|32=1000|31=1.1");
    world.execution("A", ID, ("E2", "H", "0", 0), "|19=E1");
    world.execution("A", ID, ("E3", "6", "6", 1000), "");
    assert!(cancels(&mut world).is_empty());
    world.execution("A", ID, ("E4", "4", "4", 1000), "|151=0");
    world.desk(KILL);
    assert!(cancels(&mut world).is_empty(), "it has ended");
}

/// The wish lasts through lost sessions, a lift and a restart: requests precede the questions of the logon.
#[test]
fn a_wish_to_cancel_lasts_until_the_order_ends() {
    let mut world = with_order();
    world.line("A.o !down").desk(KILL);
    assert!(cancels(&mut world).is_empty(), "no session");
    for by in ["ann", "bob"] {
        world.desk(&format!("{{\"op\":\"lift\",\"by\":\"{by}\"}}"));
    }
    assert!(!world.replay.engine().trading().is_killed());
    world.at(30).desk("{\"op\":\"restart\"}").orders();
    world.at(40).line("A.o !up");
    let lines = world.orders();
    assert!(lines[0].contains("35=F|11=T-P1-2|"), "{lines:?}");
    assert!(lines[1].contains("35=H|"), "{lines:?}");
    // A logon of a session that is up changes nothing.
    world.at(41).line("A.o !up");
    assert!(world.orders().is_empty());
    world.at(50).line("A.o !down").line("A.o !up");
    assert_eq!(
        cancels(&mut world),
        ["unknown"],
        "the first was lost with its session"
    );
}

/// A disputed order of a lost session is canceled when it is back, and not asked for.
#[test]
fn a_disputed_order_is_canceled_after_the_logon() {
    let mut world = with_order();
    world.execution("A", ID, ("E1", "F", "2", 0), "|32=1|31=1.1");
    world.line("A.o !down").desk(CANCEL).orders();
    world.at(30).line("A.o !up");
    assert_eq!(
        values(&world.orders(), &["event", "state"]),
        ["sent disputed"]
    );
}

/// A kill by a person is never void: it prints its line again and drops the first lift request; an automatic kill while
/// killed has no effect.
#[test]
fn a_repeated_kill_forgets_the_first_lift() {
    let mut world = with_order();
    let lift = |by: &str| format!("{{\"op\":\"lift\",\"by\":\"{by}\"}}");
    world
        .desk(KILL)
        .desk(&lift("ann"))
        .desk(KILL)
        .desk(&lift("bob"));
    assert!(world.replay.engine().trading().is_killed());
    world.desk("{\"op\":\"kill\",\"by\":\"auto:unknown\"}");
    world.desk(&lift("ann"));
    assert!(!world.replay.engine().trading().is_killed());
    let lines = world.decisions();
    let kills: Vec<_> = lines
        .into_iter()
        .filter(|line| line.contains("\"event\":\"kill\""))
        .collect();
    assert_eq!(values(&kills, &["by"]), ["ann", "ann"]);
}

/// A refused cancel of an ended order gives its line and changes nothing, for each end and each reason.
#[test]
fn a_refused_cancel_of_an_ended_order_gives_its_line() {
    let ends = [
        (("E1", "8", "8", 0), "rejected", ""),
        (("E1", "4", "4", 0), "canceled", ""),
        (("E1", "C", "C", 0), "expired", ""),
        (
            ("E1", "F", "2", 1_000_000),
            "filled",
            "|32=1000000|31=1.10002",
        ),
    ];
    for (end, state, more) in ends {
        for is_asked in [true, false] {
            for reason in ["0", "1"] {
                let mut world = with_order();
                if is_asked {
                    world.desk(CANCEL);
                }
                world.execution("A", ID, end, more).orders();
                world.decisions();
                for ids in ["11=T-P1-2|41=T-P1-1", "11=T-P1-1"] {
                    world.report("A", &format!("35=9|{ids}|39=8|102={reason}"));
                    assert_eq!(
                        values(
                            &world.orders(),
                            &["clordid", "event", "state", "code", "leaves"]
                        ),
                        [format!("{ID} report {state} null 0")],
                        "{ids} {is_asked}"
                    );
                }
                assert!(world.decisions().is_empty(), "{state} {is_asked}");
            }
        }
    }
}
