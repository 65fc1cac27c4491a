//! Errors of an engine.

use crate::execution::config::ConfigError;
use crate::execution::recovery::RecoveryError;
use thiserror::Error;
use touchline_transport::bus::{self, Damage, Holder};

/// Why an engine cannot start or continue.
#[derive(Debug, Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another engine is active.
    #[error(
        "another engine is active on journal {journal}: {holder}{state}; stop it, or `kill -9 {pid}` it: only when that \
         process has ended may another engine send orders"
    )]
    Active {
        /// Directory of the journal.
        journal: String,
        /// The process, and since when it is active.
        holder: Holder,
        /// State of the holder as the system reports it, if the holder does not run.
        state: &'static str,
        /// Process id of the holder.
        pid: u32,
    },
    /// The standby lacks records that the previous engine wrote.
    #[error(
        "{journal}: the standby read {read} of {written} records; run `touchline journal verify`, then start `touchline fx run`"
    )]
    NotRead {
        /// Directory of the journal.
        journal: String,
        /// Records that were read.
        read: u64,
        /// Records of the journal.
        written: u64,
    },
    /// Another engine publishes the bus.
    #[error(transparent)]
    Bus(#[from] bus::Error),
    /// Another process changed the files of the bus.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// The journal cannot be continued.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The sockets of the order sessions.
    #[error("order sessions: {0}; raise the limit of open files")]
    Sockets(touchline_net::stream::Error),
    /// The journal cannot be written.
    #[error("{0}")]
    Refused(#[from] touchline_journal::Refused),
}
