//! A last-value table whose memory is reserved as its slots are used: a bus has room for more instruments than most
//! channels have.
//!
//! A full file system takes milliseconds to refuse a request. So a message asks at most once: after a refusal only
//! [`ReservedTable::retry`] asks again, which is called between messages.

use crate::bus::{Error, TableWriter};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Table with reserved memory for its first slots.
#[derive(Debug)]
pub struct ReservedTable {
    /// The table.
    pub table: TableWriter,
    growth: Growth,
}

/// The reserved part of a table.
#[derive(Debug)]
struct Growth {
    slots_max: usize,
    /// Number of slots reserved at a time.
    chunk: usize,
    /// Number of slots with reserved memory.
    reserved: usize,
    /// Number of slots that were needed and refused; 0 if none were.
    refused: usize,
    /// When the last request was refused.
    refused_at: Instant,
}

/// Pause between two requests after a refusal.
const PAUSE: Duration = Duration::from_secs(1);

impl ReservedTable {
    /// Reserves memory for the first `chunk` slots.
    pub fn new(table: TableWriter, chunk: usize) -> Result<ReservedTable, Error> {
        let slots_max = table.shape().slots;
        let mut growth = Growth::new(slots_max, chunk);
        if slots_max > 0 {
            growth.reserved = chunk.min(slots_max);
            table
                .memory()
                .reserve(bytes(&table, &(0..growth.reserved)))?;
        }
        Ok(ReservedTable { table, growth })
    }

    /// Whether a slot has memory; asks for it if the table has the slot and no request was refused.
    #[inline]
    pub fn has(&mut self, slot: usize) -> bool {
        slot < self.growth.reserved || self.needs(slot)
    }

    /// First slot without memory if one was refused.
    pub fn refused_from(&self) -> Option<usize> {
        (self.growth.refused > 0).then_some(self.growth.reserved)
    }

    /// Asks again for memory that was refused, once a second.
    pub fn retry(&mut self) {
        let table = &self.table;
        self.growth
            .retry(Instant::now, |slots| reserve(table, &slots));
    }

    #[cold]
    fn needs(&mut self, slot: usize) -> bool {
        let table = &self.table;
        self.growth.needs(slot, |slots| reserve(table, &slots))
    }
}

/// Reserves memory of these slots. The free memory is looked at first: that takes a microsecond, a refusal milliseconds.
fn reserve(table: &TableWriter, slots: &Range<usize>) -> bool {
    let (memory, bytes) = (table.memory(), bytes(table, slots));
    memory.has_room(bytes.len()) && memory.reserve(bytes).is_ok()
}

fn bytes(table: &TableWriter, slots: &Range<usize>) -> Range<usize> {
    let before = |slot: usize| match slot {
        0 => 0,
        slot => table.shape().words_through(slot - 1) * size_of::<u64>(),
    };
    before(slots.start)..before(slots.end)
}

impl Growth {
    fn new(slots_max: usize, chunk: usize) -> Growth {
        Growth {
            slots_max,
            chunk,
            reserved: 0,
            refused: 0,
            refused_at: Instant::now(),
        }
    }

    /// Whether a slot has memory after a request for it by `reserve`, unless a request was refused before.
    fn needs(&mut self, slot: usize, reserve: impl FnMut(Range<usize>) -> bool) -> bool {
        if slot >= self.slots_max {
            return false;
        }
        let was_refused = self.refused > 0;
        self.refused = self.refused.max(slot + 1);
        // mutant: image: each update of a refused instrument asks for memory
        if !was_refused {
            self.grow(Instant::now, reserve);
        }
        slot < self.reserved
    }

    fn retry(&mut self, now: impl Fn() -> Instant, reserve: impl FnMut(Range<usize>) -> bool) {
        if self.refused > 0 && now().duration_since(self.refused_at) >= PAUSE {
            self.grow(now, reserve);
        }
    }

    fn grow(&mut self, now: impl Fn() -> Instant, mut reserve: impl FnMut(Range<usize>) -> bool) {
        while self.reserved < self.refused {
            let slots = self.reserved..(self.reserved + self.chunk).min(self.slots_max);
            if !reserve(slots.clone()) {
                self.refused_at = now();
                return;
            }
            self.reserved = slots.end;
        }
        self.refused = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system with room for `room` slots, which counts its requests.
    struct Memory {
        room: usize,
        requests: u32,
    }

    impl Memory {
        fn reserve(&mut self, slots: &Range<usize>) -> bool {
            self.requests += 1;
            slots.end <= self.room
        }
    }

    #[test]
    fn slots_are_reserved_a_chunk_at_a_time() {
        let mut memory = Memory {
            room: 100,
            requests: 0,
        };
        let mut growth = Growth::new(10, 4);
        for (slot, is_reserved, requests) in
            [(0, true, 1), (5, true, 2), (9, true, 3), (10, false, 3)]
        {
            let found = growth.needs(slot, |slots| memory.reserve(&slots));
            assert_eq!((found, memory.requests), (is_reserved, requests), "{slot}");
        }
        assert_eq!(growth.reserved, 10);
        growth.retry(Instant::now, |slots| memory.reserve(&slots));
        assert_eq!(memory.requests, 3, "nothing was refused");
    }

    /// However many updates need a refused slot, the system is asked once, and then once a second between updates.
    #[test]
    fn a_refused_table_is_asked_for_again_after_a_pause_only() {
        let mut memory = Memory {
            room: 4,
            requests: 0,
        };
        let mut growth = Growth::new(100, 4);
        for update in 0..1_000 {
            assert!(!growth.needs(4 + update % 20, |slots| memory.reserve(&slots)));
        }
        assert_eq!(memory.requests, 2, "the first chunk, and the second");
        let start = growth.refused_at;
        let mut retry = |growth: &mut Growth, ms, room| {
            memory.room = room;
            let now = || start + Duration::from_millis(ms);
            growth.retry(now, |slots| memory.reserve(&slots));
            memory.requests
        };
        assert_eq!(retry(&mut growth, 999, 4), 2);
        assert_eq!(retry(&mut growth, 1_000, 4), 3);
        assert_eq!(retry(&mut growth, 1_999, 100), 3);
        assert_eq!(retry(&mut growth, 2_000, 16), 7, "three chunks, then none");
        assert_eq!((growth.reserved, growth.refused), (16, 24));
        assert_eq!(retry(&mut growth, 3_000, 100), 9);
        assert_eq!((growth.reserved, growth.refused), (24, 0));
        assert_eq!(retry(&mut growth, 4_000, 100), 9);
    }
}
