//! Configuration of a bank's pricing session: addresses, CompIDs, pairs, and meaning of its quotes.

use crate::config::{ClientTls, SecretSource, Symbols, number, within};
use crate::venues::fix::read;
use serde::{Deserialize, Serialize};
use touchline_fx_days::{DaysConfig, Hours, HoursKeys};

/// One bank's pricing session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FxBankVenue {
    /// Always `fx-bank`.
    pub kind: Kind,
    /// Names or addresses with their port, tried in turn.
    #[serde(deserialize_with = "read::hosts")]
    pub hosts: Vec<String>,
    /// Our SenderCompID (49).
    #[serde(deserialize_with = "read::comp_id")]
    pub sender: String,
    /// The bank's TargetCompID (56).
    #[serde(deserialize_with = "read::comp_id")]
    pub target: String,
    /// SenderSubID (50), if the bank requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_sub: Option<String>,
    /// TargetSubID (57), if the bank requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_sub: Option<String>,
    /// Name of the bank in published quotes: 1 to 16 letters, digits, `-`, `_` and `.`. Default: its CompID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank: Option<String>,
    /// Username (553).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Place of the password, sent as Password (554).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretSource>,
    /// The pairs, in the bank's order: mass quotes identify a pair by its index.
    pub pairs: Vec<BankPair>,
    /// Requested form of quotes.
    #[serde(default)]
    pub dialect: Dialect,
    /// Meaning of its entries.
    #[serde(default)]
    pub stream: Stream,
    /// MarketDepth (264): 0 for a ladder, 1 for bands.
    #[serde(default, deserialize_with = "within::<_, _, 0, 10_000>")]
    pub depth: u32,
    /// Sizes that are requested separately (38), base units; empty: one request for the whole ladder.
    #[serde(default)]
    pub bands: Vec<u64>,
    /// Feed timeout: after this time without a message, quotes are unusable, milliseconds, 0..=3,600,000; 0 disables it.
    /// It has no default: whether a bank that falls silent stays live is decided in each file.
    #[serde(deserialize_with = "within::<_, _, 0, 3_600_000>")]
    pub silence_ms: u64,
    /// Age of a pair's last quote message at which its quotes are unusable, milliseconds, 0..=3,600,000; 0 disables it.
    #[serde(default, deserialize_with = "within::<_, _, 0, 3_600_000>")]
    pub stale_ms: u64,
    /// Lifetime of a quote from its receipt, milliseconds, 0..=3,600,000; 0 is unlimited.
    #[serde(default, deserialize_with = "within::<_, _, 0, 3_600_000>")]
    pub ttl_ms: u64,
    /// Minimum order quantity for quotes that state none, base units.
    #[serde(default, deserialize_with = "within::<_, _, 0, 1_000_000_000_000>")]
    pub min_qty: u64,
    /// Levels a side of the bank's own book, 1..=1,000.
    #[serde(
        default = "number::<_, 16>",
        deserialize_with = "within::<_, _, 1, 1_000>"
    )]
    pub levels_max: usize,
    /// Interval at which all quotes are published again, for readers that join, milliseconds, 10..=60,000.
    #[serde(
        default = "number::<_, 100>",
        deserialize_with = "within::<_, _, 10, 60_000>"
    )]
    pub snapshot_ms: u64,
    /// TLS settings, if the bank uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Box<ClientTls>>,
    /// Hours of the session; always open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Box<BankSchedule>>,
    /// HeartBtInt (108), seconds, 1..=3,600.
    #[serde(
        default = "number::<_, 10>",
        deserialize_with = "within::<_, _, 1, 3_600>"
    )]
    pub heartbeat_s: u32,
    /// Maximum size of a received message, bytes, 4,096..=4,194,304.
    #[serde(
        default = "number::<_, { 1024 * 1024 }>",
        deserialize_with = "within::<_, _, 4_096, 4_194_304>"
    )]
    pub message_bytes_max: usize,
    /// Additional fields of our Logon, such as `"9001=Y"`.
    #[serde(default, deserialize_with = "read::fields")]
    pub logon_fields: Vec<String>,
    /// Additional fields of each request, such as `"9011=Y"`.
    #[serde(default, deserialize_with = "read::fields")]
    pub request_fields: Vec<String>,
    /// Timeout of a connection including its Logon, milliseconds, 100..=60,000.
    #[serde(
        default = "number::<_, 10_000>",
        deserialize_with = "within::<_, _, 100, 60_000>"
    )]
    pub connect_ms: u64,
    /// Backoff after a first failed or lost connection, milliseconds, 10..=60,000.
    #[serde(
        default = "number::<_, 200>",
        deserialize_with = "within::<_, _, 10, 60_000>"
    )]
    pub reconnect_ms: u64,
    /// Maximum backoff, milliseconds, 10..=600,000.
    #[serde(
        default = "number::<_, 10_000>",
        deserialize_with = "within::<_, _, 10, 600_000>"
    )]
    pub reconnect_ms_max: u64,
    /// Every pair is published.
    #[serde(skip)]
    pub(super) all: Symbols,
}

/// Hours of a pricing session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankSchedule {
    /// Time zone by its IANA name.
    pub zone: String,
    /// Local time at which a session starts, `HH:MM[:SS]`.
    pub start: String,
    /// Local time at which it ends; of the next day unless it is after `start`.
    pub end: String,
    /// Local days on which a session starts, or `"week"`.
    pub days: DaysConfig,
    /// Day on which the session of a week starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_day: Option<String>,
    /// Day on which it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_day: Option<String>,
    /// Local dates on which no session starts, `YYYYMMDD`.
    #[serde(default)]
    pub closed: Vec<String>,
    /// When both numbers begin again at 1.
    #[serde(default)]
    pub reset: BankReset,
}

/// Reset of a pricing session, whose numbers are lost with the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BankReset {
    /// With each Logon.
    #[default]
    Logon,
    /// With the first Logon of the process that the bank accepts.
    Run,
    /// With the first Logon of a session that the bank accepts.
    Session,
}

impl BankSchedule {
    /// The hours.
    ///
    /// # Errors
    /// The key that is wrong, and how to correct it.
    pub fn hours(&self) -> Result<Option<Hours>, (&'static str, String)> {
        let keys = HoursKeys {
            zone: Some(&self.zone),
            start: Some(&self.start),
            end: Some(&self.end),
            days: Some(&self.days),
            week: [self.start_day.as_deref(), self.end_day.as_deref()],
            closed: &self.closed,
        };
        keys.read()
    }
}

/// Kinds with this section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A bank's pricing session over FIX 4.4.
    #[serde(rename = "fx-bank")]
    FxBank,
}

/// A pair of the bank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankPair {
    /// `EUR/USD`.
    pub symbol: String,
    /// Decimals of a tick.
    #[serde(default = "number::<_, 5>", deserialize_with = "within::<_, _, 0, 9>")]
    pub precision: u8,
    /// Spot value date, `YYYYMMDD`: quotes for another date are rejected. Required without `[calendars]`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spot_date: String,
    /// Days from the trade date to the spot date, in place of those of the pair, 0..=2; with `[calendars]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_days: Option<u32>,
}

/// Form of a bank's quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    /// Snapshots only.
    #[default]
    W,
    /// Snapshots and increments.
    WX,
    /// Quote messages, requested by QuoteRequest (R).
    S,
    /// Mass quotes.
    #[serde(rename = "i")]
    MassQuotes,
}

/// Meaning of a bank's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Amounts that add up and can be traded in part.
    #[default]
    Sweep,
    /// Bands: one order of at most the size; bands never add up.
    Full,
}
