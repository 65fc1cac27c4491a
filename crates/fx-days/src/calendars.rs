//! Calendars of all currencies: built-in ones, files in their place, and changes of single days.

use crate::calendar::{Calendar, MANUAL, dates, is_currency};
use crate::holidays::CURRENCIES;
use jiff::civil::Date;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use touchline_settings::Mistakes;

/// The roll of pairs with NZD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NzdRoll {
    /// 07:00 in Auckland.
    #[default]
    Auckland,
    /// 17:00 in New York, as all other pairs.
    NewYork,
}

/// Table `[calendars]` of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CalendarsConfig {
    /// File whose table `[calendars]` is taken in place of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Files, each of one currency; a file replaces the built-in calendar.
    pub files: Vec<PathBuf>,
    /// Single days, by currency.
    pub change: BTreeMap<String, ChangeConfig>,
    /// Roll of pairs with NZD.
    pub nzd_roll: NzdRoll,
    /// Whether the spot date of a cross must be good in dollars, too.
    pub cross_usd: bool,
}

impl Default for CalendarsConfig {
    fn default() -> CalendarsConfig {
        CalendarsConfig {
            from: None,
            files: Vec::new(),
            change: BTreeMap::new(),
            nzd_roll: NzdRoll::default(),
            cross_usd: true,
        }
    }
}

/// A file that has a table of calendars, and others.
#[derive(Debug, Default, Deserialize)]
struct WithCalendars {
    #[serde(default)]
    calendars: CalendarsConfig,
}

impl CalendarsConfig {
    /// The table of a file that has others; its paths are from `folder`, that of the file.
    ///
    /// # Errors
    /// Every mistake, with its line.
    pub fn of_file(text: &str, folder: &Path) -> Result<CalendarsConfig, Mistakes> {
        let read = |with: WithCalendars| Ok(with.calendars);
        let mut config = touchline_settings::read(text, &MANUAL, read)?;
        config.starts_at(folder);
        Ok(config)
    }

    /// Resolves relative paths from `folder`, that of the file.
    pub fn starts_at(&mut self, folder: &Path) {
        for file in self.files.iter_mut().chain(&mut self.from) {
            *file = folder.join(&*file);
        }
    }

    /// The table itself, or that of the file that it names; `read` gives the text of a file.
    ///
    /// # Errors
    /// The file has mistakes, or names another one; the table has other keys beside the file.
    pub fn resolved(
        &self,
        mut read: impl FnMut(&Path) -> Result<String, Mistakes>,
    ) -> Result<CalendarsConfig, Mistakes> {
        let Some(file) = &self.from else {
            return Ok(self.clone());
        };
        let alone = CalendarsConfig {
            from: self.from.clone(),
            ..CalendarsConfig::default()
        };
        let mut wrong = Mistakes::default();
        if *self != alone {
            let text = "it takes the place of the whole table; leave the other keys out";
            wrong.section("calendars", "calendars.").push("from", text);
            return Err(wrong);
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let config = CalendarsConfig::of_file(&read(file)?, folder);
        let config = config.map_err(|wrong| wrong.in_file(file))?;
        match config.from {
            None => Ok(config),
            Some(_) => {
                let text = "a file that is named by another one has the calendars itself";
                wrong.section("calendars", "calendars.").push("from", text);
                Err(wrong.in_file(file))
            }
        }
    }
}

/// Single days that a calendar gets or loses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeConfig {
    /// Days that become holidays.
    #[serde(deserialize_with = "dates", serialize_with = "all_digits")]
    pub add: Vec<Date>,
    /// Holidays that become good days.
    #[serde(deserialize_with = "dates", serialize_with = "all_digits")]
    pub remove: Vec<Date>,
}

fn all_digits<S: Serializer>(days: &[Date], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(days.iter().map(|day| crate::digits(*day)))
}

/// Calendars by currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendars {
    of: BTreeMap<String, Calendar>,
}

impl Calendars {
    /// The ten calendars by rule.
    #[must_use]
    pub fn built_in() -> Calendars {
        let of = CURRENCIES.iter().filter_map(|currency| {
            let calendar = Calendar::built_in(currency)?;
            Some(((*currency).to_owned(), calendar))
        });
        Calendars { of: of.collect() }
    }

    /// The built-in calendars with those of files in their place, and the changes of `config`, which [`CalendarsConfig::resolved`] gave;
    /// `read` gives the text of a file.
    ///
    /// # Errors
    /// Every mistake of a file with its name, two files of a currency, and changes of a day that they do not change.
    pub fn of(
        config: &CalendarsConfig,
        mut read: impl FnMut(&Path) -> Result<String, Mistakes>,
    ) -> Result<Calendars, Mistakes> {
        let mut calendars = Calendars::built_in();
        let mut from_files: BTreeMap<String, &PathBuf> = BTreeMap::new();
        for file in &config.files {
            let calendar = Calendar::read(&read(file)?).map_err(|wrong| wrong.in_file(file))?;
            let currency = calendar.currency().to_owned();
            if let Some(other) = from_files.insert(currency.clone(), file) {
                let mut wrong = Mistakes::default();
                let text = format!(
                    "{} has the calendar of {currency} too; leave one of them out",
                    other.display()
                );
                wrong.push("currency", &text);
                return Err(wrong.in_file(file));
            }
            calendars.of.insert(currency, calendar);
        }
        calendars.apply(&config.change)?;
        Ok(calendars)
    }

    /// The calendar of a currency.
    #[must_use]
    pub fn get(&self, currency: &str) -> Option<&Calendar> {
        self.of.get(currency)
    }

    fn apply(&mut self, changes: &BTreeMap<String, ChangeConfig>) -> Result<(), Mistakes> {
        let mut wrong = Mistakes::default();
        for (currency, change) in changes {
            let mut section =
                wrong.section(format!("calendars.change.{currency}"), "calendars.change: ");
            let Some(calendar) = self.of.get_mut(currency) else {
                let fix = match is_currency(currency) {
                    true => "give its calendar in files",
                    false => "a currency has three capital letters",
                };
                section.push_whole(&format!("{currency} has no calendar; {fix}"));
                continue;
            };
            let days = |days: &[Date], is_holiday| -> Vec<(Date, bool)> {
                days.iter().map(|day| (*day, is_holiday)).collect()
            };
            for (day, is_holiday) in [days(&change.add, true), days(&change.remove, false)].concat()
            {
                let key = if is_holiday { "add" } else { "remove" };
                let name = crate::digits(day);
                match calendar.is_good(day) {
                    None => section.push(key, &format!("{name} is a day that the calendar of {currency} does not know; it ends on {}", crate::digits(calendar.until()))),
                    Some(_) if calendar.is_weekend(day) => section.push(key, &format!("{name} is on a weekend of {currency}; leave it out")),
                    Some(is_good) if is_good != is_holiday => {
                        let is = if is_good { "is a good day" } else { "is a holiday" };
                        section.push(key, &format!("{name} {is} of {currency} already; leave it out"));
                    }
                    Some(_) => calendar.change(day, is_holiday),
                }
            }
        }
        wrong.none_or(())
    }
}
