//! Calendars of currencies, trade dates and spot dates of pairs, and the hours of sessions.
//!
//! # Never
//! Reads the time zones of the host: the rules are compiled in, so that two hosts agree. Reads a clock. Is part of the core, which has
//! dates as numbers.
//!
//! # Path
//! None: dates are computed at start and at a roll.
//!
//! # Tests
//! `tests/fx_days`: holidays of whole years, and instants with their dates, of both changes of time and each exception.

#![forbid(unsafe_code)]

mod calendar;
mod calendars;
mod holidays;
mod hours;
mod rolls;
mod schedule;
mod spot;
mod trade_date;
mod zones;

pub use calendar::Calendar;
pub use calendars::{Calendars, CalendarsConfig, ChangeConfig, NzdRoll};
pub use hours::{Hours, HoursKeys, NEVER, Phase, utc};
pub use rolls::{Dates, DayWatch, Pace, PairDates, Rolls};
pub use schedule::{Days, DaysConfig, Schedule, ScheduleError};
pub use spot::{Pair, PairError, Spot, Step};
pub use trade_date::{new_york_date, trade_date};
pub use zones::{UnknownZone, rules_version, zone};

/// Date and instant, of the crate that has the time zones.
pub use jiff::{Timestamp, civil::Date, civil::Weekday};

/// A date as `YYYYMMDD`.
#[must_use]
pub fn digits(date: Date) -> String {
    date.strftime("%Y%m%d").to_string()
}

/// A date as a number `YYYYMMDD`.
pub(crate) fn number(date: Date) -> u32 {
    date.year() as u32 * 10_000 + date.month() as u32 * 100 + date.day() as u32
}
