//! Progress of a benchmark, shown between its parts, outside of the measurement: a bar, if standard error is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// The rounds of a benchmark; standard error shows how many are done.
pub fn with_progress<I: Iterator>(rounds: I) -> Rounds<I> {
    rows_with_progress(rounds, "rounds")
}

/// Parts of a benchmark with this name, such as its rows; standard error shows how many are done.
pub fn rows_with_progress<I: Iterator>(rows: I, unit: &'static str) -> Rounds<I> {
    let total = rows.size_hint().0 as u64;
    Rounds {
        rounds: rows,
        progress: Progress::new(total, unit),
        begun: None,
        done: 0,
    }
}

/// As many rounds as begin within this time; standard error shows how much of it is over.
pub fn rounds_within(limit: Duration) -> Rounds<impl Iterator<Item = u32>> {
    let begun = Instant::now();
    Rounds {
        rounds: (0..).take_while(move |_| begun.elapsed() < limit),
        progress: Progress::new(limit.as_secs(), SECONDS),
        begun: Some(begun),
        done: 0,
    }
}

/// Unit of a benchmark that ends with its time.
pub const SECONDS: &str = "s";

/// Rounds that show their progress.
pub struct Rounds<I> {
    rounds: I,
    progress: Progress,
    /// Of rounds that end with their time, which is their progress.
    begun: Option<Instant>,
    done: u64,
}

impl<I: Iterator> Iterator for Rounds<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.rounds.next()?;
        let elapsed = self.begun.map(|begun| begun.elapsed().as_secs());
        self.progress.at(elapsed.unwrap_or(self.done));
        self.done += 1;
        Some(next)
    }
}

/// Progress of a part of a benchmark; the bar disappears at the end.
pub struct Progress {
    bar: ProgressBar,
    total: u64,
    /// Parts with which the bar is drawn next: most calls only compare two numbers.
    next: u64,
}

impl Progress {
    /// Of this many parts with this name.
    pub fn new(total: u64, unit: &'static str) -> Progress {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let template = match unit {
            SECONDS => "{bar:30} {pos} of {len} s".to_owned(),
            _ => format!("{{bar:30}} {{human_pos}} of {{human_len}} {unit}, {{eta}} left"),
        };
        let style = ProgressStyle::with_template(&template).expect("the template is right");
        Progress {
            bar: ProgressBar::with_draw_target(Some(total), target).with_style(style),
            total,
            next: 0,
        }
    }

    /// This many parts are done.
    pub fn at(&mut self, done: u64) {
        /// Steps of the bar at most.
        const STEPS: u64 = 1_000;
        if done < self.next {
            return;
        }
        self.next = done + (self.total / STEPS).max(1);
        self.bar.set_position(done);
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_within_a_time_end_with_it() {
        let limit = Duration::from_millis(20);
        let begun = Instant::now();
        assert!(rounds_within(limit).count() > 0 && begun.elapsed() >= limit);
        assert_eq!(rounds_within(Duration::ZERO).count(), 0);
    }

    #[test]
    fn all_rounds_are_given_in_order() {
        assert_eq!(with_progress(3..7_u32).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(with_progress(0..0_u64).count(), 0);
    }

    #[test]
    fn a_part_of_many_steps_is_drawn_a_thousand_times() {
        let mut progress = Progress::new(1_000_000, "events");
        let shown = (0..1_000_000).filter(|done| {
            progress.at(*done);
            progress.next == done + 1_000
        });
        assert_eq!(shown.count(), 1_000);
    }
}
