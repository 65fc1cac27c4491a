//! `touchline fx`: banks' quotes as one price, and orders on it.

mod replay;

use crate::output::Failure;
use clap::{Args, Subcommand};

/// FX: banks' quotes as one composite price, and orders that are sent on it.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Replay(replay::Arguments),
}

/// Does what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Replay(arguments) => replay::run(arguments),
    }
}
