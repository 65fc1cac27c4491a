//! Changes of the open event, by instrument.

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

/// Changes of the open event in order of arrival, each with the row of its instrument.
#[derive(Debug)]
pub struct EventChanges<T> {
    changes: Vec<T>,
    /// Row of each change in `touched`, [`NONE`] if it was dropped.
    owners: Vec<u32>,
    touched: Vec<InstrumentChanges>,
    /// Row of each instrument in `touched`, [`NONE`] if the open event has not changed it.
    rows: Vec<u32>,
    sorted: Vec<T>,
    ends: Vec<u32>,
    /// Security ids and rows, small enough for fast sorting.
    order: Vec<(i64, u32)>,
}

impl<T: Copy> EventChanges<T> {
    /// Allocates room for `changes_max` changes of `instruments_max` instruments.
    pub fn new(changes_max: usize, instruments_max: usize) -> EventChanges<T> {
        EventChanges {
            changes: Vec::with_capacity(changes_max),
            owners: Vec::with_capacity(changes_max),
            touched: Vec::with_capacity(instruments_max),
            rows: Vec::with_capacity(instruments_max),
            sorted: Vec::with_capacity(changes_max),
            ends: Vec::with_capacity(instruments_max),
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
        let row = self.row(definition);
        let touched = &mut self.touched[row as usize];
        touched.validity = validity;
        touched
    }

    /// Lets `change` append the changes of an instrument, and returns the instrument's row.
    #[inline]
    pub fn add(
        &mut self,
        definition: &InstrumentDefinition,
        validity: Validity,
        change: impl FnOnce(&mut Vec<T>),
    ) -> &mut InstrumentChanges {
        let row = self.row(definition);
        change(&mut self.changes);
        self.owners.resize(self.changes.len(), row);
        let touched = &mut self.touched[row as usize];
        touched.validity = validity;
        touched
    }

    /// Drops the changes of an instrument whose book was emptied and is `validity` now. The
    /// instrument stays in the event.
    pub fn forget(&mut self, instrument: Instrument, validity: Validity) {
        let Some(&row) = self
            .rows
            .get(instrument.index())
            .filter(|row| **row != NONE)
        else {
            return;
        };
        for owner in self.owners.iter_mut().filter(|owner| **owner == row) {
            *owner = NONE;
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
        for owner in self.owners.iter().filter(|owner| **owner != NONE) {
            self.touched[*owner as usize].rebuilt = true;
        }
        self.changes.clear();
        self.owners.clear();
    }

    /// Drops everything.
    #[inline]
    pub fn clear(&mut self) {
        for touched in &self.touched {
            self.rows[touched.instrument.index()] = NONE;
        }
        self.touched.clear();
        self.changes.clear();
        self.owners.clear();
    }

    /// Passes each changed instrument with its changes to `publish`, by ascending security id, and
    /// clears all.
    #[inline]
    pub fn drain(&mut self, mut publish: impl FnMut(&InstrumentChanges, &[T])) {
        match self.touched.as_slice() {
            // Most events change one instrument, and dropped nothing.
            [touched] if self.owners.first() != Some(&NONE) => publish(touched, &self.changes),
            _ => self.drain_sorted(publish),
        }
        self.clear();
    }

    /// Sorts the changes by instrument: count, prefix sums, placement.
    fn drain_sorted(&mut self, mut publish: impl FnMut(&InstrumentChanges, &[T])) {
        let EventChanges {
            changes,
            owners,
            touched,
            sorted,
            ends,
            order,
            ..
        } = self;
        ends.clear();
        ends.resize(touched.len(), 0);
        for owner in owners.iter().filter(|owner| **owner != NONE) {
            ends[*owner as usize] += 1;
        }
        let mut end = 0;
        for count in ends.iter_mut() {
            // First the start; placing the changes moves it to the end.
            end += std::mem::replace(count, end);
        }
        sorted.clear();
        sorted.extend_from_slice(changes);
        for (change, owner) in changes
            .iter()
            .zip(owners.iter())
            .filter(|(_, owner)| **owner != NONE)
        {
            let place = &mut ends[*owner as usize];
            sorted[*place as usize] = *change;
            *place += 1;
        }
        order.clear();
        order.extend(
            touched
                .iter()
                .map(|touched| (touched.security_id, touched.row)),
        );
        order.sort_unstable();
        for (_, row) in order.iter() {
            let row = *row as usize;
            let start = row.checked_sub(1).map_or(0, |before| ends[before]);
            publish(&touched[row], &sorted[start as usize..ends[row] as usize]);
        }
    }

    #[inline]
    fn row(&mut self, definition: &InstrumentDefinition) -> u32 {
        let index = definition.instrument.index();
        match self.rows.get(index) {
            Some(&row) if row != NONE => row,
            _ => self.new_row(definition, index),
        }
    }

    fn new_row(&mut self, definition: &InstrumentDefinition, index: usize) -> u32 {
        if index >= self.rows.len() {
            self.rows.resize(index + 1, NONE);
        }
        let row = self.touched.len() as u32;
        self.rows[index] = row;
        self.touched.push(InstrumentChanges {
            instrument: definition.instrument,
            security_id: definition.security_id,
            validity: Validity::Live,
            direct: false,
            rebuilt: false,
            row,
        });
        row
    }
}

/// Reason to publish the changes of the open event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushReason {
    /// The event ended.
    EndOfEvent,
    /// A packet was lost.
    Gap,
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
            .add(&definition(3, 10), live, |changes| {
                changes.extend(['a', 'b'])
            })
            .direct = true;
        event_changes.add(&definition(0, 20), live, |changes| changes.push('c'));
        event_changes.add(&definition(3, 10), live, |changes| changes.push('d'));
        event_changes.touch(&definition(5, 5), Validity::Natural);
        event_changes.add(&definition(6, 30), live, |changes| changes.push('e'));
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
    fn changes_beyond_the_limit_cause_a_snapshot_of_the_book() {
        let mut event_changes = EventChanges::new(2, 8);
        let live = Validity::Live;
        event_changes.add(&definition(0, 10), live, |changes| changes.push('a'));
        event_changes.touch(&definition(1, 20), live);
        event_changes.add(&definition(2, 30), live, |changes| changes.push('b'));
        event_changes.forget(Instrument(2), live);
        event_changes.spill();
        assert_eq!(event_changes.room(), 2);
        event_changes.add(&definition(1, 20), live, |changes| changes.push('c'));
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
        event_changes.add(&definition(1, 7), Validity::Live, |changes| {
            changes.extend(['a', 'b'])
        });
        event_changes.forget(Instrument(1), Validity::Natural);
        event_changes.add(&definition(1, 7), Validity::Natural, |changes| {
            changes.push('c')
        });
        let mut out = String::new();
        event_changes.drain(|_, changes| out.extend(changes));
        assert_eq!(out, "c");
    }
}
