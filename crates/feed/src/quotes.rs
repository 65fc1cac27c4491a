//! Quotes of a batch: changes of providers' quotes by one packet, next to the events of books.

use std::ops::Range;
use touchline_types::{Quote, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate, Update};

/// Quotes of one batch, in order.
#[derive(Debug, Default)]
pub struct QuoteBatch {
    messages: Vec<QuoteMessage>,
    changes: Vec<QuoteChange>,
    quotes: Vec<Quote>,
    scratch: Vec<Quote>,
}

/// Quotes of a provider in an instrument.
#[derive(Debug)]
struct QuoteMessage {
    stream: QuoteStream,
    receive_ns: u64,
    of: Of,
}

#[derive(Debug)]
enum Of {
    Changes(Range<usize>),
    All(Range<usize>),
}

impl QuoteBatch {
    /// Whether there are no quotes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Removes all quotes; the memory stays allocated.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.changes.clear();
        self.quotes.clear();
    }

    /// Adds changes; there may be none, if a quote message changed nothing.
    pub fn add_changes(&mut self, stream: QuoteStream, changes: &[QuoteChange], receive_ns: u64) {
        let from = self.changes.len();
        self.changes.extend_from_slice(changes);
        self.messages.push(QuoteMessage {
            stream,
            receive_ns,
            of: Of::Changes(from..self.changes.len()),
        });
    }

    /// Adds all quotes of a provider, as of the receive time of its last quote message: `fill` writes them.
    pub fn add_all(
        &mut self,
        stream: QuoteStream,
        receive_ns: u64,
        fill: impl FnOnce(&mut Vec<Quote>),
    ) {
        fill(&mut self.scratch);
        let from = self.quotes.len();
        self.quotes.extend_from_slice(&self.scratch);
        self.messages.push(QuoteMessage {
            stream,
            receive_ns,
            of: Of::All(from..self.quotes.len()),
        });
    }

    /// All quotes as updates, each with its receive time.
    pub fn updates(&self) -> impl Iterator<Item = (u64, Update<'_>)> {
        self.messages.iter().map(|message| {
            let stream = message.stream;
            let update = match &message.of {
                Of::Changes(range) => Update::Quotes(QuoteUpdate {
                    stream,
                    changes: &self.changes[range.clone()],
                }),
                Of::All(range) => Update::QuoteSnapshot(QuoteSnapshot {
                    stream,
                    quotes: &self.quotes[range.clone()],
                }),
            };
            (message.receive_ns, update)
        })
    }
}
