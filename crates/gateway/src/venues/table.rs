//! The table of venues, and the reading of a configuration of any of them.

mod manual;

use super::start::AnyConfig;
use super::venue::{Config, Venue};
use crate::config::{ConfigError, Guide, Mistakes, SettingsTable, read_config};
use crate::live::FeedLink;
use serde::Deserialize;
use std::fmt;
use std::path::Path;
use touchline_feed::Feed;
use touchline_settings::{self as settings, Mistake};
use touchline_types::CounterInfo;

/// Table of venues. Kinds are unique.
#[derive(Clone, Copy, Debug)]
pub struct Venues(pub &'static [Entry]);

/// Parser of a configuration file; the table is needed for error texts.
type Read = fn(Venues, &Path, &str) -> Result<Box<dyn AnyConfig>, Mistakes>;

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
                Ok(Box::new(parse::<V>(venues, path, text)?) as Box<dyn AnyConfig>)
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
    /// As [`Venues::read_as`]; or its venue is not in the table.
    pub fn read(self, path: impl AsRef<Path>) -> Result<Box<dyn AnyConfig>, Mistakes> {
        let path = path.as_ref();
        self.from_text(path, &read_config(path)?)
    }

    /// [`Self::read`] for a text; `name` is the file's name in errors, and relative paths start there.
    ///
    /// # Errors
    /// As [`Venues::read`].
    pub fn from_text(
        self,
        name: impl AsRef<Path>,
        text: &str,
    ) -> Result<Box<dyn AnyConfig>, Mistakes> {
        let name = name.as_ref();
        let kind = kind(self, name, text)?;
        let entry = self
            .find(&kind)
            .expect("a kind that was read is in the table of venues");
        (entry.read)(self, name, text)
    }

    /// Reads a TOML file of the venue `V`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key or lacks one, a value is out of range, or its venue is
    /// of another kind.
    pub fn read_as<V: Venue>(self, path: impl AsRef<Path>) -> Result<Config<V>, Mistakes> {
        let path = path.as_ref();
        parse(self, path, &read_config(path)?)
    }

    /// [`Self::read_as`] for a text; `name` is the file's name in errors, and relative paths start there.
    ///
    /// # Errors
    /// As [`Venues::read_as`].
    pub fn from_text_as<V: Venue>(
        self,
        name: impl AsRef<Path>,
        text: &str,
    ) -> Result<Config<V>, Mistakes> {
        parse(self, name.as_ref(), text)
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

/// Parses the text of a file of the venue `V`.
fn parse<V: Venue>(venues: Venues, path: &Path, text: &str) -> Result<Config<V>, Mistakes> {
    let kind = kind(venues, path, text)?;
    if !V::KINDS.contains(&kind.as_str()) {
        return Err(Mistakes::from(ConfigError {
            file: path.to_owned(),
            line: None,
            what: format!("the venue is of kind \"{kind}\""),
            fix: format!(
                "this command supports kind {}; `touchline gateway` supports every kind",
                manual::quoted(V::KINDS)
            ),
        }));
    }
    let guide = &venues.find(&kind).map_or(&V::GUIDE, |venue| &venue.guide);
    let config = manual::with(venues, guide, |manual| settings::read(text, manual, Ok));
    let mut config: Config<V> = config.map_err(|mistakes| mistakes.in_file(path))?;
    config.starts_at(path.parent().unwrap_or(Path::new("")));
    Ok(config)
}

/// Kind of venue of a file, which determines its other settings.
fn kind(venues: Venues, path: &Path, text: &str) -> Result<String, Mistakes> {
    #[derive(Deserialize)]
    struct Any {
        venue: AnyVenue,
    }
    #[derive(Deserialize)]
    struct AnyVenue {
        kind: String,
    }
    touchline_credentials::check_text(path, text)?;
    let is_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_nothing) {
        return Err(Mistakes::from(ConfigError {
            file: path.to_owned(),
            line: None,
            what: "the file is empty, but for comments".to_owned(),
            fix: EXAMPLE.to_owned(),
        }));
    }
    // Texts about settings that every venue has are those of the first one.
    let kind = manual::with(venues, &venues.0[0].guide, |manual| {
        settings::read(text, manual, |Any { venue }| {
            if venues.find(&venue.kind).is_some() {
                return Ok(venue.kind);
            }
            let kinds: Vec<&str> = venues.kinds().collect();
            let words = settings::not_among("`kind` ", &venue.kind, &kinds, manual);
            let unknown = Mistake::new(None, "venue.kind", words);
            Err(Mistakes::one(path, unknown))
        })
    });
    kind.map_err(|mistakes| mistakes.in_file(path))
}

/// Source of examples.
const EXAMPLE: &str = "`touchline config --example cme` (or deribit, fix) prints one that works";
