//! Start of a gateway from a configuration of any venue.
//!
//! The venue's types end here: code behind it is the same for all, and the path makes no call through a table.

use super::venue::{Config, Opened, Opening, Raw, RawSession, StartError, Venue};
use crate::config::{ConfigError, Duty};
use crate::incident::{Incidents, incidents};
use crate::live::{self, FeedLink, Gateway, NotBound, Tap};
use crate::selection::Selected;
use crate::{CountersFile, Pipeline, bus};
use rustix::fs::Access;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchline_transport::Idler;
use touchline_transport::clock::Clock;
use touchline_transport::shm::{CountersView, Publisher, Root};

/// A configuration of any venue.
pub trait AnyConfig: fmt::Debug {
    /// The name of its bus.
    fn bus(&self) -> &str;

    /// Overrides the bus.
    fn set_bus(&mut self, name: &str);

    /// Overrides the directory of the buses.
    fn set_directory(&mut self, directory: PathBuf);

    /// Settings of its thread.
    fn duty(&self) -> &Duty;

    /// As [`Config::to_toml`].
    fn to_toml(&self) -> String;

    /// As [`Config::to_file`].
    fn to_file(&self) -> String;

    /// Reads the configured files and secrets, and describes the gateway that they configure.
    ///
    /// # Errors
    /// All that is invalid.
    fn check(&self) -> Result<String, Vec<ConfigError>>;

    /// Interfaces, directories and processors that the configuration names and this host lacks, one sentence
    /// each. Creates no file.
    fn missing_here(&self) -> Vec<String>;

    /// Identity among connections to the same venue: a name and a value, in each log line.
    fn identity(&self) -> (&'static str, String);

    /// Opens the venue, then takes over the bus. `log` receives each event of the start.
    ///
    /// # Errors
    /// The part that failed; only the bus may have been changed.
    fn start(&self, log: &mut dyn FnMut(StartEvent)) -> Result<Running, StartError>;

    /// Opens the venue for a raw recorder, without the bus.
    ///
    /// # Errors
    /// The part that failed.
    fn open_raw(&self) -> Result<Raw, StartError>;
}

/// All errors of parts of a configuration, if there are any.
pub(super) fn together<const N: usize>(
    parts: [Option<ConfigError>; N],
) -> Result<(), Vec<ConfigError>> {
    let errors: Vec<ConfigError> = parts.into_iter().flatten().collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}

/// Event during the start of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartEvent {
    /// A socket option was not granted.
    SocketWarning(String),
    /// A request for the bus's memory was not granted.
    BusWarning(String),
    /// Venue and bus are open.
    Open {
        /// Start of the connection.
        opening: Opening,
        /// Number of publishers that the bus has had, this one included.
        generation: u64,
    },
}

/// Error that ended a running gateway.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its thread cannot be bound to the processor.
    #[error(transparent)]
    NotBound(#[from] NotBound),
    /// The gateway failed.
    #[error(transparent)]
    Live(#[from] live::Error),
}

/// A gateway ready to run.
pub struct Running {
    /// Runs on the caller's thread until the flag is set.
    pub work: Box<Work>,
    /// Incidents for the log.
    pub incidents: Incidents,
    /// Fields of a gap in the log: affected lines, and recovery action.
    pub gap_fields: &'static [(&'static str, &'static str)],
    /// Its counters, as seen by other processes.
    pub counters_file: Option<CountersView>,
    /// Directory of its bus.
    pub root: Root,
}

/// Complete run of a gateway on its thread.
pub type Work = dyn FnOnce(&AtomicBool) -> Result<(), RunError> + Send;

impl<V: Venue> AnyConfig for Config<V> {
    fn bus(&self) -> &str {
        &self.bus
    }

    fn set_bus(&mut self, name: &str) {
        name.clone_into(&mut self.bus);
    }

    fn set_directory(&mut self, directory: PathBuf) {
        self.publication.directory = Some(directory);
    }

    fn duty(&self) -> &Duty {
        &self.duty
    }

    fn to_toml(&self) -> String {
        Config::to_toml(self)
    }

    fn to_file(&self) -> String {
        Config::to_file(self)
    }

    fn check(&self) -> Result<String, Vec<ConfigError>> {
        let source = V::check(self)?;
        let instruments = match self.venue.symbols().is_empty() {
            true => "every instrument",
            false => "the instruments that `symbols` names",
        };
        let root = bus::root(self.publication.directory.as_deref());
        Ok(format!(
            "{source}; publishes {instruments} on bus {} in {} with a ring of {} bytes",
            self.bus,
            root.path().display(),
            self.publication.ring_bytes,
        ))
    }

    fn missing_here(&self) -> Vec<String> {
        let root = bus::root(self.publication.directory.as_deref());
        let buses = match root.buses() {
            Ok(_) => directory_fault(root.path()),
            Err(error) => Some(error.to_string()),
        };
        // On another thread: this one is not bound.
        let bound = self.duty.loop_cpu_affinity.map(|processor| {
            std::thread::spawn(move || live::bind_to(processor).err())
                .join()
                .ok()
                .flatten()
        });
        let processor = bound.flatten().map(|error| error.to_string());
        let here = self.venue.missing_here().into_iter();
        here.chain(buses).chain(processor).collect()
    }

    fn identity(&self) -> (&'static str, String) {
        self.venue.identity()
    }

    fn open_raw(&self) -> Result<Raw, StartError> {
        if let Some(lines) = V::open_lines(self)? {
            return Ok(Raw::Lines(lines));
        }
        let Opened {
            mut link,
            feed,
            limits,
            warnings,
            opening,
        } = V::open(self)?;
        let (tap, bytes) = Tap::new();
        link.tap(tap);
        let symbols = self.venue.symbols().clone();
        let nobody = Selected::new(None::<Publisher>, symbols, limits.instruments_max);
        let pipeline = Pipeline::new(feed, nobody, limits);
        let mut gateway = Gateway::new(link, pipeline, None, Clock::calibrated(), &self.duty);
        let (sender, incidents) = incidents();
        gateway.report_to(sender);
        Ok(Raw::Session(RawSession {
            work: Box::new(move |ends| match ends && gateway.log_out() {
                true => Ok(None),
                false => gateway.do_work().map(Some),
            }),
            bytes,
            incidents,
            warnings,
            opening,
        }))
    }

    fn start(&self, log: &mut dyn FnMut(StartEvent)) -> Result<Running, StartError> {
        let Opened {
            link,
            feed,
            limits,
            warnings,
            opening,
        } = V::open(self)?;
        warnings
            .into_iter()
            .for_each(|warning| log(StartEvent::SocketWarning(warning)));
        let publisher = bus::open(self)?;
        for warning in publisher.warnings() {
            log(StartEvent::BusWarning(warning.to_string()));
        }
        // Before the bus is announced: a process that is notified may remove it.
        let clock = Clock::calibrated();
        let tables = Gateway::<V::Link, Selected<Publisher>>::tables();
        let counters_file =
            CountersFile::create::<<V::Link as FeedLink>::Feed>(&publisher, clock, tables)?;
        let root = bus::root(self.publication.directory.as_deref());
        let view = CountersView::open(&root, &self.bus)?;
        let generation = publisher.generation();
        log(StartEvent::Open {
            opening,
            generation,
        });
        let symbols = self.venue.symbols().clone();
        let publisher = Selected::new(publisher, symbols, limits.instruments_max);
        let pipeline = Pipeline::new(feed, publisher, limits);
        let (sender, incidents) = incidents();
        let mut gateway = Gateway::new(link, pipeline, Some(counters_file), clock, &self.duty);
        gateway.report_to(sender);
        let duty = self.duty.clone();
        Ok(Running {
            work: Box::new(move |stop| work(gateway, &duty, stop)),
            incidents,
            gap_fields: V::Link::GAP_FIELDS,
            counters_file: view,
            root,
        })
    }
}

/// Why a directory cannot be used, or made below its parent.
pub(super) fn directory_fault(directory: &Path) -> Option<String> {
    let fault = |path: &Path, why: String| Some(format!("{}: {why}", path.display()));
    let writable = |path: &Path| {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        let checked = rustix::fs::access(path, wanted);
        checked.err().and_then(|error| fault(path, format!("cannot be written ({error}); give this user access to it, or name another directory")))
    };
    match directory.metadata() {
        Ok(about) if about.is_dir() => writable(directory),
        Ok(_) => fault(directory, "is not a directory".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = directory.parent().filter(|parent| parent != &Path::new(""));
            let parent = parent.unwrap_or(Path::new("."));
            match parent.is_dir() {
                true => writable(parent),
                false => fault(parent, "does not exist; make it first".to_owned()),
            }
        }
        Err(error) => fault(directory, format!("cannot be examined ({error})")),
    }
}

/// Timeout of our Logout.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(2);

/// The thread of the path.
fn work<L: FeedLink>(
    mut gateway: Gateway<L, Selected<Publisher>>,
    duty: &Duty,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    if let Some(processor) = duty.loop_cpu_affinity {
        live::bind_to(processor)?;
    }
    let mut idler = Idler::new(duty.idle());
    while !stop.load(Ordering::Relaxed) {
        idler.idle(gateway.do_work()?);
    }
    let asked = Instant::now();
    while !gateway.log_out() && asked.elapsed() < LOGOUT_TIMEOUT {
        idler.idle(gateway.do_work()?);
    }
    gateway.finish();
    Ok(())
}
