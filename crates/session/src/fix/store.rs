//! Store of sequence numbers and sent messages.

use std::fmt;

/// State of a session that outlives a connection.
///
/// The session stores a message before any byte of it is sent, and counts a received message only after the application
/// has processed it. A store keeps that order. An error ends the session; a store with unknown contents refuses every
/// later call.
pub trait Store {
    /// Number of our next message, from 1.
    fn next_out(&self) -> u64;

    /// Number of the expected message, from 1.
    fn next_in(&self) -> u64;

    /// Stores the message with the number [`Store::next_out`], which is then incremented. An empty message uses a
    /// number for something that is never resent.
    ///
    /// # Errors
    /// The message is not stored, and the number is not used.
    fn add(&mut self, message: &[u8]) -> Result<(), StoreError>;

    /// Sets the expected number.
    ///
    /// # Errors
    /// The number is unchanged.
    fn expect(&mut self, next_in: u64) -> Result<(), StoreError>;

    /// Copies a message into `room`. Returns 0 if the message is no longer stored, was empty, or does not fit.
    ///
    /// # Errors
    /// The store cannot be read.
    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError>;

    /// Restarts both numbers at 1 and removes all messages.
    ///
    /// # Errors
    /// Nothing has changed; or the store is empty and refuses every call.
    fn reset(&mut self) -> Result<(), StoreError>;

    /// Whether messages can be read again. Otherwise one gap fill answers a request for old messages at once, and no
    /// message waits in the store.
    fn keeps_messages(&self) -> bool {
        true
    }
}

/// A store whose type is chosen at run time.
impl<S: Store + ?Sized> Store for Box<S> {
    fn next_out(&self) -> u64 {
        (**self).next_out()
    }

    fn next_in(&self) -> u64 {
        (**self).next_in()
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        (**self).add(message)
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        (**self).expect(next_in)
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        (**self).read(number, room)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        (**self).reset()
    }

    fn keeps_messages(&self) -> bool {
        (**self).keeps_messages()
    }
}

/// Error of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// System error with this number.
    System(i32),
    /// Stored data was changed.
    Damaged,
    /// A message exceeds the size that the store accepts when it is opened again.
    TooLong,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::System(number) => {
                let error = std::io::Error::from_raw_os_error(*number);
                write!(
                    f,
                    "the session's store failed: {error}; sending and counting stop until it is opened again"
                )
            }
            StoreError::Damaged => f.write_str("the session's store is damaged"),
            StoreError::TooLong => f.write_str(
                "the message is too long for the session's store; sending and counting stop until it is opened again",
            ),
        }
    }
}

/// A store in memory: the latest messages, as far as they fit.
pub struct Memory {
    next_out: u64,
    next_in: u64,
    /// A ring of bytes, and a ring of the positions of messages in it.
    bytes: Box<[u8]>,
    stored: Box<[Stored]>,
    /// Position of the next message, in bytes since the start.
    end: u64,
}

/// Position of a message: its first byte since the start, and its length.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    number: u64,
    start: u64,
    length: usize,
}

/// Prints no contents: they include orders.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Memory(next_out {}, next_in {})",
            self.next_out, self.next_in
        )
    }
}

impl Memory {
    /// A store of the latest `messages` messages that fit `bytes`; both at least 1.
    pub fn new(messages: usize, bytes: usize) -> Memory {
        Memory {
            next_out: 1,
            next_in: 1,
            bytes: vec![0; bytes.max(1)].into(),
            stored: vec![Stored::default(); messages.max(1)].into(),
            end: 0,
        }
    }

    fn slot(&self, number: u64) -> usize {
        (number % self.stored.len() as u64) as usize
    }
}

impl Default for Memory {
    /// A thousand messages, in a MiB.
    fn default() -> Memory {
        Memory::new(1_024, 1 << 20)
    }
}

impl Store for Memory {
    fn next_out(&self) -> u64 {
        self.next_out
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        let size = self.bytes.len();
        let length = if message.len() <= size {
            message.len()
        } else {
            0
        };
        // A message is contiguous: the rest at the end of the ring stays free.
        let place = (self.end % size as u64) as usize;
        if place + length > size {
            self.end += (size - place) as u64;
        }
        let place = (self.end % size as u64) as usize;
        self.bytes[place..place + length].copy_from_slice(&message[..length]);
        let slot = self.slot(self.next_out);
        self.stored[slot] = Stored {
            number: self.next_out,
            start: self.end,
            length,
        };
        self.end += length as u64;
        self.next_out += 1;
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.next_in = next_in;
        Ok(())
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        let stored = self.stored[self.slot(number)];
        let size = self.bytes.len() as u64;
        let is_there = stored.number == number && stored.start + size >= self.end;
        let place = (stored.start % size) as usize;
        match room.get_mut(..stored.length) {
            Some(room) if is_there => {
                room.copy_from_slice(&self.bytes[place..place + stored.length]);
                Ok(stored.length)
            }
            _ => Ok(0),
        }
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        (self.next_out, self.next_in, self.end) = (1, 1, 0);
        self.stored.fill(Stored::default());
        Ok(())
    }
}
