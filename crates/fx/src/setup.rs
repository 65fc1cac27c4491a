//! The checked configuration, with indices in place of names.
//!
//! A bank is its rank, a pair its index in the file. State of a bank and a pair has the slot `bank
//! * pairs + pair`.

use crate::config::{
    BankConfig, Config, OrderStyle, PairConfig, Recover, RiskConfig, RouterConfig, StreamKind,
    read_toml,
};
use crate::orders::RejectCode;
use crate::ticks::QUANTITY_MAX;
use thiserror::Error;
use touchline_types::Id;

/// Rank of a bank.
pub type Bank = usize;
/// Index of a pair.
pub type Pair = usize;
/// Index of a bank's pair.
pub type Slot = usize;

/// Maximum number of banks: the capacity of a [`BankSet`](crate::composite::BankSet).
pub const BANKS_MAX: usize = 256;
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
}

/// A pair.
#[derive(Debug, Clone)]
pub struct PairSetup {
    /// Its section of the file.
    pub config: PairConfig,
    /// Its base currency.
    pub base: Id,
    /// Its spot value date, `YYYYMMDD`.
    pub spot_date: u32,
}

/// A bank.
#[derive(Debug, Clone)]
pub struct BankSetup {
    /// Its section of the file.
    pub config: BankConfig,
    /// Its pairs, in its own order.
    pub pairs: Vec<Pair>,
    /// Whether its entries are bands.
    pub is_full: bool,
    /// Whether its orders name a quote.
    pub is_quoted: bool,
    /// Its reject codes for texts and reasons.
    pub reject_map: Vec<(String, RejectCode)>,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Prefix of identifiers.
    pub prefix: Id,
    /// Account of orders.
    pub account: Id,
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
    /// A value is invalid; the error names its key.
    pub fn new(config: Config) -> Result<Setup, SetupError> {
        check_router(&config)?;
        let conflate_ms = i64::try_from(config.conflate_ms).unwrap_or(i64::MAX);
        up_to("conflate_ms", conflate_ms, CONFLATE_MS_MAX)?;
        let prefix = identifier("prefix", &config.prefix, PREFIX_MAX)?;
        let account = identifier("account", &config.account, 64)?;
        identifier("date", &config.date, 8)?;
        let count = |key: &str, found: usize, most: usize| match (1..=most).contains(&found) {
            true => Ok(()),
            false => Err(wrong(key, format!("{found} of them; give 1 to {most}"))),
        };
        count("pairs", config.pairs.len(), PAIRS_MAX)?;
        count("banks", config.banks.len(), BANKS_MAX)?;
        let mut pairs: Vec<PairSetup> = Vec::new();
        for pair in config.pairs {
            let pair = pair_setup(pair)?;
            if pairs
                .iter()
                .any(|other| other.config.symbol == pair.config.symbol)
            {
                return Err(wrong(
                    "pairs.symbol",
                    format!("{} is configured twice", pair.config.symbol),
                ));
            }
            pairs.push(pair);
        }
        let mut banks: Vec<BankSetup> = Vec::new();
        for bank in config.banks {
            let bank = bank_setup(bank, &pairs)?;
            if banks
                .iter()
                .any(|other| other.config.name == bank.config.name)
            {
                return Err(wrong(
                    "banks.name",
                    format!("{} is configured twice", bank.config.name),
                ));
            }
            banks.push(bank);
        }
        Ok(Setup {
            prefix,
            account,
            conflate_ns: ns(config.conflate_ms),
            pairs,
            banks,
            router: config.router,
            risk: config.risk,
        })
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

fn pair_setup(config: PairConfig) -> Result<PairSetup, SetupError> {
    let symbol = &config.symbol;
    let of = |key: &str| format!("pair {symbol}: {key}");
    identifier("pairs.symbol", symbol, 16)?;
    let base = symbol.split('/').next().unwrap_or_default();
    let base = identifier("pairs.symbol", base, 16)?;
    if config.precision > 9 {
        return Err(wrong(of("precision"), "give 0 to 9 decimals"));
    }
    if !is_date(&config.spot_date) {
        let problem = format!("'{}' is not a date; give YYYYMMDD", config.spot_date);
        return Err(wrong(of("spot_date"), problem));
    }
    let positive = [
        ("lot", config.lot),
        ("usd_e6", config.usd_e6),
        ("max_order", config.max_order),
    ];
    for (key, value) in positive {
        within(&of(key), value, 1)?;
    }
    for (key, value) in [
        ("collar_ticks", config.collar_ticks),
        ("crossed_max_ticks", config.crossed_max_ticks),
        ("off_market_ticks", config.off_market_ticks),
        ("max_net", config.max_net),
    ] {
        within(&of(key), value, 0)?;
    }
    for size in &config.sizes {
        within(&of("sizes"), *size, 1)?;
        if size % config.lot != 0 {
            let problem = format!("{size} is not a multiple of the lot, {}", config.lot);
            return Err(wrong(of("sizes"), problem));
        }
    }
    // A date is a number.
    let spot_date = config.spot_date.parse().unwrap_or(0);
    Ok(PairSetup {
        base,
        spot_date,
        config,
    })
}

fn bank_setup(config: BankConfig, known: &[PairSetup]) -> Result<BankSetup, SetupError> {
    let name = &config.name;
    let of = |key: &str| format!("bank {name}: {key}");
    identifier("banks.name", name, 64)?;
    let mut pairs = Vec::new();
    for symbol in &config.pairs {
        let Some(pair) = known.iter().position(|pair| pair.config.symbol == *symbol) else {
            return Err(wrong(
                of("pairs"),
                format!("{symbol} is not among the pairs of the file"),
            ));
        };
        if pairs.contains(&pair) {
            return Err(wrong(of("pairs"), format!("{symbol} is configured twice")));
        }
        pairs.push(pair);
    }
    for (key, value) in [
        ("min_qty", config.min_qty),
        ("max_qty", config.max_qty),
        ("credit_usd", config.credit_usd),
    ] {
        within(&of(key), value, 0)?;
    }
    // Orders without an outcome would never be asked for.
    if config.recover == Recover::MassStatus && !config.mass_status {
        let problem = "AF needs a bank that answers 35=AF; with mass_status = false give H";
        return Err(wrong(of("recover"), problem));
    }
    let mut reject_map = Vec::new();
    for (text, code) in &config.reject_map {
        let Some(code) = RejectCode::of_name(code) else {
            let problem = format!("'{code}' is not a code; give A-1, A-2, B, C, D, E, F or N");
            return Err(wrong(of("reject_map"), problem));
        };
        reject_map.push((text.clone(), code));
    }
    Ok(BankSetup {
        pairs,
        is_full: config.kind == StreamKind::Full,
        is_quoted: config.orders == OrderStyle::Quoted,
        reject_map,
        config,
    })
}

fn check_router(config: &Config) -> Result<(), SetupError> {
    let router = &config.router;
    within("router.hold_ms_per_tenth", router.hold_ms_per_tenth, 1)?;
    up_to("router.reject_cost", router.reject_cost, PENALTY_MAX)?;
    up_to("router.penalty_max", router.penalty_max, PENALTY_MAX)?;
    for weight in router.weight {
        up_to("router.weight", weight, WEIGHT_MAX)?;
    }
    within("risk.max_gross_usd", config.risk.max_gross_usd, 0)?;
    match (1..=65_536).contains(&router.window) {
        true => Ok(()),
        false => Err(wrong("router.window", "give 1 to 65536 outcomes")),
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
    }
}
