//! Calendars of a configuration: how long its pairs have a spot date.

use super::finding::Status;
use super::rules::Check;
use crate::output::Failure;
use serde::Deserialize;
use std::path::Path;
use touchline_credentials::{read_config, read_file};
use touchline_fx_days::{Calendars, CalendarsConfig, PairDates, Rolls, rules_version};
use touchline_settings::{Manual, Mistakes};
use touchline_transport::clock::wall_ns;

const WHY: &str = "a pair without a spot date gets no orders";
/// Days before the end of a calendar from which on `doctor` warns.
const AHEAD_DAYS: u32 = 30;

/// The parts of a file that dates follow from: of the engine and the composer, and of a gateway.
#[derive(Debug, Deserialize)]
struct Dated {
    calendars: Option<CalendarsConfig>,
    #[serde(default)]
    pairs: Vec<DatedPair>,
    #[serde(default)]
    venue: Venue,
}

#[derive(Debug, Default, Deserialize)]
struct Venue {
    #[serde(default)]
    pairs: Vec<DatedPair>,
}

#[derive(Debug, Deserialize)]
struct DatedPair {
    symbol: String,
    #[serde(default)]
    spot_date: String,
    spot_days: Option<u32>,
}

/// Checks the calendars of a file; none without any.
///
/// # Errors
/// The file cannot be read.
pub fn check(path: &Path) -> Result<Option<Check>, Failure> {
    let text = read_config(path).map_err(Failure::usage)?;
    let manual = Manual::page("docs/fx/days.md");
    let Ok(dated) = touchline_settings::read(&text, &manual, |dated: Dated| Ok(dated)) else {
        // What reads the file reports its mistake.
        return Ok(None);
    };
    let Some(mut calendars) = dated.calendars else {
        return Ok(None);
    };
    calendars.starts_at(path.parent().unwrap_or(Path::new("")));
    let mut pairs = dated.pairs;
    pairs.extend(dated.venue.pairs);
    let check = |status, seen: String, fix: Option<&str>| {
        Some(Check {
            name: "calendars",
            status,
            seen: format!("{}: {seen}", path.display()),
            why: WHY,
            fix: fix.map(str::to_owned),
        })
    };
    Ok(match ends(&calendars, &pairs, wall_ns()) {
        Err(wrong) => check(Status::Bad, wrong.to_string(), Some("correct it")),
        Ok(ends) if ends.is_empty() => check(
            Status::Ok,
            format!(
                "every pair has a spot date for {AHEAD_DAYS} days and more; rules of time zones {}",
                rules_version()
            ),
            None,
        ),
        Ok(ends) => check(
            Status::Warn,
            ends.join("; "),
            Some(
                "give a later calendar in files of [calendars]; the built-in ones need a newer release",
            ),
        ),
    })
}

/// Pairs whose spot date ends soon, in words.
fn ends(
    calendars: &CalendarsConfig,
    pairs: &[DatedPair],
    at_ns: u64,
) -> Result<Vec<String>, Mistakes> {
    let config = calendars.resolved(read_file)?;
    let rolls = Rolls::new(
        &config,
        Calendars::of(&config, read_file)?,
        pairs.iter().map(dates_of),
    )?;
    rolls.check(pairs.iter().map(dates_of), at_ns)?;
    let ends = pairs.iter().enumerate().filter_map(|(at, pair)| {
        let days = rolls.ends_within(at, at_ns, AHEAD_DAYS)?;
        Some(format!("{} has no spot date in {days} days", pair.symbol))
    });
    Ok(ends.collect())
}

fn dates_of(pair: &DatedPair) -> PairDates<'_> {
    PairDates {
        symbol: &pair.symbol,
        spot_date: &pair.spot_date,
        spot_days: pair.spot_days,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of Tuesday, 3 December 2030. On Saturday the 28th the trade date is Monday the 30th, and its second day is of 2031.
    const LATE_NS: u64 = 1_922_529_600_000_000_000;

    #[test]
    fn a_calendar_that_ends_soon_is_said_a_month_before() {
        let pair = |symbol: &str| DatedPair {
            symbol: symbol.to_owned(),
            spot_date: String::new(),
            spot_days: None,
        };
        let config = CalendarsConfig::default();
        let day_ns = 86_400_000_000_000;
        let of = |at_ns| ends(&config, &[pair("EUR/USD")], at_ns).expect("built-in calendars");
        assert_eq!(of(LATE_NS), ["EUR/USD has no spot date in 25 days"]);
        assert_eq!(of(LATE_NS - 30 * day_ns), [""; 0]);
        let error = ends(&config, &[pair("USD/MXN")], LATE_NS).expect_err("no calendar");
        assert!(
            error.to_string().contains("MXN has no built-in calendar"),
            "{error}"
        );
    }
}
