//! Application of quote messages to a bank's books; code shared by all message types.
//!
//! | message | file |
//! |---|---|
//! | W snapshot, X increment | `apply/market_data.rs` |
//! | S quote | `apply/quote.rs` |
//! | i mass quote | `apply/mass_quote.rs` |
//! | Z cancel, AI status | `apply/withdrawal.rs` |
//! | quotes of a bus | `apply/bus.rs` |

mod bus;
mod market_data;
mod mass_quote;
mod quote;
mod withdrawal;

use super::book::Book;
use super::counters::Counters;
use super::entry::{Entry, Key, NEVER, QuoteTimes};
use super::fields::Raw;
use super::used::Used;
use crate::plan::whole_lots;
use crate::setup::{Setup, ns};
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::ticks;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Malformed, Message, NO_DATE, is_timestamp, timestamp};

pub use bus::{BusQuotes, Quoted, set_at};

/// A message of a bank's pricing session that was read to its end: a malformed one has no effect in part.
#[derive(Debug, Clone, Copy)]
pub struct Sound<'a> {
    message: Message<'a>,
    /// Fields behind the entries of a snapshot or increment that hold for all of them.
    behind: market_data::Fields<'a>,
}

impl<'a> Sound<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// A field that is invalid, or is twice in one place; other entries than stated.
    pub fn read(message: Message<'a>) -> Result<Sound<'a>, Malformed> {
        let mut behind = market_data::Fields::default();
        match message.msg_type() {
            b"W" | b"X" => behind = market_data::behind_entries(&message)?,
            b"S" => quote::check(&message)?,
            b"i" => mass_quote::check(&message)?,
            _ => message.fields().try_for_each(|field| field.map(|_| ()))?,
        }
        Ok(Sound { message, behind })
    }
}

/// A bank's books during the application of one message.
pub(super) struct Apply<'a> {
    pub setup: &'a Setup,
    pub bank: Bank,
    pub now_ns: u64,
    /// The wall clock less the clock of `now_ns`, nanoseconds.
    pub wall_ahead_ns: i64,
    /// Books by pair.
    pub books: &'a mut [Book],
    /// Used quotes that are not known at present, by pair.
    pub used: &'a mut [Used],
    /// Number of the bank's last set entry.
    pub age: &'a mut u64,
    pub counters: &'a mut Counters,
    /// Pairs of the quote message.
    pub quoted: &'a mut Vec<Pair>,
    /// Receive time of the pair's last quote message at a gateway.
    pub quoted_ns: &'a mut Option<u64>,
    /// Whether a snapshot takes the pair up.
    pub is_taken_up: &'a mut bool,
    /// Pairs whose entries may have changed.
    pub changed: &'a mut Vec<Pair>,
}

/// Fields of an entry to set.
struct Draft<'a> {
    side: Side,
    price: Raw<'a>,
    size: Raw<'a>,
    minimum: Raw<'a>,
    expires: Raw<'a>,
    is_firm: bool,
    quote_id: Raw<'a>,
    request: Id,
    /// Whether the value date is the pair's spot date.
    is_spot: bool,
    /// Whether the quote states the value date.
    is_dated: bool,
    /// Source of absent fields.
    known: Option<Entry>,
}

impl Apply<'_> {
    /// Applies a message of any type; other types than quotes change nothing.
    pub fn message(&mut self, Sound { message, behind }: &Sound<'_>) {
        match message.msg_type() {
            b"W" => self.snapshot(message, behind),
            b"X" => self.increment(message, behind),
            b"S" => self.quote(message),
            b"i" => self.mass_quote(message),
            b"Z" => self.quote_cancel(message),
            b"AI" => self.quote_status(message),
            _ => {}
        }
    }

    /// The bank's pair with this symbol; records it as quoted.
    fn quoted_pair(&mut self, symbol: Raw<'_>) -> Option<Pair> {
        let pair = self.pair(symbol)?;
        self.note_quoted(pair);
        Some(pair)
    }

    /// The bank's pair with this symbol.
    fn pair(&mut self, symbol: Raw<'_>) -> Option<Pair> {
        let pair = self.setup.pair_of(self.bank, symbol?);
        if pair.is_none() {
            self.counters.pairs_unknown += 1;
        }
        pair
    }

    /// Records a quote message of the pair.
    fn note_quoted(&mut self, pair: Pair) {
        if !self.quoted.contains(&pair) {
            self.quoted.push(pair);
        }
        self.note_changed(pair);
    }

    fn note_changed(&mut self, pair: Pair) {
        if !self.changed.contains(&pair) {
            self.changed.push(pair);
        }
    }

    /// Sets an entry, or removes it if its fields are not a valid quote for the spot date.
    fn set(&mut self, pair: Pair, key: Key, draft: &Draft<'_>) {
        let entry = self.entry(pair, draft);
        match entry {
            Some(entry) if !draft.is_spot => {
                self.counters.entries_refused += 1;
                self.books[pair].set_other(&key, entry);
            }
            Some(entry) => {
                if draft.is_dated {
                    self.books[pair].set_dated();
                }
                self.put(pair, key, entry);
            }
            None => self.books[pair].remove(&key),
        }
    }

    /// Sets an entry as the newest of the bank.
    fn put(&mut self, pair: Pair, key: Key, mut entry: Entry) {
        let book = &mut self.books[pair];
        let is_same_quote = |known: &Entry| {
            known.is_used && !entry.quote_id.is_empty() && known.quote_id == entry.quote_id
        };
        // mutant: fx: a used quote is used again
        entry.is_used =
            self.setup.banks[self.bank].is_quoted && book.get(&key).is_some_and(is_same_quote);
        *self.age += 1;
        entry.age = *self.age;
        entry.set_ns = self.now_ns;
        if !book.set(key, entry) {
            self.counters.entries_beyond += 1;
        }
    }

    /// The entry for a draft of any value date, if valid.
    fn entry(&mut self, pair: Pair, draft: &Draft<'_>) -> Option<Entry> {
        let (bank, pair) = (
            &self.setup.banks[self.bank].config,
            &self.setup.pairs[pair].config,
        );
        let known = draft.known.as_ref();
        let price = match draft.price {
            Some(text) => ticks::price(text, pair.precision),
            None => known.map(|entry| entry.price),
        };
        let size = match draft.size {
            Some(text) => ticks::size(text),
            None => known.map(|entry| entry.size),
        };
        let minimum = draft.minimum.map_or(Some(bank.min_qty), ticks::quantity);
        let by_wall = |ns: u64| ns.saturating_add_signed(-self.wall_ahead_ns);
        let own_ns = draft.expires.map_or(Some(NEVER), |text| {
            let end_ns = timestamp(text).ok().map(by_wall);
            end_ns.or(is_endless(text).then_some(NEVER))
        });
        let (Some(price), Some(size), Some(minimum), Some(own_ns)) = (price, size, minimum, own_ns)
        else {
            self.counters.entries_refused += 1;
            return None;
        };
        let quote_id = match draft.quote_id {
            Some(text) => Id::new(text),
            None => Some(known.map_or(Id::EMPTY, |entry| entry.quote_id)),
        };
        let Some(quote_id) = quote_id else {
            self.counters.ids_refused += 1;
            return None;
        };
        let ttl_ns = match bank.ttl_ms {
            0 => NEVER,
            ttl_ms => self.now_ns.saturating_add(ns(ttl_ms)),
        };
        Some(Entry {
            side: draft.side,
            is_firm: draft.is_firm,
            is_used: false,
            price,
            size,
            whole: whole_lots(size, pair.lot),
            minimum,
            expires_ns: ttl_ns.min(own_ns),
            age: 0,
            quote_id,
            request: draft.request,
            set_ns: 0,
            times: QuoteTimes::default(),
        })
    }
}

/// Whether the end of a quote is stated as none: no date, or a year beyond those of a timestamp here.
#[cold]
fn is_endless(text: &[u8]) -> bool {
    is_timestamp(text) && (text.starts_with(NO_DATE) || text > &b"2262"[..])
}
