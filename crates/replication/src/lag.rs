//! Distance of a copy from its journal: the log reports when the copy falls behind and when it has caught up; the
//! counters show how long it has been behind.

use std::collections::VecDeque;

/// Bytes above which a copy is behind; the alerts have the same number.
const BEHIND_BYTES: u64 = 1 << 20;
/// Bytes below which a copy has caught up. Between the two limits the state stays, so that a copy at the limit does not
/// log a line for each record.
const CAUGHT_UP_BYTES: u64 = 256 << 10;
/// Resolution of ages.
const GRAIN_NS: u64 = 10_000_000;
/// Most marks: they cover ages of ten minutes and more. A greater age is reported too small.
const MARKS_MAX: usize = 65_536;

/// A change that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    FellBehind,
    CaughtUp,
}

/// Whether a copy is behind.
#[derive(Debug, Default)]
pub struct Lag {
    is_behind: bool,
}

impl Lag {
    /// Updates the state with the present distance.
    pub fn change(&mut self, lag_bytes: u64) -> Option<Change> {
        let limit = if self.is_behind {
            CAUGHT_UP_BYTES
        } else {
            BEHIND_BYTES
        };
        let is_behind = lag_bytes > limit;
        if is_behind == self.is_behind {
            return None;
        }
        self.is_behind = is_behind;
        Some(match is_behind {
            true => Change::FellBehind,
            false => Change::CaughtUp,
        })
    }
}

/// Times at which the end of a journal passed positions.
#[derive(Debug, Default)]
pub struct Ages {
    /// Position, and the time at which the first byte after the previous mark was seen; both ascend.
    marks: VecDeque<(u64, u64)>,
}

impl Ages {
    /// Notes the present end of the journal.
    pub fn seen(&mut self, end: u64, now_ns: u64) {
        match self.marks.back_mut() {
            Some((position, _)) if *position >= end => {}
            Some((position, seen_ns)) if now_ns < *seen_ns + GRAIN_NS => *position = end,
            _ => {
                if self.marks.len() == MARKS_MAX {
                    self.marks.pop_front();
                }
                self.marks.push_back((end, now_ns));
            }
        }
    }

    /// Time since the first byte after a position was seen; 0: there is no such byte. Positions ascend.
    pub fn age_ns(&mut self, position: u64, now_ns: u64) -> u64 {
        while self
            .marks
            .front()
            .is_some_and(|(mark, _)| *mark <= position)
        {
            self.marks.pop_front();
        }
        let first = self.marks.front();
        first.map_or(0, |(_, seen_ns)| now_ns.saturating_sub(*seen_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_at_a_limit_changes_once() {
        let mut lag = Lag::default();
        let mut changes = |distances: &[u64]| -> Vec<Change> {
            let changes = distances.iter().map(|bytes| lag.change(*bytes));
            changes.flatten().collect()
        };
        assert_eq!(changes(&[0, 4_096, BEHIND_BYTES]), []);
        let around = [BEHIND_BYTES + 1, BEHIND_BYTES - 1, BEHIND_BYTES + 1];
        assert_eq!(changes(&around), [Change::FellBehind]);
        let around = [CAUGHT_UP_BYTES + 1, CAUGHT_UP_BYTES, CAUGHT_UP_BYTES + 1];
        assert_eq!(changes(&around), [Change::CaughtUp]);
        assert_eq!(changes(&[0, BEHIND_BYTES]), []);
        assert_eq!(changes(&[u64::MAX]), [Change::FellBehind]);
    }

    /// The age is the age of the oldest missing byte: a copy at a constant delay behind a growing journal has that
    /// delay as its age, not the age of the first record.
    #[test]
    fn an_age_is_that_of_the_oldest_missing_byte() {
        const MS: u64 = 1_000_000;
        let mut ages = Ages::default();
        assert_eq!(ages.age_ns(0, 5), 0);
        for ms in 0..1_000 {
            ages.seen(4_096 * (ms + 1), ms * MS);
            // 50 ms behind.
            let age_ns = ages.age_ns(4_096 * (ms + 1).saturating_sub(50), ms * MS);
            let expected = ms.min(49) * MS;
            assert!(
                (expected..expected + GRAIN_NS).contains(&age_ns),
                "{ms}: {age_ns}"
            );
        }
        // The journal does not grow.
        assert!(ages.age_ns(4_096 * 950, 2_000 * MS) >= 1_040 * MS);
        assert_eq!(ages.age_ns(4_096 * 1_000, 2_000 * MS), 0);
        assert!(ages.marks.is_empty());
        for mark in 0..=MARKS_MAX as u64 {
            ages.seen(4_096 * (1_001 + mark), (2_000 + 10 * mark) * MS);
        }
        assert_eq!(ages.marks.len(), MARKS_MAX);
    }
}
