//! The right to be the one active engine: the locks of the drop copy's bus and of the journal.
//!
//! Both are locks of open files, which the system releases when the last thread of the process has ended. The engine
//! that holds them knows that no other engine of this journal can send anything: neither an engine that died nor one
//! that is frozen and wakes later, because a frozen process still holds its locks. The locks are never taken from a
//! living process.

use crate::execution::config::{Config, SyncMode};
use crate::execution::error::Error;
use touchline_fx_desk::DropCopy;
use touchline_journal::{Journal, Mode, Options};
use touchline_transport::bus::Holder;
use touchline_transport::clock::wall_ns;

/// Resources that only the active engine holds.
pub(crate) struct Active {
    pub journal: Journal,
    pub drop_copy: DropCopy,
}

impl Active {
    /// Takes both locks, and ends the journal of the last run.
    ///
    /// # Errors
    /// [`Error::Active`]: another engine holds them. The files are unchanged then.
    pub fn take(config: &Config) -> Result<Active, Error> {
        // Before anything is tried, for the better message; the locks decide.
        if let Some(error) = other(config) {
            return Err(error);
        }
        let taken = Active::try_take(config);
        taken.map_err(|error| other(config).unwrap_or(error))
    }

    fn try_take(config: &Config) -> Result<Active, Error> {
        let run = &config.run;
        let drop_copy = DropCopy::open(&config.shared_root()?, &run.bus, run.ring_bytes)?;
        let options = Options {
            mode: match run.sync {
                SyncMode::Host => Mode::Host,
                SyncMode::Disk => Mode::Disk,
            },
            segment_bytes: run.segment_bytes,
            ring_bytes: run.tail_bytes,
            failure_file: true,
            chain: true,
            ..Options::orders("fx")
        };
        let journal = Journal::open(&run.journal, drop_copy.lock(), &options, wall_ns())?;
        Ok(Active { journal, drop_copy })
    }
}

/// The other engine of this journal, as an error with its cure.
pub(crate) fn other(config: &Config) -> Option<Error> {
    let writer = touchline_journal::writer(&config.run.journal)?;
    let pid = writer.pid;
    let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Error::Active {
        journal: config.run.journal.display().to_string(),
        holder: Holder {
            pid,
            command: command.trim().to_owned(),
            since_unix_s: writer.since_unix_s,
            build: None,
        },
        state: state_of(pid),
        pid,
    })
}

/// State of a process as the system reports it, if the process does not run.
fn state_of(pid: u32) -> &'static str {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state may have any character.
    let state = text.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    match state.and_then(|state| state.chars().next()) {
        Some('T' | 't') => ", frozen by a signal or a debugger",
        Some('D') => ", waiting for a device",
        Some('Z' | 'X') => ", ending",
        _ => "",
    }
}
