//! Tests of an engine whose journal refuses a record.

use super::carry::Core;
use super::stopped::{Nothing, show, with_a_parent};
use crate::edge::Output;
use crate::order_session::Said;
use crate::records::kind;
use crate::trader::Incident;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use touchline_journal::{Appended, Record, Refused, State};

/// A journal without a next segment: a record is refused if it does not fit the rest of this one.
#[derive(Clone)]
struct LastSegment {
    room: Rc<Cell<usize>>,
    /// Kinds and lengths of the records.
    records: Rc<RefCell<Vec<(u16, usize)>>>,
    is_given_up: Rc<Cell<bool>>,
}

impl Output for LastSegment {
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if self.is_given_up.get() {
            return Err(Refused::Failed { errno: 28 });
        }
        let room = self.room.get().checked_sub(record.body.len());
        self.room.set(room.ok_or(Refused::NoSegment)?);
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

    fn failure_recorded(&mut self) {}

    fn publish(&mut self, _kind: u8, _number: u64, _line: &str) {}

    fn since_ns(&self, _mono_ns: u64) -> u64 {
        0
    }
}

/// Records of a session in which a parent makes one order, whose record finds this much room, and the core behind it.
fn trade(room: usize) -> (Vec<(u16, usize)>, Core<LastSegment, Nothing>) {
    let journal = LastSegment {
        room: Rc::new(Cell::new(usize::MAX)),
        records: Rc::default(),
        is_given_up: Rc::default(),
    };
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
