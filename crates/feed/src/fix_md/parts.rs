//! Quote sets in several mass quotes: published with their last part.
//!
//! A set states the number of entries of all its messages (304), or whether more follow (893). Sets without either
//! field are complete in one message.
//!
//! Source: FIX 4.4 volume 3, Mass Quote (35=i), component block QuotSetGrp.

use super::quotes::Id;
use touchline_types::{Event, Instrument};
use touchline_wire::fix::{Field, Malformed, Message, tag, unsigned};

const TOT_NO_QUOTE_ENTRIES: u32 = 304;
const LAST_FRAGMENT: u32 = 893;

/// Most events that wait for the last part of their set.
pub const EVENTS_MAX: usize = 8_192;
/// Timeout for the next part of a set: parts follow each other directly.
const PART_NS: u64 = 5_000_000_000;

/// The set that the next message continues, if any.
///
/// Invariant: events and an open book are kept only while the last part of a set is awaited.
#[derive(Debug, Default)]
pub struct Parts {
    /// Its number, and the number of received entries.
    begun: Option<(Id, u64)>,
    /// The book that it changed last, and whether the set is a complete book.
    book: Option<(Instrument, bool)>,
    events: Vec<Event>,
    since_ns: Option<u64>,
}

/// Fields of one set in a message.
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

    /// Whether the timeout for the last part has passed.
    pub fn is_late(&mut self, now_ns: u64) -> bool {
        let is_awaited = self.is_awaited();
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        is_awaited && now_ns.saturating_sub(since_ns) >= PART_NS
    }

    /// End of the timeout, by the monotonic clock; 0 until it was first checked.
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

    /// Drops the open set.
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
                // The fields after the head of the last set are not needed.
                (tag::QUOTE_ENTRY_ID, Some(_)) if left == 0 => break,
                _ => {}
            }
        }
        self.end_of(set)?;
        Ok(!self.is_awaited())
    }

    /// All fields of this set were read.
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
        if !set.is_last.unwrap_or(is_all) {
            let id = Id::new(set.id).ok_or(Malformed::TooLong)?;
            self.begun = Some((id, entries));
        }
        Ok(())
    }

    /// Stores the events of a part until the last one.
    ///
    /// # Errors
    /// The buffer is full.
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

    /// Puts the stored events before those of the last part.
    #[inline]
    pub fn release(&mut self, events: &mut Vec<Event>) {
        if !self.events.is_empty() {
            self.events.append(events);
            events.append(&mut self.events);
        }
    }
}
