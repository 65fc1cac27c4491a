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

/// Days from one date to another, numbers `YYYYMMDD`; none if a number is not a date.
///
/// ```
/// assert_eq!(touchline_fx_days::days_between(20_260_227, 20_260_302), Some(3));
/// assert_eq!(touchline_fx_days::days_between(0, 20_260_302), None);
/// ```
#[must_use]
pub fn days_between(from: u32, to: u32) -> Option<i32> {
    let date = |number: u32| {
        let year = i16::try_from(number / 10_000).ok()?;
        let [month, day] = [number / 100 % 100, number % 100];
        Date::new(year, month as i8, day as i8).ok()
    };
    let span = date(from)?.until(date(to)?).ok()?;
    Some(span.get_days())
}

/// A date as a number `YYYYMMDD`.
pub(crate) fn number(date: Date) -> u32 {
    date.year() as u32 * 10_000 + date.month() as u32 * 100 + date.day() as u32
}
