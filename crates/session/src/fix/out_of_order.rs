//! Messages received ahead of a gap.

/// Out-of-order queue: messages received ahead of a gap, while there is room. Other messages arrive again, because the
/// resend request covers everything behind the gap.
///
/// Invariant: each number is stored once, in its own bytes.
pub struct OutOfOrderQueue {
    bytes: Box<[u8]>,
    end: usize,
    stored: Vec<Stored>,
    most: usize,
}

#[derive(Clone, Copy)]
struct Stored {
    number: u64,
    start: usize,
    length: usize,
}

impl OutOfOrderQueue {
    pub fn new(messages: usize, bytes: usize) -> OutOfOrderQueue {
        OutOfOrderQueue {
            bytes: vec![0; bytes].into(),
            end: 0,
            stored: Vec::with_capacity(messages),
            most: messages,
        }
    }

    /// Stores a message. `false`: no room.
    pub fn keep(&mut self, number: u64, message: &[u8]) -> bool {
        if self.stored.iter().any(|stored| stored.number == number) {
            return true;
        }
        let end = self.end + message.len();
        if self.stored.len() == self.most || end > self.bytes.len() {
            return false;
        }
        self.bytes[self.end..end].copy_from_slice(message);
        self.stored.push(Stored {
            number,
            start: self.end,
            length: message.len(),
        });
        self.end = end;
        true
    }

    /// Removes and returns the message of this number; earlier ones are dropped.
    #[inline]
    pub fn take(&mut self, number: u64) -> Option<std::ops::Range<usize>> {
        match self.stored.is_empty() {
            true => None,
            false => self.remove(number),
        }
    }

    #[cold]
    fn remove(&mut self, number: u64) -> Option<std::ops::Range<usize>> {
        let mut of_number = self.stored.iter().filter(|stored| stored.number == number);
        let found = of_number.next().copied();
        assert!(
            of_number.next().is_none(),
            "out-of-order queue: each number is kept once"
        );
        self.stored.retain(|stored| stored.number > number);
        if self.stored.is_empty() {
            self.end = 0;
        }
        found.map(|stored| stored.start..stored.start + stored.length)
    }

    /// The highest number of a stored message.
    pub fn last(&self) -> Option<u64> {
        self.stored.iter().map(|stored| stored.number).max()
    }

    /// Bytes of a removed message, valid until another one is stored.
    pub fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Empties the queue.
    pub fn clear(&mut self) {
        self.stored.clear();
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &mut OutOfOrderQueue, number: u64) -> Option<Vec<u8>> {
        let range = queue.take(number)?;
        Some(queue.bytes(range).to_vec())
    }

    #[test]
    fn messages_are_delivered_in_sequence_and_once() {
        let mut queue = OutOfOrderQueue::new(3, 12);
        assert!(queue.keep(9, b"nine") && queue.keep(7, b"seven"));
        assert!(queue.keep(9, b"another nine, which has no room"));
        assert_eq!(take(&mut queue, 6), None);
        assert_eq!(take(&mut queue, 7), Some(b"seven".to_vec()));
        assert_eq!(take(&mut queue, 7), None);
        assert_eq!(take(&mut queue, 9), Some(b"nine".to_vec()));
    }

    #[test]
    fn messages_below_the_expected_number_make_room() {
        let mut queue = OutOfOrderQueue::new(2, 8);
        queue.keep(5, b"five");
        queue.keep(6, b"six");
        assert_eq!(take(&mut queue, 7), None);
        assert!(
            queue.keep(8, b"eight") && queue.keep(9, b"ten"),
            "room again"
        );
    }

    #[test]
    fn messages_and_bytes_that_wait_are_limited() {
        let mut queue = OutOfOrderQueue::new(2, 8);
        assert!(!queue.keep(1, b"123456789"));
        assert!(queue.keep(1, b"1234") && !queue.keep(2, b"12345"));
        assert!(queue.keep(2, b"") && !queue.keep(3, b""));
        queue.clear();
        assert!(queue.keep(3, b"12345678"));
    }
}
