//! `[sessions.schedule]`: hours of a bank's order session, and what the bank does at their end and at a loss of the connection.

use serde::Deserialize;
use touchline_fx::config::AfterLoss;
use touchline_fx_days::{DaysConfig, Hours, HoursKeys};
use touchline_settings::number;

/// Longest time before the end of a session at which its orders are asked for, seconds.
const ASK_BEFORE_S_MAX: u64 = 600;

/// Hours of an order session, and what the bank does at their end. Without `zone`, `start`, `end` and `days` the session is always open.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// Time zone by its IANA name.
    #[serde(default)]
    pub zone: Option<String>,
    /// Local time at which a session starts, `HH:MM[:SS]`.
    #[serde(default)]
    pub start: Option<String>,
    /// Local time at which it ends; of the next day unless it is after `start`.
    #[serde(default)]
    pub end: Option<String>,
    /// Local days on which a session starts, or `"week"`.
    #[serde(default)]
    pub days: Option<DaysConfig>,
    /// Day on which the session of a week starts.
    #[serde(default)]
    pub start_day: Option<String>,
    /// Day on which it ends.
    #[serde(default)]
    pub end_day: Option<String>,
    /// Local dates on which no session starts, `YYYYMMDD`.
    #[serde(default)]
    pub closed: Vec<String>,
    /// When both numbers begin again at 1.
    #[serde(default)]
    pub reset: Option<Reset>,
    /// What becomes of open orders when the connection is lost.
    #[serde(default)]
    pub after_loss: AfterLoss,
    /// Time before the end at which open orders are asked for, with `reset = "session"`, seconds.
    #[serde(default = "number::<_, 10>")]
    pub ask_before_s: u64,
}

/// Policy of the sequence reset of an order session: our Logon then has MsgSeqNum 1 and ResetSeqNumFlag (141=Y).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// Sequence numbers are reset only if the bank resets them: missing messages are requested.
    #[default]
    Never,
    /// With the first Logon of a run that the bank accepts.
    Run,
    /// The same; the word of earlier versions.
    Start,
    /// With the first Logon of a session that the bank accepts.
    Session,
    /// With each Logon: for a bank that resets its numbers whenever it likes.
    Logon,
}

/// Hours of an order session, with the time before their end at which its orders are asked for.
#[derive(Debug, Clone)]
pub(crate) struct OrderHours {
    /// The hours.
    pub hours: Hours,
    /// Time before the end.
    pub ask_before_ns: u64,
}

impl ScheduleConfig {
    fn keys(&self) -> HoursKeys<'_> {
        HoursKeys {
            zone: self.zone.as_deref(),
            start: self.start.as_deref(),
            end: self.end.as_deref(),
            days: self.days.as_ref(),
            week: [self.start_day.as_deref(), self.end_day.as_deref()],
            closed: &self.closed,
        }
    }

    /// Whether the session is closed at some times.
    pub(super) fn has_hours(&self) -> bool {
        self.keys().are_given()
    }

    /// The hours; none if the session is always open.
    ///
    /// # Errors
    /// The key that is wrong, and how to correct it.
    pub(crate) fn hours(&self) -> Result<Option<OrderHours>, (&'static str, String)> {
        if self.ask_before_s > ASK_BEFORE_S_MAX {
            let text = format!("give 0 to {ASK_BEFORE_S_MAX}");
            return Err(("ask_before_s", text));
        }
        let hours = self.keys().read()?;
        Ok(hours.map(|hours| OrderHours {
            hours,
            ask_before_ns: self.ask_before_s * 1_000_000_000,
        }))
    }
}
