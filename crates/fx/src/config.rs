//! `config.toml`: settings of the FX core. `docs/venues/fx-banks.md` lists every key.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use toml::{Table, Value};
use touchline_settings::number;

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
    /// Whether spot dates follow from calendars, which a file of the core does not have.
    #[serde(skip)]
    pub has_calendars: bool,
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
    #[serde(default = "number::<_, 1_000>")]
    pub lot: i64,
    /// Spot value date, `YYYYMMDD`; empty: that of the calendars.
    #[serde(default)]
    pub spot_date: String,
    /// Days from the trade date to the spot date, in place of those of the pair, with calendars.
    #[serde(default)]
    pub spot_days: Option<u32>,
    /// Sizes whose average prices the composite shows, base units.
    #[serde(default = "sizes")]
    pub sizes: Vec<i64>,
    /// Largest distance of a traded price from the reference, ticks.
    #[serde(default = "number::<_, 1_000_000>")]
    pub collar_ticks: i64,
    /// Largest excess of the best bid over the best ask at which orders are sent, ticks.
    #[serde(default = "number::<_, 1_000_000>")]
    pub crossed_max_ticks: i64,
    /// Distance of a bank's best price from the reference beyond which the bank is off the market, ticks.
    #[serde(default = "number::<_, 1_000_000>")]
    pub off_market_ticks: i64,
    /// Largest parent, base units; by default in practice no limit.
    #[serde(default = "number::<_, 1_000_000_000>")]
    pub max_order: i64,
    /// Largest worst case of the pair, base units; by default in practice no limit.
    #[serde(default = "number::<_, 1_000_000_000_000>")]
    pub max_net: i64,
    /// Dollars of one base unit, millionths; for limits only.
    #[serde(default = "number::<_, 1_000_000>")]
    pub usd_e6: i64,
}

/// A bank.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankConfig {
    /// Name of the bank.
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
    /// Maximum quantity of one plan at this bank, base units; by default in practice no limit.
    #[serde(default = "number::<_, 1_000_000_000>")]
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
    /// Answer timeout of an order, milliseconds, at least 1.
    #[serde(default = "number::<_, 500>")]
    pub answer_ms: u64,
    /// Interval of status requests, milliseconds, at least 1.
    #[serde(default = "number::<_, 1_000>")]
    pub status_ms: u64,
    /// Status requests for one order before the desk is notified.
    #[serde(default = "number::<_, 3>")]
    pub status_tries: u32,
    /// Recovery of orders after a reconnect.
    #[serde(default)]
    pub recover: Recover,
    /// Whether the bank answers a mass status request (35=AF), by which it is asked for orders that a loss of power took from the
    /// journal.
    #[serde(default = "yes")]
    pub mass_status: bool,
    /// Gross credit for the run, dollars; by default in practice no limit.
    #[serde(default = "number::<_, 1_000_000_000_000>")]
    pub credit_usd: i64,
    /// What uses credit.
    #[serde(default)]
    pub credit: Credit,
    /// When used credit is free again, in a process with calendars.
    #[serde(default)]
    pub credit_by: CreditBy,
    /// Maximum orders per second.
    #[serde(default = "number::<_, 1_000>")]
    pub max_orders_per_s: usize,
    /// Reject code for a Text (58) or OrdRejReason (103).
    #[serde(default)]
    pub reject_map: BTreeMap<String, String>,
    /// Whether a status answer "unknown order" is final and frees the quantity. Default in a replay: it is.
    #[serde(default)]
    pub status_final: Option<bool>,
    /// Meaning of a lost connection for open orders.
    #[serde(default)]
    pub after_loss: AfterLoss,
}

/// What becomes of a bank's open orders when its connection is lost, by the bank's rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterLoss {
    /// The bank keeps them, and answers questions.
    #[default]
    Ask,
    /// They are gone, and the bank answers no question.
    Canceled,
    /// An order without an answer is gone.
    AskThenCanceled,
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

/// What uses the credit of a bank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credit {
    /// All that the bank has filled and may still fill.
    #[default]
    Gross,
    /// Of each pair the larger of its buys and its sells, net of the fills of the other side.
    Net,
}

/// When the credit that orders have used is free again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreditBy {
    /// With the next day of the bank.
    #[default]
    Day,
    /// When the value date has passed.
    ValueDate,
}

/// Form of a bank's orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderStyle {
    /// A plan is one limit order.
    #[default]
    Limit,
    /// A plan is one order for each quote, with its quote id.
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
    /// Users who may lift the kill switch; a lift needs two of them.
    pub kill_lifters: Vec<String>,
    /// Whether two names of one Unix user may lift the kill switch. A replay has no users.
    pub lift_by_one_user: bool,
    /// Time for which the last reference stays valid when fewer than three banks quote both sides, milliseconds.
    pub reference_ttl_ms: u64,
    /// The reference of a pair without a valid one.
    pub without_reference: WithoutReference,
    /// Users who may book a trade that no order explains; a booking needs two of them.
    pub bookers: Vec<String>,
    /// What becomes of parents when the day of their pair ends.
    pub at_roll: AtRoll,
}

/// What becomes of parents when the day of their pair ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtRoll {
    /// They go on.
    #[default]
    GoOn,
    /// They end.
    End,
}

/// Rule for a pair whose banks give no reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithoutReference {
    /// The mid of the traded composite.
    #[default]
    Composite,
    /// No reference: parents wait, and limits are refused.
    Wait,
}

impl Default for RiskConfig {
    fn default() -> RiskConfig {
        RiskConfig {
            max_gross_usd: 1_000_000_000_000,
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
            at_roll: AtRoll::default(),
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
            has_calendars: false,
        }
    }
}

impl PairConfig {
    /// A pair with everything else at its default.
    pub fn new(symbol: &str, precision: u8, spot_date: &str) -> PairConfig {
        with_defaults([
            ("symbol", symbol.into()),
            ("precision", i64::from(precision).into()),
            ("spot_date", spot_date.into()),
        ])
    }
}

impl BankConfig {
    /// A bank with everything else at its default, and no pairs.
    pub fn new(name: &str) -> BankConfig {
        with_defaults([("name", name.into()), ("pairs", Value::Array(Vec::new()))])
    }
}

/// A section of a file with these keys alone, which are those without a default.
fn with_defaults<T: DeserializeOwned, const N: usize>(keys: [(&str, Value); N]) -> T {
    let keys = keys.map(|(key, value)| (key.to_owned(), value));
    let section = Table::from_iter(keys).try_into();
    section.expect("all other keys have a default")
}

fn yes() -> bool {
    true
}

fn sizes() -> Vec<i64> {
    vec![1_000_000]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_and_a_bank_have_the_defaults_of_a_file_without_the_keys() {
        let pair = PairConfig::new("EUR/USD", 5, "20260107");
        let found = (pair.lot, pair.max_order, &pair.sizes[..], pair.usd_e6);
        assert_eq!(found, (1_000, 1_000_000_000, &[1_000_000][..], 1_000_000));
        let bank = BankConfig::new("\"LP\"\n1");
        assert_eq!((bank.name.as_str(), bank.pairs.len()), ("\"LP\"\n1", 0));
        let found = (bank.answer_ms, bank.status_tries, bank.mass_status);
        assert_eq!(found, (500, 3, true));
    }
}
