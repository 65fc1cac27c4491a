//! Times of a bank's messages by the clock of the inputs.

use super::State;
use touchline_transport::clock::STEP_NS;
use touchline_types::{Quote, QuoteChange};

impl State {
    /// A time of the wall clock by the clock of the inputs; 0 stays: no time.
    pub(super) fn timed(&self, wall_ns: u64) -> u64 {
        match wall_ns {
            0 => 0,
            _ => wall_ns.saturating_add_signed(-self.wall_ahead_ns),
        }
    }

    /// Whether a message's time is known: not before the wall clock was set, and not in the future, as a time of the
    /// old wall clock may be.
    pub(super) fn is_time_sure(&self, receive_ns: u64, now_ns: u64) -> bool {
        receive_ns >= self.not_before_ns && receive_ns <= now_ns.saturating_add(STEP_NS)
    }

    /// Quotes with their times by the clock of the inputs.
    pub(super) fn retimed<'q>(&'q mut self, quotes: &'q [Quote]) -> &'q [Quote] {
        if self.wall_ahead_ns == 0 {
            return quotes;
        }
        let mut retimed = std::mem::take(&mut self.retimed.0);
        retimed.clear();
        retimed.extend(quotes.iter().map(|quote| self.retimed_quote(quote)));
        self.retimed.0 = retimed;
        &self.retimed.0
    }

    /// Changes with the times of their quotes by the clock of the inputs.
    pub(super) fn retimed_changes<'q>(
        &'q mut self,
        changes: &'q [QuoteChange],
    ) -> &'q [QuoteChange] {
        if self.wall_ahead_ns == 0 {
            return changes;
        }
        let mut retimed = std::mem::take(&mut self.retimed.1);
        retimed.clear();
        retimed.extend(changes.iter().map(|change| QuoteChange {
            quote: self.retimed_quote(&change.quote),
            ..*change
        }));
        self.retimed.1 = retimed;
        &self.retimed.1
    }

    fn retimed_quote(&self, quote: &Quote) -> Quote {
        Quote {
            set_ns: self.timed(quote.set_ns),
            expiry_ns: self.timed(quote.expiry_ns),
            ..*quote
        }
    }
}
