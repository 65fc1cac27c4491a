//! Configuration of one venue connection, as a TOML file.
//!
//! Everything has a default except the bus and the settings that identify the venue. Unknown keys
//! are refused, because a misspelt limit would silently not apply. `docs/configuration.md`
//! describes each setting.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::venues::{VENUES, Venue, Venues};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;

mod annotated;
mod duty;
mod mistake;
mod network;
mod publication;

pub use annotated::{CONFIGURATION, Guide, Setting, SettingsTable};
pub use duty::{Duty, IdleKind};
pub use network::{Network, Sources};
pub use publication::{LockMemory, Lossless, Publication, bus_name};
pub use touchline_credentials::{ClientTls, ConfigError, SecretSource};
pub use touchline_instruments::Symbols;

/// Configuration of one gateway with all defaults; `V` is the venue's section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    bound(serialize = "V: Venue", deserialize = "V: Venue")
)]
pub struct Config<V: Venue> {
    /// Name of the bus to publish on: 1 to 64 letters, digits, `-`, `_` and `.`, not starting with `.`.
    #[serde(deserialize_with = "publication::bus")]
    pub bus: String,
    /// Source of the data.
    pub venue: V,
    /// Limits, from which memory is allocated at start.
    #[serde(default)]
    pub limits: V::Limits,
    /// Receiving of packets, for venues that send them.
    #[serde(default, skip_serializing_if = "has_no_settings")]
    pub network: V::Network,
    /// The gateway's thread.
    #[serde(default, rename = "gateway")]
    pub duty: Duty,
    /// The bus.
    #[serde(default)]
    pub publication: Publication,
}

/// Limits of a channel, which determine its memory. All are inclusive and fixed while running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Packets buffered behind a gap, 1..=1,048,576. The buffer takes this times `packet_bytes_max`
    /// of memory.
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

/// Limits of a session, which determine its memory: there is no reorder buffer, and no market by order. All are
/// inclusive and fixed while running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionLimits {
    /// Instruments of the session, 1..=1,048,576.
    #[serde(deserialize_with = "within::<_, _, 1, 1_048_576>")]
    pub instruments_max: usize,
    /// Changes of books in one venue event, 1..=16,777,216.
    #[serde(deserialize_with = "within::<_, _, 1, 16_777_216>")]
    pub event_changes_max: usize,
}

/// Empty section of a venue without such settings: any key is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// A table of settings with defaults.
pub trait Section:
    Clone + std::fmt::Debug + PartialEq + Eq + Default + Serialize + serde::de::DeserializeOwned
{
}

impl<T> Section for T where
    T: Clone + std::fmt::Debug + PartialEq + Eq + Default + Serialize + serde::de::DeserializeOwned
{
}

/// Whether a table has no settings, so that it is not printed.
fn has_no_settings<T: Section>(_: &T) -> bool {
    size_of::<T>() == 0
}

impl<V: Venue> Config<V> {
    /// Reads a TOML file.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key or lacks one, a value is out of range, or its venue is
    /// of another kind.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse(VENUES, path, &read_text(path)?)
    }

    /// Parses the text of a TOML file; `name` is its name in errors, and relative paths start there.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn from_text(name: impl AsRef<Path>, text: &str) -> Result<Self, ConfigError> {
        Self::parse(VENUES, name.as_ref(), text)
    }

    /// Effective configuration with defaults, as a file that [`Config::read`] accepts. Non-Unicode parts of paths are
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
        annotated::annotated(&config.to_toml(), &V::GUIDE)
    }

    fn starts_at(&mut self, folder: &Path) {
        self.venue.resolve(folder);
        if let Some(directory) = &mut self.publication.directory {
            *directory = folder.join(&directory);
        }
    }

    /// [`Config::from_text`] for these venues.
    pub(crate) fn parse(venues: Venues, path: &Path, text: &str) -> Result<Self, ConfigError> {
        let kind = kind(venues, path, text)?;
        if !V::KINDS.contains(&kind.as_str()) {
            return Err(ConfigError {
                file: path.to_owned(),
                line: None,
                what: format!("the venue is of kind \"{kind}\""),
                fix: format!(
                    "this command supports kind {}; `touchline gateway` supports every kind",
                    mistake::quoted(V::KINDS)
                ),
            });
        }
        let venue = venues.find(&kind);
        let mut config: Self = toml::from_str(text)
            .map_err(|error| mistake::explained(path, text, venues, venue, &error))?;
        config.starts_at(path.parent().unwrap_or(Path::new("")));
        Ok(config)
    }
}

/// Kind of venue of a file, which determines its other settings.
pub(crate) fn kind(venues: Venues, path: &Path, text: &str) -> Result<String, ConfigError> {
    #[derive(Deserialize)]
    struct Any {
        venue: AnyVenue,
    }
    #[derive(Deserialize)]
    struct AnyVenue {
        kind: Spanned<String>,
    }
    touchline_credentials::check_text(path, text)?;
    let is_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_nothing) {
        return Err(ConfigError {
            file: path.to_owned(),
            line: None,
            what: "the file is empty, but for comments".to_owned(),
            fix: EXAMPLE.to_owned(),
        });
    }
    let any: Any = toml::from_str(text)
        .map_err(|error| mistake::explained(path, text, venues, None, &error))?;
    let kind = any.venue.kind;
    match venues.find(kind.get_ref()) {
        Some(_) => Ok(kind.into_inner()),
        None => Err(mistake::unknown_kind(path, text, venues, &kind)),
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

impl Default for SessionLimits {
    fn default() -> Self {
        let Limits {
            instruments_max,
            event_changes_max,
            ..
        } = Limits::default();
        Self {
            instruments_max,
            event_changes_max,
        }
    }
}

/// Source of examples.
const EXAMPLE: &str = "`touchline config --example cme` (or deribit, fix) prints one that works";

/// Maximum size of a configuration; CME's config.xml has 300 KB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(crate) fn read_text(path: &Path) -> Result<String, ConfigError> {
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
            std::io::ErrorKind::InvalidData => refuse(
                "it is not text in UTF-8".to_owned(),
                "save it as UTF-8, without a byte order mark",
            ),
            std::io::ErrorKind::IsADirectory => {
                refuse("it is a directory".to_owned(), "give the file in it")
            }
            _ => refuse(
                format!("cannot read it: {error}"),
                "check the path and its permissions",
            ),
        })?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(refuse(
            format!("it has more than {FILE_BYTES_MAX} bytes"),
            "give a configuration file",
        ));
    }
    Ok(text)
}

/// Deserializes a number in `MIN..=MAX`; refused while parsing, so that the error names the place.
pub(crate) fn within<'de, D, T, const MIN: i64, const MAX: i64>(
    deserializer: D,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number = i64::deserialize(deserializer)?;
    match T::try_from(number) {
        Ok(fits) if (MIN..=MAX).contains(&number) => Ok(fits),
        _ => Err(D::Error::custom(format_args!(
            "{number} is not in the range {MIN} to {MAX}"
        ))),
    }
}

/// A path as text.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests;
