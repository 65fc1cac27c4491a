//! Of what a report is: period, account, release, configuration and journal; and the digest of each of its files.

use super::account::{Account, Day};
use super::exact::known;
use super::period::Period;
use super::quality::{Quality, error_rate, tests, verdict};
use super::value_dates::{Position, REPORT_DECIMALS, totals};
use crate::format::utc;
use crate::version;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Origin of a report.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Account of the orders.
    pub account: String,
    /// Name of the configuration file, and the SHA-256 of its bytes.
    pub configuration: (String, String),
    /// Currency of sums.
    pub currency: String,
    /// Id of the journal; empty before there is one.
    pub journal: String,
    /// Head of the journal's hash chain, in words.
    pub chain: String,
    /// Places at which the chain says that records were changed.
    pub faults: Vec<String>,
}

/// The release that made the report.
pub fn release() -> String {
    match version::COMMIT {
        Some(commit) => format!("{} ({commit})", version::VERSION),
        None => version::VERSION.to_owned(),
    }
}

/// SHA-256 in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Origin {
    /// The configuration file of the engine.
    pub fn of(path: &Path, account: &str, currency: &str) -> Result<Origin, std::io::Error> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Origin {
            account: account.to_owned(),
            configuration: (
                name.to_string_lossy().into_owned(),
                digest(&std::fs::read(path)?),
            ),
            currency: currency.to_owned(),
            ..Origin::default()
        })
    }

    /// What each page names: heading and text.
    pub fn rows(&self, account: &Account, period: Period) -> Vec<(&'static str, String)> {
        let (file, sha256) = &self.configuration;
        let end_ns = period.end_ns(account);
        let as_of = match end_ns {
            0 => "no entry yet".to_owned(),
            _ => format!("{} UTC", utc(end_ns)),
        };
        let chain = match self.chain.is_empty() {
            true => "no closed segment yet".to_owned(),
            false => self.chain.clone(),
        };
        vec![
            ("Trade dates", days_text(account, period)),
            ("As of", as_of),
            ("Account", self.account.clone()),
            ("Release", format!("touchline {}", release())),
            ("Configuration", format!("{file}, SHA-256 {sha256}")),
            (
                "Journal",
                format!("{}, {} runs", self.journal, account.runs),
            ),
            ("Hash chain", chain),
        ]
    }
}

/// Trade dates of a period in words.
pub fn days_text(account: &Account, period: Period) -> String {
    let date = |day: Day| {
        let digits = format!("{day:08}");
        format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..])
    };
    let mut days = period.days(account);
    match (days.next(), days.next_back()) {
        (None, _) => "none: the journal has no entry of the period".to_owned(),
        (Some(day), None) => date(day),
        (Some(first), Some(last)) => format!("{} to {}", date(first), date(last)),
    }
}

/// Sentences about what the report cannot know.
pub fn sentences(
    account: &Account,
    period: Period,
    positions: &[Position],
    currency: &str,
) -> Vec<String> {
    let mut said = Vec::new();
    let open: Vec<&Position> = positions
        .iter()
        .filter(|position| position.units != 0)
        .collect();
    let mut pairs: Vec<usize> = open.iter().map(|position| position.pair).collect();
    pairs.dedup();
    for pair in pairs {
        let symbol = &account.pairs[pair].symbol;
        if open
            .iter()
            .any(|position| position.pair == pair && position.mid.is_none())
        {
            said.push(format!(
                "{symbol} has no mid at the end of the period, so its open profit is not known."
            ));
        }
    }
    for position in positions {
        let symbol = &account.pairs[position.pair].symbol;
        let term = account.pairs[position.pair].currencies().1;
        let is_open_lost = position.open2().is_some() && position.reported[1].is_none();
        if position.reported[0].is_none() || is_open_lost {
            said.push(format!(
                "No mid at the end of the period leads from {term} to {currency}, so the profit of {symbol} is not known in {currency}."
            ));
        }
    }
    said.dedup();
    if period.days(account).next_back() == account.days.keys().next_back().copied() {
        said.extend(differences(account, positions));
    }
    said
}

/// Positions that the engine states and the fills do not add up to.
fn differences(account: &Account, positions: &[Position]) -> Vec<String> {
    let sum = |pair: usize, date: Option<u32>| {
        let parts = positions.iter().filter(|position| {
            position.pair == pair && (date.is_none() || position.value_date == date)
        });
        parts.fold((0, 0), |(units, cash), part| {
            (units + part.units, cash + part.cash)
        })
    };
    let mut stated: Vec<(usize, Option<u32>, (i64, i128))> = Vec::new();
    for (pair, position) in &account.stated {
        stated.push((*pair, None, *position));
    }
    for (pair, dates) in &account.stated_dates {
        let parts = dates.iter();
        stated.extend(parts.map(|(date, part)| (*pair, Some(*date), (part.units, part.cash))));
    }
    let differs = stated.into_iter().filter_map(|(pair, date, stated)| {
        let found = sum(pair, date);
        let of = date.map_or_else(String::new, |date| format!(" of value date {date}"));
        (found != stated).then(|| {
            format!(
                "{}{of}: the fills add up to {} units, and the engine states {}: keep the journal and report this.",
                account.pairs[pair].symbol, found.0, stated.0
            )
        })
    });
    differs.collect()
}

/// Counts of a period.
fn counts(account: &Account, period: Period) -> Value {
    let orders = account.orders.iter().filter(|order| period.has(order.day));
    let parents = account
        .parents
        .iter()
        .filter(|parent| period.has(parent.day));
    json!({
        "parents": parents.clone().count(),
        "parents_filled": parents.map(|parent| parent.filled).sum::<i64>(),
        "orders": orders.clone().count(),
        "orders_filled": orders.map(|order| order.filled).sum::<i64>(),
        "commands": account.commands.iter().filter(|row| period.has(row.day)).count(),
        "alarms": account.alarms.iter().filter(|row| period.has(row.day)).count(),
    })
}

/// `about.json`: what the files of a folder are about, with the SHA-256 of each.
pub fn about(
    account: &Account,
    period: Period,
    origin: &Origin,
    (positions, qualities): (&[Position], &[Quality]),
    files: &[(&'static str, String)],
) -> String {
    let end_ns = period.end_ns(account);
    let (file, sha256) = &origin.configuration;
    let days: Vec<String> = period.days(account).map(|day| day.to_string()).collect();
    let [realised, open] = totals(positions).map(|value| match value {
        Some(_) => Value::from(known(value, REPORT_DECIMALS)),
        None => Value::Null,
    });
    let tests = tests(qualities);
    let verdicts: Vec<String> = qualities
        .iter()
        .filter(|quality| quality.orders > 0)
        .map(|quality| verdict(account, quality, tests))
        .collect();
    let files: serde_json::Map<String, Value> = files
        .iter()
        .map(|(name, digest)| ((*name).to_owned(), Value::from(digest.as_str())))
        .collect();
    let about = json!({
        "days": days,
        "t": end_ns,
        "as_of": if end_ns == 0 { Value::Null } else { Value::from(utc(end_ns)) },
        "account": origin.account,
        "release": release(),
        "configuration": {"file": file, "sha256": sha256},
        "journal": {"id": origin.journal, "runs": account.runs, "chain": origin.chain, "faults": origin.faults},
        "counts": counts(account, period),
        "profit": {"currency": origin.currency, "realised": realised, "open": open},
        "not_known": sentences(account, period, positions, &origin.currency),
        "asymmetry": {"error_rate": error_rate(tests), "verdicts": verdicts},
        "sha256": files,
    });
    // Keys of strings: this cannot fail.
    serde_json::to_string_pretty(&about).unwrap_or_default() + "\n"
}
