//! What the open event has changed so far, by instrument.

use touchline_types::{Instrument, InstrumentDefinition, Validity};

const NONE: u32 = u32::MAX;

/// An instrument that the open event touched.
#[derive(Clone, Copy, Debug)]
pub struct Touched {
    /// Which.
    pub instrument: Instrument,
    /// The venue's identifier: updates of one event go out in its order.
    pub venue_id: i64,
    /// What its book is with the last change.
    pub validity: Validity,
    /// Whether the direct book was touched, not only the implied one.
    pub direct: bool,
    /// Whether the whole book is to be published, because it was rebuilt during the event.
    pub rebuilt: bool,
    first: u32,
    last: u32,
}

/// Changes of the open event, in one buffer, chained by instrument.
#[derive(Debug)]
pub struct Gathered<T> {
    changes: Vec<(T, u32)>,
    touched: Vec<Touched>,
    /// Per instrument its row in `touched`, [`NONE`] if the open event has not touched it.
    rows: Vec<u32>,
    scratch: Vec<T>,
}

impl<T: Copy> Gathered<T> {
    /// Room for `changes_max` changes of `instruments_max` instruments, taken now.
    pub fn new(changes_max: usize, instruments_max: usize) -> Gathered<T> {
        Gathered {
            changes: Vec::with_capacity(changes_max),
            touched: Vec::with_capacity(instruments_max),
            rows: Vec::with_capacity(instruments_max),
            scratch: Vec::with_capacity(changes_max),
        }
    }

    /// Whether the event has touched nothing.
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// How many more changes there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        self.changes.capacity() - self.changes.len()
    }

    /// The row of an instrument, made if the event has not touched it yet.
    #[inline]
    pub fn touch(&mut self, definition: &InstrumentDefinition, validity: Validity) -> &mut Touched {
        let InstrumentDefinition {
            instrument,
            venue_id,
            ..
        } = *definition;
        let row = self.row(instrument);
        let touched = &mut self.touched[row];
        touched.venue_id = venue_id;
        touched.validity = validity;
        touched
    }

    /// Adds changes of an instrument that was touched.
    #[inline]
    pub fn add(&mut self, instrument: Instrument, changes: &[T]) {
        let row = self.row(instrument);
        for change in changes {
            let index = self.changes.len() as u32;
            self.changes.push((*change, NONE));
            let touched = &mut self.touched[row];
            match touched.last {
                NONE => touched.first = index,
                last => self.changes[last as usize].1 = index,
            }
            touched.last = index;
        }
    }

    /// Forgets the changes of an instrument, whose book was emptied and is `validity` now. That it
    /// was touched stays known.
    pub fn forget(&mut self, instrument: Instrument, validity: Validity) {
        if let Some(row) = self
            .rows
            .get(instrument.index())
            .filter(|row| **row != NONE)
        {
            let touched = &mut self.touched[*row as usize];
            *touched = Touched {
                validity,
                rebuilt: false,
                first: NONE,
                last: NONE,
                ..*touched
            };
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for touched in &self.touched {
            self.rows[touched.instrument.index()] = NONE;
        }
        self.touched.clear();
        self.changes.clear();
    }

    /// Gives each touched instrument with its changes, by ascending venue id, and forgets all.
    #[inline]
    pub fn drain(&mut self, mut publish: impl FnMut(&Touched, &[T])) {
        if self.touched.len() > 1 {
            // Ids differ, so that an unstable sort gives one order.
            self.touched
                .sort_unstable_by_key(|touched| touched.venue_id);
        }
        for touched in &self.touched {
            self.scratch.clear();
            let mut next = touched.first;
            while next != NONE {
                let (change, after) = self.changes[next as usize];
                self.scratch.push(change);
                next = after;
            }
            publish(touched, &self.scratch);
        }
        self.clear();
    }

    #[inline]
    fn row(&mut self, instrument: Instrument) -> usize {
        if instrument.index() >= self.rows.len() {
            self.rows.resize(instrument.index() + 1, NONE);
        }
        let row = &mut self.rows[instrument.index()];
        if *row == NONE {
            *row = self.touched.len() as u32;
            self.touched.push(Touched {
                instrument,
                venue_id: 0,
                validity: Validity::Live,
                direct: false,
                rebuilt: false,
                first: NONE,
                last: NONE,
            });
        }
        *row as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::Depth;

    fn definition(instrument: u32, venue_id: i64) -> InstrumentDefinition {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        InstrumentDefinition::unknown(Instrument(instrument), venue_id, depth)
    }

    #[test]
    fn changes_come_out_by_venue_id_in_their_order() {
        let mut gathered = Gathered::new(8, 8);
        gathered.touch(&definition(3, 10), Validity::Live).direct = true;
        gathered.add(Instrument(3), &['a', 'b']);
        gathered.touch(&definition(0, 20), Validity::Live);
        gathered.add(Instrument(0), &['c']);
        gathered.touch(&definition(3, 10), Validity::Live);
        gathered.add(Instrument(3), &['d']);
        gathered.touch(&definition(5, 5), Validity::Natural);
        gathered.forget(Instrument(0), Validity::Recovering);
        let mut out = Vec::new();
        gathered.drain(|touched, changes| {
            out.push((
                touched.venue_id,
                touched.direct,
                changes.iter().collect::<String>(),
            ));
        });
        let expected = [(5, false, ""), (10, true, "abd"), (20, false, "")];
        assert_eq!(
            out,
            expected.map(|(id, direct, text)| (id, direct, text.to_owned()))
        );
        assert!(gathered.is_empty() && gathered.room() == 8);
        gathered.drain(|_, _| panic!("everything was given"));
    }
}
