//! Sending time, length and hash of the last processed numbers, to distinguish a copy from another packet of the same number.

use super::clock::CLOCK_BACK_NS;

/// Limit for a packet that arrives after the last processed one: it was sent at most this long before it.
const LATE_NS_MAX: u64 = 1_000_000_000;

/// Stored facts of the last processed packets, to recognize their copies.
#[derive(Debug)]
pub struct SentTimes {
    /// By number; a time of 0 for a lost number.
    slots: Vec<Sent>,
}

/// Stored facts of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Sending time.
    pub sending_ns: u64,
    /// Length.
    pub bytes: u32,
    /// Hash of the messages, without the header: the lines may stamp apart. 0 if copies are not compared.
    pub hash: u32,
}

/// Comparison of a packet with the processed one of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The same packet.
    Copy,
    /// The number was lost, and the packet may be the lost one.
    Lost,
    /// Another packet with the same sending time: one of the two is not the venue's.
    Conflict,
    /// Another packet, which only its hash tells from the processed one.
    Different,
    /// A different sending time, or too old to compare.
    Unknown,
}

/// Two packets of one number with sending times this close conflict: they are of the same stream. The limit is wider
/// than the reordering of packets; a larger difference contradicts the clock.
const SAME_PLACE_NS: u64 = 2 * CLOCK_BACK_NS;

impl SentTimes {
    /// Allocates memory for `packets_max` numbers, a power of two.
    pub fn new(packets_max: u64) -> SentTimes {
        SentTimes {
            slots: vec![Sent::default(); packets_max as usize],
        }
    }

    /// Records a processed packet.
    #[inline]
    pub fn record(&mut self, sequence: u64, sent: Sent) {
        let slot = sequence as usize & (self.slots.len() - 1);
        self.slots[slot] = sent;
    }

    /// Records that these numbers were lost, or are of a previous epoch.
    pub fn forget(&mut self, numbers: std::ops::Range<u64>) {
        let last = self.slots.len() as u64;
        for sequence in numbers.start.max(numbers.end.saturating_sub(last))..numbers.end {
            self.record(sequence, Sent::default());
        }
    }

    /// Whether a packet's sending time is between those of the number before and the number after it.
    fn is_same_place(&self, sequence: u64, sending_ns: u64, next: u64) -> bool {
        let before_ns = self.slot(sequence.wrapping_sub(1)).sending_ns;
        let behind_ns = match sequence + 1 < next {
            true => self.slot(sequence + 1).sending_ns,
            false => 0,
        };
        let is_before = behind_ns == 0 || sending_ns <= behind_ns;
        let is_near = self.slot(sequence).sending_ns.abs_diff(sending_ns) < SAME_PLACE_NS;
        is_near && is_before && sending_ns >= before_ns
    }

    /// Sending time of the first processed number after this one; bounded by the stored numbers.
    fn behind(&self, sequence: u64, next: u64) -> Option<u64> {
        let times = (sequence + 1..next).map(|sequence| self.slot(sequence).sending_ns);
        times.into_iter().find(|sending_ns| *sending_ns > 0)
    }

    fn slot(&self, sequence: u64) -> Sent {
        self.slots[sequence as usize & (self.slots.len() - 1)]
    }

    /// Whether a packet whose number is below `next` is the one that was processed.
    #[inline]
    pub fn is_copy(&self, sequence: u64, other: Sent, next: u64) -> bool {
        let is_kept = sequence + (self.slots.len() as u64) >= next;
        is_kept && self.slot(sequence) == other
    }

    /// Compares a packet whose number is below `next`. The packet of a lost number was sent no later than the last
    /// processed packet, at `processed_ns`.
    pub fn compare(&self, sequence: u64, other: Sent, next: u64, processed_ns: u64) -> Likeness {
        if sequence + (self.slots.len() as u64) < next {
            return Likeness::Unknown;
        }
        let (sent, sending_ns) = (self.slot(sequence), other.sending_ns);
        if sent == other {
            Likeness::Copy
        } else if sent.sending_ns == 0 {
            // The packet of a lost number was sent before the packets processed after it; a sequence reset is sent later.
            let is_before = sending_ns <= self.behind(sequence, next).unwrap_or(processed_ns);
            let is_recent = sending_ns <= processed_ns && processed_ns - sending_ns < LATE_NS_MAX;
            if is_before && is_recent {
                Likeness::Lost
            } else {
                Likeness::Unknown
            }
        } else if !self.is_same_place(sequence, sending_ns, next) {
            Likeness::Unknown
        } else if sent.bytes != other.bytes {
            // mutant: feed: two packets with one number are no conflict
            Likeness::Conflict
        } else if sent.hash != other.hash {
            // mutant: feed: copies of other bytes are no conflict
            Likeness::Different
        } else {
            Likeness::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = SAME_PLACE_NS;

    fn packet(sending_ns: u64, bytes: u32) -> Sent {
        Sent {
            sending_ns,
            bytes,
            hash: 0,
        }
    }

    #[test]
    fn a_packet_is_compared_with_the_processed_one_of_its_number() {
        let mut sent = SentTimes::new(8);
        sent.record(5, packet(10 * SECOND, 100));
        sent.forget(6..7);
        sent.record(7, packet(11 * SECOND, 100));
        let compare = |sequence, sending_ns, bytes| {
            sent.compare(sequence, packet(sending_ns, bytes), 8, 11 * SECOND)
        };
        assert_eq!(compare(5, 10 * SECOND, 100), Likeness::Copy);
        assert_eq!(compare(5, 10 * SECOND, 99), Likeness::Conflict);
        assert_eq!(compare(5, 10 * SECOND + 1, 22), Likeness::Conflict);
        assert_eq!(
            compare(5, 10 * SECOND + 1, 100),
            Likeness::Unknown,
            "the lines may stamp apart"
        );
        assert_eq!(
            compare(5, 20 * SECOND, 22),
            Likeness::Unknown,
            "of another time"
        );
        assert_eq!(compare(6, 11 * SECOND - 1, 22), Likeness::Lost);
        assert_eq!(compare(6, 12 * SECOND, 22), Likeness::Unknown);
        let later = sent.compare(5, packet(10 * SECOND, 100), 14, 20 * SECOND);
        assert_eq!(later, Likeness::Unknown, "number 13 replaced it");
    }

    #[test]
    fn of_a_long_loss_only_the_last_numbers_are_stored() {
        let mut sent = SentTimes::new(4);
        (1..=4).for_each(|sequence| sent.record(sequence, packet(SECOND, 1)));
        sent.forget(5..1 << 40);
        let last = (1 << 40) - 1;
        assert_eq!(
            sent.compare(last, packet(SECOND, 1), 1 << 40, SECOND),
            Likeness::Lost
        );
    }

    /// Also if the lines stamp apart.
    #[test]
    fn a_packet_of_other_bytes_is_no_copy() {
        let mut sent = SentTimes::new(8);
        let first = Sent {
            hash: 1,
            ..packet(10 * SECOND, 100)
        };
        sent.record(5, first);
        let compare = |other: Sent| sent.compare(5, other, 6, 10 * SECOND);
        assert!(sent.is_copy(5, first, 6) && compare(first) == Likeness::Copy);
        for (apart_ns, likeness) in [
            (0, Likeness::Different),
            (1, Likeness::Different),
            (2 * SECOND, Likeness::Unknown),
        ] {
            let other = Sent {
                sending_ns: first.sending_ns + apart_ns,
                hash: 2,
                ..first
            };
            assert!(!sent.is_copy(5, other, 6));
            assert_eq!(compare(other), likeness);
        }
        let apart = Sent {
            sending_ns: first.sending_ns + 1,
            ..first
        };
        assert_eq!(
            compare(apart),
            Likeness::Unknown,
            "the lines may stamp apart"
        );
    }
}
