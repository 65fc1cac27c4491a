//! Consequences of an event of the session.

use super::{FxBankFeed, Pending};
use crate::Batch;
use crate::fx_bank::messages::withheld;
use touchline_types::Id;
use touchline_wire::fix::tag;

/// Consequence of an event of the session.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The stream of quotes has handled the message.
    pub is_of_stream: bool,
    /// Pair of a request that the bank rejected.
    pub refused: Option<usize>,
    /// QuoteID of a mass quote that the bank wants acknowledged.
    pub acknowledge: Option<Id>,
    /// Why a message of the bank is missing, while the session was up.
    pub missed: Option<String>,
}

impl FxBankFeed {
    /// Executes the consequence of an event of the session, now that its message is not needed any more.
    pub(super) fn carry_out(&mut self, outcome: Outcome, batch: &mut Batch) {
        let time = self.time;
        // The changes of the last quote message were passed on with it.
        // mutant: gateway: a reject counts as a quote message
        if self.is_up && !outcome.is_of_stream {
            self.settings.stream.heard(time.wall_ns);
        }
        if outcome.missed.is_some() {
            self.counters.sequence_gaps += 1;
            self.reason = outcome.missed;
            self.is_up = false;
            self.settings.stream.down(time.wall_ns);
            self.pending = Pending::Away;
            let password = self.settings.password.as_ref();
            self.message = withheld(self.session.last_message(), password);
        }
        if let Some(pair) = outcome.refused {
            if self.settings.stream.quoted_ns(pair) > 0 {
                self.settings.stream.withdraw(time.wall_ns, pair);
            }
            self.books.close(pair, &mut batch.events);
        }
        if let Some(id) = outcome.acknowledge {
            self.counters.acknowledged += 1;
            // If there is no room for the answer, the bank repeats its request or stops quoting.
            let _ = self.session.send(b"b", time, |body| {
                body.bytes(tag::QUOTE_ID, id.as_str().as_bytes())
                    .unsigned(297, 0);
            });
        }
    }
}
