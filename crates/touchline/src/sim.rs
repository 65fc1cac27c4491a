//! `touchline sim`: venue simulators on the real protocols.

mod access_control;
mod bank;
mod clients;
mod cme;
mod deribit;
mod expected_log;
mod fix;
mod logged;
mod orders;

use crate::output::Failure;
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
