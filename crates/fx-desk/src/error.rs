//! Why a command is not executed, or an engine not read: sentences for a person, the same in every program.

use crate::bus_names::standby_bus;
use crate::follow_error::FollowError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use touchline_fx_events::encoding::NoCommand;
use touchline_transport::bus;
use touchline_types::Id;

/// Longest wait for an answer, seconds; a promotion waits for order sessions up to 5 s.
pub(crate) const ANSWER_S: u64 = 8;

/// Why a command is not executed, or an engine not read. `Debug` prints the same sentence as `Display`, so that a `main` that returns it
/// is readable.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a price or a date that no command can have.
    #[error("at most 64 letters, digits and signs of ASCII are possible")]
    Name,
    /// A word that is not one of the permitted ones.
    #[error("{0}")]
    Word(String),
    /// The bus cannot be joined.
    #[error("{}", Error::no_engine(bus, error))]
    NoEngine {
        /// Name of the bus.
        bus: String,
        /// Why.
        error: bus::Error,
    },
    /// The publisher of the bus has ended.
    #[error("the {} on bus {bus} has ended; start {}", what(bus).0, what(bus).1)]
    Ended {
        /// Name of the bus.
        bus: String,
    },
    /// A file of the bus or of the client's ring cannot be used.
    #[error(transparent)]
    Bus(#[from] bus::Error),
    /// The engine refused the command.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The engine did not answer.
    #[error(
        "no answer within {ANSWER_S} s: the engine is stopped, or does not know client {client} of this user; {}",
        open_outcome(parent.as_ref())
    )]
    NoAnswer {
        /// The client.
        client: String,
        /// Name of the order, if the command was one.
        parent: Option<Id>,
    },
    /// The caller ended the wait.
    #[error("{}", interrupted(*is_sent, parent.as_ref()))]
    Interrupted {
        /// Whether the command was sent, so that it may be executed.
        is_sent: bool,
        /// Name of the order, if the command was sent and was one.
        parent: Option<Id>,
    },
    /// A kill could not be written.
    #[error(
        "the kill cannot be written below {} ({error}); stop the engine, and have the banks cancel its orders",
        directory.display()
    )]
    KillNotWritten {
        /// Directory of the client's ring.
        directory: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A kill waits for the engine.
    #[error(
        "the kill is written, and no engine on bus {bus} has executed it yet: {}",
        when_taken(client, untaken.as_deref())
    )]
    KillWaits {
        /// Name of the bus.
        bus: String,
        /// The client.
        client: String,
        /// The file of the kill while an engine lives and does not take it.
        untaken: Option<PathBuf>,
    },
    /// The bus does not name the directory of the journal.
    #[error(
        "bus {bus} does not say where the journal of its engine is ({error}); name its directory"
    )]
    NoJournal {
        /// Name of the bus.
        bus: String,
        /// Why.
        error: io::Error,
    },
    /// The journal cannot be opened here.
    #[error(
        "the journal of the engine is at {}, and cannot be opened there ({error}): name its directory, as this process sees it",
        path.display()
    )]
    JournalUnreadable {
        /// Directory of the journal.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] FollowError),
    /// Memory for the state of the engine is exhausted; a later call reads the rest.
    #[error(
        "no memory for the state of an engine, {bytes} bytes: free memory, or raise `ulimit -v`"
    )]
    Memory {
        /// Bytes that were asked for.
        bytes: usize,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Error::Memory { .. } => true,
            Error::Record(error) => error.is_out_of_memory(),
            Error::Bus(error) | Error::NoEngine { error, .. } => error.is_out_of_memory(),
            _ => false,
        }
    }

    /// The sentence of [`Error::NoEngine`].
    pub fn no_engine(bus: &str, why: impl fmt::Display) -> String {
        let (what, start) = what(bus);
        format!("no {what} on bus {bus}: {why}; start {start}")
    }
}

fn interrupted(is_sent: bool, parent: Option<&Id>) -> String {
    match is_sent {
        true => format!(
            "interrupted after the command was sent and before its answer; {}",
            open_outcome(parent)
        ),
        false => "interrupted before the command was sent: it is not executed".to_owned(),
    }
}

/// The state of a command without an answer. A repetition of an order under another name is a second order.
fn open_outcome(parent: Option<&Id>) -> String {
    let text = "whether the command was executed is in the journal, and the same command under the same name is not executed twice";
    match parent {
        Some(id) => format!("{text}; the order is {id}"),
        None => text.to_owned(),
    }
}

/// When a written kill is executed.
fn when_taken(client: &str, untaken: Option<&Path>) -> String {
    match untaken {
        Some(path) => format!(
            "one lives, and has not taken {}; if it is stopped it does when it goes on, else it looks for kills of client {client} of this \
             user in another place, or may not read them: give its configuration (`--config FILE`; a program: directory and group of the ring)",
            path.display()
        ),
        None => "it does when it goes on or starts".to_owned(),
    }
}

/// The kind of process that has this bus, and the command that starts it.
fn what(bus: &str) -> (&'static str, &'static str) {
    match bus.ends_with(&standby_bus("")) {
        true => ("standby", "`touchline fx run --standby`"),
        false => ("engine", "`touchline fx run`"),
    }
}

/// A refusal of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Refused {
    /// Reason for programs: a word of the rules, such as `bad_order`, `not_allowed` or a limit.
    pub reason: String,
    /// Cause for people; empty if the reason says all.
    pub cause: String,
}

impl Refused {
    /// Whether the engine is of another release, and did not read the command.
    pub fn is_unread(&self) -> bool {
        let unread = [NoCommand::Malformed, NoCommand::Version(0)].map(NoCommand::reason);
        unread.contains(&self.reason.as_str())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.as_str() {
            "" => write!(f, "refused: {}", self.reason),
            cause => write!(f, "refused: {}: {cause}", self.reason),
        }
    }
}
