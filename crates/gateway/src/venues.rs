//! Venues of a gateway: the table, and the trait of a venue.
//!
//! A venue is one file here (and its folder): its section of the configuration, limits, routes, and opening. Outside of
//! these files and the table nothing in this crate knows a venue by name.

pub mod cme;
pub mod fix;
pub mod fx_bank;
mod start;

use crate::Limits;
use crate::config::{Config, ConfigError, Guide, Section, SettingsTable, Symbols, read_text};
use crate::live::FeedLink;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use touchline_feed::Feed;
use touchline_types::CounterInfo;

pub use start::{AnyConfig, RunError, Running, StartError, StartEvent, Work};

/// All venues, one line each.
pub const VENUES: Venues = Venues(&[
    Entry::of::<cme::CmeVenue>(),
    Entry::of::<fix::FixVenue>(),
    Entry::of::<fx_bank::FxBankVenue>(),
]);

/// Table of venues. Kinds are unique.
#[derive(Clone, Copy, Debug)]
pub struct Venues(pub &'static [Entry]);

/// Parser of a configuration file; the table is needed for error texts.
type Read = fn(Venues, &Path, &str) -> Result<Box<dyn AnyConfig>, ConfigError>;

/// Table of counters.
type Table = &'static [CounterInfo];

/// Entry of a venue.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Values of `kind` in its configuration; several for similar venues.
    pub kinds: &'static [&'static str],
    /// One example for each kind.
    examples: &'static [&'static str],
    /// Documentation of its settings.
    pub guide: Guide,
    /// Counters of its feed, then of its link.
    counters: [&'static [Table]; 2],
    read: Read,
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

    /// What this host lacks of the interfaces and directories that the configuration names; nothing is created.
    fn missing_here(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens everything that may fail before the bus is changed: files, passwords, sockets.
    ///
    /// # Errors
    /// The configuration is invalid, or a socket cannot be opened.
    fn open(config: &Config<Self>) -> Result<Opened<Self::Link>, StartError>;
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
    },
    /// The first connection starts now.
    Connecting {
        /// Names and ports, tried in turn.
        hosts: Vec<String>,
    },
}

impl Entry {
    /// Entry of a venue.
    pub const fn of<V: Venue>() -> Entry {
        Entry {
            kinds: V::KINDS,
            examples: V::EXAMPLES,
            guide: V::GUIDE,
            counters: [
                <<V::Link as FeedLink>::Feed as Feed>::TABLES,
                <V::Link as FeedLink>::TABLES,
            ],
            read: |venues, path, text| {
                Ok(Box::new(Config::<V>::parse(venues, path, text)?) as Box<dyn AnyConfig>)
            },
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.kinds)
    }
}

impl Venues {
    /// Reads the configuration of any of these venues.
    ///
    /// # Errors
    /// As [`Config::read`]; or its venue is not in the table.
    pub fn read(self, path: impl AsRef<Path>) -> Result<Box<dyn AnyConfig>, ConfigError> {
        let path = path.as_ref();
        self.from_text(path, &read_text(path)?)
    }

    /// [`Self::read`] for a text; `name` is the file's name in errors, and relative paths start there.
    ///
    /// # Errors
    /// As [`Venues::read`].
    pub fn from_text(
        self,
        name: impl AsRef<Path>,
        text: &str,
    ) -> Result<Box<dyn AnyConfig>, ConfigError> {
        let name = name.as_ref();
        let kind = crate::config::kind(self, name, text)?;
        let entry = self
            .find(&kind)
            .expect("a-kind-that-was-read-is-in-the-table");
        (entry.read)(self, name, text)
    }

    /// The venue of a kind.
    #[must_use]
    pub fn find(self, kind: &str) -> Option<&'static Entry> {
        self.0.iter().find(|entry| entry.kinds.contains(&kind))
    }

    /// A commented valid configuration of this kind.
    #[must_use]
    pub fn example(self, kind: &str) -> Option<&'static str> {
        let entry = self.find(kind)?;
        let at = entry.kinds.iter().position(|known| *known == kind)?;
        entry.examples.get(at).copied()
    }

    /// All settings: common tables first, then those of each venue.
    #[must_use]
    pub fn settings(self) -> Vec<SettingsTable> {
        let of_all = SettingsTable::of_all();
        let venues = self.0.iter();
        let own = venues.flat_map(|venue| SettingsTable::of(venue.kinds, &venue.guide));
        of_all.into_iter().chain(own).collect()
    }

    /// Each table of counters of feeds and links once, with the kinds that have it.
    #[must_use]
    pub fn counters(self) -> Vec<(Vec<&'static str>, &'static [CounterInfo])> {
        let mut found: Vec<(Vec<&'static str>, Table)> = Vec::new();
        for entry in self.0 {
            for &table in entry.counters.into_iter().flatten() {
                match found.iter_mut().find(|(_, known)| *known == table) {
                    Some((kinds, _)) => kinds.extend(entry.kinds),
                    None => found.push((entry.kinds.to_vec(), table)),
                }
            }
        }
        found
    }

    /// All kinds, in the order of the table.
    pub fn kinds(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|entry| entry.kinds).copied()
    }
}
