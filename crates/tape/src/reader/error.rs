//! Errors of a reader.

use std::path::PathBuf;

/// Why a tape is not read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal cannot be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] touchline_net::pcap::Error),
    /// There is no journal.
    #[error("{}: no segment of a tape; give the directory that has the files 0000000001.tlj and on", path.display())]
    NoTape {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the tape, its directory, or one above it, is closed to this user.
    #[error(
        "{}: it belongs to user {owner}, and its mode {mode:o} closes it to this one: read the tape as that user, or read a copy", path.display()
    )]
    Denied {
        /// The file or directory.
        path: PathBuf,
        /// Its user.
        owner: u32,
        /// Its mode.
        mode: u32,
    },
    /// Memory, or room in the address space of this process, is exhausted.
    #[error(
        "{}: no memory for the updates of bus {bus}, {bytes} bytes: free memory, or raise `ulimit -v`", path.display()
    )]
    Memory {
        /// The directory.
        path: PathBuf,
        /// The bus.
        bus: String,
        /// Bytes that a reader needs.
        bytes: usize,
    },
    /// Segments were removed while this reader was before them.
    #[error(
        "{}: segment {segment} was removed before it was read: give the tape more room, or read from its oldest segment", path.display()
    )]
    Removed {
        /// The directory.
        path: PathBuf,
        /// The segment.
        segment: u64,
    },
    /// The body of a record is not what its kind says.
    #[error("{}: record {sequence}: {what}", path.display())]
    Malformed {
        /// The directory.
        path: PathBuf,
        /// Sequence of the record in the journal.
        sequence: u64,
        /// The fault.
        what: String,
    },
}

impl Error {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Journal(error) => error.is_out_of_memory(),
            Error::Memory { .. } => true,
            _ => false,
        }
    }

    /// Whether the journal is of a version that this reader does not know.
    pub fn is_foreign(&self) -> bool {
        matches!(
            self,
            Error::Journal(touchline_journal::Error::Foreign { .. })
        )
    }
}
