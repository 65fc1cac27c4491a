//! Messages behind a hole in the counterparty's numbers.

/// Keeps what came too early, as far as there is room. What there is none for comes again: it was asked
/// for with everything behind the hole.
pub struct Ahead {
    bytes: Box<[u8]>,
    end: usize,
    kept: Vec<Kept>,
    most: usize,
}

#[derive(Clone, Copy)]
struct Kept {
    number: u64,
    start: usize,
    length: usize,
}

impl Ahead {
    pub fn new(messages: usize, bytes: usize) -> Ahead {
        Ahead {
            bytes: vec![0; bytes].into(),
            end: 0,
            kept: Vec::with_capacity(messages),
            most: messages,
        }
    }

    /// Keeps a message. `false`: there is no room.
    pub fn keep(&mut self, number: u64, message: &[u8]) -> bool {
        if self.kept.iter().any(|kept| kept.number == number) {
            return true;
        }
        let end = self.end + message.len();
        if self.kept.len() == self.most || end > self.bytes.len() {
            return false;
        }
        self.bytes[self.end..end].copy_from_slice(message);
        self.kept.push(Kept {
            number,
            start: self.end,
            length: message.len(),
        });
        self.end = end;
        true
    }

    /// Takes out the message of this number; those before it are not needed any more.
    pub fn take(&mut self, number: u64) -> Option<std::ops::Range<usize>> {
        if self.kept.is_empty() {
            return None;
        }
        let found = self.kept.iter().find(|kept| kept.number == number).copied();
        self.kept.retain(|kept| kept.number > number);
        if self.kept.is_empty() {
            self.end = 0;
        }
        found.map(|kept| kept.start..kept.start + kept.length)
    }

    /// The bytes of a message that was taken out, until another is kept.
    pub fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Nothing is kept any more.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.end = 0;
    }
}
