//! A tape that is read as the bus that it is of.

use super::step::{ROUNDS_MAX, Step};
use crate::error::of_tape;
use crate::reading::{Given, Reading, Took};
use crate::{Error, Stopper};
use touchline_instruments::Symbols;
use touchline_tape::{Reader, Taped};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::Item;
use touchline_types::{Instrument, Update};

/// A tape with the selection of a program.
pub struct Tape {
    reader: Reader,
    symbols: Symbols,
    /// By the publisher's index: instruments that the program has selected.
    selected: Vec<bool>,
    /// Why it was not read to its end.
    failure: Option<Error>,
    /// Its last message was read.
    has_ended: bool,
}

impl Tape {
    pub fn new(reader: Reader, symbols: Symbols) -> Tape {
        Tape {
            reader,
            symbols,
            selected: Vec::new(),
            failure: None,
            has_ended: false,
        }
    }

    /// Why the tape was not read to its end.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Whether its last message was read.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Messages of a newer schema.
    pub fn unknown_messages(&self) -> u64 {
        self.reader.unknown_messages()
    }

    /// One step of reading; at the end of the tape the loop of the program ends.
    pub fn step(&mut self, reading: &mut Reading, stopper: &Stopper) -> Step {
        for _ in 0..ROUNDS_MAX {
            let Tape {
                reader,
                symbols,
                selected,
                failure,
                has_ended,
            } = self;
            match reader.poll(|item| take(item, symbols, selected, reading)) {
                Ok(Taped::Given(took)) => {
                    if let (Some(Took::Event), Some(of)) = (took, reader.publication()) {
                        let kept = &mut reading.kept;
                        kept.set_next_room(of.instruments_max, of.orders_max);
                    }
                    if let Some(took) = took
                        && let Given::Event(event) = reading.after(took)
                    {
                        return Step::Event(event);
                    }
                }
                Ok(Taped::Passed) => return Step::Progress,
                Ok(Taped::Nothing) => return Step::Nothing,
                Ok(Taped::End) => {
                    *has_ended = true;
                    stopper.stop();
                    return Step::Nothing;
                }
                Err(error) => {
                    *failure = Some(of_tape(error));
                    stopper.stop();
                    return Step::Nothing;
                }
            }
        }
        Step::Progress
    }
}

/// Takes an item that the program has selected.
fn take(
    item: Item<'_>,
    symbols: &Symbols,
    selected: &mut Vec<bool>,
    reading: &mut Reading,
) -> Option<Took> {
    match item {
        // Tops follow from the books.
        Item::Top { .. } | Item::Undecoded(_) => None,
        Item::Update(received) => {
            if let Update::Definition(definition) = &received.update {
                let index = definition.instrument.index();
                if index >= selected.len() {
                    selected.resize(index + 1, false);
                }
                selected[index] = symbols.admit_instrument(definition);
            }
            let is_selected = |instrument: Instrument| {
                symbols.is_empty() || selected.get(instrument.index()) == Some(&true)
            };
            let is_wanted = received.update.instrument().is_none_or(is_selected)
                && reading.wants(&received.update);
            match (is_wanted, received.batch_end) {
                (true, _) => Some(reading.take(Item::Update(received))),
                (false, true) => Some(reading.take(Item::BatchEnd)),
                (false, false) => None,
            }
        }
        item => {
            if let Item::SubscriptionEvent(SubscriptionEvent::Restarted { .. }) = &item {
                selected.clear();
            }
            Some(reading.take(item))
        }
    }
}
