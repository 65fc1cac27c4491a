//! Tests of an engine whose journal refuses a record.

use super::carry::Core;
use super::stopped::{Nothing, config, show, with_a_parent};
use crate::config::ClientConfig;
use crate::desk::{Command, KILL};
use crate::edge::Output;
use crate::order_session::Said;
use crate::records::{Record as Of, kind};
use crate::recovery::recover_from;
use crate::trader::Incident;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use touchline_journal::{Appended, Record, Refused, StartReport, State};
use touchline_types::ReceiveTime;

/// A journal without a next segment: a record is refused if it does not fit the rest of this one.
#[derive(Clone)]
struct LastSegment {
    room: Rc<Cell<usize>>,
    /// Kinds and lengths of the records.
    records: Rc<RefCell<Vec<(u16, usize)>>>,
    /// Numbers of the commands.
    requests: Rc<RefCell<Vec<u64>>>,
    is_given_up: Rc<Cell<bool>>,
    is_failure_recorded: Rc<Cell<bool>>,
}

impl LastSegment {
    fn new() -> LastSegment {
        LastSegment {
            room: Rc::new(Cell::new(usize::MAX)),
            records: Rc::default(),
            requests: Rc::default(),
            is_given_up: Rc::default(),
            is_failure_recorded: Rc::default(),
        }
    }
}

impl Output for LastSegment {
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if self.is_given_up.get() {
            return Err(Refused::Failed { errno: 28 });
        }
        let room = self.room.get().checked_sub(record.body.len());
        self.room.set(room.ok_or(Refused::NoSegment)?);
        if let Some(Of::Command { request, .. }) = Of::decode(record.kind, record.body) {
            self.requests.borrow_mut().push(request);
        }
        let mut records = self.records.borrow_mut();
        records.push((record.kind, record.body.len()));
        let sequence = records.len() as u64;
        Ok(Appended {
            position: sequence - 1,
            end: sequence,
            sequence,
        })
    }

    fn wait_until_safe(&mut self, _record: &Appended, _wait_ns: u64) -> bool {
        true
    }

    fn state(&self) -> (State, u64) {
        match self.is_given_up.get() {
            true => (State::Failed, 28),
            false => (State::Running, 0),
        }
    }

    fn alarm(&self) -> u64 {
        28
    }

    fn give_up(&mut self) {
        self.is_given_up.set(true);
    }

    fn failure_recorded(&mut self) {
        self.is_failure_recorded.set(true);
    }

    fn publish(&mut self, _kind: u8, _number: u64, _line: &str) {}

    fn since_ns(&self, _mono_ns: u64) -> u64 {
        0
    }
}

/// Records of a session in which a parent makes one order, whose record finds this much room, and the core behind it.
fn trade(room: usize) -> (Vec<(u16, usize)>, Core<LastSegment, Nothing>) {
    let journal = LastSegment::new();
    let (mut core, time) = with_a_parent(journal.clone());
    journal.records.borrow_mut().clear();
    journal.room.set(room);
    show(&mut core, time, 1_099_500_000);
    core.said(0, Said::Down("cut".to_owned(), 1), time);
    core.watch_journal(time);
    let records = journal.records.take();
    (records, core)
}

/// The lines of an order have no room. The short record of a session that is lost would have: it is not in the journal, so that the
/// next start finds the order without lines and tells it. The kill switch is set.
#[test]
fn no_record_follows_one_that_the_journal_refused() {
    let (records, core) = trade(usize::MAX);
    let kinds: Vec<u16> = records.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds[..3], [kind::ORDER, kind::LINES, kind::SESSION]);
    assert!(!core.engine.is_killed());
    let (order, session) = (records[0].1, records[2].1);
    let (records, core) = trade(order + session);
    assert_eq!(records, [(kind::ORDER, order)]);
    assert!(core.engine.is_killed());
    let mut failures = core.incidents.iter().filter_map(|incident| match incident {
        Incident::JournalFailed { why } => Some(why.as_str()),
        _ => None,
    });
    let why = Refused::NoSegment.to_string();
    assert_eq!(failures.next(), Some(why.as_str()));
    assert_eq!(failures.next(), None);
}

/// A process that dies between the records of a kill leaves a kill, and not a command that the next start takes for executed. A number
/// from the future is not that of the client's last command.
#[test]
fn a_kill_is_recorded_before_its_command() {
    let journal = LastSegment::new();
    let (mut core, time) = with_a_parent(journal.clone());
    journal.records.borrow_mut().clear();
    let client: ClientConfig =
        toml::from_str("name = \"desk\"\nmay = [\"kill\"]\nmax_order = 1\n").expect("a client");
    for request in [7, u64::MAX] {
        let text = KILL.to_owned();
        core.command(time, &client, &Command { request, text }, Ok(()));
    }
    assert!(core.engine.is_killed());
    let kinds: Vec<u16> = journal
        .records
        .borrow()
        .iter()
        .map(|(kind, _)| *kind)
        .collect();
    let at = |wanted| kinds.iter().position(|kind| *kind == wanted);
    assert!(at(kind::DECIDED) < at(kind::COMMAND), "{kinds:?}");
    assert_eq!(*journal.requests.borrow(), [7, 0]);
}

/// A start behind a journal that failed, with this much room: whether the kill is recorded, and the failure with it.
fn start_after_failure(room: usize) -> (Vec<(u16, usize)>, bool, bool) {
    let journal = LastSegment::new();
    journal.room.set(room);
    let config = config();
    let setup = config.setup().expect("a setup");
    let mut recovered = recover_from(&setup, |_| Ok(())).expect("an empty journal");
    recovered.note_start(&StartReport {
        epoch: 2,
        had_failed: true,
        ..StartReport::default()
    });
    let mut core = Core::new(&config, journal.clone(), [Nothing], recovered, 2);
    core.begin(&config, 2, ReceiveTime::at(1_000_000_000))
        .expect("only the kill is refused");
    let records = journal.records.take();
    (
        records,
        core.engine.is_killed(),
        journal.is_failure_recorded.get(),
    )
}

/// The kill of a journal that failed is set at the start. Only its record lets the failure be forgotten.
#[test]
fn a_start_whose_kill_is_refused_leaves_the_failure_to_the_next_one() {
    let (records, is_killed, is_recorded) = start_after_failure(usize::MAX);
    assert!(is_killed && is_recorded);
    let kill = records.iter().position(|(kind, _)| *kind == kind::DECIDED);
    let before = &records[..kill.expect("a kill")];
    let room = before.iter().map(|(_, length)| length).sum();
    let (records, is_killed, is_recorded) = start_after_failure(room);
    assert_eq!(records, before);
    assert!(is_killed && !is_recorded);
}
