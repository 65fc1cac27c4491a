//! Hours of a session: on which local days it starts, and when it starts and ends.

use crate::calendar::read_weekday;
use crate::holidays::{YEARS, plus};
use crate::zones::{UnknownZone, instant, zone};
use jiff::Timestamp;
use jiff::civil::{Date, Time, Weekday, date};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// Days of a week.
const WEEK: i32 = 7;
/// Days of a year.
const YEAR: i32 = 366;

/// Hours of a session.
#[derive(Debug, Clone)]
pub struct Schedule {
    zone: TimeZone,
    start: Time,
    end: Time,
    days: Days,
    /// Dates on which no session starts, ascending.
    closed: Vec<Date>,
}

/// `days` of a schedule: `["SUN", "MON"]`, or `"week"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "give days, such as [\"SUN\", \"MON\"], or \"week\""
)]
pub enum DaysConfig {
    /// A session starts on each of these days.
    Each(Vec<String>),
    /// `week`: one session, from `start_day` to `end_day`.
    Word(String),
}

/// When sessions start and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Days {
    /// A session starts on each of these days, local; it ends within a day.
    Each(Vec<Weekday>),
    /// One session a week.
    Week {
        /// Day of its start.
        start: Weekday,
        /// Day of its end.
        end: Weekday,
    },
}

/// Hours are not those of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The zone.
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    /// A local time.
    #[error("{0:?} is not a time of day; write HH:MM or HH:MM:SS, such as 17:04")]
    Time(String),
    /// A day of the week.
    #[error("{0}")]
    Day(String),
    /// No day.
    #[error("a session needs a day; give days, such as SUN,MON,TUE,WED,THU")]
    NoDay,
    /// Two sessions overlap.
    #[error(
        "the session of {first} ends after that of {second} has begun; end it earlier, or start the next one later"
    )]
    Overlap {
        /// The session that ends too late.
        first: Date,
        /// The session behind it.
        second: Date,
    },
    /// A date on which no session starts.
    #[error("{0:?} is not a date; write YYYYMMDD, such as 20261225")]
    Closed(String),
}

impl Days {
    /// Reads days by three capital letters each, with commas or spaces between.
    ///
    /// # Errors
    /// An unknown word, a day twice, or no day.
    pub fn read(text: &str) -> Result<Days, ScheduleError> {
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        let mut days = Vec::new();
        for word in words {
            let day = read_weekday(word).map_err(ScheduleError::Day)?;
            if days.contains(&day) {
                return Err(ScheduleError::Day(format!(
                    "{word} is there twice; give each day once"
                )));
            }
            days.push(day);
        }
        match days.is_empty() {
            true => Err(ScheduleError::NoDay),
            false => Ok(Days::Each(days)),
        }
    }

    /// The days of a file, with those of the start and the end of a session that lasts a week.
    ///
    /// # Errors
    /// An unknown word, a day twice, no day, or a day that is missing or too many.
    pub fn of(
        days: &DaysConfig,
        start_day: Option<&str>,
        end_day: Option<&str>,
    ) -> Result<Days, ScheduleError> {
        let read = |word: &str| read_weekday(word).map_err(ScheduleError::Day);
        let refused = |text: &str| Err(ScheduleError::Day(text.to_owned()));
        match (days, start_day, end_day) {
            (DaysConfig::Each(days), None, None) => Days::read(&days.join(" ")),
            (DaysConfig::Each(_), ..) => {
                refused("start_day and end_day are of days = \"week\"; remove them")
            }
            (DaysConfig::Word(word), Some(start), Some(end)) if word == "week" => Ok(Days::Week {
                start: read(start)?,
                end: read(end)?,
            }),
            (DaysConfig::Word(word), ..) if word == "week" => {
                refused("one session a week needs start_day and end_day")
            }
            (DaysConfig::Word(_), ..) => {
                refused("give days, such as [\"SUN\", \"MON\"], or \"week\"")
            }
        }
    }
}

impl Schedule {
    /// Hours in a zone, local; an `end` not after `start` is one of the next day, or for a week of its day.
    ///
    /// # Errors
    /// An unknown zone, a malformed time, or sessions that overlap in a week of the calendars' years.
    pub fn new(
        zone_name: &str,
        start: &str,
        end: &str,
        days: Days,
    ) -> Result<Schedule, ScheduleError> {
        let schedule = Schedule {
            zone: zone(zone_name)?,
            start: read_time(start)?,
            end: read_time(end)?,
            days,
            closed: Vec::new(),
        };
        schedule.overlap()?;
        Ok(schedule)
    }

    /// The same hours, but no session starts on these local dates, each `YYYYMMDD`.
    ///
    /// # Errors
    /// A text that is not a date.
    pub fn without(mut self, closed: &[String]) -> Result<Schedule, ScheduleError> {
        for text in closed {
            let day = Date::strptime("%Y%m%d", text).ok();
            let day = day.filter(|_| text.len() == 8);
            let day = day.ok_or_else(|| ScheduleError::Closed(text.clone()))?;
            self.closed.push(day);
        }
        self.closed.sort_unstable();
        Ok(self)
    }

    /// The session at an instant: the local date of its start. A session has its first instant, and not its end.
    #[must_use]
    pub fn session(&self, at: Timestamp) -> Option<Date> {
        let today = self.zone.to_datetime(at).date();
        let starts = (-WEEK..=1)
            .map(|days| plus(today, days))
            .filter(|day| self.starts_on(*day));
        let mut found = starts.filter(|day| {
            let hours = self.hours(*day);
            hours.is_some_and(|(start, end)| (start..end).contains(&at))
        });
        found.next()
    }

    /// Start and end of the session that starts on a day, local.
    #[must_use]
    pub fn hours(&self, day: Date) -> Option<(Timestamp, Timestamp)> {
        let last = self.ends_on(day);
        let start = instant(&self.zone, day.to_datetime(self.start))?;
        let end = instant(&self.zone, last.to_datetime(self.end))?;
        Some((start, end))
    }

    /// Local date of the end of the session that starts on a day.
    fn ends_on(&self, day: Date) -> Date {
        match &self.days {
            Days::Each(_) if self.end > self.start => day,
            Days::Each(_) => plus(day, 1),
            Days::Week { start, end } => match i32::from(end.since(*start)) {
                0 if self.end <= self.start => plus(day, WEEK),
                days => plus(day, days),
            },
        }
    }

    /// Whether a session lasts a day at most, not a week.
    pub(crate) fn is_of_days(&self) -> bool {
        matches!(self.days, Days::Each(_))
    }

    /// Local date of the last instant of the session that starts on a day.
    pub(crate) fn last_day(&self, day: Date) -> Date {
        let is_midnight = self.end == Time::midnight();
        plus(self.ends_on(day), -i32::from(is_midnight))
    }

    /// Start of the next session after an instant, within a year.
    #[must_use]
    pub fn next(&self, at: Timestamp) -> Option<(Date, Timestamp)> {
        let today = self.zone.to_datetime(at).date();
        let days = (-1..=YEAR)
            .map(|days| plus(today, days))
            .filter(|day| self.starts_on(*day));
        let mut starts = days.filter_map(|day| Some((day, self.hours(day)?.0)));
        starts.find(|(_, start)| *start > at)
    }

    fn starts_on(&self, day: Date) -> bool {
        let is_day = match &self.days {
            Days::Each(days) => days.contains(&day.weekday()),
            Days::Week { start, .. } => day.weekday() == *start,
        };
        is_day && self.closed.binary_search(&day).is_err()
    }

    /// Changes of time can make a session longer, so each week of the years is looked at.
    fn overlap(&self) -> Result<(), ScheduleError> {
        let mut before: Option<(Date, Timestamp)> = None;
        let mut day = date(*YEARS.start(), 1, 1);
        while day.year() <= *YEARS.end() {
            if let Some((start, end)) = self.starts_on(day).then(|| self.hours(day)).flatten() {
                if let Some((first, _)) = before.filter(|(_, end)| *end > start) {
                    return Err(ScheduleError::Overlap { first, second: day });
                }
                before = Some((day, end));
            }
            day = plus(day, 1);
        }
        Ok(())
    }
}

fn read_time(text: &str) -> Result<Time, ScheduleError> {
    let refused = || ScheduleError::Time(text.to_owned());
    let parts: Vec<&str> = text.split(':').collect();
    let is_form = matches!(parts.len(), 2 | 3)
        && parts
            .iter()
            .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_form {
        return Err(refused());
    }
    let number = |at: usize| {
        parts
            .get(at)
            .and_then(|part| part.parse::<i8>().ok())
            .unwrap_or(0)
    };
    Time::new(number(0), number(1), number(2), 0).map_err(|_| refused())
}
