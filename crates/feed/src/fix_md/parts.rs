//! Quote sets that come in several mass quotes: nothing of them is shown before their last part.
//!
//! A set says how many entries all its messages have together (304), or whether more is to come (893). A venue that
//! says neither sends its sets whole.
//!
//! Source: FIX 4.4 volume 3, Mass Quote (35=i), component block QuotSetGrp.

use super::quotes::Id;
use touchline_types::{Event, Instrument};
use touchline_wire::fix::{Field, Malformed, Message, tag, unsigned};

const TOT_NO_QUOTE_ENTRIES: u32 = 304;
const LAST_FRAGMENT: u32 = 893;

/// Most events that wait for the last part of their set.
pub const EVENTS_MAX: usize = 8_192;
/// The parts of a set follow each other: one that does not come for so long does not come at all.
const PART_NS: u64 = 5_000_000_000;

/// The set that continues with the next message, if any.
///
/// Invariant: events and an open book are kept only while the last part of a set is awaited.
#[derive(Debug, Default)]
pub struct Parts {
    /// Its number, and how many entries of it came.
    begun: Option<(Id, u64)>,
    /// The book that it changed last, and whether the set is the whole of it.
    book: Option<(Instrument, bool)>,
    events: Vec<Event>,
    since_ns: Option<u64>,
}

/// What a message says of one of its sets.
#[derive(Clone, Copy, Debug, Default)]
struct Set<'a> {
    id: &'a [u8],
    entries: u64,
    total: Option<u64>,
    is_last: Option<bool>,
}

impl Parts {
    /// Whether the last part of a set is awaited.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether it has been awaited for too long.
    pub fn is_late(&mut self, now_ns: u64) -> bool {
        let is_awaited = self.is_awaited();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        is_awaited && now_ns.saturating_sub(since_ns) >= PART_NS
    }

    /// When it has been awaited for too long, by the clock of waiting; 0 until that was looked at for the first time.
    pub fn next_timeout(&self) -> Option<u64> {
        let late_ns = |since_ns: u64| since_ns.saturating_add(PART_NS);
        self.is_awaited().then(|| self.since_ns.map_or(0, late_ns))
    }

    /// The last book of an earlier part, which continues or ends with the next part.
    #[inline]
    pub fn take_book(&mut self) -> Option<(Instrument, bool)> {
        self.book.take()
    }

    /// The book that continues with the next part.
    pub fn keep_book(&mut self, book: Option<(Instrument, bool)>) {
        assert!(
            self.is_awaited(),
            "quote sets: a book is open while the last part of a set is awaited"
        );
        self.book = book;
    }

    /// Forgets the set that was begun.
    pub fn clear(&mut self) {
        (self.begun, self.book) = (None, None);
        self.events.clear();
    }

    /// Reads the set fields of a mass quote with this number of sets; returns whether its last set is complete.
    ///
    /// # Errors
    /// It does not continue the open set, has more entries of one than announced, or continues behind an incomplete
    /// one.
    pub fn read(&mut self, message: &Message<'_>, sets: u32) -> Result<bool, Malformed> {
        let mut set: Option<Set<'_>> = None;
        let mut left = sets;
        for field in message.fields() {
            let Field { tag, value } = field?;
            match (tag, &mut set) {
                (tag::QUOTE_SET_ID, _) => {
                    self.end_of(set)?;
                    if set.is_some() && self.is_awaited() {
                        return Err(Malformed::Group);
                    }
                    left = left.saturating_sub(1);
                    set = Some(Set {
                        id: value,
                        ..Set::default()
                    });
                }
                (TOT_NO_QUOTE_ENTRIES, Some(set)) => set.total = Some(unsigned(value)?),
                (LAST_FRAGMENT, Some(set)) => set.is_last = Some(value == b"Y"),
                (tag::NO_QUOTE_ENTRIES, Some(set)) => set.entries = unsigned(value)?,
                // Nothing of interest comes behind the head of the last set.
                (tag::QUOTE_ENTRY_ID, Some(_)) if left == 0 => break,
                _ => {}
            }
        }
        self.end_of(set)?;
        Ok(!self.is_awaited())
    }

    /// All that the message says of this set was read.
    fn end_of(&mut self, set: Option<Set<'_>>) -> Result<(), Malformed> {
        let Some(set) = set else {
            return Ok(());
        };
        let before = match self.begun.take() {
            Some((id, entries)) if id.as_bytes() == set.id => entries,
            Some(_) => return Err(Malformed::Group),
            None => 0,
        };
        let entries = before.saturating_add(set.entries);
        if set.total.is_some_and(|total| entries > total) {
            return Err(Malformed::Group);
        }
        let is_all = set.total.is_none_or(|total| entries == total);
        // mutant: fix market data: a set that says how many entries it has is whole at once
        if !set.is_last.unwrap_or(is_all) {
            let id = Id::new(set.id).ok_or(Malformed::TooLong)?;
            self.begun = Some((id, entries));
        }
        Ok(())
    }

    /// Keeps what a part came to until the last one.
    ///
    /// # Errors
    /// There is no room.
    pub fn hold(&mut self, events: &mut Vec<Event>) -> Result<(), Malformed> {
        if self.events.capacity() == 0 {
            self.events.reserve_exact(EVENTS_MAX);
        }
        if self.events.len() + events.len() > EVENTS_MAX {
            return Err(Malformed::Overflow);
        }
        self.events.append(events);
        self.since_ns = None;
        Ok(())
    }

    /// Puts what was kept before what the last part came to.
    #[inline]
    pub fn release(&mut self, events: &mut Vec<Event>) {
        if !self.events.is_empty() {
            self.events.append(events);
            events.append(&mut self.events);
        }
    }
}
