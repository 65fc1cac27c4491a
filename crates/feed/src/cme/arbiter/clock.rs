//! The venue's clock as its packets show it: which sending times can be of now.

use crate::arbitration::BufferedPacket;

/// How much further the venue's clock may come between two packets than ours: drift over a weekend,
/// and packets that were long on their way.
pub const CLOCKS_APART_NS: u64 = 60_000_000_000;

/// How much earlier than the packet before it a packet may be sent.
pub const CLOCK_BACK_NS: u64 = 1_000_000_000;

/// The venue's clock, as the packets processed show it.
#[derive(Clone, Copy, Debug)]
pub struct VenueClock {
    /// Latest sending time of the packets processed, and when that packet was received.
    pub newest_ns: u64,
    received_ns: u64,
    /// How far it may be ahead of ours.
    apart_ns: u64,
    /// Packets sent before this are of the numbering before; 0 if that cannot be told.
    pub begun_ns: u64,
}

impl Default for VenueClock {
    fn default() -> VenueClock {
        VenueClock {
            newest_ns: 0,
            received_ns: 0,
            apart_ns: CLOCKS_APART_NS,
            begun_ns: 0,
        }
    }
}

impl VenueClock {
    /// The earliest time that a packet behind those that were processed can have been sent at.
    #[inline]
    pub fn earliest_ns(&self) -> u64 {
        let earliest_ns = self.newest_ns.saturating_sub(CLOCK_BACK_NS);
        earliest_ns.max(self.begun_ns)
    }

    /// Whether a packet that is received now can have been sent then, behind those that were processed.
    #[inline]
    pub fn fits(&self, sending_ns: u64, receive_ns: u64) -> bool {
        // mutant: feed: the next number is processed at any time
        sending_ns >= self.earliest_ns() && self.is_reached(sending_ns, receive_ns)
    }

    /// Whether the venue's clock can have come that far since the packet processed last, by ours. Only differences are
    /// compared, so that clocks may be apart; where ours was set back, no time has passed.
    #[inline]
    pub fn is_reached(&self, sending_ns: u64, receive_ns: u64) -> bool {
        self.newest_ns == 0 || self.ahead_ns(sending_ns, receive_ns) <= self.apart_ns
    }

    /// How far a packet that is received now was sent ahead of the packet processed last and the time since, by ours.
    #[inline]
    pub fn ahead_ns(&self, sending_ns: u64, receive_ns: u64) -> u64 {
        let passed_ns = receive_ns.saturating_sub(self.received_ns);
        sending_ns.saturating_sub(self.newest_ns.saturating_add(passed_ns))
    }

    /// Whether the clock was set ahead before a packet was sent. If that packet arrived before the last processed
    /// one, as behind a replayed one, the time between them has no meaning.
    pub fn was_set_ahead(&self, behind: &BufferedPacket) -> bool {
        let (sending_ns, receive_ns) = (behind.sending_ns, behind.time.wall_ns);
        // mutant: feed: what was replayed sets the clock
        receive_ns >= self.received_ns && self.ahead_ns(sending_ns, receive_ns) > CLOCK_BACK_NS
    }

    /// A packet is processed.
    #[inline]
    pub fn pass(&mut self, sending_ns: u64, receive_ns: u64) {
        if sending_ns > self.newest_ns || receive_ns < self.received_ns {
            (self.newest_ns, self.received_ns) = (sending_ns.max(self.newest_ns), receive_ns);
        }
    }

    /// The clock shows what this packet says, whatever it showed before. Where it was set back, packets of before are
    /// ahead of it: half of the way back is the most that it may be ahead from now on.
    pub fn set(&mut self, buffered: &BufferedPacket) {
        let back_ns = self.newest_ns.saturating_sub(buffered.sending_ns);
        self.apart_ns = match back_ns {
            0 => self.apart_ns,
            _ => (back_ns / 2).clamp(CLOCK_BACK_NS, CLOCKS_APART_NS),
        };
        (self.newest_ns, self.received_ns) = (buffered.sending_ns, buffered.time.wall_ns);
    }
}
