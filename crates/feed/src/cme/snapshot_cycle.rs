//! Cycles: feeds that send the same set of messages repeatedly, from packet 1.

/// Follows one cycle over both lines, to detect when it is complete.
///
/// Packets are numbered from 1 in each cycle, and both lines carry the same packets, so the sending time of packet 1
/// identifies a cycle.
#[derive(Debug, Default)]
pub struct SnapshotCycle {
    id: u32,
    active: bool,
    start_ns: u64,
    newest_ns: u64,
    newest_sequence: u32,
    seen: u32,
    /// Number of instruments that its messages announce; 0 before the first.
    total: u32,
    lowest: u32,
    /// A cycle has been complete.
    was_complete: bool,
}

/// A complete cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteCycle {
    /// Its local number: rows of its instruments carry it.
    pub id: u32,
    /// The lowest LastMsgSeqNumProcessed of its messages.
    pub lowest: u32,
}

impl SnapshotCycle {
    /// Processes a packet of the feed. `true` if its messages belong to the current cycle.
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
                // The next cycle has started and its packet 1 was lost: wait for the cycle after it.
                self.active = false;
                return false;
            }
            (self.newest_ns, self.newest_sequence) = (sending_ns, sequence);
        }
        true
    }

    /// Records an instrument whose mark is `mark`, and sets the mark. Returns the cycle if it is now complete: it
    /// contained `total` different instruments.
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
            // Its set of instruments changed: which instruments are absent is unknown.
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
        // mutant: feed: an incomplete cycle counts as complete
        if self.seen != total {
            return None;
        }
        (self.active, self.was_complete) = (false, true);
        Some(CompleteCycle {
            id: self.id,
            lowest: self.lowest,
        })
    }

    /// Whether a cycle has been complete.
    pub fn was_complete(&self) -> bool {
        self.was_complete
    }

    /// The current cycle began before a reset: wait for the next one.
    pub fn abandon(&mut self) {
        self.active = false;
    }

    /// Start time of the current cycle.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The venue's clock was set back, or the current cycle had a false time: any cycle may begin.
    pub fn forget(&mut self) {
        (self.active, self.start_ns) = (false, 0);
    }

    fn begin(&mut self, sending_ns: u64) {
        // Ids start at 1, so the mark 0 of a new instrument belongs to no cycle.
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
    fn a_cycle_is_complete_when_it_contained_every_instrument() {
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
    fn a_cycle_with_a_changing_set_names_no_absent_instrument() {
        let mut tracker = SnapshotCycle::default();
        let (mut a, mut b) = (0, 0);
        assert!(tracker.packet(1, 10));
        assert_eq!(tracker.name(&mut a, 2, 70), None);
        assert_eq!(tracker.name(&mut b, 3, 70), None);
        assert_eq!(tracker.name(&mut b, 2, 70), None);
    }

    #[test]
    fn a_cycle_with_a_lost_start_is_not_mixed_with_the_previous_one() {
        let mut tracker = SnapshotCycle::default();
        assert!(tracker.packet(1, 10));
        assert!(tracker.packet(3, 12));
        assert!(tracker.packet(2, 11), "out of order");
        assert!(!tracker.packet(2, 21), "of the next cycle");
        assert!(!tracker.packet(3, 22));
        assert!(tracker.packet(1, 30));
        assert!(!tracker.packet(2, 21), "late, of the previous cycle");
    }
}
