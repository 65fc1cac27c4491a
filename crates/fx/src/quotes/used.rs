//! Used quotes over a loss of the reader: it does not know whether the bank has set them again until it takes the pair up.

use super::book::Book;
use super::entry::{Entry, Key};
use touchline_types::Id;

/// Times of one setting differ by less, also if gateway and reader have measured a step of the wall clock between them.
const SAME_SETTING_NS: u64 = 100_000_000;

/// Quotes of a bank's pair that an order used, and that the reader has lost since.
#[derive(Debug, Clone, Default)]
pub struct Used(Vec<UsedQuote>);

#[derive(Debug, Clone, Copy)]
struct UsedQuote {
    key: Key,
    quote_id: Id,
    /// Time of its setting at the gateway, nanoseconds since 1970.
    set_ns: u64,
}

impl Used {
    /// The quotes of a book are not known from now on.
    pub fn keep(&mut self, book: &Book) {
        let used = book.keyed().filter(|(_, entry)| entry.is_used);
        self.0.extend(used.map(|(key, entry)| UsedQuote {
            key: *key,
            quote_id: entry.quote_id,
            set_ns: entry.times.receive_ns,
        }));
    }

    /// The quotes of a book are known again: a quote of the same setting stays used. With orders that name a quote, a quote
    /// stays used until its id changes.
    pub fn mark(&mut self, book: &mut Book, is_quoted: bool) {
        for used in self.0.drain(..) {
            book.set_used_if(&used.key, |entry| used.is(entry, is_quoted));
        }
    }

    /// The session was lost: its quotes are new ones when it is up again.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

impl UsedQuote {
    fn is(&self, entry: &Entry, is_quoted: bool) -> bool {
        let is_same_id = self.quote_id == entry.quote_id;
        let is_named = is_quoted && !self.quote_id.is_empty();
        is_same_id && (is_named || self.set_ns.abs_diff(entry.times.receive_ns) < SAME_SETTING_NS)
    }
}
