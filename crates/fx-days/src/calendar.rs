//! Calendar of one currency: the days on which a payment in it can be made.

use crate::holidays::{self, YEARS};
use jiff::civil::{Date, Weekday, date};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::BTreeSet;
use touchline_settings::{Manual, Mistakes};

/// Days on which a payment in a currency can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    currency: String,
    weekend: Vec<Weekday>,
    holidays: BTreeSet<Date>,
    /// First and last day that the calendar knows.
    from: Date,
    until: Date,
}

/// Calendar of a currency as a file, which replaces the built-in one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalendarFile {
    currency: String,
    /// Days of the week without payments: SAT and SUN if absent.
    #[serde(default = "saturday_and_sunday", deserialize_with = "weekdays")]
    weekend: Vec<Weekday>,
    /// Last day that the list is for.
    #[serde(deserialize_with = "one_date")]
    until: Date,
    /// Holidays, in ascending order.
    #[serde(deserialize_with = "dates")]
    holidays: Vec<Date>,
}

pub(crate) const MANUAL: Manual<'_> = Manual::page("docs/fx/days.md");

impl Calendar {
    /// The calendar by rule; `None` for a currency without rules.
    #[must_use]
    pub fn built_in(currency: &str) -> Option<Calendar> {
        let years = YEARS.map(|year| holidays::holidays(currency, year));
        let holidays = years.collect::<Option<Vec<_>>>()?;
        Some(Calendar {
            currency: currency.to_owned(),
            weekend: saturday_and_sunday(),
            holidays: holidays.into_iter().flatten().collect(),
            from: date(*YEARS.start(), 1, 1),
            until: date(*YEARS.end(), 12, 31),
        })
    }

    /// A calendar from the text of a file.
    ///
    /// # Errors
    /// Every mistake, with its line.
    pub fn read(text: &str) -> Result<Calendar, Mistakes> {
        touchline_settings::read(text, &MANUAL, CalendarFile::checked)
    }

    /// The currency, three capital letters.
    #[must_use]
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Last day that the calendar knows.
    #[must_use]
    pub fn until(&self) -> Date {
        self.until
    }

    /// Whether the calendar knows all days of a year.
    #[must_use]
    pub fn knows(&self, year: i16) -> bool {
        self.from.year() <= year && date(year, 12, 31) <= self.until
    }

    /// Whether a payment can be made; `None` on a day that the calendar does not know.
    #[must_use]
    pub fn is_good(&self, day: Date) -> Option<bool> {
        let is_known = (self.from..=self.until).contains(&day);
        let is_good = !self.is_weekend(day) && !self.holidays.contains(&day);
        is_known.then_some(is_good)
    }

    /// Whether this day of the week has no payments.
    #[must_use]
    pub fn is_weekend(&self, day: Date) -> bool {
        self.weekend.contains(&day.weekday())
    }

    /// Holidays of a year, ascending, as far as the calendar knows them; days of a weekend are not among those by rule.
    pub fn holidays(&self, year: i16) -> impl Iterator<Item = Date> {
        self.holidays
            .range(date(year, 1, 1)..=date(year, 12, 31))
            .copied()
    }

    /// Adds a holiday, or makes one a good day.
    pub(crate) fn change(&mut self, day: Date, is_holiday: bool) {
        match is_holiday {
            true => self.holidays.insert(day),
            false => self.holidays.remove(&day),
        };
    }
}

impl CalendarFile {
    fn checked(self) -> Result<Calendar, Mistakes> {
        let mut wrong = Mistakes::default();
        if !is_currency(&self.currency) {
            wrong.push("currency", "it has three capital letters, such as MXN");
        }
        if self.weekend.len() > 6 {
            wrong.push("weekend", "no day of the week is left; give at most six");
        }
        for pair in self.holidays.windows(2).filter(|pair| pair[0] >= pair[1]) {
            let [before, after] = [pair[0], pair[1]].map(crate::digits);
            let text =
                format!("{after} stands behind {before}; give each day once, in ascending order");
            wrong.push("holidays", &text);
        }
        if let Some(last) = self.holidays.last().filter(|last| **last > self.until) {
            let text = format!(
                "{} is after until = {}; move until",
                crate::digits(*last),
                crate::digits(self.until)
            );
            wrong.push("holidays", &text);
        }
        wrong.none_or(Calendar {
            currency: self.currency,
            weekend: self.weekend,
            holidays: self.holidays.into_iter().collect(),
            from: Date::MIN,
            until: self.until,
        })
    }
}

/// Whether a text is the code of a currency by its form.
pub(crate) fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A date `YYYYMMDD`.
pub(crate) fn read_date(text: &str) -> Result<Date, String> {
    let is_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let read = is_digits
        .then(|| Date::strptime("%Y%m%d", text).ok())
        .flatten();
    read.ok_or_else(|| format!("{text:?} is not a date; write YYYYMMDD, such as 20261225"))
}

/// A day of the week by three capital letters.
pub(crate) fn read_weekday(text: &str) -> Result<Weekday, String> {
    let found = WEEKDAYS.iter().find(|(name, _)| *name == text);
    found.map(|(_, weekday)| *weekday).ok_or_else(|| {
        let names: Vec<&str> = WEEKDAYS.iter().map(|(name, _)| *name).collect();
        format!(
            "{text:?} is not a day of the week; write one of {}",
            names.join(", ")
        )
    })
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("MON", Weekday::Monday),
    ("TUE", Weekday::Tuesday),
    ("WED", Weekday::Wednesday),
    ("THU", Weekday::Thursday),
    ("FRI", Weekday::Friday),
    ("SAT", Weekday::Saturday),
    ("SUN", Weekday::Sunday),
];

fn saturday_and_sunday() -> Vec<Weekday> {
    vec![Weekday::Saturday, Weekday::Sunday]
}

fn one_date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    let text = String::deserialize(deserializer)?;
    read_date(&text).map_err(D::Error::custom)
}

pub(crate) fn dates<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Date>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let dates: Result<Vec<Date>, String> = texts.iter().map(|text| read_date(text)).collect();
    dates.map_err(D::Error::custom)
}

fn weekdays<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Weekday>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let days: Result<Vec<Weekday>, String> = texts.iter().map(|text| read_weekday(text)).collect();
    days.map_err(D::Error::custom)
}
