//! Faults that a bank can send with every message: reported at intervals, so that they do not fill the log.

use super::budget::Budget;

/// Interval of the incidents of one kind and bank that can come with every message.
const AGAIN_NS: u64 = 60_000_000_000;

/// Faults of one kind that are reported at intervals, and counted between.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limited {
    /// Faults without a report.
    count: u64,
    told_ns: Option<u64>,
}

impl Limited {
    /// Adds faults. Returns the number since the last report if the next report is due.
    pub(super) fn add(&mut self, count: u64, mono_ns: u64) -> Option<u64> {
        self.count += count;
        let is_early = |told_ns: u64| mono_ns < told_ns.saturating_add(AGAIN_NS);
        if self.told_ns.is_some_and(is_early) {
            return None;
        }
        self.told_ns = Some(mono_ns);
        Some(std::mem::take(&mut self.count))
    }
}

/// Faults of one kind of which some are reported one by one, and the others at intervals.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Several {
    rest: Limited,
    /// Number of faults reported singly in the present minute, and the start of the minute.
    told: (u32, u64),
}

/// Faults of a kind that are reported one by one in a minute.
const SEVERAL_MAX: u32 = 10;

impl Several {
    /// Adds a fault. `Ok`: report it singly; `Err`: the number of faults, if a summary is due.
    pub(super) fn add(&mut self, at_ns: u64) -> Result<(), Option<u64>> {
        let (count, since_ns) = &mut self.told;
        if at_ns.saturating_sub(*since_ns) >= AGAIN_NS {
            (*count, *since_ns) = (0, at_ns);
        }
        *count += 1;
        match *count <= SEVERAL_MAX {
            true => Ok(()),
            false => Err(self.rest.add(1, at_ns)),
        }
    }
}

/// Faults that a bank can send with every message, reported at intervals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    pub repeated: Limited,
    pub garbled: Limited,
    /// Reports of orders that are not ours, and all of them so far.
    foreign: (Several, u64),
    /// Rejects of the session, of the bank or ours, and gaps.
    pub rejected: Several,
    pub budget: Budget,
    pub own_messages: Budget,
    /// Fills that were taken back or corrected. Each has an effect, and a bank can correct its correction without end.
    pub reversals: u64,
    /// Reports of our orders that the bank may mark as sent again since the session is up.
    pub again: u64,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            repeated: Limited::default(),
            garbled: Limited::default(),
            foreign: Default::default(),
            rejected: Several::default(),
            budget: Budget::of_reports(),
            own_messages: Budget::of_own_messages(),
            reversals: 0,
            again: 0,
        }
    }
}

impl Faults {
    /// Adds a report of an order that is not ours. `Ok`: report it singly; `Err`: the number of such reports, if a
    /// summary is due.
    pub fn foreign(&mut self, at_ns: u64) -> Result<(), Option<u64>> {
        let (several, all) = &mut self.foreign;
        *all += 1;
        several.add(at_ns)
    }

    /// Number of reports so far of orders that are not ours.
    pub fn foreign_count(&self) -> u64 {
        self.foreign.1
    }

    /// A message that the bank answers left.
    pub fn grant(&mut self, mono_ns: u64) {
        self.budget.grant(mono_ns);
        self.own_messages.grant(mono_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first one at once, later ones once a minute with their number: a bank that repeats every report fills no log.
    #[test]
    fn faults_are_told_at_intervals_with_their_number() {
        let mut faults = Limited::default();
        assert_eq!(faults.add(1, 7), Some(1));
        assert_eq!(faults.add(1, 8), None);
        assert_eq!(faults.add(2, 6 + AGAIN_NS), None);
        assert_eq!(faults.add(1, 7 + AGAIN_NS), Some(4));
        assert_eq!(faults.add(1, 8 + AGAIN_NS), None);
    }
}
