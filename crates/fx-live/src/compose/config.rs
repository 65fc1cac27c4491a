//! The configuration of a composer: a TOML file.

use crate::days::rolls_at_start;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use touchline_fx::config as fx;
use touchline_fx::{Setup, guards};
use touchline_fx_days::{CalendarsConfig, Dates, Rolls};
use touchline_settings::{self as settings, Manual, Mistakes, number};

/// The whole file. Unknown keys are errors.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the published bus.
    pub bus: String,
    /// Directory of all buses; the user's default if absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Group whose members may read the bus, by name or number; the composer's user alone if absent.
    #[serde(default)]
    pub group: Option<String>,
    /// Published price levels a side.
    #[serde(default = "number::<_, 10>")]
    pub levels: usize,
    /// Milliseconds between two published composites; 0 publishes each change.
    #[serde(default)]
    pub conflate_ms: u64,
    /// Bytes of messages in the ring, a power of two.
    #[serde(default = "number::<_, { 16 << 20 }>")]
    pub ring_bytes: u64,
    /// Longest time without activity before a heartbeat, milliseconds; after twice this time the bus is stalled.
    #[serde(default = "number::<_, 100>")]
    pub heartbeat_ms: u64,
    /// Interval at which the banks at the best price and the prices of sizes are published again, for readers that join, milliseconds.
    #[serde(default = "number::<_, 100>")]
    pub snapshot_ms: u64,
    /// Whether an idle round polls again at once, which uses a whole processor; otherwise it spins, yields, then
    /// sleeps.
    #[serde(default)]
    pub spin: bool,
    /// Calendars, from which spot dates follow.
    #[serde(default)]
    pub calendars: Option<CalendarsConfig>,
    /// Currency pairs.
    pub pairs: Vec<fx::PairConfig>,
    /// Banks; their order is their rank.
    pub banks: Vec<BankSource>,
}

/// A bank, and the bus of its gateway.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankSource {
    /// Name in the composite.
    pub name: String,
    /// Bus of its gateway; its name in lower case if absent.
    #[serde(default)]
    pub bus: Option<String>,
    /// Symbols of the bank; all pairs if absent.
    #[serde(default)]
    pub pairs: Option<Vec<String>>,
    /// Meaning of its entries.
    #[serde(default)]
    pub kind: fx::StreamKind,
    /// Minimum quantity if the quote states none, base units.
    #[serde(default)]
    pub min_qty: i64,
    /// Maximum quantity of a size from this bank, base units.
    #[serde(default = "number::<_, 1_000_000_000>")]
    pub max_qty: i64,
    /// Age at which a pair's quotes expire, milliseconds; 0 is never.
    #[serde(default)]
    pub stale_ms: u64,
    /// Time without messages after which its quotes expire, milliseconds; 0 is never.
    #[serde(default)]
    pub silence_ms: u64,
    /// Lifetime of a quote from its arrival, milliseconds; 0 is unlimited.
    #[serde(default)]
    pub ttl_ms: u64,
}

impl Config {
    /// Parses and checks the text of a file.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn parse(text: &str) -> Result<Config, Mistakes> {
        let manual = Manual::page("docs/fx/compose.md");
        settings::read(text, &manual, |config: Config| {
            let mut wrong = guards::check(text, guards::Scope::Composer);
            config.check(&mut wrong);
            wrong.none_or(config)
        })
    }

    /// Resolves relative paths from `folder`, that of the file.
    pub fn starts_at(&mut self, folder: &Path) {
        if let Some(directory) = &mut self.directory {
            *directory = folder.join(&directory);
        }
        if let Some(calendars) = &mut self.calendars {
            calendars.starts_at(folder);
        }
    }

    fn check(&self, wrong: &mut Mistakes) {
        let mut top = wrong.section("", "");
        top.range("levels", self.levels, 1..=1_000);
        top.range("heartbeat_ms", self.heartbeat_ms, 10..=60_000);
        top.range("snapshot_ms", self.snapshot_ms, 10..=60_000);
        let ring = self.ring_bytes;
        if !(ring.is_power_of_two() && (1 << 16..=1 << 40).contains(&ring)) {
            top.push("ring_bytes", "give a power of two from 65536 to 2^40");
        }
        for bank in self.banks.iter().filter(|bank| bank.bus_name() == self.bus) {
            let text = format!(
                "\"{}\" is the bus of the gateway of bank {}; give the composite another name",
                self.bus, bank.name
            );
            top.push("bus", &text);
        }
        wrong.extend(self.setup().err().unwrap_or_default());
    }

    /// The calendars at the start, a time of the wall clock; none if the spot dates are those of the file.
    ///
    /// # Errors
    /// Every mistake of a calendar, and a stated spot date that differs.
    pub fn rolls_at_start(&self, wall_ns: u64) -> Result<Option<Rolls>, Mistakes> {
        let calendars = self.calendars.as_ref();
        calendars
            .map(|calendars| rolls_at_start(calendars, &self.pairs, wall_ns))
            .transpose()
    }

    /// Settings of the core.
    ///
    /// # Errors
    /// Every invalid value, with its key.
    pub fn setup(&self) -> Result<Setup, Mistakes> {
        Setup::new(self.core())
    }

    /// Configuration of the core for a recording that starts at a time of the wall clock. A replay has no calendars: each pair has the
    /// spot date of that time, and the day that follows in the recording as its first line.
    pub fn recorded(&self, rolls: Option<&Rolls>, wall_ns: u64) -> fx::Config {
        let mut core = self.core();
        for (at, pair) in core.pairs.iter_mut().enumerate() {
            let dates = rolls.map(|rolls| rolls.dates(at, wall_ns));
            if let Some(Dates { trade, spot }) = dates {
                // Where a calendar ends before the spot date, any date will do: the day says that there is none.
                pair.spot_date = if spot == 0 { trade } else { spot }.to_string();
            }
        }
        core
    }

    /// Configuration of the core.
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
            has_calendars: self.calendars.is_some(),
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
