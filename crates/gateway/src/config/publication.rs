//! Settings of a gateway's bus.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};
use touchline_settings::within;
use touchline_types::text::{NAMES, is_name};

/// Files of the bus and their sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Publication {
    /// Directory of all buses; `/dev/shm/touchline-<uid>` if absent. In the file, a relative path
    /// starts at the folder of the file; here it is resolved.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy",
        deserialize_with = "directory"
    )]
    pub directory: Option<PathBuf>,
    /// Group whose members may read the bus, by name or number; the gateway's user alone if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Size of the ring in bytes, a power of two from 4,096 to 2^40.
    #[serde(deserialize_with = "ring_bytes")]
    pub ring_bytes: u64,
    /// Levels of each list of a snapshot slot, 1..=65,535, of an implied list at most 16; a deeper book has no
    /// snapshot.
    #[serde(deserialize_with = "within::<_, _, 1, 65_535>")]
    pub image_levels_max: usize,
    /// Whether each new top of book is published separately, ahead of its change.
    pub tops: bool,
    /// Whether huge pages are requested.
    pub huge_pages: bool,
    /// Locking of memory.
    pub lock_memory: LockMemory,
    /// Registered readers that are waited for; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Lossless>,
}

/// Locking of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockMemory {
    /// Not locked.
    No,
    /// Locked if the limits of the process allow it.
    #[default]
    IfAllowed,
    /// Locked, or the gateway does not start.
    Required,
}

/// Limits of waiting for readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lossless {
    /// Maximum number of registered readers, 1..=1,024.
    #[serde(deserialize_with = "within::<_, _, 1, 1_024>")]
    pub readers_max: u32,
    /// Maximum wait for a reader before its slot is freed, milliseconds, 0..=60,000.
    #[serde(deserialize_with = "within::<_, _, 0, 60_000>")]
    pub wait_ms: u64,
}

impl Default for Publication {
    fn default() -> Self {
        Self {
            directory: None,
            group: None,
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

/// Validates the name of a bus. It is also a file name, so only safe characters are allowed.
///
/// # Errors
/// The valid names.
pub fn bus_name(name: &str) -> Result<String, String> {
    match is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(format!("{name:?} is not a bus name: 1 to 64 {NAMES}")),
    }
}

pub(crate) fn read_bus_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
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
