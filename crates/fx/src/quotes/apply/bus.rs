//! Quotes from the bus of a bank's gateway: changes of entries instead of FIX messages.

use super::super::entry::{Entry, Key, NEVER, QuoteTimes};
use super::Apply;
use crate::config::PairConfig;
use crate::plan::whole_lots;
use crate::setup::ns;
use touchline_fx_events::setup::Pair;
use touchline_fx_events::ticks::{PRICE_MAX, QUANTITY_MAX, tick};
use touchline_types::{Id, Quote, QuoteAction, QuoteChange};

/// Quotes of a bank's pair.
#[derive(Debug, Clone, Copy)]
pub struct BusQuotes<'a> {
    /// The pair.
    pub pair: Pair,
    /// Receive time of the bank's message at the gateway, nanoseconds since 1970; of all quotes, that of the pair's last quote
    /// message.
    pub receive_ns: u64,
    /// Sending time of that message, and the time that the bank states for its prices, nanoseconds since 1970; 0: not known.
    pub bank_ns: [u64; 2],
    /// Whether the message is not a quote of the pair: quotes that the bank withdrew, or a pair without any quote message so
    /// far.
    pub is_unquoted: bool,
    /// The change.
    pub quoted: Quoted<'a>,
}

/// Change of the quotes of a bank's pair.
#[derive(Debug, Clone, Copy)]
pub enum Quoted<'a> {
    /// Changes, in order; empty if a quote message of the pair changed nothing.
    Changes(&'a [QuoteChange]),
    /// All quotes of the pair, oldest first: a reader takes the pair up.
    All(&'a [Quote]),
}

impl BusQuotes<'_> {
    /// Whether the pair has no quotes afterwards, and it is not a quote message.
    pub fn is_cleared(&self) -> bool {
        match self.quoted {
            Quoted::Changes([change]) => change.action == QuoteAction::Clear,
            Quoted::Changes(_) => false,
            Quoted::All(_) => self.is_unquoted,
        }
    }
}

/// Time at which a quote was set, in a message of this receive time.
pub fn set_at(quote: &Quote, receive_ns: u64) -> u64 {
    match quote.set_ns {
        0 => receive_ns,
        set_ns => set_ns,
    }
}

impl Apply<'_> {
    /// Applies quotes from a bus.
    pub(in crate::quotes) fn bus_quotes(&mut self, quotes: &BusQuotes<'_>) {
        let BusQuotes {
            pair,
            receive_ns,
            bank_ns,
            ..
        } = *quotes;
        let [sending_ns, exchange_ns] = bank_ns;
        let times = QuoteTimes {
            sending_ns,
            exchange_ns,
            receive_ns,
        };
        match quotes.quoted {
            _ if !quotes.is_unquoted => self.counters.quotes += 1,
            Quoted::Changes(_) => self.counters.withdrawals += 1,
            Quoted::All(_) => {}
        }
        *self.quoted_ns = Some(receive_ns);
        self.note_changed(pair);
        if quotes.is_cleared() {
            match quotes.quoted {
                // The pair of a new session is not quoted when it is taken up.
                Quoted::All(_) if self.books[pair].is_empty() => {
                    // mutant: fx: a used quote of an ended session is one of the next
                    self.used[pair].forget();
                }
                Quoted::All(_) => self.used[pair].keep(&self.books[pair]),
                Quoted::Changes(_) => {}
            }
            self.books[pair].clear();
            return;
        }
        match quotes.quoted {
            Quoted::Changes(changes) => {
                for change in changes {
                    self.bus_change(pair, &times, change);
                }
            }
            Quoted::All(quotes) => {
                *self.is_taken_up = true;
                self.books[pair].begin_snapshot(&Id::EMPTY);
                for quote in quotes {
                    // The bank's times are those of its last message alone.
                    let times = QuoteTimes {
                        receive_ns,
                        ..QuoteTimes::default()
                    };
                    self.bus_quote(pair, &times, quote);
                }
                self.books[pair].end_snapshot();
                let is_quoted = self.setup.banks[self.bank].is_quoted;
                // mutant: fx: a used quote is used again behind a loss of the reader
                self.used[pair].mark(&mut self.books[pair], is_quoted);
            }
        }
        if !quotes.is_unquoted {
            self.note_quoted(pair);
        }
    }

    fn bus_change(&mut self, pair: Pair, times: &QuoteTimes, change: &QuoteChange) {
        match change.action {
            QuoteAction::Set => self.bus_quote(pair, times, &change.quote),
            QuoteAction::Remove => self.books[pair].remove(&Key::Number(change.quote.entry)),
            QuoteAction::Clear => self.books[pair].clear(),
        }
    }

    fn bus_quote(&mut self, pair: Pair, times: &QuoteTimes, quote: &Quote) {
        let key = Key::Number(quote.entry);
        match self.bus_entry(pair, times, quote) {
            Some(entry) => self.put(pair, key, entry),
            None => {
                self.counters.entries_refused += 1;
                self.books[pair].remove(&key);
            }
        }
    }

    /// Converts a quote to an entry, if its price is exact at the precision of the pair.
    fn bus_entry(&self, pair: Pair, times: &QuoteTimes, quote: &Quote) -> Option<Entry> {
        let bank = &self.setup.banks[self.bank].config;
        let PairConfig { precision, lot, .. } = self.setup.pairs[pair].config;
        let set_ns = set_at(quote, times.receive_ns);
        let nanos = tick(precision);
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
                .min(lived_from(set_ns))
                .min(lived_from(self.now_ns)),
            age: 0,
            quote_id: quote.quote_id,
            request: Id::EMPTY,
            set_ns: 0,
            times: QuoteTimes {
                receive_ns: set_ns,
                ..*times
            },
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
