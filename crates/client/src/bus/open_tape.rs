//! Opens tapes: one that is read as the bus that it is of, and one beside a bus.

use super::tape::Tape;
use super::with_tape::WithTape;
use super::{Bus, JOIN_POLL, Source};
use crate::error::of_tape;
use crate::room::{Room, memory_of};
use crate::{Error, Options};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_instruments::Symbols;
use touchline_tape::{ReadOptions, Reader};
use touchline_transport::shm::Subscriber;

/// Longest wait for the first records of a tape that is recorded.
const BEGIN_WAIT: Duration = Duration::from_secs(1);

impl Options {
    /// Reads a tape of `touchline record` as the bus that it is of; `bus` is a name, or `None` for the first bus that the tape has. It waits
    /// at the end of a tape that is recorded, and ends at the end of another one, or [`tape_wait`](Options::tape_wait) after its recorder;
    /// [`Bus::check_process`] says if that is not its end.
    ///
    /// A reader of a tape has no name, is not waited for, and gets books that are not live, too.
    ///
    /// # Errors
    /// [`Error::Tape`]: there is no tape, or it cannot be read. [`Error::NoBus`], with the buses that it has. [`Error::NotYours`].
    /// [`Error::Incompatible`]: another version wrote it. [`Error::Memory`].
    pub fn open_journal(
        &self,
        directory: impl AsRef<Path>,
        bus: Option<&str>,
    ) -> Result<Bus, Error> {
        let start = Instant::now();
        loop {
            if let Some(bus) = self.try_open_journal(&directory, bus, start.elapsed())? {
                return Ok(bus);
            }
            thread::sleep(JOIN_POLL);
        }
    }

    /// One attempt of [`open_journal`](Options::open_journal), for a program that waits in its own way and has waited for `waited`. `None`: the
    /// program should try again; the recorder of the tape has joined no such bus yet. After [`wait`](Options::wait), at least a
    /// second, that is an error.
    ///
    /// # Errors
    /// As [`open_journal`](Options::open_journal).
    pub fn try_open_journal(
        &self,
        directory: impl AsRef<Path>,
        bus: Option<&str>,
        waited: Duration,
    ) -> Result<Option<Bus>, Error> {
        self.check_symbols()?;
        let symbols = Symbols::new(self.symbols.clone()).map_err(Error::Option)?;
        let read = ReadOptions {
            bus: bus.map(str::to_owned),
            from: self.tape_from,
            to: self.tape_to,
            only: None,
            known: self.tape_definitions.clone(),
            recorder_wait: self.tape_wait,
        };
        let directory = directory.as_ref();
        let mut reader = Reader::open_with(directory, read).map_err(of_tape)?;
        let Some(publication) = reader.begin().map_err(of_tape)?.cloned() else {
            // The first records of a recorder that starts are in its files a moment later.
            let is_awaited = waited < self.wait.max(BEGIN_WAIT) && reader.is_recorded();
            return if is_awaited {
                Ok(None)
            } else {
                Err(no_bus(directory, bus))
            };
        };
        let room = Room::new(self, publication.instruments_max, publication.orders_max);
        let bytes = memory_of(room.instruments_max, room.orders_max);
        Error::check_room(bytes, format_args!("the books of bus {}", publication.bus))?;
        let tape = Tape::new(reader, symbols.clone());
        Ok(Some(Bus::over(
            Source::Tape(Box::new(tape)),
            self,
            &publication.bus,
            (room, symbols),
        )))
    }

    /// The source of a joined bus, with its tape if there is one.
    pub(super) fn source(&self, subscriber: Subscriber) -> Result<Source, Error> {
        let Some(directory) = &self.tape else {
            return match self.tape_from {
                None => Ok(Source::Shared(subscriber)),
                Some(_) => Err(Error::Option(
                    "a bus has no history, and a place to begin at is given: give the tape of the bus, too, or open the tape alone".into(),
                )),
            };
        };
        let mut with = WithTape::new(subscriber, directory, self.tape_wait);
        if let Some(place) = self.tape_from {
            with.begin_at(place)?;
        }
        Ok(Source::WithTape(Box::new(with)))
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

    /// Names of the buses that a tape has, sorted.
    ///
    /// # Errors
    /// As [`Options::open_journal`].
    pub fn list_journal(directory: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        touchline_tape::buses(directory.as_ref()).map_err(of_tape)
    }
}

/// The error of a tape without the bus.
fn no_bus(directory: &Path, bus: Option<&str>) -> Error {
    match (touchline_tape::buses(directory), bus) {
        (Err(error), _) => of_tape(error),
        (Ok(buses), Some(bus)) if !buses.is_empty() => Error::NoBus {
            bus: bus.to_owned(),
            directory: directory.to_owned(),
            buses,
        },
        _ => Error::Tape(format!(
            "{}: there is no bus on this tape: its recorder has joined none, or it is another journal; give the directory of `touchline record`",
            directory.display()
        )),
    }
}
