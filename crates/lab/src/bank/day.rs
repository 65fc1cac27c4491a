//! The day of a simulated bank: its hours, and what it forgets at their end and at a loss of the order session.

use serde::{Deserialize, Serialize};
use touchline_fx_days::{DaysConfig, Hours, HoursKeys, Phase};

/// The day of a bank: `[banks.day]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DayConfig {
    /// Time zone by its IANA name.
    pub zone: String,
    /// Local time at which a session starts, `HH:MM[:SS]`.
    pub start: String,
    /// Local time at which it ends; of the next day unless it is after `start`.
    pub end: String,
    /// Local days on which a session starts, such as `["SUN", "MON"]`.
    pub days: Vec<String>,
    /// Its holidays: local dates on which no session starts, `YYYYMMDD`.
    #[serde(default)]
    pub closed: Vec<String>,
    /// What becomes of the numbers of the order session at the end.
    #[serde(default)]
    pub numbers: NumbersAtEnd,
    /// Whether a lost order session ends its open orders; the desk answers no question then.
    #[serde(default)]
    pub drops_orders: bool,
}

/// Numbers of the order session behind the end of a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumbersAtEnd {
    /// They go on.
    #[default]
    Keep,
    /// They begin at 1, without ResetSeqNumFlag (141).
    Begin,
}

impl DayConfig {
    /// The hours.
    ///
    /// # Errors
    /// The key that is wrong, and how to correct it.
    pub fn hours(&self) -> Result<Hours, (&'static str, String)> {
        let days = DaysConfig::Each(self.days.clone());
        let keys = HoursKeys {
            zone: Some(&self.zone),
            start: Some(&self.start),
            end: Some(&self.end),
            days: Some(&days),
            week: [None, None],
            closed: &self.closed,
        };
        let hours = keys.read()?;
        Ok(hours.expect("zone, start, end and days are given"))
    }

    /// The hours as a client's configuration has them, in this table.
    pub fn schedule(&self, table: &str) -> String {
        let DayConfig {
            zone,
            start,
            end,
            days,
            closed,
            ..
        } = self;
        format!(
            "\n[{table}]\nzone = {zone:?}\nstart = {start:?}\nend = {end:?}\ndays = {days:?}\nclosed = {closed:?}\n"
        )
    }
}

/// Whether a bank is open; one without a day always is.
#[derive(Debug, Default)]
pub(super) struct Day {
    hours: Option<Hours>,
    is_closed: bool,
}

impl Day {
    /// The day of a checked configuration.
    pub fn new(config: Option<&DayConfig>) -> Day {
        let hours = config.map(|day| day.hours().expect("the configuration was checked"));
        Day {
            hours,
            is_closed: false,
        }
    }

    /// Whether the bank is closed now.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Looks at the bank's clock. True: the bank has just closed.
    pub fn closes(&mut self, wall_ns: u64) -> bool {
        let Some(hours) = &mut self.hours else {
            return false;
        };
        let is_closed = matches!(hours.at(wall_ns), Phase::Closed { .. });
        let was_closed = std::mem::replace(&mut self.is_closed, is_closed);
        is_closed && !was_closed
    }
}
