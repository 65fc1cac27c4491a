//! The engine that a command is about: its configuration, or its bus, names it.

use super::config_text::read_config;
use crate::missing;
use crate::output::Failure;
use crate::place::bus_name;
use clap::Args;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use touchline_fx_desk::{Follower, JOURNAL, noted};
use touchline_fx_live::execution::Config;
use touchline_gateway::bus;
use touchline_transport::bus::Root;

/// Bus of an engine if no option names it.
const BUS: &str = "fx-run";
/// File in the directory of an engine's bus that has the path of its configuration.
const POINTER: &str = "configuration";
/// Longest time that a command waits for a configuration that it can do without.
const CONFIG_WAIT: Duration = Duration::from_secs(1);

/// The engine.
#[derive(Debug, Args)]
pub struct Source {
    /// Configuration file of the engine (TOML)
    #[arg(long, value_name = "FILE", conflicts_with = "bus")]
    config: Option<PathBuf>,
    /// Bus of the engine; its configuration is that of its last start [default: fx-run]
    #[arg(long, value_name = "BUS", value_parser = bus_name)]
    bus: Option<String>,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
}

impl Source {
    /// Name of the bus, without a configuration.
    fn bus(&self) -> &str {
        self.bus.as_deref().unwrap_or(BUS)
    }

    /// Configuration file of the engine.
    pub fn file(&self) -> Result<PathBuf, Failure> {
        match &self.config {
            Some(path) => Ok(path.clone()),
            None => pointed_at(&bus::root(self.dir.as_deref()), self.bus()),
        }
    }

    /// Configuration of the engine.
    pub fn settings(&self) -> Result<Config, Failure> {
        match &self.config {
            Some(path) => configuration(path, self.dir.as_ref()),
            None => {
                let root = bus::root(self.dir.as_deref());
                let path = pointed_at(&root, self.bus())?;
                found(&root, &path)
            }
        }
    }

    /// Directory and name of the bus, for a command that needs nothing else; the configuration, if it was given.
    pub fn place(&self) -> Result<(Root, String, Option<Config>), Failure> {
        match &self.config {
            Some(_) => {
                let config = self.settings()?;
                let root = bus::root(config.run.directory.as_deref());
                Ok((root, config.run.bus.clone(), Some(config)))
            }
            None => Ok((bus::root(self.dir.as_deref()), self.bus().to_owned(), None)),
        }
    }
}

/// Reads the configuration of an engine; relative paths of the file begin at its folder, `dir` where this process is.
pub fn configuration(path: &Path, dir: Option<&PathBuf>) -> Result<Config, Failure> {
    let mut config = read_config(path, Config::parse)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    config.starts_at(&folder);
    if let Some(dir) = dir {
        config.run.directory = Some(dir.clone());
    }
    Ok(config)
}

/// The configuration of an engine whose bus was found in this directory.
fn found(root: &Root, path: &Path) -> Result<Config, Failure> {
    configuration(path, Some(&root.path().to_owned()))
}

/// The configuration with which the engine of a bus was started, if there is one that this user may read. It may be a pipe, or on a file
/// system that does not answer, for which a kill does not wait.
pub fn noted_config(root: &Root, bus: &str) -> Option<Config> {
    let path = pointed_at(root, bus).ok()?;
    let (root, (tell, told)) = (root.clone(), mpsc::channel());
    thread::spawn(move || {
        let config = path.is_file().then(|| found(&root, &path).ok());
        // A configuration that came too late has no receiver.
        let _ = tell.send(config.flatten());
    });
    told.recv_timeout(CONFIG_WAIT).ok().flatten()
}

/// Opens a follower.
pub fn open(config: &Config) -> Follower {
    let run = &config.run;
    Follower::new(&run.journal, &bus::root(run.directory.as_deref()), &run.bus)
}

/// Notes configuration and journal of a started engine in the directory of its bus, for `--bus` and programs, also those of its group.
pub fn note(config: &Config, path: &Path) {
    let root = bus::root(config.run.directory.as_deref());
    let shared = root.clone().shared_with(config.run.group.as_deref());
    let root = shared.unwrap_or(root);
    let note =
        |name: &str, path: &Path| touchline_fx_desk::note(&root, &config.run.bus, name, path);
    note(POINTER, path);
    note(JOURNAL, &config.run.journal);
}

/// The configuration with which the engine of a bus was started.
fn pointed_at(root: &Root, bus: &str) -> Result<PathBuf, Failure> {
    // Opening the directory checks its owner and mode.
    let directory = root.open(bus).map_err(|error| {
        Failure::run(format!(
            "no engine has run on bus {bus}: {}; give --config FILE",
            missing::words(root, bus, error)
        ))
    })?;
    match noted(root, bus, POINTER) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::run(format!(
            "bus {bus} is not that of a trading engine that was started here; give --config FILE, or the engine's bus with --bus"
        ))),
        Err(error) => Err(Failure::run(format!(
            "{}: cannot be read ({error}); give --config FILE",
            directory.path().join(POINTER).display()
        ))),
    }
}
