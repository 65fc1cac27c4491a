//! Errors of a bus, with place and fix.

use super::Holder;
use touchline_shm::broadcast::{self, LAYOUT};
use touchline_shm::segment::{self, Mapping};

/// Version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Error of writing or reading a bus.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be created, opened or locked.
    #[error(transparent)]
    Segment(#[from] segment::Error),
    /// Invalid size of the ring.
    #[error("ring_bytes: {0}")]
    RingBytes(broadcast::Refused),
    /// The ring is too small for the messages of the bus.
    #[error(
        "ring_bytes: a ring of {bytes} bytes cannot hold the longest message of this bus, {message_bytes} bytes; give {least} or more"
    )]
    RingTooSmall {
        /// The configured size.
        bytes: u64,
        /// The longest message that the bus must be able to hold.
        message_bytes: usize,
        /// The smallest ring that holds it.
        least: u64,
    },
    /// Unexpected content of a file.
    #[error("{path}: {what}")]
    Contents {
        /// File.
        path: String,
        /// Problem.
        what: String,
    },
    /// The bus has a layout that this program cannot read.
    #[error(
        "bus {bus} has format {layout} (touchline {writer}); this program ({PROGRAM}) reads {LAYOUT}: use the program of the gateway's version, or start the gateway again with this one"
    )]
    Format {
        /// Name of the bus.
        bus: String,
        /// Layout number.
        layout: u64,
        /// Version of the program that wrote it.
        writer: String,
    },
    /// Its tops are of the direct book alone, and no books are read from which the best prices follow.
    #[error(
        "bus {bus} is of touchline {writer}, whose tops are of the direct book alone: start its gateway again with this program ({PROGRAM}), or read the books too"
    )]
    DirectTops {
        /// Name of the bus.
        bus: String,
        /// Version of its native format.
        schema: u64,
        /// Version of the program that wrote it.
        writer: String,
    },
    /// A file of the bus cannot be removed.
    #[error("cannot remove {path}: {source}")]
    Removal {
        /// The directory of the bus.
        path: String,
        /// System error.
        source: std::io::Error,
    },
    /// Its writer is starting, and did not finish in time.
    #[error("bus {bus} is incomplete: its gateway died during its start, or hangs; restart it")]
    HalfStarted {
        /// Name of the bus.
        bus: String,
    },
    /// Another reader of the bus has this name.
    #[error(
        "bus {bus} has a reader called {name} already: {holder}; give another name, or stop it"
    )]
    NameTaken {
        /// Name of the bus.
        bus: String,
        /// Name of the reader.
        name: String,
        /// Process with this name.
        holder: Holder,
    },
    /// All slots of registered readers are taken.
    #[error("bus {bus} has {readers_max} named readers already; stop one, or read without a name")]
    TooManyReaders {
        /// Name of the bus.
        bus: String,
        /// Number of slots.
        readers_max: usize,
    },
    /// A reader with a name on a bus of another user, where it may not write.
    #[error(
        "bus {bus} belongs to user {owner}, who shares it with no group: only readers of that user have a name; set `group` at its publisher, or join without a name"
    )]
    NoNames {
        /// Name of the bus.
        bus: String,
        /// Its owner, a user id.
        owner: u32,
    },
    /// A reader of another user with a name, to which the publisher of a lossless bus gave no slot.
    #[error(
        "bus {bus}: its publisher gave this reader no place within {waited_s} s; it waits for another reader, or hangs, or a user of its group fills the folder places of the bus: try again, or join without a name"
    )]
    NoPlace {
        /// Name of the bus.
        bus: String,
        /// Time that the reader waited, seconds.
        waited_s: u64,
    },
    /// Memory of this process does not suffice for a reader.
    #[error(
        "a reader of bus {bus} needs {bytes} bytes, and this process cannot have them; raise `ulimit -v`, choose fewer kinds of events, or leave buses that are not read any more"
    )]
    Memory {
        /// Name of the bus.
        bus: String,
        /// Bytes that it needs.
        bytes: usize,
    },
    /// A registered reader on a bus whose writer does not wait.
    #[error(
        "bus {bus} is not lossless: its writer waits for no reader; join without a name, or make it lossless"
    )]
    NotLossless {
        /// Name of the bus.
        bus: String,
    },
}

impl Error {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Segment(error) if error.is_out_of_memory())
    }

    /// Whether a publisher that starts may be the reason: the bus is not there yet, or not complete.
    pub(crate) fn is_of_a_start(&self) -> bool {
        matches!(
            self,
            Error::HalfStarted { .. } | Error::Segment(segment::Error::Missing { .. })
        )
    }

    pub(crate) fn contents(mapping: &Mapping, what: impl ToString) -> Error {
        Error::Contents {
            path: mapping.path().display().to_string(),
            what: what.to_string(),
        }
    }
}
