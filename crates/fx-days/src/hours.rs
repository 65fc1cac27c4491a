//! Whether a session is open, by the wall clock: computed at a change, and a comparison of two numbers in between.

use crate::{Days, DaysConfig, Schedule, ScheduleError, number};
use jiff::Timestamp;

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

/// A session at an instant, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A session has started, and not ended.
    Open {
        /// Local date of its start, `YYYYMMDD`.
        day: u32,
        /// Its end.
        end_ns: u64,
    },
    /// No session.
    Closed {
        /// Start of the next one; [`NEVER`] if none follows within a year.
        until_ns: u64,
    },
}

/// The hours of a session, asked at every instant.
#[derive(Debug, Clone)]
pub struct Hours {
    schedule: Schedule,
    phase: Phase,
    /// The phase is that of the instants from the first to before the second.
    of_ns: (u64, u64),
    /// Local date of the last instant of the session.
    last_day: Option<u32>,
}

impl Hours {
    /// The hours of a schedule.
    #[must_use]
    pub fn new(schedule: Schedule) -> Hours {
        Hours {
            schedule,
            phase: Phase::Closed { until_ns: 0 },
            of_ns: (0, 0),
            last_day: None,
        }
    }

    /// Whether a session lasts a day at most, not a week.
    #[must_use]
    pub fn are_of_days(&self) -> bool {
        self.schedule.is_of_days()
    }

    /// Local date of the last instant of the session at the last instant that was asked for, `YYYYMMDD`: no other session of a day has
    /// it. None if there is no session, or if it lasts a week.
    #[must_use]
    pub fn last_day(&self) -> Option<u32> {
        self.last_day
    }

    /// Start of the session of the last instant, nanoseconds since 1970, if it was in one.
    pub fn began_ns(&self) -> Option<u64> {
        matches!(self.phase, Phase::Open { .. }).then_some(self.of_ns.0)
    }

    /// The phase at an instant of the wall clock, which may have been set back.
    #[inline]
    pub fn at(&mut self, wall_ns: u64) -> Phase {
        let (from_ns, until_ns) = self.of_ns;
        if wall_ns < from_ns || wall_ns >= until_ns {
            self.find(wall_ns);
        }
        self.phase
    }

    #[cold]
    fn find(&mut self, wall_ns: u64) {
        let found = Timestamp::from_nanosecond(i128::from(wall_ns)).ok();
        let hours = found.and_then(|at| {
            let day = self.schedule.session(at)?;
            Some((day, self.schedule.hours(day)?))
        });
        self.last_day = None;
        (self.phase, self.of_ns) = match hours {
            Some((day, (start, end))) => {
                let (start_ns, end_ns) = (nanoseconds(start), nanoseconds(end));
                if self.are_of_days() {
                    self.last_day = Some(number(self.schedule.last_day(day)));
                }
                let day = number(day);
                (Phase::Open { day, end_ns }, (start_ns, end_ns))
            }
            None => {
                let next = found.and_then(|at| self.schedule.next(at));
                let until_ns = next.map_or(NEVER, |(_, start)| nanoseconds(start));
                (Phase::Closed { until_ns }, (wall_ns, until_ns))
            }
        };
    }
}

/// Keys of a configuration that state hours. Without `zone`, `start`, `end` and `days` a session is always open.
#[derive(Debug, Clone, Copy)]
pub struct HoursKeys<'a> {
    /// Time zone by its IANA name.
    pub zone: Option<&'a str>,
    /// Local time at which a session starts.
    pub start: Option<&'a str>,
    /// Local time at which it ends.
    pub end: Option<&'a str>,
    /// Days on which it starts.
    pub days: Option<&'a DaysConfig>,
    /// Day on which the session of a week starts, and on which it ends.
    pub week: [Option<&'a str>; 2],
    /// Local dates on which no session starts, `YYYYMMDD`.
    pub closed: &'a [String],
}

impl HoursKeys<'_> {
    /// Whether the session is closed at some times.
    #[must_use]
    pub fn are_given(&self) -> bool {
        self.zone.is_some() || self.start.is_some() || self.end.is_some() || self.days.is_some()
    }

    /// The hours; none if the session is always open.
    ///
    /// # Errors
    /// The key that is wrong, and how to correct it.
    pub fn read(&self) -> Result<Option<Hours>, (&'static str, String)> {
        let [start_day, end_day] = self.week;
        if !self.are_given() {
            let key = match self.week {
                [None, None] if self.closed.is_empty() => return Ok(None),
                [None, None] => "closed",
                _ => "start_day",
            };
            return Err((key, "it needs zone, start, end and days".to_owned()));
        }
        let (Some(zone), Some(start), Some(end), Some(days)) =
            (self.zone, self.start, self.end, self.days)
        else {
            let text = "hours need zone, start, end and days: give all four, or none".to_owned();
            return Err(("zone", text));
        };
        let schedule = Days::of(days, start_day, end_day)
            .and_then(|days| Schedule::new(zone, start, end, days))
            .and_then(|schedule| schedule.without(self.closed));
        let schedule = schedule.map_err(|error| {
            let key = match &error {
                ScheduleError::Zone(_) => "zone",
                ScheduleError::Time(text) if text == start => "start",
                ScheduleError::Time(_) | ScheduleError::Overlap { .. } => "end",
                ScheduleError::Day(_) | ScheduleError::NoDay => "days",
                ScheduleError::Closed(_) => "closed",
            };
            (key, error.to_string())
        })?;
        Ok(Some(Hours::new(schedule)))
    }
}

fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}

/// An instant in UTC as text, to the second.
#[must_use]
pub fn utc(at_ns: u64) -> String {
    match Timestamp::from_nanosecond(i128::from(at_ns)) {
        Ok(at) if at_ns != NEVER => at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        _ => "further notice".to_owned(),
    }
}
