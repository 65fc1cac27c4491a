//! Layout of a price book in its snapshot slot.
//!
//! ```text
//!  counts │ state │ sequence │ exchange_ns │ receive_ns │ bids │ asks │ implied bids │ implied asks
//! ```
//!
//! Each direct list has the same number of rows of three words (price, quantity, orders), each implied one as many, but
//! at most 16, because no venue implies deep books. The worst level is in the first row: most changes are at the best
//! end, and only levels better than the changed one move.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_types::{
    BookKind, BookSnapshot, Instrument, Level, LevelAction, LevelChange, Price, Quantity, Side,
    Validity,
};

const COUNTS: usize = 0;
const STATE: usize = 1;
const SEQUENCE: usize = 2;
const EXCHANGE_NS: usize = 3;
const RECEIVE_NS: usize = 4;
const HEAD: usize = 5;
const ROW: usize = 3;
const LISTS: usize = 4;
/// Maximum rows of an implied list.
const IMPLIED_ROWS_MAX: usize = 16;

/// Bit of the state: a list was longer than its rows, so the slot has no book.
const CUT: u64 = 1 << 8;
/// Bit of an orders word: the level is known.
const KNOWN: u64 = 1 << 32;

/// Words of a slot with this many rows per direct list.
pub const fn words(levels_max: usize) -> usize {
    HEAD + first_row(LISTS, levels_max) * ROW
}

/// Rows per direct list of a slot with this many words.
pub const fn levels_max(words: usize) -> usize {
    let rows = words.saturating_sub(HEAD) / ROW;
    if rows <= LISTS * IMPLIED_ROWS_MAX {
        rows / LISTS
    } else {
        (rows - 2 * IMPLIED_ROWS_MAX) / 2
    }
}

/// Words of the header of a slot.
pub const HEAD_WORDS: usize = HEAD;

/// Word ranges of the levels in a slot with this header and this many rows per direct list.
pub fn used(head: &[u64], levels_max: usize) -> [Range<usize>; LISTS] {
    let counts = head.first().copied().unwrap_or(0);
    std::array::from_fn(|list| {
        let begin = HEAD + first_row(list, levels_max) * ROW;
        let count = usize::from((counts >> (16 * list)) as u16);
        begin..begin + count * ROW
    })
}

/// Rows before a list.
#[inline]
const fn first_row(list: usize, levels_max: usize) -> usize {
    if list <= 2 {
        list * levels_max
    } else {
        2 * levels_max + (list - 2) * rows_of(2, levels_max)
    }
}

/// Rows of a list.
#[inline]
const fn rows_of(list: usize, levels_max: usize) -> usize {
    if list < 2 || levels_max < IMPLIED_ROWS_MAX {
        levels_max
    } else {
        IMPLIED_ROWS_MAX
    }
}

const fn list(kind: BookKind, side: Side) -> usize {
    kind as usize * 2 + side as usize
}

/// Fields of a message apart from levels.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// New validity.
    pub validity: Validity,
    /// Number of the message.
    pub sequence: u64,
    /// The venue's time.
    pub exchange_ns: u64,
    /// Receive time.
    pub receive_ns: u64,
}

/// Writer's state of a slot; the writer never trusts what it reads back from shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    counts: [u16; LISTS],
    cut: bool,
}

impl Written {
    /// A slot that has missed updates: it has no book until a whole one is published.
    pub fn without_book() -> Written {
        Written {
            cut: true,
            ..Written::default()
        }
    }
}

/// Writer of a snapshot slot during a change.
pub struct SlotWriter<'a> {
    content: &'a [AtomicU64],
    written: &'a mut Written,
    levels_max: usize,
}

impl<'a> SlotWriter<'a> {
    /// Writer for the content of a slot.
    pub fn new(
        content: &'a [AtomicU64],
        written: &'a mut Written,
        levels_max: usize,
    ) -> SlotWriter<'a> {
        SlotWriter {
            content,
            written,
            levels_max,
        }
    }

    /// Applies the deltas of an update; false if the book is too deep for the slot.
    #[inline]
    pub fn apply_delta(&mut self, changes: &[LevelChange]) -> bool {
        changes.iter().for_each(|change| self.step(change));
        !self.written.cut
    }

    /// Replaces the book; false if it is too deep for the slot.
    pub fn replace(&mut self, book: &BookSnapshot<'_>) -> bool {
        *self.written = Written::default();
        let lists = [book.bids, book.asks, book.implied_bids, book.implied_asks];
        for (list, levels) in lists.into_iter().enumerate() {
            if levels.len() > rows_of(list, self.levels_max) {
                self.written.cut = true;
                continue;
            }
            self.written.counts[list] = levels.len() as u16;
            for (index, level) in levels.iter().enumerate() {
                self.put(list, levels.len() - 1 - index, level);
            }
        }
        !self.written.cut
    }

    /// Writes times and state.
    #[inline]
    pub fn sign(&self, moment: &Moment) {
        let counts = self.written.counts;
        let counts = counts
            .iter()
            .rev()
            .fold(0, |word, count| word << 16 | u64::from(*count));
        let cut = if self.written.cut { CUT } else { 0 };
        let words = [
            (COUNTS, counts),
            (STATE, moment.validity as u64 | cut),
            (SEQUENCE, moment.sequence),
            (EXCHANGE_NS, moment.exchange_ns),
            (RECEIVE_NS, moment.receive_ns),
        ];
        for (place, value) in words {
            self.content[place].store(value, Ordering::Relaxed);
        }
    }

    #[inline]
    fn step(&mut self, change: &LevelChange) {
        let list = list(change.book, change.side);
        let (count, index) = (
            usize::from(self.written.counts[list]),
            usize::from(change.index),
        );
        match change.action {
            LevelAction::Replace if index < count => {
                self.put(list, count - 1 - index, &change.level)
            }
            LevelAction::Insert if index <= count && count < rows_of(list, self.levels_max) => {
                let better = &self.rows(list)[count - index..=count];
                for rows in better.windows(2).rev() {
                    copy(&rows[0], &rows[1]);
                }
                self.put(list, count - index, &change.level);
                self.written.counts[list] += 1;
            }
            LevelAction::Remove if index < count => {
                let better = &self.rows(list)[count - 1 - index..count];
                for rows in better.windows(2) {
                    copy(&rows[1], &rows[0]);
                }
                self.written.counts[list] -= 1;
            }
            LevelAction::Clear => {
                self.written.counts[list] = 0;
            }
            // Too deep, or a change of a book that is cut already.
            LevelAction::Insert | LevelAction::Replace | LevelAction::Remove => {
                self.written.cut = true;
            }
        }
    }

    /// The rows of a list, and those behind it.
    #[inline]
    fn rows(&self, list: usize) -> &[[AtomicU64; ROW]] {
        let (rows, _) = self.content[HEAD..].as_chunks::<ROW>();
        &rows[first_row(list, self.levels_max)..]
    }

    #[inline]
    fn put(&self, list: usize, row: usize, level: &Level) {
        let known = if level.known { KNOWN } else { 0 };
        let orders = u64::from(level.orders as u32) | known;
        let values = [level.price.0 as u64, level.quantity.0 as u64, orders];
        for (word, value) in self.rows(list)[row].iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

#[inline]
fn copy(from: &[AtomicU64; ROW], to: &[AtomicU64; ROW]) {
    for (from, to) in from.iter().zip(to) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A book read from its slot.
#[derive(Clone, Debug)]
pub struct BookImage {
    /// Validity.
    pub validity: Validity,
    /// Number of the last message that it contains.
    pub sequence: u64,
    /// Time stated by the venue, nanoseconds since the Unix epoch.
    pub exchange_ns: u64,
    /// Receive time, nanoseconds since the Unix epoch.
    pub receive_ns: u64,
    lists: [Vec<Level>; LISTS],
}

impl BookImage {
    /// An empty book with room for this many levels per list.
    pub fn with_room(levels_max: usize) -> BookImage {
        BookImage {
            validity: Validity::Recovering,
            sequence: 0,
            exchange_ns: 0,
            receive_ns: 0,
            lists: std::array::from_fn(|_| Vec::with_capacity(levels_max)),
        }
    }

    /// A list, best first.
    pub fn levels(&self, kind: BookKind, side: Side) -> &[Level] {
        &self.lists[list(kind, side)]
    }

    /// The book as a snapshot of an instrument.
    pub fn snapshot(&self, instrument: Instrument) -> BookSnapshot<'_> {
        let [bids, asks, implied_bids, implied_asks] = &self.lists;
        BookSnapshot {
            instrument,
            validity: self.validity,
            bids,
            asks,
            implied_bids,
            implied_asks,
        }
    }

    /// An empty book of no message.
    pub fn forget(&mut self) {
        self.clear(Validity::Recovering);
        (self.sequence, self.exchange_ns, self.receive_ns) = (0, 0, 0);
    }

    /// Empties the book.
    pub fn clear(&mut self, validity: Validity) {
        self.validity = validity;
        self.lists.iter_mut().for_each(Vec::clear);
    }

    /// Reads the content of a slot; false if it has no complete book, and the book is then empty.
    pub fn take(&mut self, content: &[u64], levels_max: usize) -> bool {
        self.clear(Validity::Recovering);
        let whole = content.len() >= words(levels_max)
            && content[STATE] & CUT == 0
            && self.take_lists(content, levels_max).is_some();
        if !whole {
            self.clear(Validity::Recovering);
        }
        whole
    }

    fn take_lists(&mut self, content: &[u64], levels_max: usize) -> Option<()> {
        let validity = Validity::from_code((content[STATE] & 0xFF) as u8)?;
        for (list, levels) in self.lists.iter_mut().enumerate() {
            let count = usize::from((content[COUNTS] >> (16 * list)) as u16);
            let begin = HEAD + first_row(list, levels_max) * ROW;
            let rows = content
                .get(begin..begin + rows_of(list, levels_max) * ROW)?
                .get(..count * ROW)?;
            levels.extend(rows.rchunks_exact(ROW).map(level));
        }
        self.validity = validity;
        self.sequence = content[SEQUENCE];
        self.exchange_ns = content[EXCHANGE_NS];
        self.receive_ns = content[RECEIVE_NS];
        Some(())
    }
}

fn level(row: &[u64]) -> Level {
    Level {
        price: Price(row[0] as i64),
        quantity: Quantity(row[1] as i64),
        orders: row[2] as u32 as i32,
        known: row[2] & KNOWN != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_rows_follows_from_the_number_of_words() {
        assert_eq!(words(16), HEAD + 4 * 16 * ROW);
        for rows in 1..200 {
            assert_eq!(levels_max(words(rows)), rows);
        }
        assert_eq!(words(5_000), HEAD + (2 * 5_000 + 2 * 16) * ROW);
    }
}
