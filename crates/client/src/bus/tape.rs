//! A tape that is read as the bus that it is of.

use super::step::{ROUNDS_MAX, Step};
use crate::error::of_tape;
use crate::reading::{Given, Reading, Took};
use crate::{Error, Stopper};
use touchline_instruments::{Admitted, Symbols};
use touchline_tape::{Reader, Taped};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::Item;
use touchline_types::Update;

/// A tape with the selection of a program.
pub struct Tape {
    reader: Reader,
    /// Instruments that the program has selected, by the publisher's index.
    selected: Admitted,
    /// Why it was not read to its end.
    failure: Option<Error>,
    /// Its last message was read.
    has_ended: bool,
    /// Its end, or why it cannot be read further, while the last event before it is given.
    ending: Option<Result<(), Error>>,
}

impl Tape {
    pub fn new(reader: Reader, symbols: Symbols) -> Tape {
        Tape {
            reader,
            selected: Admitted::new(symbols, 0),
            failure: None,
            has_ended: false,
            ending: None,
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
        if let Some(end) = self.ending.take() {
            return self.stop(end, stopper);
        }
        for _ in 0..ROUNDS_MAX {
            let Tape {
                reader, selected, ..
            } = self;
            match reader.poll(|item| take(item, selected, reading)) {
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
                Ok(Taped::End) => return self.end(Ok(()), reading, stopper),
                Err(error) => return self.end(Err(of_tape(error)), reading, stopper),
            }
        }
        Step::Progress
    }

    /// The tape has no further message: the one that waits for the end of its packet is the last one of it.
    #[cold]
    fn end(&mut self, end: Result<(), Error>, reading: &mut Reading, stopper: &Stopper) -> Step {
        // mutant: client: the last event of a tape that ends within a packet is lost
        let took = reading.take(Item::BatchEnd);
        match reading.after(took) {
            Given::Event(event) => {
                self.ending = Some(end);
                Step::Event(event)
            }
            Given::Nothing => self.stop(end, stopper),
        }
    }

    /// The loop of the program ends.
    #[cold]
    fn stop(&mut self, end: Result<(), Error>, stopper: &Stopper) -> Step {
        self.has_ended = end.is_ok();
        self.failure = end.err();
        stopper.stop();
        Step::Nothing
    }
}

/// Takes an item that the program has selected.
fn take(item: Item<'_>, selected: &mut Admitted, reading: &mut Reading) -> Option<Took> {
    match item {
        // Tops follow from the books.
        Item::Top { .. } | Item::Undecoded(_) => None,
        Item::Update(received) => {
            let of = received.update.instrument();
            let was_selected = of.is_none_or(|instrument| selected.has(instrument));
            let is_selected = match &received.update {
                // That of another instrument is the last message of the one that it replaces.
                Update::Definition(definition) => selected.define(definition) || was_selected,
                _ => was_selected,
            };
            let is_wanted = is_selected && reading.wants(&received.update);
            match (is_wanted, received.batch_end) {
                (true, _) => Some(reading.take(Item::Update(received))),
                (false, true) => Some(reading.take(Item::BatchEnd)),
                (false, false) => None,
            }
        }
        item => {
            if let Item::SubscriptionEvent(SubscriptionEvent::Restarted { .. }) = &item {
                selected.restart();
            }
            Some(reading.take(item))
        }
    }
}
