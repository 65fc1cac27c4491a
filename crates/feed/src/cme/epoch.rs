//! Epoch: the last loss and the last reset, and what they mean for a book.

use super::arbiter::StreamPoint;

/// The last loss and the last reset of a channel, which decide the validity of each book.
#[derive(Debug)]
pub(super) struct Epoch {
    /// Last lost packet number; `u32::MAX` before the first packet of all.
    lost: u32,
    /// Packet from which on unknown instruments are empty: the packet of the last reset, if there was one.
    known_from: u32,
    /// Packet of the last reset: snapshots up to an earlier packet are from before the reset.
    reset_at: u32,
    /// Snapshots sent at or before this are from before the last reset.
    reset_ns: u64,
}

impl Epoch {
    /// No packet was received: no book is confirmed.
    pub fn new() -> Epoch {
        Epoch {
            lost: u32::MAX,
            known_from: 0,
            reset_at: 0,
            reset_ns: 0,
        }
    }

    /// The epoch starts with its first packet: no packet is lost.
    pub fn begin(&mut self) {
        self.lost = 0;
    }

    /// Numbers up to `last` are lost.
    pub fn lose(&mut self, last: u32) {
        // mutant: feed: a loss does not affect the books
        self.lost = last;
    }

    /// Every book is empty as of packet `packet`, sent at `sending_ns`; both are 0 at the start of an epoch.
    pub fn reset(&mut self, packet: u32, sending_ns: u64) {
        (self.known_from, self.reset_at) = (packet, packet);
        self.reset_ns = sending_ns;
    }

    /// From now on unknown instruments may have a book.
    pub fn distrust(&mut self) {
        self.known_from = 0;
    }

    /// The venue's clock was set back: the last reset was sent no later than the first packet with the new time.
    pub fn set_back(&mut self, begun: StreamPoint) {
        let was_set_since = begun.sequence > u64::from(self.reset_at);
        if was_set_since && self.reset_ns > begun.sending_ns {
            self.reset_ns = begun.sending_ns.saturating_sub(1);
        }
    }

    /// Last lost packet number; `u32::MAX` before the first packet of all.
    #[inline]
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether the very first packet is still to come.
    pub fn is_before_all(&self) -> bool {
        self.lost == u32::MAX
    }

    /// Whether a book confirmed up to packet `confirmed` contains all lost changes.
    #[inline]
    pub fn is_confirmed(&self, confirmed: u32) -> bool {
        confirmed >= self.lost
    }

    /// Packet from which on an unknown instrument is empty.
    pub fn known_from(&self) -> u32 {
        let is_of_reset = [0, self.reset_at].contains(&self.known_from);
        assert!(
            is_of_reset,
            "a book is known to be empty since a reset only"
        );
        self.known_from
    }

    /// Whether an unknown instrument is empty now.
    pub fn is_rest_empty(&self) -> bool {
        self.is_confirmed(self.known_from())
    }

    /// Whether a snapshot with this sending time is from before the last reset.
    #[inline]
    pub fn is_sent_before(&self, sending_ns: u64) -> bool {
        // mutant: feed: a snapshot from before a reset is used
        sending_ns <= self.reset_ns
    }

    /// Whether a snapshot up to this packet is from before the last reset.
    #[inline]
    pub fn is_before(&self, snapshot_sequence: u32) -> bool {
        snapshot_sequence < self.reset_at
    }

    /// Whether an order snapshot up to this packet contains all lost changes. One that ends within the last lost packet may lack its later
    /// events, and is used all the same: the last packets of a session may be lost, and no snapshot of a later one follows. Before the
    /// first incremental packet `lost` has its highest value, so no snapshot does.
    pub fn reaches(&self, snapshot_sequence: u32) -> bool {
        // mutant: feed: an order snapshot from before the loss is used
        snapshot_sequence >= self.lost.max(self.reset_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_confirmed_before_the_first_packet() {
        let mut epoch = Epoch::new();
        assert!(!epoch.is_rest_empty() && !epoch.is_confirmed(7) && !epoch.reaches(7));
        epoch.lose(6);
        assert!(epoch.is_confirmed(6) && !epoch.is_confirmed(5));
        assert!(epoch.reaches(6) && !epoch.reaches(5) && !epoch.is_rest_empty());
        epoch.begin();
        assert!(epoch.is_rest_empty() && epoch.reaches(0));
    }

    #[test]
    fn a_reset_is_judged_by_its_number_and_its_time() {
        let mut epoch = Epoch::new();
        epoch.lose(6);
        epoch.reset(9, 90);
        assert!(epoch.is_rest_empty(), "it is behind what was lost");
        assert!(epoch.is_before(8) && !epoch.is_before(9) && !epoch.reaches(8));
        assert!(epoch.is_sent_before(90) && !epoch.is_sent_before(91));
        let begun = |sequence| StreamPoint {
            sequence,
            sending_ns: 50,
        };
        epoch.set_back(begun(9));
        assert!(epoch.is_sent_before(60), "the clock was set before it");
        epoch.set_back(begun(10));
        assert!(epoch.is_sent_before(49) && !epoch.is_sent_before(50));
        epoch.distrust();
        assert_eq!(epoch.known_from(), 0);
        assert!(!epoch.is_rest_empty(), "what was lost counts again");
    }
}
