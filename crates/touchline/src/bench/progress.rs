//! Progress of a benchmark, shown between its rounds, outside of the measurement: a bar on a terminal, else lines.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// A benchmark that takes longer says how far it is, this often.
const EACH: Duration = Duration::from_secs(5);

/// The rounds of a benchmark; standard error shows how many are done.
pub fn with_progress<I: Iterator>(rounds: I) -> Rounds<I> {
    let total = rounds.size_hint().0 as u64;
    Rounds::new(rounds, total, Unit::Rounds)
}

/// As many rounds as begin within this time; standard error shows how much of it is over.
pub fn rounds_within(limit: Duration) -> Rounds<impl Iterator<Item = u32>> {
    let begun = Instant::now();
    let rounds = (0..).take_while(move |_| begun.elapsed() < limit);
    Rounds::new(rounds, limit.as_secs(), Unit::Seconds)
}

/// Rounds that show their progress.
pub struct Rounds<I> {
    rounds: I,
    unit: Unit,
    bar: ProgressBar,
    /// In place of the bar.
    lines: Option<Lines>,
    begun: Instant,
    done: u64,
}

/// Unit of the progress.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Rounds,
    Seconds,
}

impl<I> Rounds<I> {
    fn new(rounds: I, total: u64, unit: Unit) -> Rounds<I> {
        let is_terminal = std::io::stderr().is_terminal();
        let target = match is_terminal {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let template = match unit {
            Unit::Rounds => "{bar:30} {pos} of {len} rounds, {eta} left",
            Unit::Seconds => "{bar:30} {pos} of {len} s",
        };
        let style = ProgressStyle::with_template(template).expect("the template is right");
        Rounds {
            rounds,
            unit,
            bar: ProgressBar::with_draw_target(Some(total), target).with_style(style),
            lines: (!is_terminal).then(|| Lines::new(total, unit)),
            begun: Instant::now(),
            done: 0,
        }
    }
}

impl<I: Iterator> Iterator for Rounds<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.rounds.next();
        if next.is_none() {
            self.bar.finish_and_clear();
            return None;
        }
        let elapsed = self.begun.elapsed();
        let done = match self.unit {
            Unit::Rounds => self.done,
            Unit::Seconds => elapsed.as_secs(),
        };
        self.bar.set_position(done);
        self.bar.tick();
        let lines = self.lines.as_mut();
        if let Some(line) = lines.and_then(|lines| lines.next(done, elapsed)) {
            eprintln!("{line}");
        }
        self.done += 1;
        next
    }
}

/// Lines for a file or a pipe.
struct Lines {
    total: u64,
    unit: Unit,
    /// Time of the last line.
    told: Duration,
}

impl Lines {
    fn new(total: u64, unit: Unit) -> Lines {
        Lines {
            total,
            unit,
            told: Duration::ZERO,
        }
    }

    /// The next line, behind this number of rounds and this time, if one is due.
    fn next(&mut self, done: u64, elapsed: Duration) -> Option<String> {
        if done == 0 || elapsed < self.told + EACH {
            return None;
        }
        self.told = elapsed;
        let left = elapsed.as_secs_f64() * self.total.saturating_sub(done) as f64 / done as f64;
        let (total, elapsed) = (self.total, elapsed.as_secs());
        Some(match self.unit {
            Unit::Rounds => {
                format!("{done} of {total} rounds in {elapsed} s, about {left:.0} s left")
            }
            Unit::Seconds => format!("{done} of {total} s"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_takes_longer_than_five_seconds_says_how_far_it_is() {
        let mut lines = Lines::new(10, Unit::Rounds);
        let mut at = |done, ms| lines.next(done, Duration::from_millis(ms));
        assert_eq!(at(0, 6_000), None, "nothing is known of the rounds yet");
        assert_eq!(at(1, 4_999), None);
        let line = at(2, 5_000);
        assert_eq!(
            line.as_deref(),
            Some("2 of 10 rounds in 5 s, about 20 s left")
        );
        assert_eq!(at(3, 9_999), None);
        let line = at(5, 10_000);
        assert_eq!(
            line.as_deref(),
            Some("5 of 10 rounds in 10 s, about 10 s left")
        );
    }

    #[test]
    fn rounds_within_a_time_end_with_it() {
        let limit = Duration::from_millis(20);
        let begun = Instant::now();
        assert!(rounds_within(limit).count() > 0 && begun.elapsed() >= limit);
        assert_eq!(rounds_within(Duration::ZERO).count(), 0);
        let mut lines = Lines::new(60, Unit::Seconds);
        let line = lines.next(5, Duration::from_millis(5_010));
        assert_eq!(line.as_deref(), Some("5 of 60 s"));
    }

    #[test]
    fn all_rounds_are_given_in_order() {
        assert_eq!(with_progress(3..7_u32).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(with_progress(0..0_u64).count(), 0);
    }
}
