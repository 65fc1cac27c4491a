//! Configuration of one venue connection: a TOML file for people, and what the venue publishes.
//!
//! Everything has a default but the bus, the channel and the channel file. Unknown keys are refused,
//! since a misspelt limit is a limit that is not set. Each setting is described in
//! `docs/operations.md`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use touchline_feed::cme::Join;

pub mod cme;
mod duty;
mod network;
mod publication;
mod replay;

pub use duty::{Duty, IdleKind};
pub use network::{Network, Sources};
pub use publication::{LockMemory, Lossless, Publication, bus_name};
pub use replay::{PASSWORD_VARIABLE, Replay};

/// The configuration of one gateway, complete with its defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the bus to publish on: 1 to 64 letters, digits, `-`, `_` and `.`, the first one no `.`.
    #[serde(deserialize_with = "publication::bus")]
    pub bus: String,
    /// Where the data comes from.
    pub venue: Venue,
    /// What memory is taken at start, and so what is refused later.
    #[serde(default)]
    pub limits: Limits,
    /// How packets are received.
    #[serde(default)]
    pub network: Network,
    /// The gateway's thread.
    #[serde(default, rename = "gateway")]
    pub duty: Duty,
    /// How the bus is made.
    #[serde(default)]
    pub publication: Publication,
}

/// One channel of one venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Venue {
    /// Which venue's rules apply.
    pub kind: Kind,
    /// The venue's number of the channel.
    pub channel: u32,
    /// CME's `config.xml`. In the file, a relative path starts at the folder of the file; here it can
    /// be opened as it stands.
    #[serde(serialize_with = "lossy")]
    pub config_xml: PathBuf,
    /// What to do with a book that misses something until a snapshot fits.
    #[serde(default, with = "JoinName")]
    pub join: Join,
    /// How long packets behind a hole wait for it, milliseconds, 0..=10,000.
    #[serde(
        default = "default_wait_ms",
        deserialize_with = "within::<_, _, 0, 10_000>"
    )]
    pub wait_ms: u64,
    /// Network interface to join the groups on, by name or address; the system's choice if absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "interface"
    )]
    pub interface: Option<String>,
    /// The symbols to publish.
    #[serde(default)]
    pub symbols: Symbols,
    /// How packets that both lines lost are asked for again; they are not, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// The venues that a gateway can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// CME Globex, MDP 3.0 over multicast.
    Cme,
}

/// Limits that memory is taken by. All are inclusive, and none can be changed while running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Packets that may wait behind a hole, 1..=1,048,576. Waiting takes this times
    /// `packet_bytes_max` of memory.
    #[serde(deserialize_with = "within::<_, _, 1, 1_048_576>")]
    pub hold_packets_max: usize,
    /// Bytes of a packet's payload, 64..=65,507; a longer packet counts as not received.
    #[serde(deserialize_with = "within::<_, _, 64, 65_507>")]
    pub packet_bytes_max: usize,
    /// Instruments of the channel, 1..=1,048,576.
    #[serde(deserialize_with = "within::<_, _, 1, 1_048_576>")]
    pub instruments_max: usize,
    /// Entries queued for recovery over all instruments, 1..=16,777,216.
    #[serde(deserialize_with = "within::<_, _, 1, 16_777_216>")]
    pub queue_entries_max: usize,
    /// Orders in all books, 1..=67,108,864.
    #[serde(deserialize_with = "within::<_, _, 1, 67_108_864>")]
    pub orders_max: usize,
    /// Changes of books in one venue event, 1..=16,777,216.
    #[serde(deserialize_with = "within::<_, _, 1, 16_777_216>")]
    pub event_changes_max: usize,
}

/// Patterns of symbols, in which `*` stands for any characters, none too. No pattern at all means
/// every symbol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Symbols(Vec<String>);

/// Why a configuration cannot be used.
///
/// Printed, it says file and line, what is wrong, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file that is wrong.
    pub file: PathBuf,
    /// The line, from 1, where there is one.
    pub line: Option<u32>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Config {
    /// The configuration of one CME channel with every default, for those who need no file; its bus
    /// is `cme-` and the channel's number.
    pub fn of_cme_channel(config_xml: impl Into<PathBuf>, channel: u32) -> Self {
        Self {
            bus: format!("cme-{channel}"),
            venue: Venue {
                kind: Kind::Cme,
                channel,
                config_xml: config_xml.into(),
                join: Join::Snapshot,
                wait_ms: default_wait_ms(),
                interface: None,
                symbols: Symbols::default(),
                replay: None,
            },
            limits: Limits::default(),
            network: Network::default(),
            duty: Duty::default(),
            publication: Publication::default(),
        }
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has an unknown key, lacks one, or a value is out of range.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse(path, &read_text(path)?)
    }

    /// The effective configuration, defaults included, as a file that [`Config::read`] takes. What is
    /// not Unicode in a path is replaced.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("tables of names and numbers can be written as TOML")
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self =
            toml::from_str(text).map_err(|error| toml_error(path, text, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.venue.config_xml = folder.join(&config.venue.config_xml);
        if let Some(directory) = &mut config.publication.directory {
            *directory = folder.join(&directory);
        }
        let replay = config.venue.replay.as_mut();
        if let Some(file) = replay.and_then(|replay| replay.password_file.as_mut()) {
            *file = folder.join(&file);
        }
        Ok(config)
    }
}

impl Symbols {
    /// Patterns; none at all admit every symbol.
    ///
    /// # Errors
    /// An empty pattern, which admits nothing.
    pub fn new(patterns: Vec<String>) -> Result<Self, &'static str> {
        match patterns.iter().any(String::is_empty) {
            true => Err("an empty pattern admits no symbol"),
            false => Ok(Self(patterns)),
        }
    }

    /// Whether there is no pattern, that is, whether every symbol is to be published.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a symbol is to be published.
    pub fn admit(&self, symbol: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, symbol))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hold_packets_max: 4096,
            packet_bytes_max: 9000,
            instruments_max: 65_536,
            queue_entries_max: 262_144,
            orders_max: 1_048_576,
            event_changes_max: 65_536,
        }
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            file,
            line,
            what,
            fix,
        } = self;
        write!(out, "{}", file.display())?;
        if let Some(line) = line {
            write!(out, ":{line}")?;
        }
        // TOML's own text has several lines, with a caret under the place.
        let gap = if what.contains('\n') { "\n" } else { "; " };
        write!(out, ": {what}{gap}{fix}")
    }
}

impl std::error::Error for ConfigError {}

/// A configuration beyond this is no configuration; CME's has 300 KB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let refuse = |what: String, fix: &str| ConfigError {
        file: path.to_owned(),
        line: None,
        what,
        fix: fix.to_owned(),
    };
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                refuse("it is not text in UTF-8".to_owned(), "give a text file")
            }
            _ => refuse(
                format!("cannot read it: {error}"),
                "check the path and its permissions",
            ),
        })?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(refuse(
            format!("it has more than {FILE_BYTES_MAX} bytes"),
            "give a configuration, not a capture or a log",
        ));
    }
    Ok(text)
}

fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let line = |at: usize| {
        1 + text.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    };
    ConfigError {
        file: path.to_owned(),
        line: error.span().map(|span| line(span.start) as u32),
        what: error.to_string().trim_end().to_owned(),
        fix: "see the table of settings in docs/operations.md".to_owned(),
    }
}

/// How [`Join`] is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Join", rename_all = "lowercase")]
enum JoinName {
    Snapshot,
    Natural,
}

fn default_wait_ms() -> u64 {
    20
}

/// A number that must be in `MIN..=MAX`; refused while reading, so that the message shows the place.
fn within<'de, D, T, const MIN: i64, const MAX: i64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number = i64::deserialize(deserializer)?;
    match T::try_from(number) {
        Ok(fits) if (MIN..=MAX).contains(&number) => Ok(fits),
        _ => Err(D::Error::custom(format_args!(
            "{number} is not in {MIN}..={MAX}"
        ))),
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn interface<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/' || c.is_control()) {
        return Err(D::Error::custom(format_args!(
            "{name:?} is no interface name or address"
        )));
    }
    Ok(Some(name))
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Whether all of `text` fits a pattern with `*`. On a mismatch only the last `*` takes one more
/// character, so the time is bounded by the product of the lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            (at, read) = (star_at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests;
