//! A period of a report: one trade date, or all of several.

use super::account::{Account, Day, Mid};
use std::collections::BTreeMap;

/// A mid of the engine is written each minute; an older one is not that of the period's end.
const MID_AGE_MAX_NS: u64 = 5 * 60 * 1_000_000_000;

/// Trade dates of a report, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// First trade date.
    pub first: Day,
    /// Last trade date.
    pub last: Day,
}

impl Period {
    /// Every trade date.
    pub const ALL: Period = Period {
        first: 0,
        last: Day::MAX,
    };

    /// One trade date.
    pub fn of(day: Day) -> Period {
        Period {
            first: day,
            last: day,
        }
    }

    /// Whether a trade date is in the period.
    pub fn has(&self, day: Day) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// The trade dates of the period that have an entry.
    pub fn days<'a>(&self, account: &'a Account) -> impl DoubleEndedIterator<Item = Day> + use<'a> {
        account
            .days
            .range(self.first..=self.last)
            .map(|(day, _)| *day)
    }

    /// Time of the last entry of the period or before it; 0 without one.
    pub fn end_ns(&self, account: &Account) -> u64 {
        let mut days = account.days.range(..=self.last);
        days.next_back().map_or(0, |(_, last_ns)| *last_ns)
    }

    /// Mids of the pairs at the end of the period, with their times.
    pub fn mids(&self, account: &Account) -> BTreeMap<usize, Mid> {
        let end_ns = self.end_ns(account);
        let mids = (0..account.pairs.len()).filter_map(|pair| {
            let mut until = account.mids.range((pair, 0)..=(pair, self.last));
            let (_, mid) = until.next_back()?;
            let is_of_end = mid.mid2.is_some() && end_ns - mid.at_ns <= MID_AGE_MAX_NS;
            is_of_end.then_some((pair, *mid))
        });
        mids.collect()
    }
}
