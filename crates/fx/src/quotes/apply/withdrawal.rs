//! Quote cancels (Z) and quote status reports (AI): remove entries.

use super::super::fields::{all, first, int};
use super::Apply;
use touchline_fx_events::setup::Pair;
use touchline_types::Id;
use touchline_wire::fix::{Message, tag};

impl Apply<'_> {
    /// Z: removes all entries, those of pairs, or those of a quote.
    pub(super) fn quote_cancel(&mut self, message: &Message<'_>) {
        self.counters.withdrawals += 1;
        match int(message, tag::QUOTE_CANCEL_TYPE) {
            Some(b"4") => self.withdraw_all(),
            Some(b"1") => {
                for symbol in all(message, tag::SYMBOL) {
                    if let Some(pair) = self.pair(Some(symbol)) {
                        self.withdraw_pair(pair);
                    }
                }
            }
            _ => self.withdraw_quote(message),
        }
    }

    /// AI: removes a quote that is canceled, rejected, removed, expired or unknown to the market.
    pub(super) fn quote_status(&mut self, message: &Message<'_>) {
        self.counters.withdrawals += 1;
        match int(message, tag::QUOTE_STATUS) {
            Some(b"4") => self.withdraw_all(),
            Some(b"1" | b"5" | b"6" | b"7" | b"11") => {
                if first(message, tag::QUOTE_ID).is_some() {
                    self.withdraw_quote(message);
                } else if let Some(pair) = self.pair(first(message, tag::SYMBOL)) {
                    self.withdraw_pair(pair);
                }
            }
            _ => {}
        }
    }

    fn withdraw_all(&mut self) {
        for pair in 0..self.books.len() {
            self.withdraw_pair(pair);
        }
    }

    fn withdraw_pair(&mut self, pair: Pair) {
        self.books[pair].clear();
        self.note_changed(pair);
    }

    fn withdraw_quote(&mut self, message: &Message<'_>) {
        // No entry can have this identifier.
        let Some(quote_id) = first(message, tag::QUOTE_ID).and_then(Id::new) else {
            return;
        };
        for pair in 0..self.books.len() {
            self.books[pair].remove_quote(&quote_id);
            self.note_changed(pair);
        }
    }
}
