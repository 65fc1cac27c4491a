//! Events for subscribers apart from messages: downloads, timeouts, gaps.

use super::instruments::Rows;
use super::subscriptions::Subscriptions;
use touchline_types::{ChannelState, Event, Instrument, Phase, Validity};

/// Pending events for subscribers, apart from messages. Each is published once.
#[derive(Debug, Default)]
pub struct PendingEvents {
    is_begun: bool,
    is_ended: bool,
    /// Numbers that the venue skipped.
    lost: Option<(u64, u64)>,
    /// Some inconsistent books are not published yet.
    is_inconsistent: bool,
}

impl PendingEvents {
    /// A download starts.
    pub fn begin(&mut self) {
        self.is_begun = true;
    }

    /// A download ended.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Messages from this number on are missing.
    pub fn lose(&mut self, number: u64) {
        self.lost = Some((number, number));
    }

    /// A book became inconsistent.
    pub fn inconsistent(&mut self) {
        self.is_inconsistent = true;
    }

    /// Whether any event is pending.
    #[inline]
    pub fn is_any(&self) -> bool {
        let PendingEvents {
            is_begun,
            is_ended,
            lost,
            is_inconsistent,
        } = self;
        *is_begun | *is_ended | *is_inconsistent | lost.is_some()
    }

    /// Publishes all pending events, and the state of the channel if it changed. Returns whether there were events.
    pub fn take(
        &mut self,
        channel: Option<ChannelState>,
        rows: &Rows,
        subscriptions: &Subscriptions,
        events: &mut Vec<Event>,
    ) -> bool {
        let pending = std::mem::take(self);
        if let Some((first, last)) = pending.lost {
            events.push(Event::Lost {
                first,
                last,
                is_join: false,
            });
        }
        if pending.is_inconsistent {
            let lost = |instrument: &Instrument| Event::BookLost(*instrument, Validity::Recovering);
            events.extend(subscriptions.inconsistent().iter().map(lost));
        }
        if pending.is_begun {
            // Books published before are stale until they arrive again; after that the connection affects no book.
            // mutant: fix market data: a new connection makes every book live
            let was_published = rows.iter().filter(|row| row.was_published);
            events.extend(was_published.map(|row| Event::Validity(row.instrument, row.validity())));
        }
        events.extend(channel.map(Event::Channel));
        if pending.is_begun {
            events.push(Event::Download(Phase::Begun));
            // The instruments of the configuration are known without a list.
            for row in rows.iter().filter(|row| row.is_listed) {
                events.push(Event::Defined {
                    instrument: row.instrument,
                    price: row.validity(),
                    orders: None,
                });
            }
        }
        if pending.is_ended {
            events.push(Event::Download(Phase::Ended));
        }
        !events.is_empty()
    }
}
