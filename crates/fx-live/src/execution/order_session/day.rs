//! The day of an order session: whether it is open by its hours, and of which day its numbers are.

use crate::execution::config::{OrderHours, Reset};
use touchline_fx_days::Phase;
use touchline_types::ReceiveTime;

/// A turn of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A session starts, or the clock was set back from its end.
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
    /// The orders of the last session were asked for, and each last look was over before its end.
    pub are_looks_over: bool,
    /// End of the session that the bank ended itself.
    ended_ns: u64,
    asked: Asked,
}

/// The question for the orders of a session before its end.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    /// That end.
    end_ns: u64,
    /// Time of the question, by the host's clock: the wall clock may be set behind it.
    mono_ns: u64,
}

impl Asked {
    /// Whether it was asked in the session with this end, and a last look of an order that was sent before it is over.
    fn is_over(&self, end_ns: u64, mono_ns: u64, answer_ns: u64) -> bool {
        // mutant: execution: a session ends whole without the question for its orders
        self.end_ns == end_ns && mono_ns.saturating_sub(self.mono_ns) >= answer_ns
    }
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
            are_looks_over: false,
            ended_ns: 0,
            asked: Asked::default(),
        }
    }

    /// The next turn that the wall clock has reached. A last look of the bank is over after `answer_ns`.
    #[inline]
    pub fn turn(&mut self, time: ReceiveTime, answer_ns: u64) -> Option<Turn> {
        let hours = self.hours.as_mut()?;
        let mut phase = hours.hours.at(time.wall_ns);
        let (mut is_near, mut is_set_back) = (false, false);
        if let Phase::Open { end_ns, .. } = phase {
            is_near = time.wall_ns.saturating_add(hours.ask_before_ns) >= end_ns;
            // What the clock took for the end before it was set back was not the end: the bank gets orders again.
            // mutant: execution: a bank gets no orders after a fast clock was corrected
            if !is_near && self.asked.end_ns == end_ns {
                (self.asked, is_set_back) = (Asked::default(), true);
            }
            if !is_near && self.ended_ns == end_ns {
                self.ended_ns = 0;
            }
            // The bank has ended it: what follows is what follows its end.
            if end_ns == self.ended_ns {
                phase = match hours.hours.clone().at(end_ns) {
                    Phase::Open { .. } => Phase::Closed { until_ns: end_ns },
                    closed @ Phase::Closed { .. } => closed,
                };
            }
        }
        match (self.at, phase) {
            (At::Open { end_ns: open, .. }, Phase::Open { end_ns, .. }) if open == end_ns => {
                let is_due = self.reset == Reset::Session && is_near;
                if is_due && self.asked.end_ns != end_ns {
                    let mono_ns = time.mono_ns;
                    self.asked = Asked { end_ns, mono_ns };
                    return Some(Turn::Closing);
                }
                is_set_back.then_some(Turn::Open)
            }
            // The next session follows at once: this one ends first.
            (At::Open { .. }, Phase::Open { .. }) => {
                Some(self.close(time.wall_ns, time, answer_ns))
            }
            (_, Phase::Open { day, end_ns }) => {
                self.at = At::Open { day, end_ns };
                Some(Turn::Open)
            }
            (At::Closed(known_ns), Phase::Closed { until_ns }) if known_ns == until_ns => None,
            (_, Phase::Closed { until_ns }) => Some(self.close(until_ns, time, answer_ns)),
        }
    }

    fn close(&mut self, until_ns: u64, time: ReceiveTime, answer_ns: u64) -> Turn {
        if let At::Open { end_ns, .. } = self.at {
            self.are_looks_over = self.asked.is_over(end_ns, time.mono_ns, answer_ns);
        }
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
            At::Open { end_ns, .. } => end_ns == self.asked.end_ns,
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
    pub fn ends_early(&mut self, time: ReceiveTime, answer_ns: u64) -> bool {
        let (At::Open { end_ns, .. }, Some(hours)) = (self.at, &self.hours) else {
            return false;
        };
        let is_end = time.wall_ns.saturating_add(hours.ask_before_ns) >= end_ns;
        if is_end {
            self.ended_ns = end_ns;
            self.are_looks_over = self.asked.is_over(end_ns, time.mono_ns, answer_ns);
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
