//! `touchline fx`: a composite price from banks' quotes, and simulated orders on it.

mod compose;
mod replay;

use crate::output::Failure;
use clap::{Args, Subcommand};

/// FX: a composite price from banks' quotes, and simulated orders on it.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compose(compose::Arguments),
    Replay(replay::Arguments),
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Compose(arguments) => compose::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
    }
}
