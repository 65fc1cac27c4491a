//! Progress: the current packet, and whether the venue is within an event.

use touchline_types::PacketInfo;

/// Position in the incremental feed.
#[derive(Debug, Default)]
pub(super) struct Progress {
    packet_info: PacketInfo,
    event_open: bool,
}

impl Progress {
    /// Starts a packet.
    #[inline]
    pub fn begin(&mut self, packet_info: PacketInfo) {
        let is_number = packet_info.sequence <= u64::from(u32::MAX);
        assert!(is_number, "packet-numbers-of-cme-have-32-bits");
        self.packet_info = packet_info;
    }

    /// A message belonged to an event; records whether it ended the event.
    #[inline]
    pub fn message(&mut self, end_of_event: bool) {
        // mutant: gateway: changes are seen before the end of the event
        self.event_open = !end_of_event;
    }

    /// Drops the open event: its end is lost, or all books are new.
    pub fn close(&mut self) {
        self.event_open = false;
    }

    /// Whether the venue is within an event.
    #[inline]
    pub fn event_open(&self) -> bool {
        self.event_open
    }

    /// Number of the current packet.
    #[inline]
    pub fn packet(&self) -> u32 {
        self.packet_info.sequence as u32
    }

    /// Its sending time, nanoseconds since the Unix epoch.
    #[inline]
    pub fn sending_ns(&self) -> u64 {
        self.packet_info.sending_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u64) -> PacketInfo {
        PacketInfo {
            sequence,
            sending_ns: 7,
            receive_ns: 8,
        }
    }

    #[test]
    fn an_event_spans_packets_until_it_ends_or_is_lost() {
        let mut progress = Progress::default();
        progress.begin(packet(u64::from(u32::MAX)));
        progress.message(false);
        assert!(progress.event_open());
        progress.begin(packet(1));
        assert!(progress.event_open(), "it goes on");
        assert_eq!((progress.packet(), progress.sending_ns()), (1, 7));
        progress.message(true);
        assert!(!progress.event_open());
        progress.message(false);
        progress.close();
        assert!(!progress.event_open());
    }

    #[test]
    #[should_panic(expected = "packet-numbers-of-cme-have-32-bits")]
    fn a_packet_number_beyond_32_bits_panics() {
        Progress::default().begin(packet(1 << 32));
    }
}
