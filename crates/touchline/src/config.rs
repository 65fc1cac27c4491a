//! `touchline config`: prints an example configuration or checks a file.

use crate::output::{Failure, say};
use crate::place::Place;
use std::path::{Path, PathBuf};
use touchline_gateway::venues::{AnyConfig, VENUES};

/// Print an example configuration, or check one.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["example", "check"])))]
pub struct Arguments {
    /// Print a commented, valid configuration for this kind of venue.
    #[arg(long, value_name = "KIND", value_parser = kind, conflicts_with = "check")]
    example: Option<&'static str>,
    /// Check a configuration, the files that it names, and the interfaces, directories and processors of this host, without
    /// connecting.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    // For --check: overrides the configuration, as for the gateway.
    #[command(flatten)]
    place: Place,
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
  1  the configuration is valid, and not on this host: an interface, a directory or a
     processor is missing
  2  bad arguments, or the configuration is not valid";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(example) = arguments.example {
        return say(example);
    }
    let Some(file) = &arguments.check else {
        return Ok(());
    };
    let mut config = read(file)?;
    if let Some(dir) = &arguments.place.dir {
        config.set_directory(dir.clone());
    }
    let plan = config.check();
    let plan = plan.map_err(Failure::mistakes)?;
    say(&format!("{}: valid: {plan}\n", file.display()))?;
    match config.missing_here().as_slice() {
        [] => Ok(()),
        missing => Err(Failure::run(format!(
            "{}: not on this host: {}",
            file.display(),
            missing.join("; ")
        ))),
    }
}

/// Reads the configuration of a gateway; an error names every mistake of the file.
pub fn read(file: &Path) -> Result<Box<dyn AnyConfig>, Failure> {
    VENUES.read(file).map_err(Failure::file)
}

/// The example for a kind of venue.
fn kind(name: &str) -> Result<&'static str, String> {
    VENUES.example(name).ok_or_else(|| {
        let kinds: Vec<&str> = VENUES.kinds().collect();
        format!("KIND is one of {}", kinds.join(", "))
    })
}
