//! Buffer of snapshots that are ahead of the incremental feed, until it has reached them.
//!
//! A snapshot is the book after packet LastMsgSeqNumProcessed. Until that packet is processed, an early snapshot
//! cannot be distinguished from one of another epoch or a forged one, so it is not used; afterwards the snapshot is
//! like any other.

use super::settings::FeedType;
use crate::ReceiveTime;

/// Capacity in packets; the oldest is replaced.
const PACKETS_MAX: usize = 256;

/// A buffered packet, without its payload.
#[derive(Clone, Copy, Debug)]
pub struct Early {
    /// Feed of the packet.
    pub feed: FeedType,
    /// Receive time.
    pub time: ReceiveTime,
    /// Packet of the incremental feed that it waits for.
    snapshot_sequence: u32,
    /// Order of arrival; 0 in a free slot.
    order: u64,
    slot: usize,
    len: usize,
}

/// Buffer of early snapshot packets.
#[derive(Debug, Default)]
pub struct EarlySnapshots {
    kept: Vec<Early>,
    bytes: Vec<u8>,
    stride: usize,
    /// Lowest packet number that a buffered packet waits for; above all numbers if the buffer is empty.
    next: u64,
    arrived: u64,
}

impl EarlySnapshots {
    /// Allocates memory for packets of `packet_bytes_max` bytes.
    pub fn new(packet_bytes_max: usize) -> EarlySnapshots {
        EarlySnapshots {
            kept: Vec::with_capacity(PACKETS_MAX),
            bytes: vec![0; PACKETS_MAX * packet_bytes_max],
            stride: packet_bytes_max,
            next: u64::MAX,
            arrived: 0,
        }
    }

    /// Buffers a packet until `snapshot_sequence` is processed. It replaces a copy of itself, or the oldest packet if
    /// no slot is free.
    pub fn keep(
        &mut self,
        feed: FeedType,
        snapshot_sequence: u32,
        time: ReceiveTime,
        payload: &[u8],
    ) {
        let is_copy = |early: &Early| early.feed == feed && self.payload(early) == payload;
        if self.kept.iter().any(is_copy) {
            return;
        }
        self.arrived += 1;
        let slot = self.free_slot();
        let start = slot * self.stride;
        self.bytes[start..start + payload.len()].copy_from_slice(payload);
        self.kept.push(Early {
            feed,
            time,
            snapshot_sequence,
            order: self.arrived,
            slot,
            len: payload.len(),
        });
        self.next = self.next.min(u64::from(snapshot_sequence));
    }

    /// Drops all packets: the numbers that they wait for are of a previous epoch.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.next = u64::MAX;
    }

    /// Whether a packet waits for `processed` or an earlier number.
    #[inline]
    pub fn is_due(&self, processed: u32) -> bool {
        self.next <= u64::from(processed)
    }

    /// Removes the packet that arrived first of those whose number is processed. Its payload stays readable until the
    /// next packet is buffered.
    pub fn take(&mut self, processed: u32) -> Option<Early> {
        let due = |early: &&Early| early.snapshot_sequence <= processed;
        let order = self
            .kept
            .iter()
            .filter(due)
            .map(|early| early.order)
            .min()?;
        let at = self.kept.iter().position(|early| early.order == order)?;
        Some(self.remove(at))
    }

    /// Payload of a packet.
    pub fn payload(&self, early: &Early) -> &[u8] {
        let start = early.slot * self.stride;
        &self.bytes[start..start + early.len]
    }

    /// A free slot, or the one of the oldest packet.
    fn free_slot(&mut self) -> usize {
        if self.kept.len() < PACKETS_MAX {
            let is_free = |slot: &usize| self.kept.iter().all(|early| early.slot != *slot);
            return (0..PACKETS_MAX)
                .find(is_free)
                .expect("fewer packets are kept than there are slots");
        }
        let oldest = (0..self.kept.len()).min_by_key(|at| self.kept[*at].order);
        self.remove(oldest.expect("all slots are taken")).slot
    }

    fn remove(&mut self, at: usize) -> Early {
        let early = self.kept.swap_remove(at);
        let snapshot_sequence = self
            .kept
            .iter()
            .map(|early| u64::from(early.snapshot_sequence));
        // mutant: feed: a forged packet with the highest number stops the feed
        self.next = snapshot_sequence.min().unwrap_or(u64::MAX);
        early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(early: &mut EarlySnapshots, processed: u32) -> Option<u8> {
        let taken = early.take(processed)?;
        Some(early.payload(&taken)[0])
    }

    #[test]
    fn packets_wait_for_their_number_and_are_returned_in_order_of_arrival() {
        let mut early = EarlySnapshots::new(4);
        early.keep(FeedType::Snapshot, 9, ReceiveTime::at(1), b"1");
        early.keep(FeedType::Snapshot, 8, ReceiveTime::at(2), b"2");
        early.keep(FeedType::Snapshot, 9, ReceiveTime::at(3), b"1");
        early.keep(FeedType::SnapshotOrders, 9, ReceiveTime::at(3), b"1");
        assert!(!early.is_due(7) && early.is_due(8));
        assert_eq!(taken(&mut early, 7), None);
        let all: Vec<u8> = std::iter::from_fn(|| taken(&mut early, 9)).collect();
        assert_eq!(all, *b"121", "the second copy of a line is one packet");
        assert!(
            !early.is_due(u32::MAX),
            "nothing waits, whatever number was forged"
        );
    }

    #[test]
    fn dropped_packets_are_not_waited_for() {
        let mut early = EarlySnapshots::new(4);
        early.keep(FeedType::Snapshot, 9, ReceiveTime::at(1), b"1");
        early.clear();
        assert!(!early.is_due(9));
        assert_eq!(taken(&mut early, 9), None);
        early.keep(FeedType::Snapshot, 9, ReceiveTime::at(2), b"2");
        assert_eq!(taken(&mut early, 9), Some(b'2'));
    }

    #[test]
    fn without_a_free_slot_the_oldest_is_replaced() {
        let mut early = EarlySnapshots::new(4);
        for number in 0..PACKETS_MAX as u32 + 2 {
            early.keep(
                FeedType::Snapshot,
                1_000 + number,
                ReceiveTime::at(1),
                &number.to_le_bytes(),
            );
        }
        assert!(!early.is_due(1_001) && early.is_due(1_002));
        let count = std::iter::from_fn(|| early.take(u32::MAX)).count();
        assert_eq!(count, PACKETS_MAX);
    }
}
