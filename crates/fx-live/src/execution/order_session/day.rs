//! The day of an order session: whether it is open by its hours, and of which day its numbers are.

use crate::execution::config::{OrderHours, Reset};
use touchline_fx_days::Phase;

/// A turn of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A session starts.
    Open,
    /// Its end is near, behind which the bank's numbers begin again.
    Closing,
    /// No session until a time, nanoseconds since 1970; [`touchline_fx_days::NEVER`] if no further one is known.
    Closed(u64),
}

/// Where in its day a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the first look at the clock.
    Nowhere,
    /// Local date of its start, and its end.
    Open { day: u32, end_ns: u64 },
    /// Until a time.
    Closed(u64),
}

/// The day of an order session. Without hours it is always open.
pub(super) struct Day {
    hours: Option<OrderHours>,
    at: At,
    /// When both numbers begin again.
    pub reset: Reset,
    /// Day of the session whose first Logon the bank accepted; 0: none is known.
    numbered: u32,
    /// The journal has that day.
    is_journaled: bool,
    /// The last connection ended with its session, both sides logged out, and every message of the bank had come.
    pub ended_whole: bool,
    /// Ends of the sessions that the bank ended itself, and whose orders were asked for.
    ended_ns: u64,
    asked_ns: u64,
}

impl Day {
    /// The day at a start; the journal has the day of the numbers.
    pub fn new(hours: Option<OrderHours>, reset: Reset, numbered: u32) -> Day {
        Day {
            hours,
            at: At::Nowhere,
            reset,
            numbered,
            is_journaled: true,
            ended_whole: false,
            ended_ns: 0,
            asked_ns: 0,
        }
    }

    /// The next turn that the wall clock has reached.
    #[inline]
    pub fn turn(&mut self, wall_ns: u64) -> Option<Turn> {
        let hours = self.hours.as_mut()?;
        let phase = match hours.hours.at(wall_ns) {
            // The bank has ended it: what follows is what follows its end.
            Phase::Open { end_ns, .. } if end_ns == self.ended_ns => {
                match hours.hours.clone().at(end_ns) {
                    Phase::Open { .. } => Phase::Closed { until_ns: end_ns },
                    closed @ Phase::Closed { .. } => closed,
                }
            }
            phase => phase,
        };
        let ask_before_ns = hours.ask_before_ns;
        match (self.at, phase) {
            (At::Open { end_ns: open, .. }, Phase::Open { end_ns, .. }) if open == end_ns => {
                let is_near = wall_ns.saturating_add(ask_before_ns) >= end_ns;
                let is_asked = self.reset == Reset::Session && is_near && self.asked_ns != end_ns;
                is_asked.then(|| {
                    self.asked_ns = end_ns;
                    Turn::Closing
                })
            }
            // The next session follows at once: this one ends first.
            (At::Open { .. }, Phase::Open { .. }) => Some(self.close(wall_ns)),
            (_, Phase::Open { day, end_ns }) => {
                self.at = At::Open { day, end_ns };
                Some(Turn::Open)
            }
            (At::Closed(known_ns), Phase::Closed { until_ns }) if known_ns == until_ns => None,
            (_, Phase::Closed { until_ns }) => Some(self.close(until_ns)),
        }
    }

    fn close(&mut self, until_ns: u64) -> Turn {
        self.at = At::Closed(until_ns);
        Turn::Closed(until_ns)
    }

    /// The time until which the session is closed by its hours.
    pub fn closed_until_ns(&self) -> Option<u64> {
        match self.at {
            At::Closed(until_ns) => Some(until_ns),
            At::Nowhere | At::Open { .. } => None,
        }
    }

    /// Whether a session lasts a day: then the bank's day is that of its session.
    pub fn has_days(&self) -> bool {
        let hours = self.hours.as_ref();
        hours.is_some_and(|hours| hours.hours.are_of_days())
    }

    /// Local date of the present session's last instant, and the session's start, if a session lasts a day.
    pub fn bank_day(&self) -> Option<(u32, u64)> {
        let hours = &self.hours.as_ref().filter(|_| self.is_open())?.hours;
        hours.last_day().zip(hours.began_ns())
    }

    /// Whether its orders were asked for before its end, which is near or past.
    pub fn is_closing(&self) -> bool {
        match self.at {
            At::Open { end_ns, .. } => end_ns == self.asked_ns,
            // mutant: execution: messages that are skipped behind our Logout open the bank again
            At::Closed(_) => true,
            At::Nowhere => false,
        }
    }

    /// Whether a connection may be made.
    pub fn is_open(&self) -> bool {
        self.hours.is_none() || matches!(self.at, At::Open { .. })
    }

    /// The bank has logged out. True if that is the end of its session: its clock may be ahead.
    pub fn ends_early(&mut self, wall_ns: u64) -> bool {
        let (At::Open { end_ns, .. }, Some(hours)) = (self.at, &self.hours) else {
            return false;
        };
        let is_end = wall_ns.saturating_add(hours.ask_before_ns) >= end_ns;
        if is_end {
            self.ended_ns = end_ns;
        }
        is_end
    }

    /// Whether both numbers begin again with the next Logon.
    pub fn is_resetting(&self) -> bool {
        match self.reset {
            // mutant: execution: the numbers begin again at every connection of a session
            Reset::Session => matches!(self.at, At::Open { day, .. } if day != self.numbered),
            _ => false,
        }
    }

    /// The bank accepted a Logon.
    pub fn logged_on(&mut self) {
        if self.is_resetting()
            && let At::Open { day, .. } = self.at
        {
            self.numbered = day;
            self.is_journaled = false;
        }
    }

    /// The day of the numbers, once after each change, for the journal.
    pub fn take_unjournaled(&mut self) -> Option<u32> {
        let is_journaled = std::mem::replace(&mut self.is_journaled, true);
        (!is_journaled).then_some(self.numbered)
    }
}
