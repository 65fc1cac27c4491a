//! Inputs of a live process as lines of a session file: a replay of it gives the same composites.
//!
//! Quotes of a bus are written as equivalent snapshots (W) and increments (X), each entry under its number (278). A
//! message without changes is written as an increment that deletes an absent entry. A word stands before them: `!quoted
//! TIME` if the gateway received the message before it was read; of changes without a quote message of the bank, `!taken
//! TIME` for a snapshot at which the reader joined a pair, with the time of the pair's last quote message, and `!withdrawn`
//! for quotes that the bank withdrew singly.

use std::fmt::Write;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, NEVER, Quoted, set_at};
use touchline_fx::setup::{Setup, ns};
use touchline_fx_events::desk::{Day, Desk};
use touchline_fx_events::setup::Bank;
use touchline_fx_events::ticks::{self, PRICE_DECIMALS};
use touchline_types::{Quote, QuoteAction, QuoteChange, Side};
use touchline_wire::fix::{Precision, SOH, write_timestamp};

/// Entry number that no quote has.
const NO_ENTRY: &str = "none";

/// Lifetime of quotes from when they were set.
#[derive(Debug, Clone, Copy)]
struct Lifetime {
    ttl_ns: u64,
    receive_ns: u64,
}

impl Lifetime {
    /// End of a quote's lifetime; [`NEVER`] if it is unlimited.
    fn until(&self, quote: &Quote) -> u64 {
        match self.ttl_ns {
            0 => NEVER,
            ttl_ns => set_at(quote, self.receive_ns).saturating_add(ttl_ns),
        }
    }
}

fn write_day(setup: &Setup, at_ns: u64, day: &Day, out: &mut String) {
    let Day { pair, trade, spot } = *day;
    let symbol = &setup.pairs[pair].config.symbol;
    let spot = match spot {
        0 => "null".to_owned(),
        spot => format!("\"{spot}\""),
    };
    let _ = writeln!(
        out,
        "{at_ns} - {{\"op\":\"day\",\"pair\":\"{symbol}\",\"trade\":\"{trade}\",\"spot\":{spot}}}"
    );
}

/// Writer of lines with reusable memory.
#[derive(Debug, Clone, Default)]
pub struct LineWriter {
    body: String,
}

impl LineWriter {
    /// Appends an input as a line with its line end. Commands of the desk and order sessions are not written: no live process of
    /// prices has them.
    pub fn write(&mut self, setup: &Setup, at_ns: u64, input: &Input<'_>, out: &mut String) {
        let (bank, session) = match input {
            Input::Pricing(bank, session) => (bank, session),
            Input::Desk(Desk::Day(day)) => return write_day(setup, at_ns, day, out),
            _ => return,
        };
        let name = &setup.banks[*bank].config.name;
        // Writing into a string does not fail.
        let _ = write!(out, "{at_ns} {name}.q ");
        match session {
            Session::Up => out.push_str("!up"),
            // A composer uses no quotes.
            Session::Down | Session::Missed => out.push_str("!down"),
            Session::Settled | Session::Doubted | Session::Closing | Session::Closed => {
                unreachable!("a pricing session has no orders")
            }
            Session::Heard => self.message("0", |_| (), out),
            Session::Quotes(quotes) => self.quotes(setup, (*bank, at_ns), quotes, out),
            Session::Message(bytes) => text(bytes, out),
            Session::QuotedAt(quoted_ns, bytes) => {
                let _ = write!(out, "!quoted {quoted_ns} ");
                text(bytes, out);
            }
            Session::TakenUp(quoted_ns, bytes) => {
                let _ = write!(out, "!taken {quoted_ns} ");
                text(bytes, out);
            }
            Session::Withdrawn(bytes) => {
                out.push_str("!withdrawn ");
                text(bytes, out);
            }
        }
        out.push('\n');
    }

    fn quotes(
        &mut self,
        setup: &Setup,
        (bank, at_ns): (Bank, u64),
        quotes: &BusQuotes<'_>,
        out: &mut String,
    ) {
        let symbol = setup.pairs[quotes.pair].config.symbol.as_str();
        let lifetime = Lifetime {
            ttl_ns: ns(setup.banks[bank].config.ttl_ms),
            receive_ns: quotes.receive_ns,
        };
        if quotes.is_cleared() {
            let body = |body: &mut String| {
                let _ = write!(body, "117=*|298=1|295=1|55={symbol}|");
            };
            self.message("Z", body, out);
            return;
        }
        match quotes.quoted {
            Quoted::All(_) => {
                let _ = write!(out, "!taken {} ", quotes.receive_ns);
            }
            Quoted::Changes(_) if quotes.is_unquoted => out.push_str("!withdrawn "),
            Quoted::Changes(_) if quotes.receive_ns < at_ns => {
                let _ = write!(out, "!quoted {} ", quotes.receive_ns);
            }
            Quoted::Changes(_) => {}
        }
        match quotes.quoted {
            Quoted::All(quotes) => self.snapshot(symbol, lifetime, quotes.iter(), out),
            Quoted::Changes(changes) => {
                let last_clear = changes
                    .iter()
                    .rposition(|change| change.action == QuoteAction::Clear);
                match last_clear {
                    Some(at) => {
                        let rest = &changes[at + 1..];
                        let left = rest
                            .iter()
                            .enumerate()
                            .filter(|(at, change)| is_left(rest, *at, change));
                        self.snapshot(symbol, lifetime, left.map(|(_, change)| &change.quote), out);
                    }
                    None => self.increment(symbol, lifetime, changes, out),
                }
            }
        }
    }

    fn snapshot<'q>(
        &mut self,
        symbol: &str,
        lifetime: Lifetime,
        quotes: impl Iterator<Item = &'q Quote>,
        out: &mut String,
    ) {
        let (mut entries, mut count) = (String::new(), 0);
        for quote in quotes {
            let _ = write!(entries, "269={}|278={}|", side(quote.side), quote.entry);
            entry(quote, lifetime, &mut entries);
            count += 1;
        }
        let body = |body: &mut String| {
            let _ = write!(body, "55={symbol}|268={count}|{entries}");
        };
        self.message("W", body, out);
    }

    fn increment(
        &mut self,
        symbol: &str,
        lifetime: Lifetime,
        changes: &[QuoteChange],
        out: &mut String,
    ) {
        let (mut entries, mut count) = (String::new(), 0);
        for QuoteChange { action, quote } in changes {
            // Fields absent from an increment keep their values, so a quote without an id is deleted and set as a new entry.
            if *action == QuoteAction::Remove || quote_id(quote).is_empty() {
                let _ = write!(entries, "279=2|278={}|55={symbol}|", quote.entry);
                count += 1;
            }
            if *action == QuoteAction::Set {
                let side = side(quote.side);
                let _ = write!(entries, "279=0|278={}|269={side}|55={symbol}|", quote.entry);
                entry(quote, lifetime, &mut entries);
                count += 1;
            }
        }
        if count == 0 {
            let _ = write!(entries, "279=2|278={NO_ENTRY}|55={symbol}|");
            count = 1;
        }
        let body = |body: &mut String| {
            let _ = write!(body, "268={count}|{entries}");
        };
        self.message("X", body, out);
    }

    /// A message with its length and checksum.
    fn message(&mut self, kind: &str, body: impl FnOnce(&mut String), out: &mut String) {
        self.body.clear();
        let _ = write!(self.body, "35={kind}|");
        body(&mut self.body);
        let start = out.len();
        let _ = write!(out, "8=FIX.4.4|9={}|{}", self.body.len(), self.body);
        let sum = out.as_bytes()[start..].iter().fold(0_u8, |sum, byte| {
            sum.wrapping_add(if *byte == b'|' { SOH } else { *byte })
        });
        let _ = write!(out, "10={sum:03}|");
    }
}

/// A message with `|` as the separator.
fn text(bytes: &[u8], out: &mut String) {
    let text = String::from_utf8_lossy(bytes);
    let letters = text.chars();
    out.extend(letters.map(|letter| if letter == SOH as char { '|' } else { letter }));
}

/// Whether a change after a clear is still valid at the end of its message.
fn is_left(changes: &[QuoteChange], at: usize, change: &QuoteChange) -> bool {
    let is_same = |other: &QuoteChange| other.quote.entry == change.quote.entry;
    change.action == QuoteAction::Set && !changes[at + 1..].iter().any(is_same)
}

fn side(side: Side) -> u8 {
    side.index() as u8
}

/// Id of a quote for a line; an id that contains the separator is left out.
fn quote_id(quote: &Quote) -> &str {
    match quote.quote_id.as_str() {
        text if text.contains('|') => "",
        text => text,
    }
}

/// The fields of an entry behind its number and side.
fn entry(quote: &Quote, lifetime: Lifetime, out: &mut String) {
    out.push_str("270=");
    ticks::write(out, i128::from(quote.price.0), PRICE_DECIMALS);
    let _ = write!(out, "|271={}|", quote.quantity.0);
    if !quote_id(quote).is_empty() {
        let _ = write!(out, "299={}|", quote_id(quote));
    }
    if !quote.quantity_min.is_null() {
        let _ = write!(out, "110={}|", quote.quantity_min.0);
    }
    let own = match quote.expiry_ns {
        0 => NEVER,
        expiry_ns => expiry_ns,
    };
    let ends_ns = own.min(lifetime.until(quote));
    if ends_ns != NEVER {
        let mut room = [0; 27];
        let text = write_timestamp(ends_ns, Precision::Nanoseconds, &mut room);
        let _ = write!(out, "126={}|", String::from_utf8_lossy(text));
    }
    if quote.is_indicative {
        out.push_str("276=B|");
    }
}
