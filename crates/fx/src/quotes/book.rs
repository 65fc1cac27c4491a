//! A bank's book of one pair: a set of entries with keys.

use super::entry::{Entry, Key};
use touchline_types::{Id, QuoteAction};

/// Maximum number of entries of a bank's pair; further ones are refused and counted.
pub const ENTRIES_MAX: usize = 65_536;
/// Reserved entries.
const ENTRIES_EXPECTED: usize = 64;

/// Logged change of an entry, for gateways that publish quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Kind of change; a clear removes all entries.
    pub action: QuoteAction,
    /// Number of the entry among those of the book, until it is removed.
    pub place: u32,
    /// The entry after the change, or the last state of a removed entry.
    pub entry: Option<Entry>,
}

/// An entry that a message changes.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its last state.
    pub entry: Entry,
    /// It is of the day before, and the bank has stated another value date for it since.
    pub is_of_other_date: bool,
}

/// A set of entries.
///
/// Invariant: the lists have the same length; keys and numbers are unique.
#[derive(Debug, Clone)]
pub struct Book {
    /// One word of each key, so that a lookup reads eight bytes per entry.
    words: Vec<u64>,
    keys: Vec<Key>,
    entries: Vec<Entry>,
    /// Entries that are removed unless the present snapshot sets them.
    leaving: Vec<bool>,
    /// Number of leaving entries.
    leaving_count: usize,
    /// Number of each entry, which stays until it is removed.
    places: Vec<u32>,
    /// Numbers of removed entries.
    free: Vec<u32>,
    /// Entries of the day before, which do not count: a bank changes them by their ids, and leaves out fields that it has sent.
    before: Vec<(Key, Known)>,
    /// Whether a quote of the session stated the pair's spot date.
    is_dated: bool,
    /// Changes since the log was emptied; `None` if changes are not logged.
    log: Option<Vec<Logged>>,
}

impl Default for Book {
    fn default() -> Book {
        Book {
            words: Vec::with_capacity(ENTRIES_EXPECTED),
            keys: Vec::with_capacity(ENTRIES_EXPECTED),
            entries: Vec::with_capacity(ENTRIES_EXPECTED),
            leaving: Vec::with_capacity(ENTRIES_EXPECTED),
            leaving_count: 0,
            places: Vec::with_capacity(ENTRIES_EXPECTED),
            free: Vec::with_capacity(ENTRIES_EXPECTED),
            before: Vec::new(),
            is_dated: false,
            log: None,
        }
    }
}

impl Book {
    /// All entries, unordered.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Starts to log changes.
    pub fn begin_log(&mut self) {
        self.log = Some(Vec::with_capacity(ENTRIES_EXPECTED));
    }

    /// Changes since the log was emptied, in order.
    pub fn log(&self) -> &[Logged] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Empties the log.
    pub fn clear_log(&mut self) {
        if let Some(log) = &mut self.log {
            log.clear();
        }
    }

    /// Every entry with its number, in no order.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.places.iter().copied().zip(&self.entries)
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every entry with its key, in no order.
    pub fn keyed(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.keys.iter().zip(&self.entries)
    }

    /// An entry by its key.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.find(key).map(|at| &self.entries[at])
    }

    /// An entry by its key, or an entry of the day before, which does not count.
    pub fn known(&self, key: &Key) -> Option<Known> {
        let before = || self.before.iter().find(|(other, _)| other == key);
        match self.get(key) {
            Some(entry) => Some(Known {
                entry: *entry,
                is_of_other_date: false,
            }),
            None => before().map(|(_, known)| *known),
        }
    }

    /// Sets an entry. False if the book is full; entries that are missing from the present snapshot are not counted.
    pub fn set(&mut self, key: Key, entry: Entry) -> bool {
        self.before.retain(|(other, _)| *other != key);
        let is_full = self.entries.len() - self.leaving_count >= ENTRIES_MAX;
        if let Some(at) = self.find(&key) {
            if self.leaving[at] && is_full {
                return false;
            }
            self.entries[at] = entry;
            self.leaving_count -= usize::from(std::mem::take(&mut self.leaving[at]));
            self.note(QuoteAction::Set, self.places[at], Some(entry));
            return true;
        }
        if is_full {
            return false;
        }
        self.words.push(key.word());
        self.keys.push(key);
        self.entries.push(entry);
        self.leaving.push(false);
        let unused = (self.places.len() + self.free.len()) as u32;
        let place = self.free.pop().unwrap_or(unused);
        self.places.push(place);
        self.note(QuoteAction::Set, place, Some(entry));
        self.check();
        true
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &Key) {
        self.before.retain(|(other, _)| other != key);
        if let Some(at) = self.find(key) {
            self.remove_at(at);
        }
    }

    /// Removes an entry that the bank states for another value date. An entry of the day before stays known, with these fields.
    pub fn set_other(&mut self, key: &Key, entry: Entry) {
        match self.before.iter_mut().find(|(other, _)| other == key) {
            Some((_, known)) => {
                *known = Known {
                    entry,
                    is_of_other_date: true,
                }
            }
            None => self.remove(key),
        }
    }

    /// Removes all entries: their day has ended. Those that a bank changes by their ids stay known.
    pub fn begin_day(&mut self) {
        let mut before = std::mem::take(&mut self.before);
        for (key, entry) in self.keys.iter().zip(&self.entries) {
            if matches!(key, Key::Entry(_) | Key::Mass(..)) {
                let known = Known {
                    entry: *entry,
                    is_of_other_date: false,
                };
                before.push((*key, known));
            }
        }
        before.drain(..before.len().saturating_sub(ENTRIES_MAX));
        self.clear();
        self.before = before;
    }

    /// Whether a quote stated the pair's spot date since the book was emptied.
    pub fn is_dated(&self) -> bool {
        self.is_dated
    }

    /// A quote stated the pair's spot date.
    pub fn set_dated(&mut self) {
        self.is_dated = true;
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.is_dated = false;
        self.before.clear();
        self.words.clear();
        self.keys.clear();
        if !self.entries.is_empty() {
            self.note(QuoteAction::Clear, 0, None);
        }
        self.entries.clear();
        self.leaving.clear();
        self.leaving_count = 0;
        self.places.clear();
        self.free.clear();
    }

    /// Removes the entries of a quote.
    pub fn remove_quote(&mut self, quote_id: &Id) {
        self.before
            .retain(|(_, known)| known.entry.quote_id != *quote_id);
        for at in (0..self.entries.len()).rev() {
            if self.entries[at].quote_id == *quote_id {
                self.remove_at(at);
            }
        }
    }

    /// Starts a snapshot of this MDReqID: [`Book::end_snapshot`] removes the entries that it does not set. Entries of
    /// quotes and mass quotes belong to no request.
    pub fn begin_snapshot(&mut self, request: &Id) {
        let is_subscribed = |key: &Key| !matches!(key, Key::Request(..) | Key::Mass(..));
        self.before
            .retain(|(key, known)| !is_subscribed(key) || known.entry.request != *request);
        for (at, key) in self.keys.iter().enumerate() {
            let is_subscribed = is_subscribed(key);
            self.leaving[at] = is_subscribed && self.entries[at].request == *request;
            self.leaving_count += usize::from(self.leaving[at]);
        }
    }

    /// Removes the entries that the snapshot did not set.
    pub fn end_snapshot(&mut self) {
        for at in (0..self.entries.len()).rev() {
            if self.leaving[at] {
                self.remove_at(at);
            }
        }
    }

    /// Marks an entry as used by an order.
    pub fn set_used(&mut self, at: usize) {
        self.entries[at].is_used = true;
    }

    /// Marks an entry as used by an order, if it is there and as expected.
    pub fn set_used_if(&mut self, key: &Key, is_expected: impl FnOnce(&Entry) -> bool) {
        let at = self.find(key);
        if let Some(at) = at.filter(|at| is_expected(&self.entries[*at])) {
            self.set_used(at);
        }
    }

    fn find(&self, key: &Key) -> Option<usize> {
        let word = key.word();
        let mut from = 0;
        while let Some(next) = self.words[from..].iter().position(|other| *other == word) {
            let at = from + next;
            if self.keys[at] == *key {
                return Some(at);
            }
            from = at + 1;
        }
        None
    }

    fn remove_at(&mut self, at: usize) {
        self.words.swap_remove(at);
        self.keys.swap_remove(at);
        let entry = self.entries.swap_remove(at);
        self.leaving_count -= usize::from(self.leaving.swap_remove(at));
        let place = self.places.swap_remove(at);
        self.free.push(place);
        self.note(QuoteAction::Remove, place, Some(entry));
        self.check();
    }

    fn note(&mut self, action: QuoteAction, place: u32, entry: Option<Entry>) {
        if let Some(log) = &mut self.log {
            log.push(Logged {
                action,
                place,
                entry,
            });
        }
    }

    fn check(&self) {
        let entries = self.entries.len();
        assert!(
            [
                self.words.len(),
                self.keys.len(),
                self.leaving.len(),
                self.places.len()
            ] == [entries; 4],
            "the lists of a book have one length"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotes::{NEVER, QuoteTimes};
    use touchline_types::Side;

    fn entry(request: Id) -> Entry {
        Entry {
            price: 1,
            size: 1,
            whole: 1,
            minimum: 0,
            expires_ns: NEVER,
            age: 1,
            side: Side::Bid,
            is_firm: true,
            is_used: false,
            quote_id: Id::EMPTY,
            request,
            set_ns: 0,
            times: QuoteTimes::default(),
        }
    }

    /// A snapshot replaces a full book: entries missing from the snapshot take no room, and the maximum holds at its
    /// end.
    #[test]
    fn a_snapshot_replaces_a_full_book() {
        let (mut book, most) = (Book::default(), ENTRIES_MAX as u32);
        let one = entry(Id::EMPTY);
        // Entries of which each is found at once: a search of a full book is long.
        for number in 0..most {
            book.words.push(Key::Number(number).word());
            book.keys.push(Key::Number(number));
            book.entries.push(one);
            book.leaving.push(false);
            book.places.push(number);
        }
        assert!(!book.set(Key::Number(most), one), "it is full");
        book.begin_snapshot(&Id::EMPTY);
        for number in [most, most + 1, 0] {
            assert!(book.set(Key::Number(number), one));
        }
        book.end_snapshot();
        assert_eq!(book.entries().len(), 3);
        book.check();
    }
}
