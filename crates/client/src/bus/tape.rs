//! A tape that is read as the bus that it is of.

use super::{Bus, JOIN_POLL, QUOTES_MAX, ROUNDS_MAX, Room, Source, Step};
use crate::reading::{Given, Reading, Took};
use crate::{Error, Events, Options, Stopper};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_instruments::Symbols;
use touchline_tape::{Reader, Taped};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::Item;
use touchline_types::{Instrument, Update};

/// Longest wait for the first records of a tape that is recorded.
const BEGIN_WAIT: Duration = Duration::from_secs(1);

/// A tape with the selection of a program.
pub struct Tape {
    reader: Reader,
    symbols: Symbols,
    /// By the publisher's index: instruments that the program has selected.
    selected: Vec<bool>,
    /// Why it was not read to its end.
    failure: Option<Error>,
}

impl Options {
    /// Reads a tape of `touchline record` as the bus that it is of; `bus` is a name, or `None` for the first bus that the tape has. It waits
    /// at the end of a tape that is recorded, and ends at the end of another one.
    ///
    /// A reader of a tape has no name, is not waited for, and gets books that are not live, too.
    ///
    /// # Errors
    /// [`Error::Tape`]: there is no tape, it has no such bus, or its first records cannot be read.
    pub fn open_journal(
        &self,
        directory: impl AsRef<Path>,
        bus: Option<&str>,
    ) -> Result<Bus, Error> {
        self.check_symbols()?;
        let symbols = Symbols::new(self.symbols.clone()).map_err(Error::Option)?;
        let directory = directory.as_ref();
        let shown = directory.display().to_string();
        let mut reader = Reader::open(directory, bus).map_err(of_tape)?;
        let start = Instant::now();
        let begun = loop {
            let begun = reader.begin().map_err(of_tape)?.cloned();
            // The first records of a recorder that starts are in its files a moment later.
            let is_late = start.elapsed() >= self.wait.max(BEGIN_WAIT);
            if begun.is_some() || is_late || !reader.is_recorded() {
                break begun;
            }
            thread::sleep(JOIN_POLL);
        };
        let Some(publication) = begun else {
            let why = match bus {
                Some(bus) => format!("the tape {shown} has no bus {bus}"),
                None => format!("the tape {shown} has no bus yet"),
            };
            return Err(Error::Tape(why));
        };
        let has = |kind, room| if self.events.has(kind) { room } else { 0 };
        let room = Room {
            instruments_max: publication.instruments_max,
            orders_max: has(Events::ORDERS, publication.orders_max),
            quotes_max: has(Events::QUOTES, QUOTES_MAX),
        };
        let tape = Tape {
            reader,
            symbols,
            selected: Vec::new(),
            failure: None,
        };
        Ok(Bus::over(
            Source::Tape(Box::new(tape)),
            self,
            &publication.bus,
            room,
        ))
    }
}

impl Bus {
    /// Reads a tape with the default [`Options`]: see [`Options::open_journal`].
    ///
    /// # Errors
    /// As [`Options::open_journal`].
    pub fn open_journal(directory: impl AsRef<Path>) -> Result<Bus, Error> {
        Bus::options().open_journal(directory, None)
    }
}

impl Tape {
    /// Why the tape was not read to its end.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// One step of reading; at the end of the tape the loop of the program ends.
    pub fn step(&mut self, reading: &mut Reading, stopper: &Stopper) -> Step {
        for _ in 0..ROUNDS_MAX {
            let Tape {
                reader,
                symbols,
                selected,
                failure,
            } = self;
            match reader.poll(|item| take(item, symbols, selected, reading)) {
                Ok(Taped::Given(took)) => {
                    if let Some(took) = took
                        && let Given::Event(event) = reading.after(took)
                    {
                        return Step::Event(event);
                    }
                }
                Ok(Taped::Passed) => return Step::Progress,
                Ok(Taped::Nothing) => return Step::Nothing,
                Ok(Taped::End) => {
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

fn of_tape(error: touchline_tape::Error) -> Error {
    match error.is_out_of_memory() {
        true => Error::Memory(error.to_string()),
        false => Error::Tape(error.to_string()),
    }
}
