//! The `touchline` command: one `match` from what was asked to what does it.
#![forbid(unsafe_code)]

mod bench;
mod books;
mod output;
mod replay;
mod tops;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Market data from the wire to your strategy, with every nanosecond accounted for.
#[derive(Debug, Parser)]
#[command(name = "touchline", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Feed captures through the path, in capture order, and write the books.
    Replay(replay::Arguments),
    /// Measure, and print figures from full histograms.
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
