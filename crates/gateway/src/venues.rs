//! The venues that a gateway can connect to: the table, and what each of them brings.
//!
//! A venue is one file here (and its folder): its section of the configuration, its limits, its routes, and how it is
//! opened. Outside of these files and of the table nothing in this crate knows a venue by name.

pub mod cme;
pub mod fix;
mod start;

use crate::Limits;
use crate::config::{Config, ConfigError, Guide, Section, SettingsTable, Symbols, read_text};
use crate::live::FeedLink;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

pub use start::{AnyConfig, RunError, Running, StartError, StartEvent, Work};

/// Every venue, a line each.
pub const VENUES: Venues = Venues(&[Entry::of::<cme::CmeVenue>(), Entry::of::<fix::FixVenue>()]);

/// A table of venues. No kind stands in it twice.
#[derive(Clone, Copy, Debug)]
pub struct Venues(pub &'static [Entry]);

/// Reads the text of a file of that path; the table is for what is said of a mistake.
type Read = fn(Venues, &Path, &str) -> Result<Box<dyn AnyConfig>, ConfigError>;

/// A venue in the table.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What `kind` is in its configuration; several where venues differ little.
    pub kinds: &'static [&'static str],
    /// An example of each kind.
    examples: &'static [&'static str],
    /// Where its settings are described.
    pub guide: Guide,
    read: Read,
}

/// A venue: its section of the configuration, and how it is opened.
pub trait Venue: fmt::Debug + Clone + Serialize + for<'de> Deserialize<'de> + 'static {
    /// What `kind` can be.
    const KINDS: &'static [&'static str];

    /// A commented configuration of each of [`Venue::KINDS`] that can be read as it stands.
    const EXAMPLES: &'static [&'static str];

    /// Where its settings are described.
    const GUIDE: Guide;

    /// What memory is taken by.
    type Limits: Section;

    /// How its packets are received; [`crate::config::NoSettings`] where it has none.
    type Network: Section;

    /// What connects the path to it.
    type Link: FeedLink<Feed: Send> + Send + 'static;

    /// Which of [`Venue::KINDS`] it is.
    fn kind(&self) -> &'static str;

    /// What tells it from other connections to the same venue: a name and a value, for each line of the log.
    fn identity(&self) -> (&'static str, String);

    /// The symbols to publish.
    fn symbols(&self) -> &Symbols;

    /// Paths of a file that lies in `folder` become paths that can be opened as they stand.
    fn resolve(&mut self, folder: &Path);

    /// Most instruments.
    fn instruments_max(limits: &Self::Limits) -> usize;

    /// Most orders in all books; 0 of a venue without order books.
    fn orders_max(limits: &Self::Limits) -> usize;

    /// Levels a side that its books can have, so that their images must hold as many.
    fn levels_max(&self) -> usize {
        0
    }

    /// Reads the files and secrets that the configuration names, and says in one clause what is received from where.
    ///
    /// # Errors
    /// One of them cannot be used.
    fn check(config: &Config<Self>) -> Result<String, ConfigError>;

    /// Everything that can be refused, before the bus is touched: files, passwords, sockets.
    ///
    /// # Errors
    /// The configuration cannot be used, or a socket not be had.
    fn open(config: &Config<Self>) -> Result<Opened<Self::Link>, StartError>;
}

/// A venue that is open: its parts, and what there is to say of it.
#[derive(Debug)]
pub struct Opened<L: FeedLink> {
    /// What connects the path to the venue.
    pub link: L,
    /// The venue's feed, which has received nothing yet.
    pub feed: L::Feed,
    /// The limits of the books.
    pub limits: Limits,
    /// What could not be had as it was wanted.
    pub warnings: Vec<String>,
    /// How it reaches the venue.
    pub opening: Opening,
}

/// How an open venue is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Its packets come to this host.
    Listening {
        /// Multicast groups that are joined.
        groups: usize,
        /// On which interface.
        interface: String,
    },
    /// The first connection starts now.
    Connecting {
        /// Names and ports, tried in turn.
        hosts: Vec<String>,
    },
}

impl Entry {
    /// The line of a venue.
    pub const fn of<V: Venue>() -> Entry {
        Entry {
            kinds: V::KINDS,
            examples: V::EXAMPLES,
            guide: V::GUIDE,
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

    /// The same of the text of a file; `name` stands for the file in errors, and relative paths start there.
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

    /// A commented configuration of this kind that can be read as it stands.
    #[must_use]
    pub fn example(self, kind: &str) -> Option<&'static str> {
        let entry = self.find(kind)?;
        let at = entry.kinds.iter().position(|known| *known == kind)?;
        entry.examples.get(at).copied()
    }

    /// Every setting there is: the tables of all venues first, then those of each.
    #[must_use]
    pub fn settings(self) -> Vec<SettingsTable> {
        let of_all = SettingsTable::of_all();
        let venues = self.0.iter();
        let own = venues.flat_map(|venue| SettingsTable::of(venue.kinds, &venue.guide));
        of_all.into_iter().chain(own).collect()
    }

    /// Every kind, in the order of the table.
    pub fn kinds(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|entry| entry.kinds).copied()
    }
}
