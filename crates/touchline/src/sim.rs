//! `touchline sim`: venue simulators on the real protocols.

mod access_control;
mod bank;
mod clients;
mod cme;
mod deribit;
mod expected_log;
mod fix;
mod orders;

use crate::log::{Log, LogArguments, events};
use crate::output::{Failure, say};
use clap::Subcommand;

/// Simulate a venue on the network, with fault injection.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    venue: Venue,
}

#[derive(Debug, Subcommand)]
enum Venue {
    Bank(bank::Arguments),
    // Boxed: these variants are much larger than the others.
    Cme(Box<cme::Arguments>),
    Deribit(Box<deribit::Arguments>),
    FixAcceptor(fix::AcceptorArguments),
    FixInitiator(fix::InitiatorArguments),
}

/// Runs a simulator with its log, from its start line to its end.
fn logged(
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

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.venue {
        Venue::Bank(arguments) => bank::run(arguments),
        Venue::Cme(arguments) => cme::run(arguments),
        Venue::Deribit(arguments) => deribit::run(arguments),
        Venue::FixAcceptor(arguments) => fix::accept(arguments),
        Venue::FixInitiator(arguments) => fix::initiate(arguments),
    }
}
