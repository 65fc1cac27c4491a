//! The configuration of a composer: a TOML file.

use serde::Deserialize;
use std::path::PathBuf;
use thiserror::Error;
use touchline_fx::config as fx;
use touchline_fx::{Setup, SetupError};

/// The whole file. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the bus to publish on.
    pub bus: String,
    /// Directory of all buses; that of this user, if absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Price levels a side that are published.
    #[serde(default = "levels")]
    pub levels: usize,
    /// Milliseconds between published composites; 0 publishes each change.
    #[serde(default)]
    pub conflate_ms: u64,
    /// Bytes of messages that the ring holds, a power of two.
    #[serde(default = "ring_bytes")]
    pub ring_bytes: u64,
    /// How long the bus may be quiet before a heartbeat, milliseconds; without activity for two of them it is stalled.
    #[serde(default = "heartbeat_ms")]
    pub heartbeat_ms: u64,
    /// How often the banks at the best and what sizes cost are published again, for readers that join, milliseconds.
    #[serde(default = "snapshot_ms")]
    pub snapshot_ms: u64,
    /// Whether an idle round polls again at once, which takes a processor; else it spins, yields, then sleeps.
    #[serde(default)]
    pub spin: bool,
    /// Currency pairs.
    pub pairs: Vec<fx::PairConfig>,
    /// Banks; their order is their rank.
    pub banks: Vec<BankSource>,
}

/// A bank, and the bus of its gateway.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankSource {
    /// Its name in the composite.
    pub name: String,
    /// The bus that its gateway publishes on; its name in small letters, if absent.
    #[serde(default)]
    pub bus: Option<String>,
    /// Symbols that are taken from it; all pairs, if absent.
    #[serde(default)]
    pub pairs: Option<Vec<String>>,
    /// What its entries mean.
    #[serde(default)]
    pub kind: fx::StreamKind,
    /// Least quantity where the quote says none, base units.
    #[serde(default)]
    pub min_qty: i64,
    /// Most that a size takes from it, base units.
    #[serde(default = "most")]
    pub max_qty: i64,
    /// Age at which a pair's quotes stop counting, milliseconds; 0 is never.
    #[serde(default)]
    pub stale_ms: u64,
    /// Silence after which its quotes stop counting, milliseconds; 0 is never.
    #[serde(default)]
    pub silence_ms: u64,
    /// Life of a quote from its arrival, milliseconds; 0 is without end.
    #[serde(default)]
    pub ttl_ms: u64,
}

/// A configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not TOML, an unknown key, a value of another type.
    #[error("{0}")]
    Syntax(String),
    /// A value of the core.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A value of the composer.
    #[error("{0}")]
    Value(String),
}

impl Config {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// What cannot be, and what would be right.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text).map_err(|error| {
            let line = error.span().and_then(|span| text.get(..span.start));
            let line = line.map_or(1, |before| before.matches('\n').count() + 1);
            let what = error.message().lines().next().unwrap_or("not TOML");
            ConfigError::Syntax(format!("line {line}: {what}"))
        })?;
        let wrong = |text: &str| Err(ConfigError::Value(text.to_owned()));
        if !(1..=1_000).contains(&config.levels) {
            return wrong("levels: give 1 to 1000");
        }
        if !(10..=60_000).contains(&config.heartbeat_ms) {
            return wrong("heartbeat_ms: give 10 to 60000");
        }
        if !(10..=60_000).contains(&config.snapshot_ms) {
            return wrong("snapshot_ms: give 10 to 60000");
        }
        let ring = config.ring_bytes;
        if !(ring.is_power_of_two() && (1 << 16..=1 << 40).contains(&ring)) {
            return wrong("ring_bytes: give a power of two from 65536 to 2^40");
        }
        config.setup()?;
        Ok(config)
    }

    /// What the core works with.
    ///
    /// # Errors
    /// A value that cannot be, by its key.
    pub fn setup(&self) -> Result<Setup, SetupError> {
        Setup::new(self.core())
    }

    /// The configuration of the core, as a replay of a recording reads it, too.
    pub fn core(&self) -> fx::Config {
        let all = || self.pairs.iter().map(|pair| pair.symbol.clone()).collect();
        let bank = |bank: &BankSource| fx::BankConfig {
            pairs: bank.pairs.clone().unwrap_or_else(all),
            kind: bank.kind,
            min_qty: bank.min_qty,
            max_qty: bank.max_qty,
            stale_ms: bank.stale_ms,
            silence_ms: bank.silence_ms,
            ttl_ms: bank.ttl_ms,
            ..fx::BankConfig::new(&bank.name)
        };
        fx::Config {
            conflate_ms: self.conflate_ms,
            pairs: self.pairs.clone(),
            banks: self.banks.iter().map(bank).collect(),
            ..fx::Config::of_prices()
        }
    }
}

impl BankSource {
    /// The bus of its gateway.
    pub fn bus_name(&self) -> String {
        let own = || self.name.to_ascii_lowercase();
        self.bus.clone().unwrap_or_else(own)
    }
}

fn levels() -> usize {
    10
}

fn ring_bytes() -> u64 {
    16 << 20
}

fn snapshot_ms() -> u64 {
    100
}

fn heartbeat_ms() -> u64 {
    100
}

fn most() -> i64 {
    1_000_000_000
}
