//! Changes of the open event, by instrument.

use std::ops::Range;
use touchline_types::{Instrument, InstrumentDefinition, Validity};

const NONE: u32 = u32::MAX;

/// An instrument changed by the open event.
#[derive(Clone, Copy, Debug)]
pub struct InstrumentChanges {
    /// Instrument.
    pub instrument: Instrument,
    /// Security id: updates of one event are published in this order.
    pub security_id: i64,
    /// Validity of its book after the last change.
    pub validity: Validity,
    /// Whether the direct book changed, not only the implied one.
    pub direct: bool,
    /// Whether the whole book must be published: it was rebuilt during the event, or not all of its changes fitted.
    pub rebuilt: bool,
    /// Its row, in order of appearance.
    row: u32,
}

/// Changes of the open event in order of arrival, in runs of one instrument.
///
/// Most events change one instrument: they have the open run alone, and no index.
#[derive(Debug)]
pub struct EventChanges<T> {
    changes: Vec<T>,
    touched: Vec<InstrumentChanges>,
    /// Row of the open run's instrument in `touched`, [`NONE`] if no run is open.
    open: u32,
    /// First change of the open run; all later changes belong to the run.
    open_begin: usize,
    /// Closed runs.
    runs: Vec<Run>,
    /// Row of each instrument in `touched`, if there are several. Entries of other instruments are stale: the row of another one, or
    /// none.
    rows: Vec<u32>,
    /// The changes by instrument, for an event in which an instrument has several runs.
    joined: Vec<T>,
    /// Changes of each instrument, by row.
    parts: Vec<Range<usize>>,
    /// Security ids and rows, small enough for fast sorting.
    order: Vec<(i64, u32)>,
}

/// Consecutive changes of one instrument.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Row of the instrument in `touched`, [`NONE`] if the changes were dropped.
    row: u32,
    /// Its part of the changes.
    begin: usize,
    end: usize,
}

impl<T: Copy> EventChanges<T> {
    /// Allocates room for `changes_max` changes of `instruments_max` instruments.
    pub fn new(changes_max: usize, instruments_max: usize) -> EventChanges<T> {
        EventChanges {
            changes: Vec::with_capacity(changes_max),
            touched: Vec::with_capacity(instruments_max),
            open: NONE,
            open_begin: 0,
            runs: Vec::with_capacity(changes_max),
            rows: Vec::with_capacity(instruments_max),
            joined: Vec::with_capacity(changes_max),
            parts: Vec::with_capacity(instruments_max),
            order: Vec::with_capacity(instruments_max),
        }
    }

    /// Whether the event has no changes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Number of further changes that fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.changes.capacity() - self.changes.len()
    }

    /// Row of an instrument; created at its first change in the event.
    #[inline]
    pub fn touch(
        &mut self,
        definition: &InstrumentDefinition,
        validity: Validity,
    ) -> &mut InstrumentChanges {
        let row = self.row(definition.instrument, || definition.security_id);
        let touched = &mut self.touched[row as usize];
        touched.validity = validity;
        touched
    }

    /// Lets `change` append the changes of an instrument, and returns the instrument's row. `security_id` is called at its first
    /// change in the event.
    #[inline]
    pub fn add(
        &mut self,
        instrument: Instrument,
        security_id: impl FnOnce() -> i64,
        validity: Validity,
        change: impl FnOnce(&mut Vec<T>),
    ) -> &mut InstrumentChanges {
        let is_open = (self.touched.get(self.open as usize))
            .is_some_and(|touched| touched.instrument == instrument);
        if !is_open {
            self.close();
            self.open = self.row(instrument, security_id);
        }
        change(&mut self.changes);
        let touched = &mut self.touched[self.open as usize];
        touched.validity = validity;
        touched
    }

    /// Closes the open run, if any.
    #[inline]
    fn close(&mut self) {
        let (row, begin, end) = (self.open, self.open_begin, self.changes.len());
        if begin < end {
            self.runs.push(Run { row, begin, end });
            self.open_begin = end;
        }
        self.open = NONE;
    }

    /// Drops the changes of an instrument whose book was emptied and is `validity` now. The
    /// instrument stays in the event.
    pub fn forget(&mut self, instrument: Instrument, validity: Validity) {
        let Some(row) = self.known_row(instrument) else {
            return;
        };
        self.close();
        for run in self.runs.iter_mut().filter(|run| run.row == row) {
            run.row = NONE;
        }
        let touched = &mut self.touched[row as usize];
        *touched = InstrumentChanges {
            validity,
            rebuilt: false,
            ..*touched
        };
    }

    /// Makes room for more changes: books with changes are published whole at the end of the event,
    /// so that no subscriber sees half of it.
    #[cold]
    pub fn spill(&mut self) {
        self.close();
        for run in self.runs.iter().filter(|run| run.row != NONE) {
            self.touched[run.row as usize].rebuilt = true;
        }
        self.changes.clear();
        self.runs.clear();
        self.open_begin = 0;
    }

    /// Drops everything.
    #[inline]
    pub fn clear(&mut self) {
        self.touched.clear();
        self.changes.clear();
        self.runs.clear();
        (self.open, self.open_begin) = (NONE, 0);
    }

    /// Passes each changed instrument with its changes to `publish`, by ascending security id, and
    /// clears all.
    #[inline]
    pub fn drain(&mut self, mut publish: impl FnMut(&InstrumentChanges, &[T])) {
        debug_assert_eq!(
            self.broken(),
            None,
            "the changes of an event are published with another instrument, or not at all"
        );
        match self.touched.as_slice() {
            // Most events change one instrument, and no change was dropped: its changes are passed on without a copy.
            [touched] if self.runs.is_empty() => {
                publish(touched, &self.changes);
            }
            _ => self.drain_several(publish),
        }
        self.clear();
    }

    /// The rule that the changes break, if any: each change belongs to one run, and each run to one instrument.
    fn broken(&self) -> Option<&'static str> {
        let mut end = 0;
        for run in &self.runs {
            if run.begin != end || run.end < run.begin {
                return Some("a run does not begin where the run before it ends");
            }
            if run.row != NONE && run.row as usize >= self.touched.len() {
                return Some("a run is of no instrument of the event");
            }
            end = run.end;
        }
        if self.open != NONE && self.open as usize >= self.touched.len() {
            return Some("the open run is of no instrument of the event");
        }
        if end != self.open_begin || (self.open == NONE && end != self.changes.len()) {
            return Some("a change is in no run");
        }
        let is_found =
            |touched: &InstrumentChanges| self.known_row(touched.instrument) == Some(touched.row);
        let is_any_lost = !self.touched.iter().all(is_found);
        is_any_lost.then_some("an instrument of the event is not found by its index")
    }

    /// Passes on the changes of several instruments: each has one run, or its runs are joined first.
    fn drain_several(&mut self, mut publish: impl FnMut(&InstrumentChanges, &[T])) {
        self.close();
        self.runs.retain(|run| run.row != NONE);
        self.parts.clear();
        self.parts.resize(self.touched.len(), 0..0);
        let mut is_joined = true;
        for run in &self.runs {
            let part = &mut self.parts[run.row as usize];
            is_joined &= part.start == part.end;
            *part = run.begin..run.end;
        }
        if !is_joined {
            self.join_runs();
        }
        let EventChanges {
            changes,
            joined,
            parts,
            touched,
            order,
            ..
        } = self;
        let changes = if is_joined { changes } else { joined };
        order.clear();
        order.extend(
            touched
                .iter()
                .map(|touched| (touched.security_id, touched.row)),
        );
        order.sort_unstable();
        for (_, row) in order.iter() {
            let row = *row as usize;
            publish(&touched[row], &changes[parts[row].clone()]);
        }
    }

    /// Copies the changes so that those of an instrument follow each other.
    fn join_runs(&mut self) {
        self.runs.sort_unstable_by_key(|run| (run.row, run.begin));
        self.joined.clear();
        for runs in self.runs.chunk_by(|run, next| run.row == next.row) {
            let begin = self.joined.len();
            for run in runs {
                let changes = &self.changes[run.begin..run.end];
                self.joined.extend_from_slice(changes);
            }
            self.parts[runs[0].row as usize] = begin..self.joined.len();
        }
    }

    #[inline]
    fn row(&mut self, instrument: Instrument, security_id: impl FnOnce() -> i64) -> u32 {
        let row = self.known_row(instrument);
        row.unwrap_or_else(|| self.new_row(instrument, security_id()))
    }

    /// Row of an instrument that the open event has changed.
    #[inline]
    fn known_row(&self, instrument: Instrument) -> Option<u32> {
        let row = match self.touched.len() {
            0 | 1 => 0,
            _ => *self.rows.get(instrument.index())?,
        };
        let touched = self.touched.get(row as usize)?;
        (touched.instrument == instrument).then_some(row)
    }

    fn new_row(&mut self, instrument: Instrument, security_id: i64) -> u32 {
        let row = self.touched.len() as u32;
        if let [first] = self.touched[..] {
            self.enter(first.instrument, 0);
        }
        if row > 0 {
            self.enter(instrument, row);
        }
        self.touched.push(InstrumentChanges {
            instrument,
            security_id,
            validity: Validity::Live,
            direct: false,
            rebuilt: false,
            row,
        });
        row
    }

    /// Enters an instrument into the index, for an event with several.
    fn enter(&mut self, instrument: Instrument, row: u32) {
        let index = instrument.index();
        if index >= self.rows.len() {
            self.rows.resize(index + 1, NONE);
        }
        self.rows[index] = row;
    }
}

/// Reason to publish the changes of the open event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// The event ended.
    EndOfEvent,
    /// A packet was lost.
    Gap,
    /// The input ended within the event.
    EndOfInput,
}

impl FlushReason {
    /// Validity to publish for a book that was `validity` after its last change.
    pub fn validity(self, validity: Validity) -> Validity {
        match (self, validity) {
            // mutant: gateway: a truncated book stays live
            (FlushReason::Gap, Validity::Live) => Validity::Gapped,
            _ => validity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::Depth;

    fn definition(instrument: u32, security_id: i64) -> InstrumentDefinition {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        InstrumentDefinition::unknown(Instrument(instrument), security_id, depth)
    }

    #[test]
    fn changes_are_returned_by_security_id_in_order() {
        let mut event_changes = EventChanges::new(8, 8);
        let live = Validity::Live;
        event_changes
            .add(
                Instrument(3),
                || 10,
                live,
                |changes| changes.extend(['a', 'b']),
            )
            .direct = true;
        event_changes.add(Instrument(0), || 20, live, |changes| changes.push('c'));
        event_changes.add(Instrument(3), || 10, live, |changes| changes.push('d'));
        event_changes.touch(&definition(5, 5), Validity::Natural);
        event_changes.add(Instrument(6), || 30, live, |changes| changes.push('e'));
        event_changes.forget(Instrument(0), Validity::Recovering);
        let mut out = Vec::new();
        event_changes.drain(|touched, changes| {
            out.push((
                touched.security_id,
                touched.direct,
                changes.iter().collect::<String>(),
            ));
        });
        let expected = [
            (5, false, ""),
            (10, true, "abd"),
            (20, false, ""),
            (30, false, "e"),
        ];
        assert_eq!(
            out,
            expected.map(|(id, direct, text)| (id, direct, text.to_owned()))
        );
        assert!(event_changes.is_empty() && event_changes.room() == 8);
        event_changes.drain(|_, _| panic!("everything was given"));
    }

    #[test]
    fn changes_of_no_instrument_are_found() {
        let of_two = || {
            let mut event_changes = EventChanges::new(8, 8);
            for (instrument, change) in [(3, 'a'), (5, 'b')] {
                let instrument = Instrument(instrument);
                event_changes.add(
                    instrument,
                    || 10,
                    Validity::Live,
                    |changes| changes.push(change),
                );
                assert_eq!(event_changes.broken(), None);
            }
            event_changes.close();
            assert_eq!(event_changes.broken(), None);
            event_changes
        };
        type Break = fn(&mut EventChanges<char>);
        let cases: [(Break, &str); 5] = [
            (|broken| broken.changes.push('c'), "a change is in no run"),
            (|broken| broken.open = 2, "the open run is of no"),
            (|broken| broken.runs[1].begin = 0, "does not begin where"),
            (|broken| broken.runs[1].row = 2, "of no instrument"),
            (|broken| broken.rows[3] = 1, "not found by its index"),
        ];
        for (break_it, expected) in cases {
            let mut event_changes = of_two();
            break_it(&mut event_changes);
            let found = event_changes.broken().expect("it is found");
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn changes_beyond_the_limit_cause_a_snapshot_of_the_book() {
        let mut event_changes = EventChanges::new(2, 8);
        let live = Validity::Live;
        event_changes.add(Instrument(0), || 10, live, |changes| changes.push('a'));
        event_changes.touch(&definition(1, 20), live);
        event_changes.add(Instrument(2), || 30, live, |changes| changes.push('b'));
        event_changes.forget(Instrument(2), live);
        event_changes.spill();
        assert_eq!(event_changes.room(), 2);
        event_changes.add(Instrument(1), || 20, live, |changes| changes.push('c'));
        let mut out = Vec::new();
        event_changes.drain(|touched, changes| {
            out.push((touched.security_id, touched.rebuilt, changes.to_vec()));
        });
        assert_eq!(
            out,
            [
                (10, true, vec![]),
                (20, false, vec!['c']),
                (30, false, vec![])
            ]
        );
    }

    #[test]
    fn clearing_one_instrument_keeps_its_later_changes() {
        let mut event_changes = EventChanges::new(8, 8);
        event_changes.add(
            Instrument(1),
            || 7,
            Validity::Live,
            |changes| changes.extend(['a', 'b']),
        );
        event_changes.forget(Instrument(1), Validity::Natural);
        event_changes.add(
            Instrument(1),
            || 7,
            Validity::Natural,
            |changes| changes.push('c'),
        );
        let mut out = String::new();
        event_changes.drain(|_, changes| out.extend(changes));
        assert_eq!(out, "c");
    }
}
