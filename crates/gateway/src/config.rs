//! Configuration of one venue connection, as a TOML file.
//!
//! Everything has a default except the bus and the settings that identify the venue. Unknown keys
//! are refused, because a misspelt limit would silently not apply. `docs/configuration.md`
//! describes each setting. These are the tables that every venue may have; [`Config`] is all of them with the venue's.

use serde::{Deserialize, Serialize};
use touchline_transport::market::ORDERS_MAX;

mod annotated;
mod duty;
mod network;
mod publication;
mod values;

pub use crate::venues::Config;
pub use annotated::{CONFIGURATION, Guide, Setting, SettingsTable};
pub(crate) use annotated::{annotated, plain, settings, tables};
pub use duty::{Duty, IdleKind};
pub use network::{Network, Receive, Sources};
pub(crate) use publication::read_bus_name;
pub use publication::{LockMemory, Lossless, Publication, bus_name};
pub use touchline_credentials::{ClientTls, ConfigError, SecretSource, read_config};
pub use touchline_instruments::Symbols;
pub use touchline_settings::Mistakes;
pub(crate) use touchline_settings::{number, within};
pub(crate) use values::{lossy, timeout_ns};

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
    /// Orders in all books, 0..=67,108,864; with 0 there are no order books.
    #[serde(deserialize_with = "within::<_, _, 0, 67_108_864>")]
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

impl Default for Limits {
    fn default() -> Self {
        Self {
            hold_packets_max: 4096,
            packet_bytes_max: 9000,
            instruments_max: 65_536,
            queue_entries_max: 262_144,
            orders_max: ORDERS_MAX,
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

#[cfg(test)]
mod tests;
