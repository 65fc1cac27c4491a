//! Tests of an engine whose journal refuses a record.

use super::carry::Core;
use super::rig::{Host, Nothing, Stored, order, show, with_a_parent};
use crate::execution::config::tests::text;
use crate::execution::config::{ClientConfig, Config};
use crate::execution::desk::Received;
use crate::execution::order_session::Said;
use crate::execution::recovery::recover_from;
use crate::execution::trader::Incident;
use touchline_fx_desk::records;
use touchline_fx_events::command::Command;
use touchline_journal::{Refused, StartReport};
use touchline_types::ReceiveTime;

/// An engine with a parent, whose journal has this much room, and none of the records so far.
fn with_room(room: usize) -> (Core<Host, Nothing>, ReceiveTime) {
    let (mut core, time) = with_a_parent();
    let host = core.recorder.out_mut();
    host.records.clear();
    host.room = room;
    (core, time)
}

/// Records of a session in which a parent makes one order, whose record has this much room, and the core afterwards.
fn trade(room: usize) -> (Vec<Stored>, Core<Host, Nothing>) {
    let (mut core, time) = with_room(room);
    show(&mut core, time, 1_099_500_000);
    core.said(0, Said::cut(), time);
    core.watch_journal(time);
    let records = std::mem::take(&mut core.recorder.out_mut().records);
    (records, core)
}

/// The record of an order has no room. The short record of a lost session would have room, but is not in the journal: a
/// refused record is the last. The order is not sent, and the kill switch is set.
#[test]
fn no_record_follows_one_that_the_journal_refused() {
    let (records, core) = trade(usize::MAX);
    let (order, session) = (&records[0], &records[1]);
    assert!(
        order.has_order && session.length < order.length,
        "{records:?}"
    );
    assert!(!core.engine.trading().is_killed());
    let (records, core) = trade(order.length - 1);
    assert_eq!((records, core.totals.orders), (Vec::new(), 0));
    assert!(core.engine.trading().is_killed());
    let mut failures = core.incidents.iter().filter_map(|incident| match incident {
        Incident::JournalFailed { why } => Some(why.as_str()),
        _ => None,
    });
    let why = Refused::NoSegment.to_string();
    assert_eq!(failures.next(), Some(why.as_str()));
    assert_eq!(failures.next(), None);
    // Numbers that are refused stop no order, and the next segment may be there a moment later.
    let (mut core, time) = with_room(0);
    let numbers = records::Record::Numbers {
        bank: 0,
        next_out: 2,
        next_in: 2,
    };
    let refused = core.recorder.append(time.wall_ns, &numbers).err();
    assert_eq!(refused, Some(Refused::NoSegment));
    core.recorder.out_mut().room = usize::MAX;
    core.said(0, Said::cut(), time);
    assert_eq!(core.recorder.out().records, []);
    assert!(core.engine.trading().is_killed());
}

/// An event that the journal refused is published without a number, and its command is answered as refused.
#[test]
fn what_the_journal_refused_has_no_number() {
    let (mut core, time) = with_room(0);
    let before = std::mem::take(&mut core.recorder.out_mut().published);
    let last = before.last().expect("what was published").0;
    let client: ClientConfig =
        toml::from_str("name = \"desk\"\nmay = [\"send\"]\nmax_order = 5000\n").expect("a client");
    let command = Received {
        request: 7,
        command: Ok(Command::Parent(order("P2", 1_000))),
    };
    core.command(time, &client, &command, Ok(()));
    let published = &core.recorder.out().published;
    let refused = published
        .iter()
        .find(|(_, stored)| stored.request == Some(7));
    let (number, stored) = refused.expect("the command");
    assert_eq!((*number, stored.refusal.as_deref()), (0, Some("kill")));
    let numbered = published.iter().filter(|(number, _)| *number > last);
    assert_eq!(numbered.count(), 0, "{published:?}");
    assert!(core.engine.trading().is_killed() && core.totals.orders == 0);
}

/// A kill is in the record of its command: a process that dies leaves both or none, and no start takes the command for executed
/// without it. A number from the future is not that of the client's last command.
#[test]
fn a_kill_is_in_the_record_of_its_command() {
    let (mut core, time) = with_room(usize::MAX);
    let client: ClientConfig =
        toml::from_str("name = \"desk\"\nmay = [\"kill\"]\nmax_order = 1\n").expect("a client");
    for request in [7, u64::MAX] {
        let command = Ok(Command::Kill);
        core.command(time, &client, &Received { request, command }, Ok(()));
    }
    assert!(core.engine.trading().is_killed());
    let records = core.recorder.out().records.iter();
    let kills = records.filter(|record| record.has_kill);
    let requests: Vec<Option<u64>> = kills.map(|record| record.request).collect();
    assert_eq!(requests, [Some(7), Some(0)]);
}

/// A start behind a journal that failed, with this much room: whether the kill is recorded, and the failure with it.
fn start_after_failure(room: usize) -> (Vec<Stored>, bool, bool) {
    let config = Config::parse(&text()).expect("a configuration");
    let setup = config.setup().expect("a setup");
    let mut recovered = recover_from(&setup, |_| Ok(())).expect("an empty journal");
    recovered.note_start(&StartReport {
        epoch: 2,
        had_failed: true,
        ..StartReport::default()
    });
    let host = Host {
        room,
        ..Host::default()
    };
    let mut core = Core::new(&config, host, [Nothing], recovered, 2);
    core.begin(&config, 2, ReceiveTime::at(1_000_000_000))
        .expect("only the kill is refused");
    let is_killed = core.engine.trading().is_killed();
    let host = core.recorder.into_out();
    (host.records, is_killed, host.is_failure_recorded)
}

/// The kill of a journal that failed is set at the start. Only its record lets the failure be forgotten.
#[test]
fn a_start_whose_kill_is_refused_leaves_the_failure_to_the_next_one() {
    let (records, is_killed, is_recorded) = start_after_failure(usize::MAX);
    assert!(is_killed && is_recorded);
    let kill = records.iter().position(|record| record.has_kill);
    let before = &records[..kill.expect("a kill")];
    let room = before.iter().map(|record| record.length).sum();
    let (records, is_killed, is_recorded) = start_after_failure(room);
    assert_eq!(records, before);
    assert!(is_killed && !is_recorded);
}
