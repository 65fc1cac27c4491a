//! The venue's clock as its packets show it: which sending times are plausible now.

use crate::arbitration::BufferedPacket;

/// How much further the venue's clock may advance between two packets than ours: drift over a weekend, and delayed
/// packets.
pub const CLOCKS_APART_NS: u64 = 60_000_000_000;

/// How much earlier than the previous packet a packet may be sent.
pub const CLOCK_BACK_NS: u64 = 1_000_000_000;

/// The venue's clock, as the processed packets show it.
#[derive(Clone, Copy, Debug)]
pub struct VenueClock {
    /// Latest sending time of the processed packets, and the receive time of that packet.
    pub newest_ns: u64,
    received_ns: u64,
    /// How far it may be ahead of our clock.
    apart_ns: u64,
    /// Packets sent before this are of the previous epoch; 0 if unknown.
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
    /// Earliest possible sending time of a packet after the processed ones.
    #[inline]
    pub fn earliest_ns(&self) -> u64 {
        let earliest_ns = self.newest_ns.saturating_sub(CLOCK_BACK_NS);
        earliest_ns.max(self.begun_ns)
    }

    /// Whether a packet received now, after the processed ones, can have this sending time.
    #[inline]
    pub fn fits(&self, sending_ns: u64, receive_ns: u64) -> bool {
        sending_ns >= self.earliest_ns() && self.is_reached(sending_ns, receive_ns)
    }

    /// Whether the venue's clock can have advanced this far since the last processed packet, by our clock. Only
    /// differences are compared, so the clocks may differ; if ours was set back, no time has passed.
    #[inline]
    pub fn is_reached(&self, sending_ns: u64, receive_ns: u64) -> bool {
        self.newest_ns == 0 || self.ahead_ns(sending_ns, receive_ns) <= self.apart_ns
    }

    /// How far the sending time of a packet received now is ahead of the last processed packet plus the time since, by
    /// our clock.
    #[inline]
    pub fn ahead_ns(&self, sending_ns: u64, receive_ns: u64) -> u64 {
        let passed_ns = receive_ns.saturating_sub(self.received_ns);
        sending_ns.saturating_sub(self.newest_ns.saturating_add(passed_ns))
    }

    /// Whether the clock was set forward before a packet was sent. If that packet arrived before the last processed
    /// one, as after a replayed packet, the time between them has no meaning.
    pub fn was_set_ahead(&self, behind: &BufferedPacket) -> bool {
        let (sending_ns, receive_ns) = (behind.sending_ns, behind.time.wall_ns);
        receive_ns >= self.received_ns && self.ahead_ns(sending_ns, receive_ns) > CLOCK_BACK_NS
    }

    /// Records a processed packet.
    #[inline]
    pub fn pass(&mut self, sending_ns: u64, receive_ns: u64) {
        if sending_ns > self.newest_ns || receive_ns < self.received_ns {
            (self.newest_ns, self.received_ns) = (sending_ns.max(self.newest_ns), receive_ns);
        }
    }

    /// Sets the clock to this packet, from any earlier value. If the clock was set back, earlier packets are ahead of
    /// it: from now on it may be ahead by at most half of the step.
    pub fn set(&mut self, buffered: &BufferedPacket) {
        let back_ns = self.newest_ns.saturating_sub(buffered.sending_ns);
        self.apart_ns = match back_ns {
            0 => self.apart_ns,
            _ => (back_ns / 2).clamp(CLOCK_BACK_NS, CLOCKS_APART_NS),
        };
        (self.newest_ns, self.received_ns) = (buffered.sending_ns, buffered.time.wall_ns);
    }
}
