//! Quotes from the bus of a bank's gateway: changes of entries instead of FIX messages.

use super::super::entry::{Entry, Key, NEVER};
use super::Apply;
use crate::config::PairConfig;
use crate::plan::whole_lots;
use crate::setup::{Pair, ns};
use crate::ticks::{PRICE_MAX, QUANTITY_MAX};
use touchline_types::{Id, Quote, QuoteAction, QuoteChange};

/// Decimals of a [`touchline_types::Price`].
const PRICE_DECIMALS: u32 = 9;

/// Quotes of a bank's pair.
#[derive(Debug, Clone, Copy)]
pub struct BusQuotes<'a> {
    /// The pair.
    pub pair: Pair,
    /// Receive time of the bank's message at the gateway, nanoseconds since 1970.
    pub receive_ns: u64,
    /// The change.
    pub quoted: Quoted<'a>,
}

/// Change of the quotes of a bank's pair.
#[derive(Debug, Clone, Copy)]
pub enum Quoted<'a> {
    /// Changes, in order; empty if a quote message of the pair changed nothing.
    Changes(&'a [QuoteChange]),
    /// All quotes of the pair, oldest first.
    All(&'a [Quote]),
}

impl Apply<'_> {
    /// Applies quotes from a bus. They count as a quote message of the pair.
    pub(in crate::quotes) fn bus_quotes(&mut self, quotes: &BusQuotes<'_>) {
        let BusQuotes {
            pair, receive_ns, ..
        } = *quotes;
        self.counters.quotes += 1;
        self.note_changed(pair);
        match quotes.quoted {
            Quoted::Changes([change]) if change.action == QuoteAction::Clear => {
                self.books[pair].clear();
                return;
            }
            Quoted::Changes(changes) => {
                for change in changes {
                    self.bus_change(pair, receive_ns, change);
                }
            }
            Quoted::All(quotes) => {
                self.books[pair].begin_snapshot(&Id::EMPTY);
                for quote in quotes {
                    self.bus_quote(pair, receive_ns, quote);
                }
                self.books[pair].end_snapshot();
            }
        }
        self.note_quoted(pair);
    }

    fn bus_change(&mut self, pair: Pair, receive_ns: u64, change: &QuoteChange) {
        match change.action {
            QuoteAction::Set => self.bus_quote(pair, receive_ns, &change.quote),
            QuoteAction::Remove => self.books[pair].remove(&Key::Number(change.quote.entry)),
            QuoteAction::Clear => self.books[pair].clear(),
        }
    }

    fn bus_quote(&mut self, pair: Pair, receive_ns: u64, quote: &Quote) {
        let key = Key::Number(quote.entry);
        match self.bus_entry(pair, receive_ns, quote) {
            Some(entry) => self.put(pair, key, entry),
            None => {
                self.counters.entries_refused += 1;
                self.books[pair].remove(&key);
            }
        }
    }

    /// Converts a quote to an entry, if its price is exact at the precision of the pair.
    fn bus_entry(&self, pair: Pair, receive_ns: u64, quote: &Quote) -> Option<Entry> {
        let bank = &self.setup.banks[self.bank].config;
        let PairConfig { precision, lot, .. } = self.setup.pairs[pair].config;
        let nanos = 10_i64.pow(PRICE_DECIMALS - u32::from(precision));
        let (price, size) = (quote.price.0 / nanos, quote.quantity.0);
        let minimum = match quote.quantity_min.is_null() {
            true => bank.min_qty,
            false => quote.quantity_min.0,
        };
        let is_deal = quote.price.0 % nanos == 0
            && (1..=PRICE_MAX).contains(&price)
            && (1..=QUANTITY_MAX).contains(&size)
            && (0..=QUANTITY_MAX).contains(&minimum);
        let lived_from = |from_ns: u64| match bank.ttl_ms {
            0 => NEVER,
            ttl_ms => from_ns.saturating_add(ns(ttl_ms)),
        };
        is_deal.then(|| Entry {
            side: quote.side,
            is_firm: !quote.is_indicative,
            is_used: false,
            price,
            size,
            whole: whole_lots(size, lot),
            minimum,
            expires_ns: end_of(quote)
                .min(lived_from(receive_ns))
                .min(lived_from(self.now_ns)),
            age: 0,
            quote_id: quote.quote_id,
            request: Id::EMPTY,
        })
    }
}

/// Expiry of a quote as stated by the bank.
fn end_of(quote: &Quote) -> u64 {
    match quote.expiry_ns {
        0 => NEVER,
        expiry_ns => expiry_ns,
    }
}
