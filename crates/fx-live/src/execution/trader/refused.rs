//! Tests of an engine whose journal refuses a record.

use super::carry::Core;
use super::stopped::{Nothing, config, order, show, with_a_parent};
use crate::execution::config::ClientConfig;
use crate::execution::desk::Received;
use crate::execution::edge::Output;
use crate::execution::order_session::Said;
use crate::execution::recovery::recover_from;
use crate::execution::trader::Incident;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use touchline_fx_desk::records;
use touchline_fx_events::command::Command;
use touchline_fx_events::encoding::{Decoder, Entry, Place, kind, kinds};
use touchline_journal::{Appended, Record, Refused, StartReport, State};
use touchline_types::ReceiveTime;

/// A journal without a next segment: a record is refused if it does not fit the rest of this one.
#[derive(Clone)]
struct LastSegment {
    room: Rc<Cell<usize>>,
    records: Rc<RefCell<Vec<Stored>>>,
    /// Number and contents of each published record.
    published: Rc<RefCell<Vec<(u64, Stored)>>>,
    is_given_up: Rc<Cell<bool>>,
    is_failure_recorded: Rc<Cell<bool>>,
}

/// The parts of a record that the tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    length: usize,
    has_order: bool,
    has_kill: bool,
    /// Number of its command.
    request: Option<u64>,
    /// Why the command was refused.
    refusal: Option<String>,
}

impl Stored {
    fn of(body: &[u8]) -> Stored {
        let has = |wanted| kinds(body).any(|of| of == wanted);
        let (mut request, mut refusal) = (None, None);
        let _ = Decoder::joined(b"").read(body, |_, _, entry, _| match entry {
            Entry::Command {
                request: number, ..
            } => request = Some(number),
            Entry::Answer(answer) => refusal = answer.reason.map(str::to_owned),
            _ => {}
        });
        Stored {
            length: body.len(),
            has_order: has(kind::ORDER),
            has_kill: has(kind::KILL),
            request,
            refusal,
        }
    }
}

impl LastSegment {
    fn new() -> LastSegment {
        LastSegment {
            room: Rc::new(Cell::new(usize::MAX)),
            records: Rc::default(),
            published: Rc::default(),
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
        let mut records = self.records.borrow_mut();
        records.push(Stored::of(record.body));
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

    fn begin_run(&mut self, _run: &[u8]) {}

    fn publish(&mut self, part: &[u8]) {
        let place = Place::of(part).expect("a part of a batch");
        self.published
            .borrow_mut()
            .push((place.first, Stored::of(part)));
    }

    fn since_ns(&self, _mono_ns: u64) -> u64 {
        0
    }
}

/// Records of a session in which a parent makes one order, whose record has this much room, and the core afterwards.
fn trade(room: usize) -> (Vec<Stored>, Core<LastSegment, Nothing>) {
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
    let journal = LastSegment::new();
    let (mut core, time) = with_a_parent(journal.clone());
    journal.records.borrow_mut().clear();
    journal.room.set(0);
    let numbers = records::Record::Numbers {
        bank: 0,
        next_out: 2,
        next_in: 2,
    };
    let refused = core.recorder.append(time.wall_ns, &numbers).err();
    assert_eq!(refused, Some(Refused::NoSegment));
    journal.room.set(usize::MAX);
    core.said(0, Said::Down("cut".to_owned(), 1), time);
    assert_eq!(journal.records.take(), []);
    assert!(core.engine.trading().is_killed());
}

/// An event that the journal refused is published without a number, and its command is answered as refused.
#[test]
fn what_the_journal_refused_has_no_number() {
    let journal = LastSegment::new();
    let (mut core, time) = with_a_parent(journal.clone());
    let before = journal.published.take();
    let last = before.last().expect("what was published").0;
    journal.room.set(0);
    let client: ClientConfig =
        toml::from_str("name = \"desk\"\nmay = [\"send\"]\nmax_order = 5000\n").expect("a client");
    let command = Received {
        request: 7,
        command: Ok(Command::Parent(order("P2", 1_000))),
    };
    core.command(time, &client, &command, Ok(()));
    let published = journal.published.borrow();
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
    let journal = LastSegment::new();
    let (mut core, time) = with_a_parent(journal.clone());
    journal.records.borrow_mut().clear();
    let client: ClientConfig =
        toml::from_str("name = \"desk\"\nmay = [\"kill\"]\nmax_order = 1\n").expect("a client");
    for request in [7, u64::MAX] {
        let command = Ok(Command::Kill);
        core.command(time, &client, &Received { request, command }, Ok(()));
    }
    assert!(core.engine.trading().is_killed());
    let records = journal.records.borrow();
    let kills = records.iter().filter(|record| record.has_kill);
    let requests: Vec<Option<u64>> = kills.map(|record| record.request).collect();
    assert_eq!(requests, [Some(7), Some(0)]);
}

/// A start behind a journal that failed, with this much room: whether the kill is recorded, and the failure with it.
fn start_after_failure(room: usize) -> (Vec<Stored>, bool, bool) {
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
        core.engine.trading().is_killed(),
        journal.is_failure_recorded.get(),
    )
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
