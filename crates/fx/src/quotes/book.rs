//! A bank's book of one pair: a set of entries with keys.

use super::entry::{Entry, Key};
use touchline_types::Id;

/// Maximum number of entries of a bank's pair; further ones are refused and counted.
pub const ENTRIES_MAX: usize = 65_536;
/// Reserved entries.
const ENTRIES_EXPECTED: usize = 64;

/// A set of entries.
///
/// Invariant: the three lists have the same length, and keys are unique.
#[derive(Debug, Clone)]
pub struct Book {
    /// One word of each key, so that a lookup reads eight bytes per entry.
    words: Vec<u64>,
    keys: Vec<Key>,
    entries: Vec<Entry>,
    /// Entries that are removed unless the present snapshot sets them.
    leaving: Vec<bool>,
}

impl Default for Book {
    fn default() -> Book {
        Book {
            words: Vec::with_capacity(ENTRIES_EXPECTED),
            keys: Vec::with_capacity(ENTRIES_EXPECTED),
            entries: Vec::with_capacity(ENTRIES_EXPECTED),
            leaving: Vec::with_capacity(ENTRIES_EXPECTED),
        }
    }
}

impl Book {
    /// All entries, unordered.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// An entry by its key.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.find(key).map(|at| &self.entries[at])
    }

    /// Sets an entry. False if the book is full.
    pub fn set(&mut self, key: Key, entry: Entry) -> bool {
        if let Some(at) = self.find(&key) {
            self.entries[at] = entry;
            self.leaving[at] = false;
            return true;
        }
        if self.entries.len() == ENTRIES_MAX {
            return false;
        }
        self.words.push(key.word());
        self.keys.push(key);
        self.entries.push(entry);
        self.leaving.push(false);
        self.check();
        true
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &Key) {
        if let Some(at) = self.find(key) {
            self.remove_at(at);
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.words.clear();
        self.keys.clear();
        self.entries.clear();
        self.leaving.clear();
    }

    /// Removes the entries of a quote.
    pub fn remove_quote(&mut self, quote_id: &Id) {
        for at in (0..self.entries.len()).rev() {
            if self.entries[at].quote_id == *quote_id {
                self.remove_at(at);
            }
        }
    }

    /// Starts a snapshot of this MDReqID: [`Book::end_snapshot`] removes the entries that it does not set. Entries of
    /// quotes and mass quotes belong to no request.
    pub fn begin_snapshot(&mut self, request: &Id) {
        for (at, key) in self.keys.iter().enumerate() {
            let is_subscribed = !matches!(key, Key::Request(..) | Key::Mass(..));
            // mutant: fx: a snapshot of one band takes the others away
            self.leaving[at] = is_subscribed && self.entries[at].request == *request;
        }
    }

    /// Removes the entries that the snapshot did not set.
    pub fn end_snapshot(&mut self) {
        for at in (0..self.entries.len()).rev() {
            // mutant: fx: a snapshot leaves old entries
            if self.leaving[at] {
                self.remove_at(at);
            }
        }
    }

    /// Marks an entry as used by an order.
    pub fn set_used(&mut self, at: usize) {
        self.entries[at].is_used = true;
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
        self.entries.swap_remove(at);
        self.leaving.swap_remove(at);
        self.check();
    }

    fn check(&self) {
        let entries = self.entries.len();
        assert!(
            [self.words.len(), self.keys.len(), self.leaving.len()] == [entries; 3],
            "book-lists-of-one-length"
        );
    }
}
