//! What subscribers are told apart from messages: downloads, silence, what was left out.

use super::instruments::{Book, Row, Rows};
use super::subscriptions::Subscriptions;
use touchline_types::{Event, Instrument, Phase, Validity};

/// Pending events: what subscribers are to be notified of, apart from messages. Each is told once.
#[derive(Debug, Default)]
pub struct PendingEvents {
    is_begun: bool,
    is_ended: bool,
    /// Live books are shown as this from now on.
    published_state: Option<Validity>,
    /// Numbers that the venue left out.
    lost: Option<(u64, u64)>,
    /// Some of the doubted books were not told of yet.
    is_inconsistent: bool,
}

impl PendingEvents {
    /// A download begins.
    pub fn begin(&mut self) {
        self.is_begun = true;
    }

    /// A download ended.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Live books are shown as this from now on.
    pub fn publish(&mut self, validity: Validity) {
        self.published_state = Some(validity);
    }

    /// What comes from this number on is missing.
    pub fn lose(&mut self, number: u64) {
        self.lost = Some((number, number));
    }

    /// A book became inconsistent.
    pub fn inconsistent(&mut self) {
        self.is_inconsistent = true;
    }

    /// Whether there are any.
    #[inline]
    pub fn is_any(&self) -> bool {
        let PendingEvents {
            is_begun,
            is_ended,
            published_state,
            lost,
            is_inconsistent,
        } = self;
        *is_begun || *is_ended || *is_inconsistent || published_state.is_some() || lost.is_some()
    }

    /// Takes all of them. Whether that made events.
    pub fn take(
        &mut self,
        rows: &Rows,
        subscriptions: &Subscriptions,
        events: &mut Vec<Event>,
    ) -> bool {
        let pending = std::mem::take(self);
        if let Some((first, last)) = pending.lost {
            events.push(Event::Lost { first, last });
        }
        if let Some(validity) = pending.published_state {
            let shown = |row: &Row| Event::PublishedState {
                instrument: row.instrument,
                price: Some(validity),
                orders: None,
            };
            // While the connection stands the others are told of as what they are; once it is gone, whatever was
            // shown is of a moment that is over.
            let is_gone = !subscriptions.is_up() && validity == Validity::Stale;
            // mutant: fix market data: a sign of life makes every book live
            let is_published =
                |row: &&Row| row.was_published && (is_gone || row.book == Book::Live);
            events.extend(rows.iter().filter(is_published).map(shown));
        }
        if pending.is_inconsistent {
            let lost = |instrument: &Instrument| Event::BookLost(*instrument, Validity::Recovering);
            events.extend(subscriptions.inconsistent().iter().map(lost));
        }
        if pending.is_begun {
            events.push(Event::Download(Phase::Begun));
            // Those of the configuration are known without a list.
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
