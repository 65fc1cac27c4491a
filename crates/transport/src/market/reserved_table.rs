//! A last-value table whose memory is reserved as its slots are used: a bus has room for more instruments than most
//! channels have.

use crate::bus::{Error, TableWriter};

/// Table with reserved memory for its first slots.
#[derive(Debug)]
pub struct ReservedTable {
    /// The table.
    pub table: TableWriter,
    /// Number of slots reserved at a time.
    chunk: usize,
    /// Number of slots with reserved memory.
    reserved: usize,
}

impl ReservedTable {
    /// Reserves memory for the first `chunk` slots.
    pub fn new(table: TableWriter, chunk: usize) -> Result<ReservedTable, Error> {
        let mut reserved = ReservedTable {
            table,
            chunk,
            reserved: 0,
        };
        reserved.reserve(0)?;
        Ok(reserved)
    }

    /// Whether a slot has memory; reserves it if the table has the slot.
    #[inline]
    pub fn has(&mut self, slot: usize) -> bool {
        slot < self.reserved || self.reserve(slot).is_ok_and(|()| slot < self.reserved)
    }

    /// Reserves memory up to a slot, if the table has it.
    #[cold]
    fn reserve(&mut self, slot: usize) -> Result<(), Error> {
        let shape = self.table.shape();
        if slot >= shape.slots {
            return Ok(());
        }
        let slots = (slot + 1).next_multiple_of(self.chunk).min(shape.slots);
        let bytes = shape.words_through(slots - 1) * size_of::<u64>();
        self.table.memory().reserve(0..bytes)?;
        self.reserved = slots;
        Ok(())
    }
}
