//! The day of a session with a venue: whether it is open by its hours.

use touchline_fx_days::{Hours, Phase};

/// Time before the end of a session in which its end by the venue is that of the day: the clocks of both differ.
const EARLY_NS: u64 = 10_000_000_000;

/// The day of a session. Without hours it is always open.
#[derive(Debug, Default)]
pub struct Day {
    hours: Option<Hours>,
    /// End of the session that is open; none while it is closed.
    open_until_ns: Option<u64>,
    /// Start of the next session, while it is closed.
    closed_until_ns: Option<u64>,
    /// End of the last session that the venue ended itself.
    ended_ns: u64,
}

impl Day {
    /// A day with these hours.
    pub fn new(hours: Option<Hours>) -> Day {
        Day {
            hours,
            ..Day::default()
        }
    }

    /// The turn that the wall clock has reached, if it is another one than at the last call: open, or closed until a time.
    pub fn turn(&mut self, wall_ns: u64) -> Option<Option<u64>> {
        let hours = self.hours.as_mut()?;
        let was_open = self.open_until_ns.take();
        let closed = match hours.at(wall_ns) {
            Phase::Open { end_ns, .. } if end_ns == self.ended_ns => match hours.clone().at(end_ns)
            {
                Phase::Open { .. } => Some(end_ns),
                Phase::Closed { until_ns } => Some(until_ns),
            },
            // The next session follows at once: this one ends first.
            // mutant: gateway: a session that another one follows at once does not end
            Phase::Open { end_ns, .. } if was_open.is_some_and(|open_ns| open_ns != end_ns) => {
                Some(wall_ns)
            }
            Phase::Open { end_ns, .. } => {
                self.open_until_ns = Some(end_ns);
                None
            }
            Phase::Closed { until_ns } => Some(until_ns),
        };
        let was = std::mem::replace(&mut self.closed_until_ns, closed);
        (closed != was).then_some(closed)
    }

    /// Whether the session was open at the last call of [`Day::turn`].
    pub fn was_open(&self) -> bool {
        self.open_until_ns.is_some()
    }

    /// Whether the session is closed.
    pub fn is_closed(&self) -> bool {
        self.closed_until_ns.is_some()
    }

    /// The venue has ended the session: near its end that is the end of the day.
    pub fn ends_early(&mut self, wall_ns: u64) {
        if let Some(Phase::Open { end_ns, .. }) = self.hours.as_mut().map(|hours| hours.at(wall_ns))
            && wall_ns.saturating_add(EARLY_NS) >= end_ns
        {
            self.ended_ns = end_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx_days::{Days, Schedule};

    /// Monday, 5 January 2026, 22:00 UTC: 17:00 in New York.
    const END_NS: u64 = 1_767_650_400_000_000_000;
    const SECOND_NS: u64 = 1_000_000_000;

    fn day(start: &str) -> Day {
        let days = Days::read("SUN MON TUE WED THU").expect("days");
        let schedule = Schedule::new("America/New_York", start, "17:00", days).expect("hours");
        Day::new(Some(Hours::new(schedule)))
    }

    #[test]
    fn a_session_is_closed_between_its_end_and_the_next_start() {
        let mut day = day("17:04");
        let start_ns = END_NS + 240 * SECOND_NS;
        assert_eq!(day.turn(END_NS - 1), None);
        assert_eq!(day.turn(END_NS), Some(Some(start_ns)));
        assert_eq!(day.turn(start_ns - 1), None);
        assert!(day.is_closed());
        assert_eq!(day.turn(start_ns), Some(None));
        assert!(!day.is_closed());
    }

    #[test]
    fn a_session_that_another_one_follows_at_once_ends_first() {
        let mut day = day("17:00");
        assert_eq!(day.turn(END_NS - 1), None);
        assert_eq!(day.turn(END_NS), Some(Some(END_NS)));
        assert!(day.is_closed());
        assert_eq!(day.turn(END_NS + 1), Some(None));
        assert_eq!(day.turn(END_NS + 2), None);
        // The venue ends it itself: the next one begins at the end.
        let end_ns = END_NS + 86_400 * SECOND_NS;
        day.ends_early(end_ns - SECOND_NS);
        assert_eq!(day.turn(end_ns - SECOND_NS), Some(Some(end_ns)));
        assert_eq!(day.turn(end_ns), Some(None));
        assert_eq!(day.turn(end_ns + 1), None);
    }

    #[test]
    fn an_end_of_the_venue_counts_as_that_of_the_day_near_the_end_alone() {
        let mut day = day("17:04");
        day.ends_early(END_NS - 11 * SECOND_NS);
        assert_eq!(day.turn(END_NS - 11 * SECOND_NS), None);
        day.ends_early(END_NS - 10 * SECOND_NS);
        let closed = Some(Some(END_NS + 240 * SECOND_NS));
        assert_eq!(day.turn(END_NS - 10 * SECOND_NS), closed);
        assert_eq!(day.turn(END_NS), None, "the next start is the same");
    }
}
