//! The bank's own book: its usable quotes, by price.

use touchline_fx::BankStream;
use touchline_fx::ladder::Ladder;
use touchline_fx_events::setup::Pair;
use touchline_types::{
    BookKind, Event, Instrument, LevelAction, LevelEvent, Place, Side, UpdateAction, Validity,
};

/// Books of the bank's pairs, as last published.
#[derive(Debug)]
pub struct Books {
    ladders: Vec<Ladder>,
    known: Vec<Known>,
}

/// Quote state of a pair since the session logged on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// No quote message yet.
    Nothing,
    /// The bank rejected the request.
    Closed,
    /// A quote message was received.
    Quoted,
}

impl Books {
    pub fn new(stream: &BankStream, levels_max: usize) -> Books {
        let pairs = &stream.setup().pairs;
        let ladder =
            |pair: &touchline_fx::setup::PairSetup| Ladder::new(levels_max, pair.config.precision);
        Books {
            ladders: pairs.iter().map(ladder).collect(),
            known: vec![Known::Nothing; pairs.len()],
        }
    }

    /// The session logged on or was lost: every book is empty, and unknown until a quote message of its pair is received.
    pub fn empty(&mut self, validity: Validity, events: &mut Vec<Event>) {
        for (pair, ladder) in self.ladders.iter_mut().enumerate() {
            ladder.replace([Some(&[]), Some(&[])]);
            self.known[pair] = Known::Nothing;
            events.push(Event::BookLost(Instrument(pair as u32), validity));
        }
    }

    /// The session timed out: the quotes are kept, and unusable until it is active again.
    pub fn pause(&mut self, events: &mut Vec<Event>) {
        for (pair, ladder) in self.ladders.iter_mut().enumerate() {
            ladder.replace([Some(&[]), Some(&[])]);
            if self.known[pair] == Known::Quoted {
                let instrument = Instrument(pair as u32);
                events.push(Event::BookLost(instrument, Validity::Recovering));
            }
        }
    }

    /// The session is active again after a pause: books of quoted pairs are known as before.
    pub fn resume(&mut self, stream: &BankStream, events: &mut Vec<Event>) {
        for pair in 0..self.ladders.len() {
            if self.known[pair] == Known::Quoted {
                events.push(Event::Validity(Instrument(pair as u32), Validity::Live));
                self.refresh(stream, pair, events);
            }
        }
    }

    /// The bank rejected the request of the pair: its book is empty.
    pub fn close(&mut self, pair: Pair, events: &mut Vec<Event>) {
        self.known[pair] = Known::Closed;
        let (instrument, closed) = (Instrument(pair as u32), Validity::Closed);
        events.push(match self.ladders[pair].replace([Some(&[]), Some(&[])]) {
            true => Event::BookLost(instrument, closed),
            false => Event::Validity(instrument, closed),
        });
    }

    /// Records a quote message of the pair: its book is known.
    pub fn note_quoted(&mut self, pair: Pair, events: &mut Vec<Event>) {
        if std::mem::replace(&mut self.known[pair], Known::Quoted) != Known::Quoted {
            events.push(Event::Validity(Instrument(pair as u32), Validity::Live));
        }
    }

    /// Updates a book from the usable quotes. True if it changed.
    pub fn refresh(&mut self, stream: &BankStream, pair: Pair, events: &mut Vec<Event>) -> bool {
        let composites = stream.composites();
        let ladder = &mut self.ladders[pair];
        let levels = [
            Some(composites.levels(pair, Side::Bid)),
            Some(composites.levels(pair, Side::Ask)),
        ];
        if !ladder.replace(levels) {
            return false;
        }
        for change in ladder.changes() {
            let level = LevelEvent {
                instrument: Instrument(pair as u32),
                orders: change.level.orders,
                price: change.level.price,
                quantity: change.level.quantity,
                place: Place::Price,
                action: match change.action {
                    LevelAction::Insert => UpdateAction::New,
                    LevelAction::Replace => UpdateAction::Change,
                    LevelAction::Remove | LevelAction::Clear => UpdateAction::Delete,
                },
                side: change.side,
                book: BookKind::Direct,
            };
            events.push(Event::Level(level, Validity::Live));
        }
        true
    }
}
