//! Why a bus cannot be joined, or an instrument not be found.

use crate::words::counted;
use std::fmt;
use std::path::PathBuf;
use touchline_transport::shm::{Root, SegmentError};

/// What went wrong, as a sentence that says what to do. `Debug` prints the same sentence, so that a `main` that
/// returns it is readable.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no bus of this name.
    NoBus {
        /// The name.
        bus: String,
        /// Where it was looked for.
        directory: PathBuf,
        /// Buses that are there.
        buses: Vec<String>,
    },
    /// The bus is another user's, or others may write it.
    NotYours {
        /// Name of the bus.
        bus: String,
        /// Whose it is and what to do.
        why: String,
    },
    /// The bus has a format that this client cannot read.
    Incompatible {
        /// Name of the bus.
        bus: String,
        /// Both formats, and what to do.
        why: String,
    },
    /// The publisher died or hangs while it started.
    HalfStarted {
        /// Name of the bus.
        bus: String,
    },
    /// A file of the bus holds what it should not.
    Damaged {
        /// Name of the bus.
        bus: String,
        /// Which file, and what is wrong with it.
        why: String,
    },
    /// Another reader of the bus has the name.
    NameTaken {
        /// Name of the bus.
        bus: String,
        /// Who has it.
        why: String,
    },
    /// As many readers as the bus has places for.
    TooManyReaders {
        /// Name of the bus.
        bus: String,
        /// How many there may be.
        why: String,
    },
    /// A lossless reader of a bus that waits for nobody.
    NotLossless {
        /// Name of the bus.
        bus: String,
    },
    /// The bus has no such instrument.
    NoInstrument {
        /// Name of the bus.
        bus: String,
        /// What was looked for.
        wanted: String,
        /// Instruments that are defined.
        defined: usize,
        /// The symbol that is most like it.
        meant: Option<String>,
    },
    /// A handle of another bus.
    OtherBus {
        /// Name of the bus that was asked.
        bus: String,
    },
    /// Not every book came in time.
    NotReady {
        /// Name of the bus.
        bus: String,
        /// What is missing.
        why: String,
    },
    /// An option is not one.
    Option(String),
    /// The system refused something.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoBus {
                bus,
                directory,
                buses,
            } => {
                write!(f, "no bus is called {bus}")?;
                match buses.as_slice() {
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
            Error::NotYours { bus, why } => write!(f, "bus {bus}: {why}"),
            Error::Incompatible { why, .. }
            | Error::NameTaken { why, .. }
            | Error::TooManyReaders { why, .. } => f.write_str(why),
            Error::HalfStarted { bus } => write!(
                f,
                "bus {bus} is half started: its gateway died while it started, or hangs; start it again"
            ),
            Error::Damaged { bus, why } => write!(f, "bus {bus}: {why}; start its gateway again"),
            Error::NotLossless { bus } => write!(
                f,
                "bus {bus} is not lossless: it waits for no reader; drop .lossless(), or set lossless = true at the gateway"
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
            Error::Option(why) | Error::System(why) => f.write_str(why),
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

/// Why a bus cannot be joined.
pub(crate) fn of_bus(root: &Root, bus: &str, error: touchline_transport::shm::Error) -> Error {
    use touchline_transport::shm::Error as Bus;
    let why = error.to_string();
    let bus = bus.to_owned();
    match error {
        Bus::Segment(error) => of_segment(root, &bus, error),
        Bus::Format { .. } => Error::Incompatible { bus, why },
        Bus::HalfStarted { .. } => Error::HalfStarted { bus },
        Bus::NameTaken { .. } => Error::NameTaken { bus, why },
        Bus::TooManyReaders { .. } => Error::TooManyReaders { bus, why },
        Bus::NotLossless { .. } => Error::NotLossless { bus },
        Bus::Contents { .. } => Error::Damaged { bus, why },
        _ => Error::System(why),
    }
}

/// Why a file of a bus cannot be opened.
pub(crate) fn of_segment(root: &Root, bus: &str, error: SegmentError) -> Error {
    let why = error.to_string();
    let bus = bus.to_owned();
    match error {
        SegmentError::Missing { .. } => {
            let buses = root.buses().unwrap_or_default();
            match buses.contains(&bus) {
                true => Error::HalfStarted { bus },
                false => Error::NoBus {
                    bus,
                    directory: root.path().to_owned(),
                    buses,
                },
            }
        }
        SegmentError::Foreign { .. } | SegmentError::Exposed { .. } => Error::NotYours { bus, why },
        SegmentError::NoFreeSlot { .. } => Error::TooManyReaders { bus, why },
        SegmentError::Size { .. } | SegmentError::Kind { .. } => Error::Damaged { bus, why },
        SegmentError::Name { .. } => Error::Option(why),
        _ => Error::System(why),
    }
}

/// Books that are missing when a bus should be ready.
pub(crate) fn missing(bus: &str, missing: usize, defined: usize) -> Error {
    let why = match defined {
        0 => "no instrument is defined; is its gateway still joining the venue?".to_owned(),
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
