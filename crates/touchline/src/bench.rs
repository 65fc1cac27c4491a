//! `touchline bench`: each figure that we quote, by one command.

mod event;

use crate::output::Failure;

/// Measure, and print figures from full histograms.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Debug, clap::Subcommand)]
enum Bench {
    /// A packet in memory → arbitration → decode → books → update handed to the publisher.
    Event(event::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.bench {
        Bench::Event(arguments) => event::run(arguments),
    }
}
