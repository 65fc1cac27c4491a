//! The log of a simulator.

use crate::log::{Log, LogArguments, events};
use crate::output::{Failure, say};

/// Runs a simulator with its log, from its start line to its end.
pub fn logged(
    arguments: LogArguments,
    venue: &'static str,
    up: &str,
    work: impl FnOnce(&mut Log) -> Result<(), Failure>,
) -> Result<(), Failure> {
    say(up)?;
    let mut log = Log::to_stderr(arguments, vec![("venue", venue.into())]);
    let what = up.lines().next().unwrap_or_default();
    log.write(&events::SIM_STARTED, [("what", what.into())]);
    let outcome = work(&mut log);
    log.finish();
    if outcome.is_ok() {
        log.write(&events::STOPPED, []);
    }
    outcome.map_err(|failure| failure.logged(&mut log))
}
