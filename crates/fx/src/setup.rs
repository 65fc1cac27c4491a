//! The checked configuration, with indices in place of names.
//!
//! A bank is its rank, a pair its index in the file. State of a bank and a pair has the slot `bank
//! * pairs + pair`.

use crate::config::{
    BankConfig, Config, OrderStyle, PairConfig, Recover, RiskConfig, RouterConfig, StreamKind,
    read_toml,
};
use std::collections::HashSet;
use thiserror::Error;
use touchline_fx_events::labels::{Labels, PairLabel};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::setup::{BANKS_MAX, Bank, Pair};
use touchline_fx_events::ticks::QUANTITY_MAX;
use touchline_types::Id;
use touchline_types::text::{NAMES, is_name};

/// Index of a bank's pair.
pub type Slot = usize;

const PAIRS_MAX: usize = 1_024;
/// Longest time between two composites: a day.
const CONFLATE_MS_MAX: i64 = 86_400_000;
/// Maximum penalty, tenths of a tick.
const PENALTY_MAX: i64 = 1_000_000;
const WEIGHT_MAX: i64 = 1_000;
/// Maximum length of the prefix: ClOrdIDs also contain the parent's id of up to [`PARENT_ID_MAX`]
/// bytes.
const PREFIX_MAX: usize = 12;
/// Maximum length of a parent's id, bytes.
pub const PARENT_ID_MAX: usize = 32;

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// Not TOML, an unknown key or a value of another type; text of the parser, with the line.
    #[error("{0}")]
    Syntax(String),
    /// An invalid value.
    #[error("{key}: {problem}")]
    Value {
        /// Key and its section.
        key: String,
        /// Problem and valid values.
        problem: String,
    },
    /// Several invalid values, one line each.
    #[error("{}", lines(.0))]
    Several(Vec<SetupError>),
}

/// Invalid values of a configuration, of which all are shown.
#[derive(Debug, Default)]
struct Wrong(Vec<SetupError>);

impl Wrong {
    /// The result of a check, if it is one.
    fn take<T>(&mut self, result: Result<T, SetupError>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    fn error(mut self) -> Option<SetupError> {
        match self.0.len() {
            0 | 1 => self.0.pop(),
            _ => Some(SetupError::Several(self.0)),
        }
    }
}

fn lines(errors: &[SetupError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A pair.
#[derive(Debug, Clone)]
pub struct PairSetup {
    /// Section of the pair in the file.
    pub config: PairConfig,
    /// Base currency.
    pub base: Id,
    /// Spot value date, `YYYYMMDD`.
    pub spot_date: u32,
}

/// A bank.
#[derive(Debug, Clone)]
pub struct BankSetup {
    /// Section of the bank in the file.
    pub config: BankConfig,
    /// Pairs of the bank, in the bank's order.
    pub pairs: Vec<Pair>,
    /// Whether its entries are bands.
    pub is_full: bool,
    /// Whether its orders name a quote.
    pub is_quoted: bool,
    /// Reject codes of the bank for texts and reasons.
    pub reject_map: Vec<(String, RejectCode)>,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Prefix, account, and the names of banks and pairs.
    pub labels: Labels,
    /// Time between printed composites, nanoseconds; 0 prints each change.
    pub conflate_ns: u64,
    /// Pairs.
    pub pairs: Vec<PairSetup>,
    /// Banks.
    pub banks: Vec<BankSetup>,
    /// The router.
    pub router: RouterConfig,
    /// Limits.
    pub risk: RiskConfig,
}

impl Setup {
    /// Parses and checks the text of `config.toml`.
    ///
    /// # Errors
    /// The file is invalid; the text names place and problem.
    pub fn parse(text: &str) -> Result<Setup, SetupError> {
        let config: Config = read_toml(text).map_err(SetupError::Syntax)?;
        Setup::new(config)
    }

    /// Checks a configuration and resolves its names.
    ///
    /// # Errors
    /// Every invalid value, with its key.
    pub fn new(config: Config) -> Result<Setup, SetupError> {
        let mut wrong_values = Wrong::default();
        check_router(&config, &mut wrong_values);
        let conflate_ms = i64::try_from(config.conflate_ms).unwrap_or(i64::MAX);
        wrong_values.take(up_to("conflate_ms", conflate_ms, CONFLATE_MS_MAX));
        let prefix = wrong_values.take(identifier("prefix", &config.prefix, PREFIX_MAX));
        let account = wrong_values.take(identifier("account", &config.account, 64));
        wrong_values.take(identifier("date", &config.date, 8));
        for (key, found, most) in [
            ("pairs", config.pairs.len(), PAIRS_MAX),
            ("banks", config.banks.len(), BANKS_MAX),
        ] {
            if !(1..=most).contains(&found) {
                let problem = format!("{found} of them; give 1 to {most}");
                wrong_values.0.push(wrong(key, problem));
            }
        }
        let symbols: Vec<String> = (config.pairs.iter())
            .map(|pair| pair.symbol.clone())
            .collect();
        let names = config.banks.iter().map(|bank| bank.name.as_str());
        unique(
            "pairs.symbol",
            symbols.iter().map(String::as_str),
            &mut wrong_values,
        );
        unique("banks.name", names, &mut wrong_values);
        let pairs = config.pairs.into_iter();
        let pairs: Vec<PairSetup> = pairs
            .filter_map(|pair| pair_setup(pair, &mut wrong_values))
            .collect();
        let banks = config.banks.into_iter();
        let banks: Vec<BankSetup> = banks
            .map(|bank| bank_setup(bank, &symbols, &mut wrong_values))
            .collect();
        match (prefix, account, wrong_values.error()) {
            (Some(prefix), Some(account), None) => Ok(Setup {
                labels: Labels {
                    prefix,
                    account,
                    banks: banks.iter().map(|bank| bank.config.name.clone()).collect(),
                    pairs: pairs.iter().map(PairSetup::label).collect(),
                },
                conflate_ns: ns(config.conflate_ms),
                pairs,
                banks,
                router: config.router,
                risk: config.risk,
            }),
            (_, _, error) => Err(error.expect("what is missing was wrong")),
        }
    }

    /// Slot of a bank and a pair.
    pub fn slot(&self, bank: Bank, pair: Pair) -> Slot {
        bank * self.pairs.len() + pair
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.banks.len() * self.pairs.len()
    }

    /// A bank by its name.
    pub fn bank(&self, name: &str) -> Option<Bank> {
        self.banks.iter().position(|bank| bank.config.name == name)
    }

    /// A pair by its symbol.
    pub fn pair(&self, symbol: &str) -> Option<Pair> {
        self.pairs
            .iter()
            .position(|pair| pair.config.symbol == symbol)
    }

    /// A pair of a bank by its symbol.
    pub fn pair_of(&self, bank: Bank, symbol: &[u8]) -> Option<Pair> {
        let mut pairs = self.banks[bank].pairs.iter().copied();
        pairs.find(|pair| self.pairs[*pair].config.symbol.as_bytes() == symbol)
    }
}

impl PairSetup {
    fn label(&self) -> PairLabel {
        PairLabel {
            symbol: self.config.symbol.clone(),
            base: self.base,
            precision: self.config.precision,
            sizes: self.config.sizes.clone(),
        }
    }
}

impl BankSetup {
    /// Whether orders are recovered by a mass status request.
    pub fn asks_for_all(&self) -> bool {
        self.config.recover == Recover::MassStatus
    }
}

/// Milliseconds as nanoseconds.
pub fn ns(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

fn unique<'a>(key: &str, names: impl Iterator<Item = &'a str>, wrong_values: &mut Wrong) {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name) {
            let problem = format!("{name} is configured twice");
            wrong_values.0.push(wrong(key, problem));
        }
    }
}

fn pair_setup(config: PairConfig, wrong_values: &mut Wrong) -> Option<PairSetup> {
    let symbol = &config.symbol;
    let of = |key: &str| format!("pair {symbol}: {key}");
    let whole = wrong_values.take(identifier("pairs.symbol", symbol, 16));
    let base = symbol.split('/').next().unwrap_or_default();
    let base = whole.and_then(|_| wrong_values.take(identifier("pairs.symbol", base, 16)));
    if config.precision > 9 {
        let error = wrong(of("precision"), "give 0 to 9 decimals");
        wrong_values.0.push(error);
    }
    if !is_date(&config.spot_date) {
        let problem = format!("'{}' is not a date; give YYYYMMDD", config.spot_date);
        wrong_values.0.push(wrong(of("spot_date"), problem));
    }
    for (key, value, least) in [
        ("lot", config.lot, 1),
        ("usd_e6", config.usd_e6, 1),
        ("max_order", config.max_order, 1),
        ("collar_ticks", config.collar_ticks, 0),
        ("crossed_max_ticks", config.crossed_max_ticks, 0),
        ("off_market_ticks", config.off_market_ticks, 0),
        ("max_net", config.max_net, 0),
    ] {
        wrong_values.take(within(&of(key), value, least));
    }
    for size in &config.sizes {
        let is_size = wrong_values.take(within(&of("sizes"), *size, 1)).is_some();
        if is_size && config.lot > 0 && size % config.lot != 0 {
            let problem = format!("{size} is not a multiple of the lot, {}", config.lot);
            wrong_values.0.push(wrong(of("sizes"), problem));
        }
    }
    // A date is a number.
    let spot_date = config.spot_date.parse().unwrap_or(0);
    Some(PairSetup {
        base: base?,
        spot_date,
        config,
    })
}

fn bank_setup(config: BankConfig, symbols: &[String], wrong_values: &mut Wrong) -> BankSetup {
    let name = &config.name;
    let of = |key: &str| format!("bank {name}: {key}");
    if !is_name(name) {
        let problem = format!("{name:?} is not 1 to 64 {NAMES}");
        wrong_values.0.push(wrong("banks.name", problem));
    }
    let mut pairs = Vec::new();
    for symbol in &config.pairs {
        let Some(pair) = symbols.iter().position(|known| known == symbol) else {
            let problem = format!("{symbol} is not among the pairs of the file");
            wrong_values.0.push(wrong(of("pairs"), problem));
            continue;
        };
        if pairs.contains(&pair) {
            let problem = format!("{symbol} is configured twice");
            wrong_values.0.push(wrong(of("pairs"), problem));
        }
        pairs.push(pair);
    }
    for (key, value) in [
        ("min_qty", config.min_qty),
        ("max_qty", config.max_qty),
        ("credit_usd", config.credit_usd),
    ] {
        wrong_values.take(within(&of(key), value, 0));
    }
    // Orders without an outcome would never be asked for.
    if config.recover == Recover::MassStatus && !config.mass_status {
        let problem = "AF needs a bank that answers 35=AF; with mass_status = false give H";
        wrong_values.0.push(wrong(of("recover"), problem));
    }
    let mut reject_map = Vec::new();
    for (text, code) in &config.reject_map {
        match RejectCode::of_name(code) {
            Some(code) => reject_map.push((text.clone(), code)),
            None => {
                let problem = format!("'{code}' is not a code; give A-1, A-2, B, C, D, E, F or N");
                wrong_values.0.push(wrong(of("reject_map"), problem));
            }
        }
    }
    BankSetup {
        pairs,
        is_full: config.kind == StreamKind::Full,
        is_quoted: config.orders == OrderStyle::Quoted,
        reject_map,
        config,
    }
}

fn check_router(config: &Config, wrong_values: &mut Wrong) {
    let router = &config.router;
    wrong_values.take(within(
        "router.hold_ms_per_tenth",
        router.hold_ms_per_tenth,
        1,
    ));
    wrong_values.take(up_to("router.reject_cost", router.reject_cost, PENALTY_MAX));
    wrong_values.take(up_to("router.penalty_max", router.penalty_max, PENALTY_MAX));
    for weight in router.weight {
        wrong_values.take(up_to("router.weight", weight, WEIGHT_MAX));
    }
    wrong_values.take(within("risk.max_gross_usd", config.risk.max_gross_usd, 0));
    if !(1..=65_536).contains(&router.window) {
        let error = wrong("router.window", "give 1 to 65536 outcomes");
        wrong_values.0.push(error);
    }
}

/// Whether a text is a day of the calendar, `YYYYMMDD`.
fn is_date(text: &str) -> bool {
    let is_number = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = text.parse().unwrap_or(0);
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    is_number && year >= 1_970 && (1..=days).contains(&day)
}

fn up_to(key: &str, value: i64, most: i64) -> Result<(), SetupError> {
    match (0..=most).contains(&value) {
        true => Ok(()),
        false => Err(wrong(
            key,
            format!("{value} is out of range; give 0 to {most}"),
        )),
    }
}

fn within(key: &str, value: i64, least: i64) -> Result<(), SetupError> {
    match (least..=QUANTITY_MAX).contains(&value) {
        true => Ok(()),
        false => Err(wrong(
            key,
            format!("{value} is out of range; give {least} to {QUANTITY_MAX}"),
        )),
    }
}

/// Validates text that is written to FIX messages and JSON without escapes.
fn identifier(key: &str, text: &str, longest: usize) -> Result<Id, SetupError> {
    let is_sound = !text.is_empty() && text.len() <= longest && !text.contains(['"', '\\']);
    Id::new(text.as_bytes())
        .filter(|_| is_sound)
        .ok_or_else(|| {
            wrong(
                key,
                format!("'{text}' is not 1 to {longest} printable ASCII characters without quotes"),
            )
        })
}

fn wrong(key: impl Into<String>, problem: impl Into<String>) -> SetupError {
    SetupError::Value {
        key: key.into(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings that could never work, each with its fix.
    #[test]
    fn settings_that_can_never_work_are_refused() {
        let text = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\nconflate_ms = 0\n\
                    [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
                    sizes = [1000]\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\n";
        assert!(Setup::parse(text).is_ok());
        for (right, wrong, fix) in [
            ("20260107", "2026-1-7", "give YYYYMMDD"),
            ("20260107", "99999999", "give YYYYMMDD"),
            ("20260107", "20260229", "give YYYYMMDD"),
            (
                "[1000]",
                "[1500]",
                "1500 is not a multiple of the lot, 1000",
            ),
            (
                "conflate_ms = 0",
                "conflate_ms = 99999999999999999",
                "give 0 to 86400000",
            ),
            ("name = \"A\"", "name = \"../A\"", "is not 1 to 64 letters"),
            ("name = \"A\"", "name = \".A\"", "not starting with '.'"),
            ("name = \"A\"", "name = \"A B\"", "is not 1 to 64 letters"),
            ("name = \"A\"", "name = \"A\u{202e}\"", "\\u{202e}"),
            (
                "name = \"A\"",
                "name = \"A\"\nrecover = \"AF\"\nmass_status = false",
                "with mass_status = false give H",
            ),
        ] {
            let error = Setup::parse(&text.replace(right, wrong)).expect_err(wrong);
            assert!(error.to_string().contains(fix), "{wrong}: {error}");
        }
        assert!(
            Setup::parse(&text.replace("20260107", "20280229")).is_ok(),
            "a leap day"
        );
        // All of them at once, each with its key; a pair that is wrong is still known to the banks.
        let text = text
            .replace("precision = 5", "precision = 12\nlot = 0\nmax_net = -1")
            .replace("prefix = \"T\"", "prefix = \"\"")
            .replace("name = \"A\"", "name = \"A\"\nmin_qty = -1");
        let error = Setup::parse(&(text + "[router]\nwindow = 0\n")).expect_err("wrong values");
        let said = error.to_string();
        let keys: Vec<&str> = said
            .lines()
            .filter_map(|line| Some(line.rsplit_once(": ")?.0))
            .collect();
        assert_eq!(
            keys,
            [
                "router.window",
                "prefix",
                "pair EUR/USD: precision",
                "pair EUR/USD: lot",
                "pair EUR/USD: max_net",
                "bank A: min_qty"
            ],
            "{said}"
        );
    }
}
