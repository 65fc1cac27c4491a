//! Errors of joining a bus and of finding an instrument.

use crate::directory::market_buses;
use crate::words::counted;
use std::fmt;
use std::path::{Path, PathBuf};
use touchline_transport::memory::has_room;
use touchline_transport::shm::{Root, SegmentError, Subscriber};

/// Error with a sentence that says what to do. `Debug` prints the same sentence, so that a `main` that returns it is
/// readable.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No bus has this name.
    NoBus {
        /// The name.
        bus: String,
        /// Directory that was searched.
        directory: PathBuf,
        /// Existing buses.
        buses: Vec<String>,
    },
    /// The bus belongs to another user and is not shared with a group of this user; or others may write to it.
    NotYours {
        /// Name of the bus; empty if the directory of the buses was refused.
        bus: String,
        /// Path, owner, group and mode, and the fix.
        why: String,
    },
    /// This client cannot read the format of the bus.
    Incompatible {
        /// Name of the bus.
        bus: String,
        /// Both formats and the fix.
        why: String,
    },
    /// The publisher ended or hung during its start.
    HalfStarted {
        /// Name of the bus.
        bus: String,
    },
    /// A file of the bus is damaged.
    Damaged {
        /// Name of the bus; empty if the directory of the buses was refused.
        bus: String,
        /// File and damage.
        why: String,
    },
    /// Another reader of the bus has this name.
    NameTaken {
        /// Name of the bus.
        bus: String,
        /// Process with this name.
        why: String,
    },
    /// The bus has no free slot for a reader.
    TooManyReaders {
        /// Name of the bus.
        bus: String,
        /// Number of slots.
        why: String,
    },
    /// A lossless reader on a bus that does not wait for readers.
    NotLossless {
        /// Name of the bus.
        bus: String,
    },
    /// The bus has no such instrument.
    NoInstrument {
        /// Name of the bus.
        bus: String,
        /// Name that was searched.
        wanted: String,
        /// Number of defined instruments.
        defined: usize,
        /// The nearest symbol.
        meant: Option<String>,
    },
    /// The handle belongs to another bus.
    OtherBus {
        /// Name of the bus that was called.
        bus: String,
    },
    /// Some books did not arrive in time.
    NotReady {
        /// Name of the bus.
        bus: String,
        /// Missing books.
        why: String,
    },
    /// An option is invalid.
    Option(String),
    /// A system call failed.
    System(String),
    /// Memory, or room in the address space of the process, is exhausted.
    Memory(String),
    /// A tape cannot be read, or not to its end.
    Tape(String),
    /// The bus was joined with a name or as a lossless reader by the process that forked this one.
    Forked {
        /// Name of the bus.
        bus: String,
        /// The process that joined.
        process: u32,
    },
}

impl Error {
    /// Looks for memory before it is allocated in pieces: one that is missing then would end the process.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn check_room(bytes: usize, what: impl fmt::Display) -> Result<(), Error> {
        match has_room(bytes) {
            true => Ok(()),
            false => Err(Error::Memory(format!(
                "no memory for {what}, {bytes} bytes: free memory, or raise `ulimit -v`"
            ))),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoBus {
                bus,
                directory,
                buses,
            } => write_no_bus(f, bus, directory, buses),
            // Without a bus, the directory of the buses was refused, which `why` names.
            Error::NotYours { bus, why } | Error::Damaged { bus, why } if bus.is_empty() => {
                f.write_str(why)
            }
            Error::NotYours { bus, why } => write!(f, "bus {bus}: {why}"),
            Error::Incompatible { why, .. }
            | Error::NameTaken { why, .. }
            | Error::TooManyReaders { why, .. } => f.write_str(why),
            Error::HalfStarted { bus } => write!(
                f,
                "bus {bus} is incomplete: its gateway died during its start, or hangs; restart it"
            ),
            Error::Damaged { bus, why } => write!(f, "bus {bus}: {why}; start its gateway again"),
            Error::NotLossless { bus } => write!(
                f,
                "bus {bus} is not lossless: it waits for no reader; drop .lossless(), or add `[publication.lossless]` at the gateway"
            ),
            Error::NoInstrument {
                bus,
                wanted,
                defined,
                meant,
            } => {
                let verb = if *defined == 1 { "is" } else { "are" };
                write!(
                    f,
                    "bus {bus} has no instrument {wanted:?} ({defined} {verb} defined)"
                )?;
                match meant {
                    Some(meant) => write!(f, "; did you mean {meant}?"),
                    None if *defined == 0 => {
                        f.write_str("; read until it has caught up: Bus::ready does")
                    }
                    None => Ok(()),
                }
            }
            Error::OtherBus { bus } => write!(
                f,
                "the instrument is of another bus than {bus}; look it up on this one"
            ),
            Error::NotReady { bus, why } => write!(f, "bus {bus} is not ready: {why}"),
            Error::Option(why) | Error::System(why) | Error::Memory(why) | Error::Tape(why) => {
                f.write_str(why)
            }
            Error::Forked { bus, process } => write!(
                f,
                "bus {bus} was joined by process {process}, which forked this one and keeps the reader's name and place: nothing is read here; join the bus again in this process"
            ),
        }
    }
}

fn write_no_bus(
    f: &mut fmt::Formatter<'_>,
    bus: &str,
    directory: &Path,
    buses: &[String],
) -> fmt::Result {
    write!(f, "no bus is called {bus}")?;
    match buses {
        [] => write!(
            f,
            "; there is none in {}: start its gateway, as the same user and with the same directory",
            directory.display()
        ),
        some => {
            let shown = &some[..some.len().min(LISTED_MAX)];
            write!(f, "; buses here: {}", shown.join(", "))?;
            match some.len() - shown.len() {
                0 => Ok(()),
                more => write!(f, " and {more} more"),
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

const LISTED_MAX: usize = 12;

/// Error of joining a bus.
pub(crate) fn of_bus(root: &Root, bus: &str, error: touchline_transport::shm::Error) -> Error {
    use touchline_transport::shm::Error as Bus;
    let why = error.to_string();
    let bus = bus.to_owned();
    match error {
        Bus::Segment(error) => of_segment(root, &bus, error),
        Bus::Format { .. } | Bus::DirectTops { .. } => Error::Incompatible { bus, why },
        Bus::HalfStarted { .. } => Error::HalfStarted { bus },
        Bus::NoNames { owner, .. } => Error::NotYours {
            bus,
            why: format!(
                "its user {owner} shares it with no group, so only readers of that user have a name; set `group` at its publisher, or join without a name"
            ),
        },
        Bus::NameTaken { .. } => Error::NameTaken { bus, why },
        Bus::TooManyReaders { .. } => Error::TooManyReaders { bus, why },
        Bus::NotLossless { .. } => Error::NotLossless { bus },
        Bus::Memory { .. } => Error::Memory(why),
        Bus::Contents { .. } => Error::Damaged { bus, why },
        _ => Error::System(why),
    }
}

/// Error of opening a file of a bus.
pub(crate) fn of_segment(root: &Root, bus: &str, error: SegmentError) -> Error {
    let why = error.to_string();
    let bus = bus.to_owned();
    match error {
        SegmentError::Missing { .. } => {
            let buses = market_buses(root).unwrap_or_default();
            match buses.contains(&bus) {
                true => Error::HalfStarted { bus },
                false => Error::NoBus {
                    bus,
                    directory: root.path().to_owned(),
                    buses,
                },
            }
        }
        SegmentError::Foreign { owner, .. } => Error::NotYours {
            bus,
            why: format!("{why}; to read the buses of that user, set TOUCHLINE_OWNER={owner}"),
        },
        SegmentError::Denied { .. } | SegmentError::Exposed { .. } => Error::NotYours { bus, why },
        SegmentError::NoFreeSlot { .. } => Error::TooManyReaders { bus, why },
        SegmentError::Size { .. } | SegmentError::Kind { .. } => Error::Damaged { bus, why },
        SegmentError::Name { .. } => Error::Option(why),
        error if error.is_out_of_memory() => Error::Memory(out_of_memory(&bus, &why)),
        _ => Error::System(why),
    }
}

/// State of a bus's publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Publisher {
    /// A publisher that works, as far as it says.
    Works,
    /// A publisher that shows no activity.
    Stalled,
    /// None any more.
    Ended,
    /// A tape, which was read to its end.
    #[cfg_attr(not(feature = "tape"), expect(dead_code, reason = "only tapes end"))]
    OfTape,
}

impl Publisher {
    /// The publisher of a bus at this moment.
    pub(crate) fn of(subscriber: &Subscriber) -> Publisher {
        match (subscriber.is_published(), subscriber.liveness()) {
            (Ok(false), _) => Publisher::Ended,
            (_, Some(liveness)) if liveness.is_stalled() => Publisher::Stalled,
            _ => Publisher::Works,
        }
    }
}

/// The sentence of exhausted memory.
pub(crate) fn out_of_memory(bus: &str, why: &str) -> String {
    format!(
        "bus {bus} cannot be joined, memory of this process is exhausted: {why}; raise `ulimit -v`, or leave buses that are not read any more"
    )
}

/// Error: books are missing although the time is over.
pub(crate) fn missing(bus: &str, missing: usize, defined: usize, publisher: Publisher) -> Error {
    let why = match (publisher, defined) {
        (Publisher::Ended, _) => {
            "nothing publishes on it, so no book is live: its gateway has ended; start it again"
                .to_owned()
        }
        (Publisher::Stalled, _) => {
            "its publisher shows no activity, so no book is live: its gateway is stopped or stuck; see its log"
                .to_owned()
        }
        (Publisher::OfTape, _) => format!(
            "its tape has ended, and {} of {defined} {} not live; act on each book's state",
            counted(missing as u64, "book"),
            if missing == 1 { "is" } else { "are" }
        ),
        (_, 0) => "no instrument is defined; is its gateway still joining the venue?".to_owned(),
        _ => format!(
            "{} of {defined} {} not caught up; give it longer, or act on each book's state",
            counted(missing as u64, "book"),
            if missing == 1 { "has" } else { "have" }
        ),
    };
    Error::NotReady {
        bus: bus.to_owned(),
        why,
    }
}

/// Error of a tape.
#[cfg(feature = "tape")]
pub(crate) fn of_tape(error: touchline_tape::Error) -> Error {
    let why = error.to_string();
    let bus = String::new();
    match error {
        error if error.is_out_of_memory() => Error::Memory(why),
        touchline_tape::Error::Denied { .. } => Error::NotYours { bus, why },
        error if error.is_foreign() => Error::Incompatible { bus, why },
        _ => Error::Tape(why),
    }
}
