//! The three cycles of a channel: price snapshots, order snapshots, definitions.

use super::snapshot_cycle::{CompleteCycle, SnapshotCycle};

/// Kind of cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CycleKind {
    /// Price snapshots.
    Price,
    /// Order snapshots.
    Orders,
    /// Definitions.
    Definition,
}

/// The last cycle of each kind that contained an instrument.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NamedBy([u32; 3]);

impl NamedBy {
    /// Whether this cycle contained the instrument.
    pub fn is_named(&self, kind: CycleKind, cycle: CompleteCycle) -> bool {
        self.0[kind as usize] == cycle.id
    }
}

/// The cycles of a channel, one of each kind.
#[derive(Debug, Default)]
pub(super) struct Cycles([SnapshotCycle; 3]);

impl Cycles {
    /// Processes a packet of a feed. Returns whether its messages belong to the current cycle.
    pub fn packet(&mut self, kind: CycleKind, sequence: u32, sending_ns: u64) -> bool {
        self.0[kind as usize].packet(sequence, sending_ns)
    }

    /// Records an instrument of a message. Returns the cycle if it is now complete.
    pub fn name(
        &mut self,
        kind: CycleKind,
        named: &mut NamedBy,
        total: u32,
        snapshot_sequence: u32,
    ) -> Option<CompleteCycle> {
        self.0[kind as usize].name(&mut named.0[kind as usize], total, snapshot_sequence)
    }

    /// Whether a cycle of definitions has been complete.
    pub fn is_defined(&self) -> bool {
        self.0[CycleKind::Definition as usize].was_complete()
    }

    /// The current snapshot cycles began before a loss or a reset: only later ones count. Definition cycles continue.
    pub fn abandon_snapshots(&mut self) {
        for kind in [CycleKind::Price, CycleKind::Orders] {
            self.0[kind as usize].abandon();
        }
    }

    /// A new epoch starts: cycles of any time may begin.
    pub fn forget(&mut self) {
        self.forget_unless(|_| false);
    }

    /// Drops cycles with a start time ahead of the venue's clock: the clock was set back, or the time
    /// was forged.
    pub fn forget_unless(&mut self, is_of_now: impl Fn(u64) -> bool) {
        for cycle in &mut self.0 {
            if !is_of_now(cycle.start_ns()) {
                cycle.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CycleKind::{Definition, Orders, Price};
    use super::*;

    #[test]
    fn each_kind_is_followed_independently() {
        let (mut cycles, mut named) = (Cycles::default(), NamedBy::default());
        assert!(cycles.packet(Price, 1, 10));
        assert!(!cycles.packet(Orders, 2, 11), "its packet 1 was not seen");
        assert_eq!(cycles.name(Orders, &mut named, 1, 7), None);
        let whole = cycles.name(Price, &mut named, 1, 7).expect("all are named");
        assert!(named.is_named(Price, whole) && !named.is_named(Orders, whole));
        assert!(!cycles.is_defined());
        assert!(cycles.packet(Definition, 1, 10));
        assert!(cycles.name(Definition, &mut named, 1, 0).is_some() && cycles.is_defined());
    }

    #[test]
    fn a_loss_abandons_snapshot_cycles_and_not_definition_cycles() {
        let (mut cycles, mut named) = (Cycles::default(), NamedBy::default());
        for kind in [Price, Orders, Definition] {
            assert!(cycles.packet(kind, 1, 10));
        }
        cycles.abandon_snapshots();
        assert_eq!(cycles.name(Price, &mut named, 1, 7), None);
        assert_eq!(cycles.name(Orders, &mut named, 1, 7), None);
        assert!(cycles.name(Definition, &mut named, 1, 7).is_some());
        assert!(!cycles.packet(Price, 1, 10), "the same cycle");
        cycles.forget_unless(|start_ns| start_ns < 10);
        assert!(cycles.packet(Price, 1, 10), "its time was none of now");
    }
}
