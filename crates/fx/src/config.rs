//! `config.toml`: settings of the FX core. `docs/venues/fx-banks.md` lists every key.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Reads a TOML file.
///
/// # Errors
/// The line and what is wrong with it.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        let what = error.message().lines().next().unwrap_or("not TOML");
        format!("line {line}: {what}")
    })
}

/// The configuration file. Unknown keys are refused.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Trading day, `YYYYMMDD`.
    pub date: String,
    /// Prefix of every generated identifier; change it at least daily.
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
    /// Base units; every order quantity is a multiple of it.
    #[serde(default = "lot")]
    pub lot: i64,
    /// Spot value date, `YYYYMMDD`.
    pub spot_date: String,
    /// Sizes whose average prices the composite shows, base units.
    #[serde(default = "sizes")]
    pub sizes: Vec<i64>,
    /// Largest distance of a traded price from the reference, ticks.
    #[serde(default = "million")]
    pub collar_ticks: i64,
    /// Largest excess of the best bid over the best ask at which orders are sent, ticks.
    #[serde(default = "million")]
    pub crossed_max_ticks: i64,
    /// Distance of a bank's best price from the reference beyond which the bank is off the market, ticks.
    #[serde(default = "million")]
    pub off_market_ticks: i64,
    /// Largest parent, base units.
    #[serde(default = "milliard")]
    pub max_order: i64,
    /// Largest worst case of the pair, base units.
    #[serde(default = "billion")]
    pub max_net: i64,
    /// Dollars of one base unit, millionths; for limits only.
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
    /// Quote messages that it sends. For simulators; the core accepts every dialect.
    #[serde(default)]
    pub dialect: Dialect,
    /// Meaning of its entries.
    #[serde(default)]
    pub kind: StreamKind,
    /// Form of its orders.
    #[serde(default)]
    pub orders: OrderStyle,
    /// Minimum quantity of an order on a quote without one, base units.
    #[serde(default)]
    pub min_qty: i64,
    /// Maximum quantity of one plan at this bank, base units.
    #[serde(default = "milliard")]
    pub max_qty: i64,
    /// Age at which a pair's quotes become unusable, milliseconds; 0 is never.
    #[serde(default)]
    pub stale_ms: u64,
    /// Feed timeout of the pricing session, after which its quotes are unusable, milliseconds; 0 is never.
    #[serde(default)]
    pub silence_ms: u64,
    /// Lifetime of a quote from its arrival, milliseconds; 0 is unlimited.
    #[serde(default)]
    pub ttl_ms: u64,
    /// Answer timeout of an order, milliseconds.
    #[serde(default = "answer_ms")]
    pub answer_ms: u64,
    /// Interval of status requests, milliseconds.
    #[serde(default = "status_ms")]
    pub status_ms: u64,
    /// Status requests for one order before the desk is notified.
    #[serde(default = "status_tries")]
    pub status_tries: u32,
    /// Recovery of orders after a reconnect.
    #[serde(default)]
    pub recover: Recover,
    /// Whether the bank answers a mass status request (35=AF), by which it is asked for orders that a loss of power took from the
    /// journal.
    #[serde(default = "yes")]
    pub mass_status: bool,
    /// Gross credit for the run, dollars.
    #[serde(default = "billion")]
    pub credit_usd: i64,
    /// Maximum orders per second.
    #[serde(default = "thousand")]
    pub max_orders_per_s: usize,
    /// Reject code for a Text (58) or OrdRejReason (103).
    #[serde(default)]
    pub reject_map: BTreeMap<String, String>,
    /// Whether a status answer "unknown order" is final and frees the quantity. Default in a replay: it is.
    #[serde(default)]
    pub status_final: Option<bool>,
}

/// Quote messages of a bank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Dialect {
    /// Snapshots only.
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

/// Meaning of a bank's entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamKind {
    /// Amounts that add up and can be used in part.
    #[default]
    Sweep,
    /// Bands: one ticket of at most the size; they never add up.
    Full,
}

/// Form of a bank's orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStyle {
    /// One limit order for each plan.
    #[default]
    Limit,
    /// One order for each quote, with its quote id.
    Quoted,
}

/// Recovery of unknown orders after a reconnect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Recover {
    /// One status request for each order.
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
    /// Pause of a parent after an order that was not filled completely, by urgency, milliseconds.
    pub retry_ms: [u64; 3],
    /// Weight of the penalty, by urgency.
    pub weight: [i64; 3],
    /// Penalty of a stream that rejects every order, tenths of a tick.
    pub reject_cost: i64,
    /// Milliseconds of mean hold for each tenth of a tick of penalty.
    pub hold_ms_per_tenth: i64,
    /// Largest penalty, tenths of a tick.
    pub penalty_max: i64,
    /// Number of outcomes in the penalty.
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
    /// Maximum accepted parents per second.
    pub max_parents_per_s: usize,
    /// Time in which an equal parent is a duplicate, milliseconds.
    pub duplicate_ms: u64,
    /// Minimum number of banks that quote a side.
    pub min_banks: usize,
    /// Number of unknown orders that triggers the kill switch.
    pub kill_unknown: usize,
    /// Rejects per second that trigger the kill switch.
    pub kill_rejects_per_s: usize,
    /// Users who may lift the kill switch; two of them must.
    pub kill_lifters: Vec<String>,
    /// Whether two names of one Unix user may lift the kill switch. A replay has no users.
    pub lift_by_one_user: bool,
    /// Time for which the last reference stays valid when fewer than three banks quote both sides, milliseconds.
    pub reference_ttl_ms: u64,
    /// The reference of a pair without a valid one.
    pub without_reference: WithoutReference,
    /// Users who may book what no order explains; two of them must.
    pub bookers: Vec<String>,
}

/// The reference of a pair whose banks give none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithoutReference {
    /// The mid of the traded composite.
    #[default]
    Composite,
    /// None: parents wait, and limits are refused.
    Wait,
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
            lift_by_one_user: false,
            reference_ttl_ms: 0,
            without_reference: WithoutReference::default(),
            bookers: Vec::new(),
        }
    }
}

impl Config {
    /// The settings of a core that only composes prices: no pairs and banks yet.
    pub fn of_prices() -> Config {
        Config {
            date: "19700101".to_owned(),
            prefix: "P".to_owned(),
            account: "NONE".to_owned(),
            conflate_ms: 0,
            pairs: Vec::new(),
            banks: Vec::new(),
            router: RouterConfig::default(),
            risk: RiskConfig::default(),
        }
    }
}

impl PairConfig {
    /// A pair with everything else at its default.
    pub fn new(symbol: &str, precision: u8, spot_date: &str) -> PairConfig {
        PairConfig {
            symbol: symbol.to_owned(),
            precision,
            lot: lot(),
            spot_date: spot_date.to_owned(),
            sizes: sizes(),
            collar_ticks: million(),
            crossed_max_ticks: million(),
            off_market_ticks: million(),
            max_order: milliard(),
            max_net: billion(),
            usd_e6: million(),
        }
    }
}

impl BankConfig {
    /// A bank with everything else at its default, and no pairs.
    pub fn new(name: &str) -> BankConfig {
        BankConfig {
            name: name.to_owned(),
            pairs: Vec::new(),
            dialect: Dialect::default(),
            kind: StreamKind::default(),
            orders: OrderStyle::default(),
            min_qty: 0,
            max_qty: milliard(),
            stale_ms: 0,
            silence_ms: 0,
            ttl_ms: 0,
            answer_ms: answer_ms(),
            status_ms: status_ms(),
            status_tries: status_tries(),
            recover: Recover::default(),
            mass_status: yes(),
            credit_usd: billion(),
            max_orders_per_s: thousand(),
            reject_map: BTreeMap::new(),
            status_final: None,
        }
    }
}

fn yes() -> bool {
    true
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

/// 10^9, in practice no limit.
fn milliard() -> i64 {
    1_000_000_000
}

/// 10^12, in practice no limit.
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
