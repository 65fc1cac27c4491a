//! The configuration of simulated banks, as a person writes it.

use super::day::DayConfig;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use touchline_fx_days::{Calendars, CalendarsConfig, PairDates, Rolls};
use touchline_settings::{self as settings, Manual, Mistakes, Section, number};
use touchline_types::text::{NAMES, is_name};

/// The whole file. Unknown keys are refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Seed of the mids and of everything that happens by chance.
    #[serde(default = "number::<_, 1>")]
    pub seed: u64,
    /// Address that the banks listen on.
    #[serde(default = "loopback")]
    pub address: Ipv4Addr,
    /// Port of the first bank; each further one has the next. 0 takes any free ports.
    #[serde(default)]
    pub port: u16,
    /// TLS of all ports; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
    /// How quotes come.
    #[serde(default)]
    pub profile: Profile,
    /// Mean time between two moves of a pair's mid, milliseconds; 0 takes that of the profile.
    #[serde(default)]
    pub move_ms: u64,
    /// Pairs.
    pub pairs: Vec<PairConfig>,
    /// Banks.
    pub banks: Vec<BankConfig>,
    /// Spot dates of pairs that state none.
    #[serde(skip)]
    pub rolls: Option<Rolls>,
}

/// TLS of the banks' ports, quotes and orders: `[tls]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Certificate of every bank, followed by its chain, in PEM.
    pub certificate_file: PathBuf,
    /// Its private key, in PEM.
    pub key_file: PathBuf,
    /// Issuers that clients trust, for their configurations; the certificate itself if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots_file: Option<PathBuf>,
    /// Issuers of client certificates; no client is asked for one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_roots_file: Option<PathBuf>,
    /// Client certificate for the configurations of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate_file: Option<PathBuf>,
    /// Its private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key_file: Option<PathBuf>,
}

impl TlsConfig {
    /// Resolves relative paths from a folder.
    pub fn starts_at(&mut self, folder: &Path) {
        for path in [&mut self.certificate_file, &mut self.key_file] {
            *path = folder.join(&path);
        }
        let optional = [
            &mut self.roots_file,
            &mut self.client_roots_file,
            &mut self.client_certificate_file,
            &mut self.client_key_file,
        ];
        for path in optional.into_iter().flatten() {
            *path = folder.join(&path);
        }
    }

    /// Clients need a certificate exactly if the banks ask for one.
    fn is_whole(&self) -> bool {
        let is_asked = self.client_roots_file.is_some();
        let has = [
            self.client_certificate_file.is_some(),
            self.client_key_file.is_some(),
        ];
        has == [is_asked; 2]
    }
}

/// How quotes come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The mid moves ten times a second, and some banks follow each move.
    #[default]
    Calm,
    /// Four times a second the mid moves twenty times at once, and every bank follows each move.
    Burst,
    /// One quote a minute.
    Sparse,
}

/// A currency pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairConfig {
    /// `EUR/USD`.
    pub symbol: String,
    /// Decimals of a tick.
    #[serde(default = "number::<_, 5>")]
    pub precision: u8,
    /// Spot value date, `YYYYMMDD`; empty: that of the built-in calendars, which changes with the day.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spot_date: String,
    /// Initial mid, ticks.
    pub mid_ticks: i64,
    /// Farthest step of one move, ticks.
    #[serde(default = "number::<_, 2>")]
    pub step_ticks: i64,
    /// A CSV file of recorded ticks, `time,bid,ask`: each move takes the next one, forth and back, in place of a random step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks: Option<PathBuf>,
    /// Mids of that file, ticks; empty until [`Config::load_ticks`].
    #[serde(skip)]
    pub recorded: Vec<i64>,
}

/// A bank.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BankConfig {
    /// Its name, which is its CompID.
    pub name: String,
    /// Symbols that it quotes, in its order.
    pub pairs: Vec<String>,
    /// How it quotes.
    #[serde(default)]
    pub dialect: Dialect,
    /// Meaning of its entries: amounts that add up, or bands.
    #[serde(default)]
    pub kind: Kind,
    /// Its spread at the first tier, ticks.
    #[serde(default = "number::<_, 4>")]
    pub spread_ticks: i64,
    /// How far its prices lie above the mid, ticks.
    #[serde(default)]
    pub skew_ticks: i64,
    /// Sizes of its tiers or bands, base units.
    #[serde(default = "tiers")]
    pub tiers: Vec<i64>,
    /// How much farther from the mid each tier is, ticks.
    #[serde(default = "number::<_, 1>")]
    pub tier_ticks: i64,
    /// Share of the mid's moves that it follows, 0 to 1.
    #[serde(default = "half")]
    pub follows: f64,
    /// Time from a move of the mid to its quote, milliseconds.
    #[serde(default)]
    pub latency_ms: u64,
    /// Life that it states for its quotes, milliseconds; 0 states none.
    #[serde(default)]
    pub life_ms: u64,
    /// How far its clock is ahead of ours, milliseconds.
    #[serde(default)]
    pub clock_ms: i64,
    /// Share of quotes after which the bank sends nothing for `silence_ms`.
    #[serde(default)]
    pub silence: f64,
    /// Time without any message, Heartbeats included.
    #[serde(default = "number::<_, 1_000>")]
    pub silence_ms: u64,
    /// Share of quotes after which it closes the connection.
    #[serde(default)]
    pub disconnect: f64,
    /// Share of quotes after which it closes the connection and refuses others for `outage_ms`.
    #[serde(default)]
    pub outage: f64,
    /// How long an outage takes.
    #[serde(default = "number::<_, 1_000>")]
    pub outage_ms: u64,
    /// Share of quotes that are inverted: the bid above the ask.
    #[serde(default)]
    pub inverted: f64,
    /// Share of quotes that are malformed.
    #[serde(default)]
    pub malformed: f64,
    /// Share of quotes whose checksum is wrong.
    #[serde(default)]
    pub bad_checksum: f64,
    /// Share of quotes that never come, though their number is used.
    #[serde(default)]
    pub sequence_gap: f64,
    /// Share of quotes with 10,000 further entries, far from the best; of dialect W.
    #[serde(default)]
    pub flood: f64,
    /// Its hours; always open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<DayConfig>,
    /// Its dealing desk; without one it takes no orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrdersConfig>,
}

/// The dealing desk of a bank: `[banks.orders]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OrdersConfig {
    /// Port of the order session; 0 takes any free one.
    pub port: u16,
    /// Shortest and longest hold before the desk looks at its price, milliseconds.
    pub hold_ms: [u64; 2],
    /// Ticks that its price may have moved against it at the end of the hold.
    pub last_look_ticks: i64,
    /// Share of orders that are rejected at any price.
    pub reject: f64,
    /// Reasons (103) of those rejects, one of them at random.
    pub reject_codes: Vec<u32>,
    /// Share of IOC orders that are filled in part.
    pub partial: f64,
    /// Share of IOC orders that are filled in two parts.
    pub split: f64,
    /// Share of orders that are lost before anybody sees them.
    pub lost: f64,
    /// Share of orders without a report; a question is answered.
    pub silent: f64,
    /// Share of orders whose answer comes late.
    pub late: f64,
    /// How late, milliseconds.
    pub late_ms: u64,
    /// Share of rejected orders that are filled afterwards.
    pub after_end: f64,
    /// Share of fills that are reversed.
    pub bust: f64,
    /// Share of fills whose price is corrected.
    pub correct: f64,
    /// Share of reports that contradict themselves or their order. The desk's own books are right.
    pub contradict: f64,
    /// Tags in which they do, one of them at random: 14, 17, 31, 32, 38, 39, 64, 151.
    pub contradict_in: Vec<u32>,
    /// Share of orders after which the connection is closed, with orders out.
    pub disconnect: f64,
    /// How long other connections are refused then, milliseconds.
    pub outage_ms: u64,
    /// How long an order that has ended is part of a mass status, milliseconds.
    pub mass_status_ms: u64,
}

/// Tags of reports in which a desk can contradict itself: CumQty, ExecID, LastPx, LastQty, OrderQty, OrdStatus, SettlDate, LeavesQty.
pub const CONTRADICTED: [u32; 8] = [14, 17, 31, 32, 38, 39, 64, 151];

impl Default for OrdersConfig {
    fn default() -> OrdersConfig {
        OrdersConfig {
            port: 0,
            hold_ms: [0, 0],
            last_look_ticks: 2,
            reject: 0.0,
            reject_codes: vec![30, 31, 32],
            partial: 0.0,
            split: 0.0,
            lost: 0.0,
            silent: 0.0,
            late: 0.0,
            late_ms: 1_000,
            after_end: 0.0,
            bust: 0.0,
            correct: 0.0,
            contradict: 0.0,
            contradict_in: CONTRADICTED.to_vec(),
            disconnect: 0.0,
            outage_ms: 200,
            mass_status_ms: 10_000,
        }
    }
}

impl OrdersConfig {
    /// Adds each mistake of the section, with its key.
    fn check(&self, mut wrong: Section<'_>) {
        for (key, share) in [
            ("reject", self.reject),
            ("partial", self.partial),
            ("split", self.split),
            ("lost", self.lost),
            ("silent", self.silent),
            ("late", self.late),
            ("after_end", self.after_end),
            ("bust", self.bust),
            ("correct", self.correct),
            ("contradict", self.contradict),
            ("disconnect", self.disconnect),
        ] {
            wrong.range(key, share, SHARE);
        }
        let is_known = |tag: &u32| CONTRADICTED.contains(tag);
        if !self.contradict_in.iter().all(is_known) || self.contradict_in.is_empty() {
            wrong.push("contradict_in", &format!("give tags of {CONTRADICTED:?}"));
        }
        if self.hold_ms[0] > self.hold_ms[1] {
            wrong.push("hold_ms", "give [shortest, longest]");
        }
        if self.reject_codes.is_empty() {
            wrong.push("reject_codes", "give at least one");
        }
    }
}

/// Values of a share.
const SHARE: RangeInclusive<f64> = 0.0..=1.0;

/// How a bank quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dialect {
    /// Snapshots.
    #[default]
    W,
    /// Snapshots, then increments.
    WX,
    /// Quotes of one tier.
    S,
    /// Mass quotes.
    #[serde(rename = "i")]
    MassQuotes,
}

/// Meaning of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Amounts that add up.
    #[default]
    Sweep,
    /// Bands.
    Full,
}

/// Longest file of ticks that is read.
const TICKS_BYTES_MAX: u64 = 1 << 30;

impl Config {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn parse(text: &str) -> Result<Config, Mistakes> {
        let manual = Manual::page("docs/fx/evaluate.md");
        settings::read(text, &manual, |mut config: Config| {
            config.check()?;
            config.rolls = config.calendars()?;
            Ok(config)
        })
    }

    /// The built-in calendars, if a pair states no spot date.
    fn calendars(&self) -> Result<Option<Rolls>, Mistakes> {
        if self.pairs.iter().all(|pair| !pair.spot_date.is_empty()) {
            return Ok(None);
        }
        let pairs = self.pairs.iter().map(|pair| PairDates {
            symbol: &pair.symbol,
            spot_date: &pair.spot_date,
            spot_days: None,
        });
        Rolls::new(&CalendarsConfig::default(), Calendars::built_in(), pairs).map(Some)
    }

    /// Spot date of a pair at a time of the wall clock.
    pub fn spot_date(&self, pair: usize, wall_ns: u64) -> Cow<'_, str> {
        match (&self.rolls, &self.pairs[pair].spot_date) {
            (Some(rolls), stated) if stated.is_empty() => {
                Cow::Owned(rolls.dates(pair, wall_ns).spot.to_string())
            }
            (_, stated) => Cow::Borrowed(stated),
        }
    }

    /// Reads the recorded ticks of all pairs; relative paths are of a folder.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that is not a tick.
    pub fn load_ticks(&mut self, folder: &Path) -> Result<(), String> {
        for pair in &mut self.pairs {
            let Some(path) = pair.ticks.as_ref().map(|path| folder.join(path)) else {
                continue;
            };
            let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
            let text = touchline_net::input::read_text(&path, TICKS_BYTES_MAX);
            let text = text.map_err(|error| wrong(&error))?;
            let mids = text.lines().enumerate().map(|(at, line)| {
                mid_of(line, pair.precision)
                    .ok_or_else(|| wrong(&format!("line {}: not 'time,bid,ask'", at + 1)))
            });
            pair.recorded = mids.collect::<Result<_, _>>()?;
            if pair.recorded.is_empty() {
                return Err(wrong(&"no ticks"));
            }
        }
        Ok(())
    }

    /// Checks names, pairs and ranges, which the types do not.
    ///
    /// # Errors
    /// Each value that cannot be, with its key and the valid values.
    pub fn check(&self) -> Result<(), Mistakes> {
        let mut wrong = Mistakes::default();
        for (key, found, most) in [
            ("pairs", self.pairs.len(), usize::MAX),
            ("banks", self.banks.len(), 256),
        ] {
            if !(1..=most).contains(&found) {
                wrong.push(key, "give at least one pair, and 1 to 256 banks");
            }
        }
        if !self.tls.as_ref().is_none_or(TlsConfig::is_whole) {
            let text = "client_roots_file, client_certificate_file and client_key_file: give all three or none";
            wrong.push("tls", text);
        }
        for (at, pair) in self.pairs.iter().enumerate() {
            let label = format!("pair {:?}: ", pair.symbol);
            pair.check(wrong.section(format!("pairs.{at}"), label));
        }
        for (at, bank) in self.banks.iter().enumerate() {
            let name = &bank.name;
            let path = format!("banks.{at}");
            let is_same = |other: &BankConfig| other.name.eq_ignore_ascii_case(name);
            if !is_bank_name(name) || self.banks[..at].iter().any(is_same) {
                let text = format!(
                    "give each a name of its own, also without regard to case: 1 to 16 {NAMES}, none of {}, and none that begins with {RINGS}",
                    RESERVED.join(", ")
                );
                let mut section = wrong.section(&path, format!("bank {name:?}: "));
                section.push("name", &text);
            }
            let known = |symbol: &String| self.pairs.iter().any(|pair| pair.symbol == *symbol);
            let mut section = wrong.section(&path, format!("bank {name}: "));
            if bank.pairs.is_empty() || !bank.pairs.iter().all(known) {
                section.push("pairs", "give pairs of the file");
            }
            bank.check(section);
            if let Some(orders) = &bank.orders {
                let path = format!("{path}.orders");
                orders.check(wrong.section(path, format!("bank {name}: orders: ")));
            }
        }
        wrong.none_or(())
    }
}

impl PairConfig {
    /// Adds each mistake of the pair, with its key.
    fn check(&self, mut wrong: Section<'_>) {
        let is_symbol = (1..=16).contains(&self.symbol.len())
            && self.symbol.bytes().all(|byte| byte.is_ascii_graphic())
            && !self.symbol.contains(['"', '\\']);
        if !is_symbol {
            let text = "give 1 to 16 visible characters without quotes and backslashes";
            wrong.push("symbol", text);
        }
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let is_date = self.spot_date.len() == 8 && self.spot_date.bytes().all(is_digit);
        if !is_date && !self.spot_date.is_empty() {
            wrong.push("spot_date", "give YYYYMMDD");
        }
        wrong.range("precision", self.precision, 0..=9);
        if self.mid_ticks < 1_000 {
            wrong.push("mid_ticks", "give 1000 or more");
        }
        if self.step_ticks < 0 {
            wrong.push("step_ticks", "give 0 or more");
        }
    }
}

impl BankConfig {
    /// Adds each mistake of its numbers, with its key.
    fn check(&self, mut wrong: Section<'_>) {
        for (key, share) in [
            ("follows", self.follows),
            ("silence", self.silence),
            ("disconnect", self.disconnect),
            ("outage", self.outage),
            ("inverted", self.inverted),
            ("malformed", self.malformed),
            ("bad_checksum", self.bad_checksum),
            ("sequence_gap", self.sequence_gap),
            ("flood", self.flood),
        ] {
            wrong.range(key, share, SHARE);
        }
        if let Some(Err((key, text))) = self.day.as_ref().map(DayConfig::hours) {
            wrong.push(&format!("day.{key}"), &text);
        }
        if self.flood > 0.0 && self.dialect != Dialect::W {
            wrong.push("flood", "is of dialect W");
        }
        let is_ladder =
            (1..=64).contains(&self.tiers.len()) && self.tiers.iter().all(|size| *size > 0);
        if !is_ladder {
            wrong.push("tiers", "give 1 to 64 sizes above 0");
        }
        for (key, ticks) in [
            ("spread_ticks", self.spread_ticks),
            ("tier_ticks", self.tier_ticks),
        ] {
            if ticks < 0 {
                wrong.push(key, "give 0 or more");
            }
        }
    }
}

/// Names of banks are names of files and buses, in lower case; these are other files and buses of the same folder.
const RESERVED: [&str; 5] = ["compose", "run", "fx", "fx-run", "ports"];
/// The engine's other buses: those of its clients, and of its standby.
const RINGS: &str = "fx-run-";

fn is_bank_name(name: &str) -> bool {
    let name = &name.to_ascii_lowercase();
    let is_reserved = RESERVED.contains(&name.as_str()) || name.starts_with(RINGS);
    is_name(name) && name.len() <= 16 && !is_reserved
}

/// The mid of a recorded tick, ticks.
fn mid_of(line: &str, precision: u8) -> Option<i64> {
    let mut columns = line.split(',').skip(1);
    let mut price = || columns.next()?.trim().parse::<f64>().ok();
    let mid = (price()? + price()?) / 2.0 * 10_f64.powi(i32::from(precision));
    (mid.is_finite() && mid >= 1_000.0).then_some(mid.round() as i64)
}

fn loopback() -> Ipv4Addr {
    Ipv4Addr::LOCALHOST
}

fn half() -> f64 {
    0.5
}

fn tiers() -> Vec<i64> {
    vec![1_000_000, 3_000_000, 5_000_000]
}
