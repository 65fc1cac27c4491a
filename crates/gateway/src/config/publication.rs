//! How a gateway's bus is made: the part of the configuration that readers never see.

use super::within;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The files of the bus and what they hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Publication {
    /// Directory of all buses; `/dev/shm/touchline-<uid>` if absent. In the file, a relative path
    /// starts at the folder of the file; here it can be used as it stands.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy",
        deserialize_with = "directory"
    )]
    pub directory: Option<PathBuf>,
    /// Bytes of messages that the ring holds, a power of two from 4,096 to 2^40.
    #[serde(deserialize_with = "ring_bytes")]
    pub ring_bytes: u64,
    /// Levels of each list of an image, 1..=65,535, of an implied list 16 at most; a deeper book has no
    /// image.
    #[serde(deserialize_with = "within::<_, _, 1, 65_535>")]
    pub image_levels_max: usize,
    /// Whether each new top of book is published by itself, ahead of the change that made it.
    pub tops: bool,
    /// Whether huge pages are asked for.
    pub huge_pages: bool,
    /// Whether the memory is kept from being swapped out.
    pub lock_memory: LockMemory,
    /// Named readers that are waited for; nobody is if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Lossless>,
}

/// Whether memory is kept from being swapped out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockMemory {
    /// It is not.
    No,
    /// It is, if the limits of the process allow it.
    #[default]
    IfAllowed,
    /// It is, or the gateway does not start.
    Required,
}

/// How many readers are waited for, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lossless {
    /// Most named readers, 1..=1,024.
    #[serde(deserialize_with = "within::<_, _, 1, 1_024>")]
    pub readers_max: u32,
    /// How long a reader may stop the gateway before it is left behind, milliseconds, 0..=60,000.
    #[serde(deserialize_with = "within::<_, _, 0, 60_000>")]
    pub wait_ms: u64,
}

impl Default for Publication {
    fn default() -> Self {
        Self {
            directory: None,
            ring_bytes: 16 * 1024 * 1024,
            image_levels_max: 16,
            tops: true,
            huge_pages: false,
            lock_memory: LockMemory::IfAllowed,
            lossless: None,
        }
    }
}

impl Default for Lossless {
    fn default() -> Self {
        Self {
            readers_max: 16,
            wait_ms: 1_000,
        }
    }
}

/// Whether a bus may have this name, and why not. It names files in shared memory, so its letters
/// are those that are safe in a file name.
///
/// # Errors
/// What names a bus may have.
pub fn bus_name(name: &str) -> Result<String, String> {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&name.len()) && name.chars().all(safe) && !name.starts_with('.') {
        return Ok(name.to_owned());
    }
    let allowed = "1 to 64 letters, digits, '-', '_' and '.', not starting with '.'";
    Err(format!("{name:?} is not a bus name: {allowed}"))
}

pub(super) fn bus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    bus_name(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn ring_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let bytes = i64::deserialize(deserializer)?;
    match u64::try_from(bytes) {
        Ok(fits) if fits.is_power_of_two() && (1 << 12..=1 << 40).contains(&fits) => Ok(fits),
        _ => Err(D::Error::custom(format_args!(
            "{bytes} cannot be the size of a ring"
        ))),
    }
}

fn directory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    match path.as_os_str().is_empty() {
        true => Err(D::Error::custom("an empty path is not a directory")),
        false => Ok(Some(path)),
    }
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let path = path.as_deref().unwrap_or(Path::new(""));
    serializer.collect_str(&path.display())
}
