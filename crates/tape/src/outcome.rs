//! What a running recorder reports: events for the log, and the error that ends it.

use crate::publication::Publication;
use std::path::PathBuf;
use touchline_journal::Refused;
use touchline_transport::shm::{Error as BusError, SegmentError};

/// Why a recorder ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal cannot be opened: among others, it is damaged, or another process writes it.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// A file in shared memory.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The name of the recorder, or the place of its tail.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The directory has another kind of recording.
    #[error("{}: it is {what}; give another directory, one for each kind of recording", directory.display())]
    OtherContent {
        /// The directory.
        directory: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The sockets.
    #[error(transparent)]
    Source(#[from] touchline_net::Error),
    /// The session.
    #[error("{0}")]
    Session(String),
    /// A file of pcapng cannot be written.
    #[error(
        "{}: {error}; its first {whole} bytes are whole blocks: give a new name in a folder that you may write, with free space", name.display()
    )]
    File {
        /// The file.
        name: PathBuf,
        /// Error of the system.
        error: std::io::Error,
        /// Bytes that end at a whole block.
        whole: u64,
    },
    /// The system has no more threads.
    #[error("cannot start a thread: {0}; raise the limit of the user (`ulimit -u`)")]
    Thread(std::io::Error),
    /// A write or a sync failed, or the disk did not take the end of the tape: records after the durable position may be lost.
    #[error(
        "{}: {refused}; the tape is complete up to position {durable}: start the recorder again when the disk can be written", directory.display()
    )]
    Failed {
        /// Directory of the tape.
        directory: PathBuf,
        /// The refusal.
        refused: Refused,
        /// Position up to which the tape is on the disk.
        durable: u64,
    },
}

/// Event for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A bus cannot be joined yet.
    Waiting {
        /// The bus.
        bus: String,
        /// Reason.
        reason: String,
    },
    /// A bus is recorded from now on.
    Recording {
        /// The publication that is recorded.
        publication: Publication,
    },
    /// The publisher of a bus has overrun the recorder.
    Overrun {
        /// The bus.
        bus: String,
        /// Messages lost.
        messages: u64,
    },
    /// The publisher of a bus has ended or is stalled, or works again.
    Source {
        /// The bus.
        bus: String,
        /// Whether it works.
        is_live: bool,
    },
    /// The present publisher of a bus does not wait for the recorder, which joined to be waited for.
    NotWaitedFor {
        /// The bus.
        bus: String,
    },
    /// Packets of a raw recording were lost before it had them.
    PacketsLost {
        /// The line; `None` if it is unknown.
        line: Option<String>,
        /// Packets.
        packets: u64,
    },
    /// The oldest segments cannot be removed.
    NotRemoved {
        /// Reason.
        reason: String,
    },
    /// A closed segment cannot be compressed.
    NotCompressed {
        /// Reason.
        reason: String,
    },
    /// The index of a closed segment cannot be written.
    NotIndexed {
        /// Reason.
        reason: String,
    },
    /// A write or a sync has failed, or the directory was removed: the tape is opened again each second.
    Failed {
        /// Reason.
        reason: String,
        /// Position up to which the tape was on the disk.
        durable: u64,
    },
    /// The journal takes no record: the disk is behind or full; or it takes them again.
    Disk {
        /// Whether it takes records.
        takes: bool,
        /// Error of the system for the next segment, 0: none.
        errno: u64,
    },
}
