//! Last values of instruments and groups, handed out after each book while joining, if requested.
//!
//! A receiver that was present earlier would have the same values: a trade is handed out as a snapshot, and again if the ring
//! contains it, since it may have happened during joining. Statistics and statuses contained in a snapshot are not
//! repeated.

use super::orders::OrderPart;
use super::{Item, Part, Step, Subscriber, image_item};
use crate::market::Kinds;
use crate::market::last_values::{self, ENTRIES, GROUPS, LastValue, Value};
use crate::market::reading::LAST_VALUES;
use touchline_shm::last_value::Found;
use touchline_types::Instrument;

impl Subscriber {
    /// Hands out the next last value of an instrument, from an entry on.
    pub(super) fn join_last_values<T>(
        &mut self,
        instrument: Instrument,
        entry: usize,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let after = Part::Definition(instrument.0 + 1);
        if entry == 0 {
            if !self.takes_last_values() || !self.rows.is_wanted(instrument) {
                self.go_on(after);
                return Step::Passed;
            }
            match self.read_last_values(last_values::slot_of(instrument)) {
                Found::Content { position } => self.rows.last_values_taken(instrument, position),
                Found::Busy(_) | Found::Overwritten if self.tries_later() => return Step::Nothing,
                _ => {
                    self.go_on(after);
                    return Step::Passed;
                }
            }
        }
        let content = &self.scratch.last_values;
        let kinds = self.settings.kinds;
        let found = (entry..ENTRIES).find_map(|entry| {
            let value = last_values::read(content, entry, Some(instrument))?;
            is_of(&value, kinds).then_some((entry, value))
        });
        let Some((entry, value)) = found else {
            self.go_on(after);
            return Step::Passed;
        };
        self.go_on(Part::LastValues(instrument.0, entry + 1));
        Step::Given(take(image_item(
            value.sequence,
            value.timestamps,
            value.value.update(),
        )))
    }

    /// Hands out the status of a product group.
    pub(super) fn join_group<T>(
        &mut self,
        slot: usize,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let is_wanted = self.takes_last_values() && self.settings.kinds.has_any(Kinds::STATUS);
        if !is_wanted || slot >= GROUPS {
            self.go_on(Part::Orders(OrderPart::Begin));
            return Step::Passed;
        }
        let position = match self.read_last_values(slot) {
            Found::Content { position } => position,
            Found::Busy(_) | Found::Overwritten if self.tries_later() => return Step::Nothing,
            _ => {
                self.go_on(Part::Group(slot + 1));
                return Step::Passed;
            }
        };
        self.go_on(Part::Group(slot + 1));
        let content = &self.scratch.last_values;
        let statuses = (0..ENTRIES).find_map(|entry| last_values::read(content, entry, None));
        let Some(LastValue {
            value: value @ Value::Status(status),
            timestamps,
            sequence,
        }) = statuses
        else {
            return Step::Passed;
        };
        self.rows.group_taken(slot, status.group, position);
        Step::Given(take(image_item(sequence, timestamps, value.update())))
    }

    fn takes_last_values(&self) -> bool {
        let kinds = Kinds::TRADES | Kinds::STATISTICS | Kinds::STATUS;
        self.settings.last_values && self.settings.kinds.has_any(kinds)
    }

    /// Reads a slot into the scratch content; [`Found::Nothing`] if another writer wrote it.
    fn read_last_values(&mut self, slot: usize) -> Found {
        let found = self.reading.tables[LAST_VALUES].read(slot, &mut self.scratch.last_values);
        match self.is_of_the_same_writer() {
            true => found,
            false => Found::Nothing,
        }
    }
}

fn is_of(value: &LastValue, kinds: Kinds) -> bool {
    kinds.has_any(match value.value {
        Value::Trade(_) => Kinds::TRADES,
        Value::Status(_) => Kinds::STATUS,
        Value::Statistic(_) => Kinds::STATISTICS,
    })
}
