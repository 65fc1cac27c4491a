//! Last packets of the incremental feed, by number.

use std::collections::VecDeque;

/// Packets with consecutive numbers.
#[derive(Debug)]
pub struct StoredPackets {
    /// Number of the first packet.
    first: u32,
    packets: VecDeque<Vec<u8>>,
    packets_max: usize,
}

impl StoredPackets {
    /// Storage for this number of packets.
    pub fn new(packets_max: usize) -> Self {
        Self {
            first: 0,
            packets: VecDeque::new(),
            packets_max: packets_max.max(1),
        }
    }

    /// Adds a packet; one that does not continue the sequence removes the others.
    pub fn push(&mut self, sequence: u32, payload: &[u8]) {
        if u64::from(sequence) != u64::from(self.first) + self.packets.len() as u64 {
            self.packets.clear();
            self.first = sequence;
        }
        if self.packets.len() == self.packets_max {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back(payload.to_vec());
    }

    /// The packets `first..=last`, if all of them are stored.
    pub fn range(&self, first: u32, last: u32) -> Option<Vec<Vec<u8>>> {
        let from = first.checked_sub(self.first)? as usize;
        let to = last.checked_sub(self.first)? as usize;
        (from <= to && to < self.packets.len())
            .then(|| self.packets.range(from..=to).cloned().collect())
    }

    /// The stored numbers, as text.
    pub fn describe(&self) -> String {
        match self.packets.len() as u32 {
            0 => "no packet was sent yet".to_owned(),
            count => format!("{} to {} are kept", self.first, self.first + (count - 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_ranges_of_stored_packets_are_served() {
        let mut stored = StoredPackets::new(3);
        assert_eq!(stored.range(0, 0), None);
        assert_eq!(stored.describe(), "no packet was sent yet");
        for sequence in 5..=9u32 {
            stored.push(sequence, &[sequence as u8]);
        }
        assert_eq!(stored.range(7, 9), Some(vec![vec![7], vec![8], vec![9]]));
        assert_eq!(stored.range(8, 8), Some(vec![vec![8]]));
        for (first, last) in [(6, 7), (9, 10), (9, 8), (0, u32::MAX)] {
            assert_eq!(stored.range(first, last), None, "{first} to {last}");
        }
        assert_eq!(stored.describe(), "7 to 9 are kept");
        stored.push(1, &[1]);
        assert_eq!(
            (stored.range(9, 9), stored.range(1, 1)),
            (None, Some(vec![vec![1]]))
        );
    }
}
