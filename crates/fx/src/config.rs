//! `config.toml`: the settings of the FX core as a person writes them. Every key stands in `docs/venues/fx-banks.md`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The whole file. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Trading day, `YYYYMMDD`.
    pub date: String,
    /// Prefix of every identifier that is made; it changes at least daily.
    pub prefix: String,
    /// Account (1) of all orders.
    pub account: String,
    /// Milliseconds between printed composites; 0 prints each change.
    #[serde(default)]
    pub conflate_ms: u64,
    /// Currency pairs, in the order in which they are printed.
    pub pairs: Vec<PairConfig>,
    /// Banks; their order is their rank.
    pub banks: Vec<BankConfig>,
    /// The router.
    #[serde(default)]
    pub router: RouterConfig,
    /// Limits and the kill switch.
    #[serde(default)]
    pub risk: RiskConfig,
}

/// A currency pair.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairConfig {
    /// `EUR/USD`.
    pub symbol: String,
    /// Decimals of a tick, 0 to 9.
    pub precision: u8,
    /// Base units; every quantity of ours is a multiple of it.
    #[serde(default = "lot")]
    pub lot: i64,
    /// Spot value date, `YYYYMMDD`.
    pub spot_date: String,
    /// Sizes whose average prices the composite shows, base units.
    #[serde(default = "sizes")]
    pub sizes: Vec<i64>,
    /// Farthest from the mid that is traded, ticks.
    #[serde(default = "million")]
    pub collar_ticks: i64,
    /// Most that the best bid may be above the best ask while trading, ticks.
    #[serde(default = "million")]
    pub crossed_max_ticks: i64,
    /// Largest parent, base units.
    #[serde(default = "milliard")]
    pub max_order: i64,
    /// Largest worst case of the pair, base units.
    #[serde(default = "billion")]
    pub max_net: i64,
    /// Dollars of one base unit, millionths; for limits alone.
    #[serde(default = "million")]
    pub usd_e6: i64,
}

/// A bank.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankConfig {
    /// Its name.
    pub name: String,
    /// Symbols that it streams; mass quotes name them by their number in this list, from 1.
    pub pairs: Vec<String>,
    /// How it quotes. For simulators; the reader takes every dialect.
    #[serde(default)]
    pub dialect: Dialect,
    /// What its entries mean.
    #[serde(default)]
    pub kind: StreamKind,
    /// How it takes orders.
    #[serde(default)]
    pub orders: OrderStyle,
    /// Least quantity of an order where the quote says none, base units.
    #[serde(default)]
    pub min_qty: i64,
    /// Most that one plan takes from it, base units.
    #[serde(default = "milliard")]
    pub max_qty: i64,
    /// Age at which a pair's quotes stop counting, milliseconds; 0 is never.
    #[serde(default)]
    pub stale_ms: u64,
    /// Silence of the pricing session after which its quotes stop counting, milliseconds; 0 is never.
    #[serde(default)]
    pub silence_ms: u64,
    /// Life of a quote from its arrival, milliseconds; 0 is without end.
    #[serde(default)]
    pub ttl_ms: u64,
    /// Time for an answer to an order, milliseconds.
    #[serde(default = "answer_ms")]
    pub answer_ms: u64,
    /// Time between status requests, milliseconds.
    #[serde(default = "status_ms")]
    pub status_ms: u64,
    /// Status requests for one order before the desk is called.
    #[serde(default = "status_tries")]
    pub status_tries: u32,
    /// How orders are recovered after a reconnect.
    #[serde(default)]
    pub recover: Recover,
    /// Gross credit of a day, dollars.
    #[serde(default = "billion")]
    pub credit_usd: i64,
    /// Most orders in a second.
    #[serde(default = "thousand")]
    pub max_orders_per_s: usize,
    /// Text (58) or OrdRejReason (103) of a reject, to the code it stands for.
    #[serde(default)]
    pub reject_map: BTreeMap<String, String>,
    /// Whether a status answer "unknown order" is final and frees the quantity. Not said: a replay takes it as final.
    #[serde(default)]
    pub status_final: Option<bool>,
}

/// How a bank quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Dialect {
    /// Snapshots alone.
    #[default]
    W,
    /// Snapshots and increments.
    WX,
    /// Quotes.
    S,
    /// Mass quotes.
    #[serde(rename = "i")]
    MassQuotes,
}

/// What a bank's entries mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamKind {
    /// Amounts that add up and can be taken in part.
    #[default]
    Sweep,
    /// Bands: one ticket of at most the size; they never add up.
    Full,
}

/// How a bank takes orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStyle {
    /// One limit order for a plan.
    #[default]
    Limit,
    /// One order for each quote, which it names.
    Quoted,
}

/// How orders without a known outcome are asked for after a reconnect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Recover {
    /// A status request for each.
    #[default]
    H,
    /// One mass status request.
    #[serde(rename = "AF")]
    MassStatus,
}

/// `[router]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouterConfig {
    /// First cool-down after a reject, milliseconds.
    pub cooldown_ms: u64,
    /// Pause of a bank that is out of credit, milliseconds.
    pub credit_pause_ms: u64,
    /// Pause of a parent after an order that was not wholly filled, by urgency, milliseconds.
    pub retry_ms: [u64; 3],
    /// Weight of the penalty, by urgency.
    pub weight: [i64; 3],
    /// Penalty of a stream that only rejects, tenths of a tick.
    pub reject_cost: i64,
    /// Milliseconds of mean hold for each tenth of a tick of penalty.
    pub hold_ms_per_tenth: i64,
    /// Largest penalty, tenths of a tick.
    pub penalty_max: i64,
    /// Outcomes that the penalty remembers.
    pub window: usize,
    /// Whether a ticket and a sweep may be combined.
    pub combine: bool,
}

impl Default for RouterConfig {
    fn default() -> RouterConfig {
        RouterConfig {
            cooldown_ms: 250,
            credit_pause_ms: 5_000,
            retry_ms: [50, 10, 0],
            weight: [0, 1, 2],
            reject_cost: 20,
            hold_ms_per_tenth: 50,
            penalty_max: 50,
            window: 20,
            combine: false,
        }
    }
}

/// `[risk]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RiskConfig {
    /// Largest sum of the pairs' worst cases, dollars.
    pub max_gross_usd: i64,
    /// Most parents accepted in a second.
    pub max_parents_per_s: usize,
    /// Time in which the same parent again is a duplicate, milliseconds.
    pub duplicate_ms: u64,
    /// Banks that must quote a side before it is taken.
    pub min_banks: usize,
    /// Orders unknown at once that kill.
    pub kill_unknown: usize,
    /// Rejects in a second that kill.
    pub kill_rejects_per_s: usize,
    /// Who may lift a kill; two of them must.
    pub kill_lifters: Vec<String>,
}

impl Default for RiskConfig {
    fn default() -> RiskConfig {
        RiskConfig {
            max_gross_usd: billion(),
            max_parents_per_s: 1_000,
            duplicate_ms: 0,
            min_banks: 1,
            kill_unknown: 1_000_000,
            kill_rejects_per_s: 1_000_000,
            kill_lifters: Vec::new(),
        }
    }
}

fn lot() -> i64 {
    1_000
}

fn sizes() -> Vec<i64> {
    vec![1_000_000]
}

fn thousand() -> usize {
    1_000
}

fn million() -> i64 {
    1_000_000
}

/// 10^9, without a limit in practice.
fn milliard() -> i64 {
    1_000_000_000
}

/// 10^12, without a limit in practice.
fn billion() -> i64 {
    1_000_000_000_000
}

fn answer_ms() -> u64 {
    500
}

fn status_ms() -> u64 {
    1_000
}

fn status_tries() -> u32 {
    3
}
