//! Rows of one table in memory, column by column.

use crate::tables::{Common, Table};

/// Place of `event_end` among the columns.
const EVENT_END: usize = 9;
/// Place of `sequence` among the columns.
const SEQUENCE: usize = 0;

/// Rows of a table that are not written yet.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    columns: Vec<Vec<i64>>,
    /// First row of the message that may be the last one of its packet.
    message_from: usize,
}

impl Rows {
    /// No rows.
    pub fn new(table: Table) -> Rows {
        Rows {
            table,
            columns: table.columns().map(|_| Vec::new()).collect(),
            message_from: 0,
        }
    }

    /// The table.
    pub fn table(&self) -> Table {
        self.table
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns[SEQUENCE].len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells of each column.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &[i64]> {
        self.columns.iter().map(Vec::as_slice)
    }

    /// First and last message number; `None` without rows.
    pub fn sequences(&self) -> Option<(u64, u64)> {
        let numbers = &self.columns[SEQUENCE];
        Some((*numbers.first()? as u64, *numbers.last()? as u64))
    }

    /// Adds a row: the common cells, and those of the table.
    pub fn push(&mut self, common: &Common, own: &[i64]) {
        let last = self.columns[SEQUENCE].last();
        if last.is_none_or(|last| *last != common.sequence) {
            self.message_from = self.len();
        }
        let common = common.cells();
        let (first, rest) = self.columns.split_at_mut(common.len());
        assert_eq!(
            rest.len(),
            own.len(),
            "a row has a cell for each column of its table"
        );
        for (column, cell) in first.iter_mut().zip(common) {
            column.push(cell);
        }
        for (column, cell) in rest.iter_mut().zip(own) {
            column.push(*cell);
        }
    }

    /// States that the message with this number is the last one of its packet.
    pub fn end_event(&mut self, sequence: i64) {
        if self.columns[SEQUENCE].last() == Some(&sequence) {
            self.columns[EVENT_END][self.message_from..].fill(1);
        }
    }

    /// Removes all rows, keeping their memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.message_from = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_columns_are_those_of_their_names() {
        assert_eq!(Common::COLUMNS[EVENT_END].name, "event_end");
        assert_eq!(Common::COLUMNS[SEQUENCE].name, "sequence");
    }
}
