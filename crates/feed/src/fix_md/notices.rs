//! What subscribers are told apart from messages: downloads, silence, what was left out.

use super::download::Stage;
use super::feed::FixFeed;
use super::instruments::{Book, Row};
use crate::Batch;
use touchline_types::{Event, Headline, Instrument, Phase, Validity};

/// What subscribers are to be told, apart from messages.
#[derive(Debug, Default)]
pub struct Notices {
    pub begun: bool,
    pub ended: bool,
    /// Live books are shown as this from now on.
    pub shown: Option<Validity>,
    /// Numbers that the venue left out.
    pub lost: Option<(u64, u64)>,
    /// Some of the doubted books were not told of yet.
    pub doubted: bool,
}

impl Notices {
    /// Whether there are any.
    #[inline]
    pub fn is_any(&self) -> bool {
        let Notices {
            begun,
            ended,
            shown,
            lost,
            doubted,
        } = self;
        *begun || *ended || *doubted || shown.is_some() || lost.is_some()
    }
}

impl FixFeed {
    /// Takes what is due apart from messages. Whether there was something.
    pub(super) fn notice(&mut self, batch: &mut Batch) -> bool {
        let notices = std::mem::take(&mut self.notices);
        let events = &mut batch.events;
        batch.headline = Headline {
            receive_ns: self.when.receive_ns,
            ..Headline::default()
        };
        if let Some((first, last)) = notices.lost {
            let (first, last) = (first as u32, last as u32);
            events.push(Event::Lost { first, last });
        }
        if let Some(validity) = notices.shown {
            let shown = |row: &Row| Event::Shown {
                instrument: row.definition.instrument,
                price: Some(validity),
                orders: None,
            };
            // While the connection stands the others are told of as what they are; once it is gone, whatever was
            // shown is of a moment that is over.
            let is_gone = self.stage == Stage::Down && validity == Validity::Stale;
            let is_told = |row: &&Row| row.was_shown && (is_gone || row.book == Book::Live);
            let rows = self.instruments.rows().iter();
            events.extend(rows.filter(is_told).map(shown));
        }
        if notices.doubted {
            let lost = |instrument: &Instrument| Event::BookLost(*instrument, Validity::Recovering);
            events.extend(self.doubted.iter().map(lost));
        }
        if notices.begun {
            events.push(Event::Download(Phase::Begun));
            // Those of the configuration are known without a list.
            for row in self.instruments.rows().iter().filter(|row| row.is_listed) {
                events.push(Event::Defined {
                    instrument: row.definition.instrument,
                    price: row.validity(),
                    orders: None,
                });
            }
        }
        if notices.ended {
            events.push(Event::Download(Phase::Ended));
        }
        !events.is_empty()
    }
}

/// Definitions are told behind a hole, too, as no later list says them again; the book is not shown as live.
pub fn is_told_behind_a_hole(event: &mut Event) -> bool {
    match event {
        Event::Defined { price, .. } => {
            if *price == Validity::Live {
                *price = Validity::Gapped;
            }
            true
        }
        Event::BookLost(..) => true,
        _ => false,
    }
}
