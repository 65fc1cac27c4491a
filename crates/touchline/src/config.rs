//! `touchline config`: prints an example configuration or checks a file.

use crate::output::{Failure, say};
use std::path::PathBuf;
use touchline_gateway::venues::VENUES;

/// Print an example configuration, or check one.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[group(required = true)]
pub struct Arguments {
    /// Print a commented, valid configuration for this kind of venue.
    #[arg(long, value_name = "KIND", value_parser = kind, conflicts_with = "check")]
    example: Option<&'static str>,
    /// Check a configuration and the files that it names, without connecting.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline config --example cme > cme-340.toml
  touchline config --check cme-340.toml
  touchline help settings              # every setting, with meaning, values and default
  touchline gateway --config cme-340.toml --print-config

KIND is cme, deribit, fix or fx-bank. --check prints the feed that the gateway would receive, or the
file, the line, the error and the fix.

Exit status:
  0  done; the configuration is valid
  2  bad arguments, or the configuration is not valid";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(example) = arguments.example {
        return say(example);
    }
    let Some(file) = &arguments.check else {
        return Ok(());
    };
    let config = VENUES.read(file);
    let config = config.map_err(|error| Failure::configuration(&error))?;
    let plan = config.check();
    let plan = plan.map_err(|error| Failure::configuration(&error))?;
    say(&format!("{}: valid: {plan}\n", file.display()))
}

/// The example for a kind of venue.
fn kind(name: &str) -> Result<&'static str, String> {
    VENUES.example(name).ok_or_else(|| {
        let kinds: Vec<&str> = VENUES.kinds().collect();
        format!("KIND is one of {}", kinds.join(", "))
    })
}
