//! A bank's book of one pair: a set of entries, each under its key.

use super::entry::{Entry, Key};
use touchline_types::Id;

/// Entries of a bank's pair at most; what is beyond them is refused and counted.
pub const ENTRIES_MAX: usize = 65_536;
/// Entries that there is room for from the start.
const ENTRIES_EXPECTED: usize = 64;

/// A set of entries.
///
/// Invariant: the three lists are of one length, and no key is there twice.
#[derive(Debug, Clone)]
pub struct Book {
    /// A word of each key, so that a search reads eight bytes for each entry.
    words: Vec<u64>,
    keys: Vec<Key>,
    entries: Vec<Entry>,
    /// Entries that go when the snapshot at work does not set them.
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
    /// All entries, in no order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// An entry by its key.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.find(key).map(|at| &self.entries[at])
    }

    /// Sets an entry. False if there is no room for it.
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

    /// Takes an entry away.
    pub fn remove(&mut self, key: &Key) {
        if let Some(at) = self.find(key) {
            self.remove_at(at);
        }
    }

    /// Takes every entry away.
    pub fn clear(&mut self) {
        self.words.clear();
        self.keys.clear();
        self.entries.clear();
        self.leaving.clear();
    }

    /// Takes the entries of a quote away.
    pub fn remove_quote(&mut self, quote_id: &Id) {
        for at in (0..self.entries.len()).rev() {
            if self.entries[at].quote_id == *quote_id {
                self.remove_at(at);
            }
        }
    }

    /// A snapshot under this MDReqID begins: what it does not set again goes with [`Book::end_snapshot`]. Entries of quotes
    /// and mass quotes belong to no request.
    pub fn begin_snapshot(&mut self, request: &Id) {
        for (at, key) in self.keys.iter().enumerate() {
            let is_subscribed = !matches!(key, Key::Request(..) | Key::Mass(..));
            // mutant: fx: a snapshot of one band takes the others away
            self.leaving[at] = is_subscribed && self.entries[at].request == *request;
        }
    }

    /// Takes away what the snapshot did not set.
    pub fn end_snapshot(&mut self) {
        for at in (0..self.entries.len()).rev() {
            // mutant: fx: a snapshot leaves old entries
            if self.leaving[at] {
                self.remove_at(at);
            }
        }
    }

    /// An order took an entry.
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
