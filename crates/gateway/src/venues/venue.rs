//! A venue, and the configuration of one connection to it.

use crate::Limits;
use crate::config::{
    ConfigError, Duty, Guide, Publication, Section, Symbols, annotated, read_bus_name,
};
use crate::incident::Incidents;
use crate::live::{self, FeedLink, TappedBytes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::mpsc::Receiver;
use touchline_net::LiveSource;
use touchline_session::file_store;
use touchline_transport::shm;

/// Configuration of one gateway with all defaults; `V` is the venue's section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    bound(serialize = "V: Venue", deserialize = "V: Venue")
)]
pub struct Config<V: Venue> {
    /// Name of the bus to publish on: 1 to 64 letters, digits, `-`, `_` and `.`, not starting with `.`.
    #[serde(deserialize_with = "read_bus_name")]
    pub bus: String,
    /// Source of the data.
    pub venue: V,
    /// Limits, from which memory is allocated at start.
    #[serde(default)]
    pub limits: V::Limits,
    /// Receiving of packets, for venues that send them.
    #[serde(default, skip_serializing_if = "has_no_settings")]
    pub network: V::Network,
    /// Calendars of currencies, for banks.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub calendars: V::Calendars,
    /// The gateway's thread.
    #[serde(default, rename = "gateway")]
    pub duty: Duty,
    /// The bus.
    #[serde(default)]
    pub publication: Publication,
}

/// A venue: its section of the configuration, and how it is opened.
pub trait Venue: fmt::Debug + Clone + Serialize + for<'de> Deserialize<'de> + 'static {
    /// Values of `kind`.
    const KINDS: &'static [&'static str];

    /// A commented valid configuration for each of [`Venue::KINDS`].
    const EXAMPLES: &'static [&'static str];

    /// Documentation of its settings.
    const GUIDE: Guide;

    /// Limits, which determine its memory.
    type Limits: Section;

    /// Receiving settings; [`crate::config::NoSettings`] if it has none.
    type Network: Section;

    /// Calendars of currencies; [`crate::config::NoSettings`] if it has none.
    type Calendars: Section;

    /// Link between the path and the venue.
    type Link: FeedLink<Feed: Send> + Send + 'static;

    /// Its kind, one of [`Venue::KINDS`].
    fn kind(&self) -> &'static str;

    /// Identity among connections to the same venue: a name and a value, in each log line.
    fn identity(&self) -> (&'static str, String);

    /// The symbols to publish.
    fn symbols(&self) -> &Symbols;

    /// Resolves relative paths from `folder`.
    fn resolve(&mut self, folder: &Path);

    /// Resolves relative paths of the calendars from `folder`.
    fn resolve_calendars(_calendars: &mut Self::Calendars, _folder: &Path) {}

    /// Maximum number of instruments.
    fn instruments_max(limits: &Self::Limits) -> usize;

    /// Maximum number of orders in all books; 0 for a venue without order books.
    fn orders_max(limits: &Self::Limits) -> usize;

    /// Maximum levels a side of its books, for which their snapshot slots need room.
    fn levels_max(&self) -> usize {
        0
    }

    /// Reads the configured files and secrets, and returns one clause that names source and content of the feed.
    ///
    /// # Errors
    /// All that is invalid.
    fn check(config: &Config<Self>) -> Result<String, Vec<ConfigError>>;

    /// Interfaces and directories that the configuration names and this host lacks. Creates no file.
    fn missing_here(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens everything that may fail before the bus is changed: files, passwords, sockets.
    ///
    /// # Errors
    /// The configuration is invalid, or a socket cannot be opened.
    fn open(config: &Config<Self>) -> Result<Opened<Self::Link>, StartError>;

    /// Opens the sockets of the venue's packets alone, for a raw recording; `None` if it sends none.
    ///
    /// # Errors
    /// The configuration is invalid, or a socket cannot be opened.
    fn open_lines(_config: &Config<Self>) -> Result<Option<Lines>, StartError> {
        Ok(None)
    }
}

/// What a venue sends, before its path.
#[allow(
    clippy::large_enum_variant,
    reason = "a process has one, and no pointer lies on its path"
)]
pub enum Raw {
    /// Packets.
    Lines(Lines),
    /// Bytes of a session.
    Session(RawSession),
}

/// A session that runs for its bytes alone, and publishes nothing.
pub struct RawSession {
    /// One round of its duty cycle: the amount of work. At the end of a run it logs out first; `None`: it has.
    pub work: Box<RawWork>,
    /// Bytes that were received.
    pub bytes: Receiver<TappedBytes>,
    /// Incidents for the log.
    pub incidents: Incidents,
    /// Requests that were only partly granted.
    pub warnings: Vec<String>,
    /// Start of the connection.
    pub opening: Opening,
}

/// A round of a session; true: the run ends.
pub type RawWork = dyn FnMut(bool) -> Result<Option<usize>, live::Error> + Send;

/// The sockets of a venue's packets.
pub struct Lines {
    /// Packets of all sockets.
    pub source: LiveSource,
    /// The sockets.
    pub lines: Vec<SocketLine>,
    /// Requests that were only partly granted.
    pub warnings: Vec<String>,
    /// Start of receiving.
    pub opening: Opening,
}

/// A socket of a venue's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketLine {
    /// The venue's name of it.
    pub id: String,
    /// Number of the line: 0 is A, 1 is B.
    pub number: u8,
    /// Group and port.
    pub address: SocketAddrV4,
}

/// Parts of an open venue.
#[derive(Debug)]
pub struct Opened<L: FeedLink> {
    /// Link between the path and the venue.
    pub link: L,
    /// The venue's feed, before its first packet.
    pub feed: L::Feed,
    /// The limits of the books.
    pub limits: Limits,
    /// Requests that were only partly granted.
    pub warnings: Vec<String>,
    /// Start of the connection.
    pub opening: Opening,
}

/// Start of an open venue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Packets are received.
    Listening {
        /// Number of joined multicast groups.
        groups: usize,
        /// Interface.
        interface: String,
        /// Way of receiving, as the configuration names it.
        receive: &'static str,
    },
    /// The first connection starts now.
    Connecting {
        /// Names and ports, tried in turn.
        hosts: Vec<String>,
    },
}

/// Error of the start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Invalid configuration, or an invalid file that it names.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The sockets.
    #[error(transparent)]
    Source(#[from] touchline_net::Error),
    /// The store of a session.
    #[error(transparent)]
    Store(#[from] file_store::OpenError),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] shm::Error),
}

/// Whether a table is its default, so that it is not printed.
fn is_absent<T: Section>(table: &T) -> bool {
    *table == T::default()
}

/// Whether a table has no settings, so that it is not printed.
fn has_no_settings<T: Section>(_: &T) -> bool {
    size_of::<T>() == 0
}

impl<V: Venue> Config<V> {
    /// Effective configuration with defaults, as a file that can be read again. Non-Unicode parts of paths are
    /// replaced.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("tables of names and numbers can be written as TOML")
    }

    /// Effective configuration as a file that can be saved anywhere: every path is absolute, and meaning, values with
    /// unit, and default of each setting are comments above it.
    pub fn to_file(&self) -> String {
        let mut config = self.clone();
        if let Ok(here) = std::env::current_dir() {
            config.starts_at(&here);
        }
        annotated(&config.to_toml(), &V::GUIDE)
    }

    /// Resolves relative paths from `folder`.
    pub(super) fn starts_at(&mut self, folder: &Path) {
        self.venue.resolve(folder);
        V::resolve_calendars(&mut self.calendars, folder);
        if let Some(directory) = &mut self.publication.directory {
            *directory = folder.join(&directory);
        }
    }
}
