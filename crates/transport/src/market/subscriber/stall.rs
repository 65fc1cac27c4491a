//! Stalled publisher: its messages are not handed out as live until it states that it is current. Messages of a publisher that
//! has ended are never handed out as live.
//!
//! A publisher that continues after a pause first finds old packets in its sockets. It publishes them in order, and
//! states no activity until it has caught up. So books are followed meanwhile as stale; when the statement arrives,
//! everything published before it is read before any book is live.
//!
//! A reader that has followed each book needs no table then: the published state of the channel and of each live book is
//! handed out, and reading goes on with the next message, so that none is skipped. A reader of live books alone, which has not
//! followed them, gets each from its slot.

#[cfg(test)]
mod tests;

use super::joining::{Joining, image_item, state_item};
use super::verdict::Verdict;
use super::{Frame, Item, Step, Subscriber, reading};
use crate::SubscriptionEvent;
use crate::market::Kinds;
use touchline_types::native::{Body, Message, mark_stale};
use touchline_types::{Instrument, OrdersUpdate, Timestamps, Update, Validity};
use zerocopy::IntoBytes;

/// Next state to hand out as live again after a stall.
#[derive(Clone, Copy, Debug)]
pub enum Resumed {
    /// State of the channel.
    Channel,
    /// Price book of an instrument.
    Book(Instrument),
    /// Order book of an instrument.
    Orders(Instrument),
}

impl Subscriber {
    /// A stall of the publisher starts or ends.
    #[cold]
    pub(super) fn turn(&mut self) -> SubscriptionEvent {
        let is_stalled = !self.watch.is_stalled;
        self.watch.is_stalled = is_stalled;
        if is_stalled {
            if self.settings.live_only {
                // No book is live: live books arrive as a whole later.
                self.rows.forget_books();
            }
            return SubscriptionEvent::PublisherStalled;
        }
        // The tables may be ahead of the ring, whose messages would then be skipped: a reader that has every change needs none of them.
        // mutant: live: messages of a publisher that resumes are skipped
        self.joining = Some(match self.settings.live_only || self.restart_missed {
            true => Joining::new(),
            false => Joining::resumed(),
        });
        SubscriptionEvent::PublisherResumed
    }

    /// Treatment of a message of a publisher that is away, which is changed so that it is not handed out as live; `None` if the
    /// message is invalid.
    #[cold]
    pub(super) fn judge_away(&mut self, frame: Frame) -> Option<Verdict> {
        let bytes = self.scratch.message.as_mut_bytes();
        let bytes = bytes.get_mut(..frame.length).unwrap_or_default();
        let message = Message::parse(bytes).ok()?;
        let is_reset = matches!(message.body, Body::Reset);
        let (filter, reading) = (&mut self.settings.filter, &self.reading);
        let verdict = self.rows.judge_away(|rows| {
            let definitions = || reading.tables[reading::DEFINITIONS].used();
            rows.judge(&message, frame.end, filter, definitions)
        });
        mark_stale(bytes);
        if is_reset {
            // A reset makes every book live: the stall or the end is reported again after it.
            // mutant: live: a reset by a stalled publisher makes books live
            self.joining = Some(Joining::away());
        }
        Some(verdict)
    }

    /// Hands out the next state that is live again: the receiver has the contents of each book already.
    pub(super) fn resume<T>(
        &mut self,
        part: Resumed,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let kinds = self.settings.kinds;
        match part {
            Resumed::Channel => {
                self.resume_at(Resumed::Book(Instrument(0)));
                match self.rows.published_state() {
                    Some(state) => {
                        let update = Update::Channel(&state);
                        Step::Given(take(image_item(0, Timestamps::default(), update)))
                    }
                    None => Step::Passed,
                }
            }
            Resumed::Book(instrument) => {
                let Some((is_live, _)) = self.rows.is_live(instrument) else {
                    self.joining = None;
                    self.rows.go_ahead(self.reading.ring.next().position);
                    return Step::Passed;
                };
                self.resume_at(Resumed::Orders(instrument));
                match is_live && kinds.has_any(Kinds::BOOKS | Kinds::TOPS) {
                    true => Step::Given(take(state_item(instrument, Validity::Live))),
                    false => Step::Passed,
                }
            }
            Resumed::Orders(instrument) => {
                self.resume_at(Resumed::Book(Instrument(instrument.0 + 1)));
                let is_live = self.rows.is_live(instrument).is_some_and(|live| live.1);
                if !is_live || !kinds.has_any(Kinds::ORDERS) {
                    return Step::Passed;
                }
                let update = Update::Orders(OrdersUpdate {
                    instrument,
                    validity: Validity::Live,
                    changes: &[],
                });
                Step::Given(take(image_item(0, Timestamps::default(), update)))
            }
        }
    }

    fn resume_at(&mut self, part: Resumed) {
        if let Some(joining) = &mut self.joining {
            joining.resume_at(part);
        }
    }
}
