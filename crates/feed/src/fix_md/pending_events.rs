//! What subscribers are told apart from messages: downloads, silence, what was left out.

use super::download::Stage;
use super::feed::FixFeed;
use super::instruments::{Book, Row};
use crate::Batch;
use touchline_types::{Event, Instrument, PacketInfo, Phase, Validity};

/// Pending events: what subscribers are to be notified of, apart from messages.
#[derive(Debug, Default)]
pub struct PendingEvents {
    pub begun: bool,
    pub ended: bool,
    /// Live books are shown as this from now on.
    pub published_state: Option<Validity>,
    /// Numbers that the venue left out.
    pub lost: Option<(u64, u64)>,
    /// Some of the doubted books were not told of yet.
    pub inconsistent: bool,
}

impl PendingEvents {
    /// Whether there are any.
    #[inline]
    pub fn is_any(&self) -> bool {
        let PendingEvents {
            begun,
            ended,
            published_state,
            lost,
            inconsistent,
        } = self;
        *begun || *ended || *inconsistent || published_state.is_some() || lost.is_some()
    }
}

impl FixFeed {
    /// Takes what is due apart from messages. Whether there was something.
    pub(super) fn take_pending(&mut self, batch: &mut Batch) -> bool {
        let pending = std::mem::take(&mut self.pending);
        let events = &mut batch.events;
        batch.packet_info = PacketInfo {
            receive_ns: self.time.wall_ns,
            ..PacketInfo::default()
        };
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
            let is_gone = self.stage == Stage::Down && validity == Validity::Stale;
            // mutant: fix market data: a sign of life makes every book live
            let is_published =
                |row: &&Row| row.was_published && (is_gone || row.book == Book::Live);
            let rows = self.rows.iter();
            events.extend(rows.filter(is_published).map(shown));
        }
        if pending.inconsistent {
            let lost = |instrument: &Instrument| Event::BookLost(*instrument, Validity::Recovering);
            events.extend(self.inconsistent.iter().map(lost));
        }
        if pending.begun {
            events.push(Event::Download(Phase::Begun));
            // Those of the configuration are known without a list.
            for row in self.rows.iter().filter(|row| row.is_listed) {
                events.push(Event::Defined {
                    instrument: row.instrument,
                    price: row.validity(),
                    orders: None,
                });
            }
        }
        if pending.ended {
            events.push(Event::Download(Phase::Ended));
        }
        !events.is_empty()
    }
}
