//! Tests of the answers to commands.

use super::Incident;
use super::carry::Core;
use super::rig::{Host, Nothing, SECOND_NS, order, with_a_price};
use crate::execution::config::ClientConfig;
use crate::execution::config::tests::text;
use crate::execution::desk::{Notify, Received, Unadmitted, Unfit};
use crate::execution::order_session::Said;
use serde_json::Value;
use touchline_fx::input::Input;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::desk::Desk;
use touchline_types::{Id, ReceiveTime};

const CLIENT: &str =
    "name = \"desk\"\nmay = [\"send\", \"enable\"]\nmax_order = 9000000\nmax_commands_per_s = 7\n";

const RATE: Unadmitted = Unadmitted {
    why: Unfit::Rate,
    notify: Notify::All,
};

/// An engine with a price, its limits replaced.
fn engine(limits: &[(&str, &str)]) -> (Core<Host, Nothing>, ReceiveTime) {
    let mut text = text();
    for (key, value) in limits {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{key} = ")));
        let line = line
            .unwrap_or_else(|| panic!("no {key} in {text}"))
            .to_owned();
        text = text.replace(&line, &format!("{key} = {value}"));
    }
    with_a_price(&text)
}

/// The answer to a command, and the text of its incident.
fn answer(
    core: &mut Core<Host, Nothing>,
    time: ReceiveTime,
    command: Command,
    admitted: Result<(), Unadmitted>,
) -> (Value, Option<String>) {
    let client: ClientConfig = toml::from_str(CLIENT).expect("a client");
    core.incidents.clear();
    let received = Received {
        request: time.mono_ns,
        command: Ok(command),
    };
    core.command(time, &client, &received, admitted);
    let line = core.recorder.out().answers.last().expect("an answer");
    let refused = |incident: &Incident| match incident {
        Incident::Refused { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    let told = core.incidents.iter().find_map(refused);
    (serde_json::from_str(line).expect("a line"), told)
}

/// A lift of a person who may not lift is refused, and no start counts it: it was answered as done.
#[test]
fn a_lift_of_another_person_is_refused_with_the_list() {
    let (mut core, time) = engine(&[("kill_lifters", "[\"ann\", \"bob\"]")]);
    core.kill("eve", time);
    for (person, answered) in [("carl", "refused"), ("ann", "done")] {
        let client = format!("name = \"{person}\"\nmay = [\"lift\"]\n");
        let client: ClientConfig = toml::from_str(&client).expect("a client");
        let received = Received {
            request: time.mono_ns,
            command: Ok(Command::Lift),
        };
        core.command(time, &client, &received, Ok(()));
        let line = core.recorder.out().answers.last().expect("an answer");
        let line: Value = serde_json::from_str(line).expect("a line");
        assert_eq!(line["answer"], answered, "{line}");
        let first = core.engine.trading().first_lifter();
        let is_first = first.is_some_and(|first| first.as_str() == person);
        assert_eq!(is_first, answered == "done", "{line}");
        if answered == "refused" {
            let cause = "carl is not in kill_lifters of [risk]";
            assert_eq!(
                (&line["reason"], &line["cause"]),
                (&"not_allowed".into(), &cause.into())
            );
        }
    }
}

/// The refusal of an order by a limit states the limit and the value, to the client and in the log: the reason alone
/// does not show which value would be accepted.
#[test]
fn a_refusal_by_a_limit_names_the_limit_and_the_value() {
    let plain = order("P1", 2_000);
    let at_limit = Order {
        limit: Some(Id::lossy(b"1.1")),
        ..plain
    };
    for (limits, order, admitted, reason, cause) in [
        (
            &[("max_order", "1000")][..],
            plain,
            Ok(()),
            "order_qty",
            "quantity 2000, max_order of EUR/USD is 1000",
        ),
        (
            &[],
            order("P1", 9_001_000),
            Ok(()),
            "client_order_qty",
            "max_order of client desk is 9000000",
        ),
        (
            &[("collar_ticks", "40")],
            at_limit,
            Ok(()),
            "collar",
            "limit 1.1 is 50 ticks beyond the reference 1.0995, collar_ticks of EUR/USD is 40",
        ),
        (
            &[("max_net", "1000")],
            plain,
            Ok(()),
            "net",
            "worst case 2000 with it, max_net of EUR/USD is 1000",
        ),
        (
            &[("max_gross_usd", "1500")],
            plain,
            Ok(()),
            "gross",
            "worst cases of 2000 USD with it, risk.max_gross_usd = 1500",
        ),
        (
            &[],
            plain,
            Err(RATE),
            "rate",
            "max_commands_per_s of client desk is 7",
        ),
    ] {
        let (mut core, time) = engine(limits);
        let (line, told) = answer(&mut core, time, Command::Parent(order), admitted);
        assert_eq!(line["answer"], "refused", "{line}");
        assert_eq!(
            (&line["reason"], &line["cause"]),
            (&reason.into(), &cause.into())
        );
        assert_eq!(told, Some(format!("{reason}: {cause}")));
        assert_eq!(core.totals.alarms, 0, "it has its own count");
    }
    let (mut core, time) = engine(&[("duplicate_ms", "500")]);
    let (line, _) = answer(&mut core, time, Command::Parent(plain), Ok(()));
    assert_eq!(line["answer"], "accepted");
    let again = Command::Parent(order("P2", 2_000));
    let (line, _) = answer(&mut core, time, again, Ok(()));
    assert_eq!(line["cause"], "risk.duplicate_ms = 500", "{line}");
    // A reason without a limit has no cause, also behind one that had.
    let (line, _) = answer(&mut core, time, Command::Parent(plain), Ok(()));
    assert_eq!(
        (&line["reason"], line.get("cause")),
        (&"duplicate_id".into(), None)
    );
}

/// An enable that may have been sent before the desk was called for its bank is answered with the note that it did not
/// release the bank.
#[test]
fn an_enable_in_the_instant_of_the_call_is_answered_as_such() {
    let (mut core, mut time) = engine(&[("status_final", "true\nmass_status = false")]);
    core.said(0, Said::cut(), time);
    core.handle(time, &Input::Desk(Desk::Reboot { epoch: 2 }));
    core.said(0, Said::Up(false), time);
    assert!(
        core.engine.trading().waits_for_desk(0),
        "the desk is called"
    );
    let enable = Command::Enable {
        bank: Id::lossy(b"A"),
        pair: Id::lossy(b"EUR/USD"),
    };
    for (later_ns, expected) in [(0, "not_released"), (2 * SECOND_NS + 1, "done")] {
        time.wall_ns += later_ns;
        time.mono_ns += later_ns;
        let (line, told) = answer(&mut core, time, enable, Ok(()));
        assert_eq!((&line["answer"], told), (&expected.into(), None));
        assert_eq!(
            core.engine.trading().waits_for_desk(0),
            expected == "not_released"
        );
    }
}

/// A refused command beyond the rate is answered like those before it, but on the drop copy alone; a command of a flood
/// whose sender does not wait for answers is only counted.
#[test]
fn a_command_of_a_flood_is_answered_and_not_recorded() {
    let (mut core, time) = engine(&[]);
    let command = Command::Parent(order("P1", 2_000));
    let (first, told) = answer(&mut core, time, command, Err(RATE));
    assert!(told.is_some(), "the log has the first ones");
    let written = |core: &Core<Host, Nothing>| {
        let host = core.recorder.out();
        (host.records.len(), host.answers.len())
    };
    let (records, answers) = written(&core);
    for (notify, count) in [(Notify::Client, 1), (Notify::None, 1)] {
        let admitted = Err(Unadmitted { notify, ..RATE });
        let (line, incident) = answer(&mut core, time, command, admitted);
        assert_eq!((line, incident), (first.clone(), None), "{notify:?}");
        assert_eq!(written(&core), (records, answers + count), "{notify:?}");
    }
    assert_eq!(core.totals.refused, 3);
}

/// A client that must give limits cannot send an order without one, from any program.
#[test]
fn a_client_that_must_give_limits_is_refused_without_one() {
    let (mut core, time) = engine(&[]);
    let text = format!("{CLIENT}limit_required = true\n");
    let client: ClientConfig = toml::from_str(&text).expect("a client");
    let market = order("P1", 2_000);
    let with_limit = Order {
        limit: Some(Id::lossy(b"1.1")),
        ..order("P2", 2_000)
    };
    for (number, (order, answer)) in [(market, "refused"), (with_limit, "accepted")]
        .into_iter()
        .enumerate()
    {
        let received = Received {
            request: time.mono_ns + number as u64,
            command: Ok(Command::Parent(order)),
        };
        core.command(time, &client, &received, Ok(()));
        let line = core.recorder.out().answers.last().expect("an answer");
        let line: Value = serde_json::from_str(line).expect("a line");
        assert_eq!(line["answer"], answer, "{line}");
        if answer == "refused" {
            assert_eq!(line["reason"], "limit_required", "{line}");
            assert_eq!(line["cause"], "client desk must give a limit", "{line}");
        }
    }
}

/// A start continues the numbers behind those of the records: one beyond them would be used again.
#[test]
#[should_panic = "message 1 to bank 0 was sent, and its record ends at number 0"]
fn a_message_leaves_with_a_number_of_its_record() {
    let (core, _) = engine(&[]);
    core.recorder.check_number(0, 1);
}
