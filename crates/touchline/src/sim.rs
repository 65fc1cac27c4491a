//! `touchline sim`: venue simulators on the real protocols.

mod cme;

use crate::output::Failure;
use clap::Subcommand;

/// Simulate a venue: real packets on the network, with faults on request.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    venue: Venue,
}

#[derive(Debug, Subcommand)]
enum Venue {
    // A box, because it has many more arguments than the others will have.
    Cme(Box<cme::Arguments>),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.venue {
        Venue::Cme(arguments) => cme::run(arguments),
    }
}
