//! Settings of one CME channel.

use super::Replay;
use crate::config::{Config, Duty, Limits, Network, Publication, Symbols, lossy, within};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;
use touchline_feed::cme::Join;

/// One channel of CME.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CmeVenue {
    /// Kind of venue.
    pub kind: Kind,
    /// The venue's number of the channel.
    pub channel: u32,
    /// CME's `config.xml`. In the file, a relative path starts at the folder of the file; here it is resolved.
    #[serde(serialize_with = "lossy")]
    pub config_xml: PathBuf,
    /// Content of a book in recovery until a snapshot fits.
    #[serde(default, with = "JoinName")]
    pub join: Join,
    /// Gap timeout: how long packets received ahead of a gap wait for it, milliseconds, 0..=10,000.
    #[serde(
        default = "default_wait_ms",
        deserialize_with = "within::<_, _, 0, 10_000>"
    )]
    pub wait_ms: u64,
    /// Whether the bytes of a packet's copies are compared: a packet that was forged or damaged on one line, and is still valid,
    /// is noticed when its other copy comes.
    #[serde(default)]
    pub compare_copies: bool,
    /// Network interface for the groups, by name or address; the system's choice if absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "interface"
    )]
    pub interface: Option<String>,
    /// Network interface for the groups of line B; the interface of line A if absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "interface"
    )]
    pub interface_b: Option<String>,
    /// The symbols to publish.
    #[serde(default)]
    pub symbols: Symbols,
    /// TCP replay; disabled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// Kinds with this section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// CME Globex, MDP 3.0 over multicast.
    Cme,
}

impl CmeVenue {
    /// The configured interfaces, as text; none if the system chooses for both lines.
    pub fn interfaces(&self) -> Option<String> {
        match (&self.interface, &self.interface_b) {
            (Some(name), None) => Some(name.clone()),
            (None, None) => None,
            (a, Some(b)) => Some(format!("{},{b}", a.as_deref().unwrap_or("default"))),
        }
    }
}

impl Config<CmeVenue> {
    /// Configuration of one CME channel with all defaults, without a file; its bus is `cme-` and
    /// the channel's number.
    pub fn of_cme_channel(config_xml: impl Into<PathBuf>, channel: u32) -> Self {
        Self {
            bus: format!("cme-{channel}"),
            venue: CmeVenue {
                kind: Kind::Cme,
                channel,
                config_xml: config_xml.into(),
                join: Join::Snapshot,
                wait_ms: default_wait_ms(),
                compare_copies: false,
                interface: None,
                interface_b: None,
                symbols: Symbols::default(),
                replay: None,
            },
            limits: Limits::default(),
            calendars: crate::config::NoSettings {},
            network: Network::default(),
            duty: Duty::default(),
            publication: Publication::default(),
        }
    }
}

/// Spelling of [`Join`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Join", rename_all = "lowercase")]
enum JoinName {
    Snapshot,
    Natural,
}

fn default_wait_ms() -> u64 {
    20
}

fn interface<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/' || c.is_control()) {
        return Err(D::Error::custom(format_args!(
            "{name:?} is not an interface name or address"
        )));
    }
    Ok(Some(name))
}
