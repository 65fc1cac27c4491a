//! Why an engine cannot be followed.

use thiserror::Error;
use touchline_fx_events::encoding::{Malformed, VERSION};

/// Why an engine cannot be followed.
#[derive(Debug, Error)]
pub enum FollowError {
    /// The journal cannot be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// Another version wrote it.
    #[error(
        "{journal}: its records are of version {found}, this program reads version {}; read it with the program that wrote it",
        VERSION
    )]
    Version {
        /// Directory of the journal.
        journal: String,
        /// Version of the records.
        found: u16,
    },
    /// A record cannot be decoded.
    #[error("{journal}: record {sequence}: {error}")]
    Malformed {
        /// Directory of the journal.
        journal: String,
        /// Sequence in the journal.
        sequence: u64,
        /// Fault of the bytes.
        error: Malformed,
    },
}

impl FollowError {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Journal(error) if error.is_out_of_memory())
    }
}
