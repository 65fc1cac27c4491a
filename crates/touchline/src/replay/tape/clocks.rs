//! Clocks of the hosts whose tapes are merged by time.

use crate::format::counted;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use touchline_journal::records::Clock;

/// Time of the next item of a tape, and the clock that it is of.
#[derive(Clone, Copy)]
pub struct HostTime {
    /// ns since the Unix epoch; `None`: there is no further item.
    pub next_ns: Option<u64>,
    /// Boot of the host; 0 if it is unknown.
    pub boot: u64,
    /// As the recorder has stated it last.
    pub clock: Option<Clock>,
}

/// Counts the items whose order depends on errors of clocks.
#[derive(Default)]
pub struct Clocks {
    /// Items that were nearer to one of another host than the errors of both clocks.
    unsure: u64,
    unknown: u64,
}

impl HostTime {
    /// Largest error of the clock, ns; `None` if it is unknown.
    fn error_ns(&self) -> Option<u64> {
        let clock = self.clock?;
        (clock.state == Clock::SYNCHRONIZED).then_some(u64::from(clock.uncertainty_ns))
    }

    /// Whether the times of both are of one clock.
    fn is_of_host(&self, other: &HostTime) -> bool {
        self.boot != 0 && self.boot == other.boot
    }
}

impl Clocks {
    /// Notes the item of this tape, before it is played.
    pub fn note(&mut self, number: usize, times: impl ExactSizeIterator<Item = HostTime> + Clone) {
        if times.len() < 2 {
            return;
        }
        let Some(item) = times.clone().nth(number) else {
            return;
        };
        let (mut is_unsure, mut is_unknown) = (false, false);
        for other in times.filter(|other| !item.is_of_host(other)) {
            let (Some(ns), Some(other_ns)) = (item.next_ns, other.next_ns) else {
                continue;
            };
            match (item.error_ns(), other.error_ns()) {
                (Some(one), Some(another)) => is_unsure |= ns.abs_diff(other_ns) < one + another,
                _ => is_unknown = true,
            }
        }
        self.unsure += u64::from(is_unsure);
        self.unknown += u64::from(is_unknown);
    }

    /// The clocks of several tapes, a line each, and how sure their order is.
    pub fn summary<'a>(
        &self,
        tapes: impl ExactSizeIterator<Item = (&'a Path, HostTime)> + Clone,
    ) -> String {
        let mut text = String::new();
        if tapes.len() < 2 {
            return text;
        }
        for (path, time) in tapes.clone() {
            let state = match (time.error_ns(), time.clock.map_or(0, |clock| clock.state)) {
                (Some(ns), _) => format!("at most {:?} wrong", Duration::from_nanos(ns)),
                (None, Clock::FREE) => "not synchronized, its error is unknown".to_owned(),
                (None, _) => "its error is not stated".to_owned(),
            };
            let _ = writeln!(text, "clock of {}: {state}", path.display());
        }
        let mut times = tapes.map(|(_, time)| time);
        let first = times.next();
        if times.all(|time| first.is_some_and(|first| first.is_of_host(&time))) {
            text += "the tapes are of one host and one clock\n";
            return text;
        }
        let _ = writeln!(
            text,
            "{} nearer to one of another host than the errors of both clocks, {} beside a clock of unknown error: their order may be wrong",
            counted(self.unsure, "item"),
            self.unknown
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(next_ns: u64, boot: u64, error_ns: Option<u32>) -> HostTime {
        HostTime {
            next_ns: Some(next_ns),
            boot,
            clock: Some(Clock {
                ticks: 0,
                wall_ns: next_ns,
                uncertainty_ns: error_ns.unwrap_or(0),
                state: error_ns.map_or(Clock::FREE, |_| Clock::SYNCHRONIZED),
            }),
        }
    }

    fn noted(times: &[HostTime]) -> (u64, u64) {
        let mut clocks = Clocks::default();
        clocks.note(0, times.iter().copied());
        (clocks.unsure, clocks.unknown)
    }

    /// Only items of different hosts that are nearer than the errors of both clocks may be in another order.
    #[test]
    fn an_order_within_the_errors_of_the_clocks_is_counted() {
        let first = time(1_000, 7, Some(300));
        assert_eq!(noted(&[first]), (0, 0));
        assert_eq!(noted(&[first, time(1_001, 7, Some(300))]), (0, 0));
        assert_eq!(noted(&[first, time(1_599, 8, Some(300))]), (1, 0));
        assert_eq!(noted(&[first, time(1_600, 8, Some(300))]), (0, 0));
        assert_eq!(noted(&[first, time(9_999, 8, None)]), (0, 1));
        let of_unknown_hosts = [time(1_000, 0, Some(1)), time(1_001, 0, Some(1))];
        assert_eq!(noted(&of_unknown_hosts), (1, 0));
    }

    #[test]
    fn the_clock_of_each_tape_is_stated() {
        let tapes = [
            (Path::new("a"), time(1, 7, Some(1_500_000))),
            (Path::new("b"), time(1, 8, None)),
        ];
        let text = Clocks::default().summary(tapes.iter().copied());
        assert!(text.contains("clock of a: at most 1.5ms wrong\n"), "{text}");
        assert!(text.contains("clock of b: not synchronized"), "{text}");
        assert!(text.contains("their order may be wrong"), "{text}");
    }
}
