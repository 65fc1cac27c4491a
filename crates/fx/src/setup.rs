//! The checked configuration, with indices in place of names.
//!
//! A bank is its rank, a pair its index in the file. State of a bank and a pair has the slot `bank
//! * pairs + pair`.

use crate::config::{
    AfterLoss, BankConfig, Config, OrderStyle, PairConfig, Recover, RiskConfig, RouterConfig,
    StreamKind,
};
use touchline_fx_events::desk::Day;
use touchline_fx_events::labels::{Labels, PairLabel};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::setup::{BANKS_MAX, Bank, Pair};
use touchline_fx_events::ticks::QUANTITY_MAX;
use touchline_settings::{self as settings, Manual, Mistakes, Section};
use touchline_types::Id;
use touchline_types::text::{NAMES, is_name};

/// Index of a bank's pair.
pub type Slot = usize;

/// Page with the settings.
const PAGE: &str = "docs/venues/fx-banks.md";
const PAIRS_MAX: usize = 1_024;
/// Longest time between two composites, and longest timeout: a day.
const DAY_MS: u64 = 86_400_000;
/// Maximum penalty, tenths of a tick.
const PENALTY_MAX: i64 = 1_000_000;
const WEIGHT_MAX: i64 = 1_000;
/// Maximum length of the prefix: ClOrdIDs also contain the parent's id of up to [`PARENT_ID_MAX`]
/// bytes.
const PREFIX_MAX: usize = 12;
/// Maximum length of a parent's id, bytes.
pub const PARENT_ID_MAX: usize = 32;

/// A pair.
#[derive(Debug, Clone)]
pub struct PairSetup {
    /// Section of the pair in the file.
    pub config: PairConfig,
    /// Base currency.
    pub base: Id,
    /// Spot value date, `YYYYMMDD`; 0: none is known, and the pair gets no orders.
    pub spot_date: u32,
    /// Trade date, `YYYYMMDD`; 0: the spot date is that of the file, and does not change.
    pub trade_date: u32,
    /// Time at which its day began; quotes from before are for another value date.
    pub began_ns: u64,
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
    /// All mistakes of the text.
    pub fn parse(text: &str) -> Result<Setup, Mistakes> {
        settings::read(text, &Manual::page(PAGE), Setup::new)
    }

    /// Checks a configuration and resolves its names.
    ///
    /// # Errors
    /// Every invalid value, with its key.
    pub fn new(config: Config) -> Result<Setup, Mistakes> {
        let mut wrong = Mistakes::default();
        check_router(&config, &mut wrong);
        let mut top = wrong.section("", "");
        top.range("conflate_ms", config.conflate_ms, 0..=DAY_MS);
        let prefix = identifier(&mut top, "prefix", &config.prefix, PREFIX_MAX);
        let account = identifier(&mut top, "account", &config.account, 64);
        identifier(&mut top, "date", &config.date, 8);
        for (key, found, most) in [
            ("pairs", config.pairs.len(), PAIRS_MAX),
            ("banks", config.banks.len(), BANKS_MAX),
        ] {
            if !(1..=most).contains(&found) {
                top.push(key, &format!("{found} of them; give 1 to {most}"));
            }
        }
        let symbols: Vec<String> = (config.pairs.iter())
            .map(|pair| pair.symbol.clone())
            .collect();
        let names: Vec<String> = (config.banks.iter())
            .map(|bank| bank.name.clone())
            .collect();
        unique(("pairs", "symbol"), &symbols, &mut wrong);
        unique(("banks", "name"), &names, &mut wrong);
        let pairs = config.pairs.into_iter().enumerate();
        let pairs: Vec<PairSetup> = pairs
            .filter_map(|(at, pair)| pair_setup(at, pair, config.has_calendars, &mut wrong))
            .collect();
        let banks = config.banks.into_iter().enumerate();
        let banks: Vec<BankSetup> = banks
            .map(|(at, bank)| bank_setup(at, bank, &symbols, &mut wrong))
            .collect();
        let (Some(prefix), Some(account)) = (prefix, account) else {
            return Err(wrong);
        };
        wrong.none_or(Setup {
            labels: Labels {
                prefix,
                account,
                banks: names,
                pairs: pairs.iter().map(PairSetup::label).collect(),
            },
            conflate_ns: ns(config.conflate_ms),
            pairs,
            banks,
            router: config.router,
            risk: config.risk,
        })
    }

    /// Whether each bank drops open orders with a connection.
    pub fn drops(&self) -> Vec<bool> {
        let banks = self.banks.iter();
        let drops = banks.map(|bank| bank.config.after_loss != AfterLoss::Ask);
        drops.collect()
    }

    /// Gives a pair the dates of its day.
    pub fn begin_day(&mut self, day: &Day, at_ns: u64) {
        let pair = &mut self.pairs[day.pair];
        (pair.trade_date, pair.spot_date) = (day.trade, day.spot);
        pair.began_ns = at_ns;
        pair.config.spot_date = match day.spot {
            0 => String::new(),
            spot => spot.to_string(),
        };
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

fn unique((list, key): (&str, &str), names: &[String], wrong: &mut Mistakes) {
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            let mut section = wrong.section(format!("{list}.{at}"), format!("{list}."));
            section.push(key, &format!("{name} is configured twice"));
        }
    }
}

fn pair_setup(
    at: usize,
    config: PairConfig,
    has_calendars: bool,
    wrong: &mut Mistakes,
) -> Option<PairSetup> {
    let symbol = &config.symbol;
    let path = format!("pairs.{at}");
    let mut names = wrong.section(&path, "pairs.");
    let base = identifier(&mut names, "symbol", symbol, 16).and_then(|_| {
        let base = symbol.split('/').next().unwrap_or_default();
        identifier(&mut names, "symbol", base, 16)
    });
    let mut pair = wrong.section(path, format!("pair {symbol}: "));
    if config.precision > 9 {
        pair.push("precision", "give 0 to 9 decimals");
    }
    match config.spot_date.as_str() {
        "" if has_calendars => {}
        "" => pair.push_whole("spot_date is missing; give YYYYMMDD, or the table [calendars]"),
        date if is_date(date) => {}
        date => pair.push(
            "spot_date",
            &format!("'{date}' is not a date; give YYYYMMDD"),
        ),
    }
    if config.spot_days.is_some_and(|days| days > 2) {
        pair.push("spot_days", "give 0 to 2");
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
        pair.range(key, value, least..=QUANTITY_MAX);
    }
    for &size in &config.sizes {
        pair.range("sizes", size, 1..=QUANTITY_MAX);
        if size > 0 && config.lot > 0 && size % config.lot != 0 {
            let problem = format!("{size} is not a multiple of the lot, {}", config.lot);
            pair.push("sizes", &problem);
        }
    }
    // A date is a number.
    let spot_date = config.spot_date.parse().unwrap_or(0);
    Some(PairSetup {
        base: base?,
        spot_date,
        trade_date: 0,
        began_ns: 0,
        config,
    })
}

fn bank_setup(
    at: usize,
    config: BankConfig,
    symbols: &[String],
    wrong: &mut Mistakes,
) -> BankSetup {
    let name = &config.name;
    let path = format!("banks.{at}");
    if !is_name(name) {
        let problem = format!("{name:?} is not 1 to 64 {NAMES}");
        wrong.section(&path, "banks.").push("name", &problem);
    }
    let mut bank = wrong.section(path, format!("bank {name}: "));
    let mut pairs = Vec::new();
    for symbol in &config.pairs {
        let Some(pair) = symbols.iter().position(|known| known == symbol) else {
            let problem = format!("{symbol} is not among the pairs of the file");
            bank.push("pairs", &problem);
            continue;
        };
        if pairs.contains(&pair) {
            bank.push("pairs", &format!("{symbol} is configured twice"));
        }
        pairs.push(pair);
    }
    for (key, value) in [
        ("min_qty", config.min_qty),
        ("max_qty", config.max_qty),
        ("credit_usd", config.credit_usd),
    ] {
        bank.range(key, value, 0..=QUANTITY_MAX);
    }
    // A question would stay due, without end.
    for (key, value) in [
        ("answer_ms", config.answer_ms),
        ("status_ms", config.status_ms),
    ] {
        bank.range(key, value, 1..=DAY_MS);
    }
    // Orders without an outcome would never be asked for.
    if config.recover == Recover::MassStatus && !config.mass_status {
        let problem = "AF needs a bank that answers 35=AF; with mass_status = false give H";
        bank.push("recover", problem);
    }
    if config.after_loss == AfterLoss::AskThenCanceled && config.status_tries == 0 {
        let problem = "after_loss = \"ask_then_canceled\" asks before it cancels; give 1 or more";
        bank.push("status_tries", problem);
    }
    let mut reject_map = Vec::new();
    for (text, code) in &config.reject_map {
        match RejectCode::of_name(code) {
            Some(code) => reject_map.push((text.clone(), code)),
            None => {
                let problem = format!("'{code}' is not a code; give A-1, A-2, B, C, D, E, F or N");
                bank.push("reject_map", &problem);
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

fn check_router(config: &Config, wrong: &mut Mistakes) {
    let given = &config.router;
    let mut router = wrong.section("router", "router.");
    router.range(
        "hold_ms_per_tenth",
        given.hold_ms_per_tenth,
        1..=QUANTITY_MAX,
    );
    router.range("reject_cost", given.reject_cost, 0..=PENALTY_MAX);
    router.range("penalty_max", given.penalty_max, 0..=PENALTY_MAX);
    for weight in given.weight {
        router.range("weight", weight, 0..=WEIGHT_MAX);
    }
    router.range("window", given.window, 1..=65_536);
    let mut risk = wrong.section("risk", "risk.");
    risk.range("max_gross_usd", config.risk.max_gross_usd, 0..=QUANTITY_MAX);
}

/// Whether a text is a day of the calendar, `YYYYMMDD`.
pub(crate) fn is_date(text: &str) -> bool {
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

/// Validates text that is written to FIX messages and JSON without escapes.
fn identifier(section: &mut Section<'_>, key: &str, text: &str, longest: usize) -> Option<Id> {
    let is_sound = !text.is_empty() && text.len() <= longest && !text.contains(['"', '\\']);
    let id = Id::new(text.as_bytes()).filter(|_| is_sound);
    if id.is_none() {
        let problem =
            format!("'{text}' is not 1 to {longest} printable ASCII characters without quotes");
        section.push(key, &problem);
    }
    id
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
                "name = \"A\"\nanswer_ms = 0",
                "give 1 to 86400000",
            ),
            (
                "name = \"A\"",
                "name = \"A\"\nstatus_ms = 0",
                "give 1 to 86400000",
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
        // All of them at once, each with its line; a pair that is wrong is still known to the banks.
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
                "line 2: prefix",
                "line 7: pair EUR/USD: precision",
                "line 8: pair EUR/USD: lot",
                "line 9: pair EUR/USD: max_net",
                "line 14: bank A: min_qty",
                "line 17: router.window",
            ],
            "{said}"
        );
    }
}
