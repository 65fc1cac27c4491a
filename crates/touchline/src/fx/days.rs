//! `touchline fx spot`, `calendar` and `session`: dates and hours of FX, with the days that they follow from.

use crate::output::{Failure, say};
use crate::record::Record;
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;
use touchline_credentials::{read_config, read_file};
use touchline_fx_days::{
    Calendars, CalendarsConfig, Days, Pair, Schedule, Spot, Step, Timestamp, digits, rules_version,
    trade_date,
};

/// Calendars of a command: the built-in ones, and those of files.
#[derive(Debug, Args)]
pub struct CalendarArguments {
    /// Configuration file with a table `calendars`; its other tables are not read
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Calendar of a currency, in place of the built-in one; may be given several times
    #[arg(long, value_name = "FILE")]
    calendar: Vec<PathBuf>,
}

/// Print trade date and spot date of a pair, and the days that they follow from.
#[derive(Debug, Args)]
#[command(after_help = SPOT_HELP)]
pub struct SpotArguments {
    /// Pair, such as EUR/USD
    pair: String,
    /// Instant (RFC 3339); now if absent
    instant: Option<String>,
    #[command(flatten)]
    calendars: CalendarArguments,
    /// Days from trade date to spot date, in place of those of the pair
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=2))]
    spot_days: Option<u32>,
    /// Print {"trade":"YYYYMMDD","spot":"YYYYMMDD"}
    #[arg(long)]
    json: bool,
}

/// Print the holidays of a currency in a year.
#[derive(Debug, Args)]
#[command(after_help = CALENDAR_HELP)]
pub struct HolidayArguments {
    /// Currency, such as USD
    currency: String,
    /// Year
    year: i16,
    #[command(flatten)]
    calendars: CalendarArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Print the session that an instant belongs to.
#[derive(Debug, Args)]
#[command(after_help = SESSION_HELP)]
pub struct SessionArguments {
    /// Time zone, by its IANA name
    zone: String,
    /// Local time at which a session starts: HH:MM or HH:MM:SS
    start: String,
    /// Local time at which it ends; one that is not after the start is of the next day
    end: String,
    /// Local days on which a session starts, such as SUN,MON,TUE,WED,THU
    days: String,
    /// Instant (RFC 3339)
    instant: String,
    /// Print {"session":"YYYYMMDD"}, or null
    #[arg(long)]
    json: bool,
}

const SPOT_HELP: &str = "\
Examples:
  touchline fx spot EUR/USD
  touchline fx spot USD/JPY 2026-09-17T12:00:00Z
  touchline fx spot USD/MXN 2026-01-16T12:00:00Z --calendar mxn.toml --json

docs/fx/days.md has the rules.

Exit status:
  0  printed
  1  the pair has no spot date: a calendar ends before it
  2  bad arguments or a bad file";

const CALENDAR_HELP: &str = "\
Examples:
  touchline fx calendar USD 2026
  touchline fx calendar MXN 2026 --calendar mxn.toml

Exit status:
  0  printed
  1  the calendar does not know the year
  2  bad arguments or a bad file";

const SESSION_HELP: &str = "\
Examples:
  touchline fx session America/New_York 17:04 17:00 SUN,MON,TUE,WED,THU 2026-03-08T21:04:00Z

Exit status:
  0  printed, also outside of all sessions
  2  bad arguments";

impl CalendarArguments {
    fn read(&self) -> Result<(CalendarsConfig, Calendars), Failure> {
        let mut config = CalendarsConfig::default();
        if let Some(file) = &self.config {
            let text = read_config(file).map_err(|error| Failure::configuration(&error))?;
            let folder = file.parent().map(PathBuf::from).unwrap_or_default();
            let read = CalendarsConfig::of_file(&text, &folder);
            let read = read.map_err(|wrong| Failure::file(wrong.in_file(file)))?;
            config = read.resolved(read_file).map_err(Failure::file)?;
        }
        config.files.extend(self.calendar.iter().cloned());
        let calendars = Calendars::of(&config, read_file).map_err(Failure::file)?;
        Ok((config, calendars))
    }
}

fn instant(text: &str) -> Result<Timestamp, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "{text:?} is not an instant; write it as 2026-01-16T12:00:00Z"
        ))
    })
}

/// Prints the spot date.
pub fn spot(arguments: &SpotArguments) -> Result<(), Failure> {
    let pair = Pair::read(&arguments.pair).map_err(Failure::usage)?;
    let at = arguments
        .instant
        .as_deref()
        .map_or_else(|| Ok(Timestamp::now()), instant)?;
    let (config, calendars) = arguments.calendars.read()?;
    let trade = trade_date(&pair, at, config.nzd_roll);
    let days = arguments.spot_days.unwrap_or_else(|| pair.spot_days());
    let spot = Spot::of(&pair, trade, days, config.cross_usd, &calendars).map_err(|currency| {
        Failure::usage(format!(
            "{currency} has no built-in calendar; give one with --calendar"
        ))
    })?;
    let date = spot.date.map(digits);
    let mut text = String::new();
    if arguments.json {
        let mut record = Record::json(&mut text);
        record.exact("trade", digits(trade));
        record.exact_or_none("spot", date.as_deref());
        record.end();
        text.push('\n');
    } else {
        let shown = date.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "{pair} at {at}: trade date {}, spot date {shown}",
            digits(trade)
        );
        spot.steps
            .iter()
            .for_each(|step| explain(&mut text, step, days));
        let _ = writeln!(text, "rules of time zones: {}", rules_version());
    }
    say(&text)?;
    match spot.steps.last().filter(|_| date.is_none()) {
        None => Ok(()),
        Some(last) => Err(Failure::run(format!(
            "{pair} has no spot date: the calendar of {} does not know {}; give a later one with --calendar",
            last.unknown.join(" and "),
            digits(last.day),
        ))),
    }
}

fn explain(text: &mut String, step: &Step, days: u32) {
    let _ = write!(text, "  {} {}  ", step.day.strftime("%a"), digits(step.day));
    let _ = match (
        step.counted,
        step.closed.as_slice(),
        step.unknown.as_slice(),
    ) {
        (_, _, unknown @ [_, ..]) => writeln!(text, "unknown in {}", unknown.join(", ")),
        (_, closed @ [_, ..], _) => writeln!(text, "closed in {}", closed.join(", ")),
        (Some(number), ..) => writeln!(text, "day {number} of {days}"),
        (None, ..) => writeln!(text, "good in all: spot date"),
    };
}

/// Prints the holidays.
pub fn calendar(arguments: &HolidayArguments) -> Result<(), Failure> {
    let (currency, year) = (&arguments.currency, arguments.year);
    let (_, calendars) = arguments.calendars.read()?;
    let calendar = calendars.get(currency).ok_or_else(|| {
        Failure::usage(format!(
            "{currency} has no built-in calendar; give one with --calendar"
        ))
    })?;
    if !calendar.knows(year) {
        return Err(Failure::run(format!(
            "the calendar of {currency} does not know {year}: it ends on {}",
            digits(calendar.until())
        )));
    }
    let days = calendar.holidays(year);
    let mut text = String::new();
    if arguments.json {
        let list: Vec<String> = days.map(|day| format!("{:?}", digits(day))).collect();
        let mut record = Record::json(&mut text);
        record.exact("currency", currency);
        record.number("year", year);
        record.number("holidays", format_args!("[{}]", list.join(",")));
        record.end();
        text.push('\n');
    } else {
        for day in days {
            let _ = writeln!(text, "{} {}", digits(day), day.strftime("%a"));
        }
    }
    say(&text)
}

/// Prints the session.
pub fn session(arguments: &SessionArguments) -> Result<(), Failure> {
    let at = instant(&arguments.instant)?;
    let days = Days::read(&arguments.days).map_err(Failure::usage)?;
    let hours = Schedule::new(&arguments.zone, &arguments.start, &arguments.end, days);
    let schedule = hours.map_err(Failure::usage)?;
    let session = schedule.session(at);
    let mut text = String::new();
    if arguments.json {
        let mut record = Record::json(&mut text);
        record.exact_or_none("session", session.map(digits));
        record.end();
        text.push('\n');
        return say(&text);
    }
    let hours = |day| {
        schedule
            .hours(day)
            .map(|(start, end)| format!("{start} to {end}"))
    };
    let _ = match (session, schedule.next(at)) {
        (Some(day), _) => writeln!(
            text,
            "session of {}: {}",
            digits(day),
            hours(day).unwrap_or_default()
        ),
        (None, Some((day, _))) => writeln!(
            text,
            "closed; the next session is that of {}: {}",
            digits(day),
            hours(day).unwrap_or_default()
        ),
        (None, None) => writeln!(text, "closed"),
    };
    say(&text)
}
