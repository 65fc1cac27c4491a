//! Cycles: feeds that send the same set of messages again and again, from packet 1.

/// Follows one cycle over both lines, to know when it was seen complete.
///
/// Packets are numbered from 1 in each cycle, and the copies of the two lines are the same, so a
/// cycle is known by the sending time of its packet 1.
#[derive(Debug, Default)]
pub struct SnapshotCycle {
    id: u32,
    active: bool,
    start_ns: u64,
    newest_ns: u64,
    newest_sequence: u32,
    seen: u32,
    /// How many instruments its messages say it names; 0 before the first.
    total: u32,
    lowest: u32,
    /// Any cycle was seen complete.
    was_complete: bool,
}

/// A cycle that was seen complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteCycle {
    /// Its number here: rows that it named carry it.
    pub id: u32,
    /// The lowest LastMsgSeqNumProcessed of its messages.
    pub lowest: u32,
}

impl SnapshotCycle {
    /// A packet of the feed came in. `true` if its messages belong to the cycle being followed.
    pub fn packet(&mut self, sequence: u32, sending_ns: u64) -> bool {
        if sequence == 1 && sending_ns > self.start_ns {
            self.begin(sending_ns);
            return true;
        }
        if !self.active || sending_ns < self.start_ns {
            return false;
        }
        if sending_ns > self.newest_ns {
            if sequence <= self.newest_sequence {
                // The next cycle has begun and its packet 1 was lost: wait for the one after.
                self.active = false;
                return false;
            }
            (self.newest_ns, self.newest_sequence) = (sending_ns, sequence);
        }
        true
    }

    /// A message of the cycle names an instrument whose mark is `mark`; marks it. Gives the cycle
    /// when this makes it complete, that is when `total` different instruments were named.
    pub fn name(
        &mut self,
        mark: &mut u32,
        total: u32,
        last_processed: u32,
    ) -> Option<CompleteCycle> {
        if !self.active {
            return None;
        }
        if self.total != total && self.total != 0 {
            // Its set of instruments changed: absent instruments are unknown.
            self.active = false;
            return None;
        }
        self.lowest = self.lowest.min(last_processed);
        if *mark == self.id {
            return None;
        }
        self.total = total;
        *mark = self.id;
        self.seen += 1;
        // mutant: feed: part of a loop counts as whole
        if self.seen != total {
            return None;
        }
        (self.active, self.was_complete) = (false, true);
        Some(CompleteCycle {
            id: self.id,
            lowest: self.lowest,
        })
    }

    /// Whether any cycle was seen complete so far.
    pub fn was_complete(&self) -> bool {
        self.was_complete
    }

    /// What was named so far is from before a reset: wait for the next cycle.
    pub fn abandon(&mut self) {
        self.active = false;
    }

    /// When the cycle being followed began.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The venue's clock was set back, or what was followed was never of it: any cycle may begin.
    pub fn forget(&mut self) {
        (self.active, self.start_ns) = (false, 0);
    }

    fn begin(&mut self, sending_ns: u64) {
        // Ids run from 1, so that the mark 0 of a new instrument belongs to no cycle.
        self.id = self.id.wrapping_add(1).max(1);
        self.active = true;
        self.start_ns = sending_ns;
        self.newest_ns = sending_ns;
        self.newest_sequence = 1;
        self.seen = 0;
        self.total = 0;
        self.lowest = u32::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_whole_when_every_instrument_was_named() {
        let mut tracker = SnapshotCycle::default();
        let (mut a, mut b) = (0, 0);
        assert!(!tracker.packet(2, 5), "joined in the middle");
        assert!(tracker.packet(1, 10));
        assert_eq!(tracker.name(&mut a, 2, 70), None);
        assert!(tracker.packet(1, 10), "the other line's copy");
        assert_eq!(tracker.name(&mut a, 2, 70), None, "named already");
        assert!(tracker.packet(2, 11));
        assert_eq!(
            tracker.name(&mut b, 2, 60),
            Some(CompleteCycle { id: 1, lowest: 60 })
        );
    }

    #[test]
    fn a_loop_that_changes_on_the_way_names_nobody_absent() {
        let mut tracker = SnapshotCycle::default();
        let (mut a, mut b) = (0, 0);
        assert!(tracker.packet(1, 10));
        assert_eq!(tracker.name(&mut a, 2, 70), None);
        assert_eq!(tracker.name(&mut b, 3, 70), None);
        assert_eq!(tracker.name(&mut b, 2, 70), None);
    }

    #[test]
    fn a_loop_whose_start_was_lost_is_not_mixed_with_the_one_before() {
        let mut tracker = SnapshotCycle::default();
        assert!(tracker.packet(1, 10));
        assert!(tracker.packet(3, 12));
        assert!(tracker.packet(2, 11), "out of order");
        assert!(!tracker.packet(2, 21), "of the next loop");
        assert!(!tracker.packet(3, 22));
        assert!(tracker.packet(1, 30));
        assert!(!tracker.packet(2, 21), "late, of the loop before");
    }
}
