//! Messages behind a gap in the counterparty's numbers.

/// Out-of-order queue: messages received ahead of a gap, as far as there is room. What there is none for comes again: it was asked
/// for with everything behind the gap.
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

    /// Keeps a message. `false`: there is no room.
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

    /// Takes out the message of this number; those before it are not needed any more.
    pub fn take(&mut self, number: u64) -> Option<std::ops::Range<usize>> {
        if self.stored.is_empty() {
            return None;
        }
        let found = self
            .stored
            .iter()
            .find(|stored| stored.number == number)
            .copied();
        self.stored.retain(|stored| stored.number > number);
        if self.stored.is_empty() {
            self.end = 0;
        }
        found.map(|stored| stored.start..stored.start + stored.length)
    }

    /// The bytes of a message that was taken out, until another is kept.
    pub fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Nothing is kept any more.
    pub fn clear(&mut self) {
        self.stored.clear();
        self.end = 0;
    }
}
