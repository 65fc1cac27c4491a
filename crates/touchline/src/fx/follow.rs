//! What follows a trading engine: its configuration names journal and bus.

use crate::output::Failure;
use clap::Args;
use std::path::PathBuf;
use touchline_execution::{Config, Follower};
use touchline_transport::bus::Root;

/// The engine that is followed.
#[derive(Debug, Args)]
pub struct Source {
    /// Configuration file of the engine (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
}

/// Reads the configuration of an engine; relative paths begin at its folder.
pub fn configuration(path: &PathBuf, dir: Option<&PathBuf>) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| super::unreadable(path, &error))?;
    let mut config = Config::parse(&text)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    if let Some(dir) = dir {
        config.run.directory = Some(dir.clone());
    }
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    config.starts_at(&folder);
    Ok(config)
}

/// Configuration of the engine that is followed.
pub fn settings(source: &Source) -> Result<Config, Failure> {
    configuration(&source.config, source.dir.as_ref())
}

/// Opens a follower.
pub fn open(config: &Config) -> Follower {
    let root = match &config.run.directory {
        Some(directory) => Root::at(directory),
        None => Root::of_this_user(),
    };
    let run = &config.run;
    Follower::new(&run.journal, &root, &run.bus)
}
