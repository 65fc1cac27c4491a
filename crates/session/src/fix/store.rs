//! Numbers of both sides, and the messages that were sent.

use std::fmt;

/// What a session must know after its end.
///
/// The session stores a message before any byte of it is sent, and counts a message of the counterparty
/// only after the application has seen it. A store keeps that order. An error ends the session; a store
/// that does not know any more what it keeps refuses everything from then on.
pub trait Store {
    /// Number of the next message that we send, from 1.
    fn next_out(&self) -> u64;

    /// Number of the next message that we expect, from 1.
    fn next_in(&self) -> u64;

    /// Keeps the message with the number [`Store::next_out`], which goes up by one. An empty message is a
    /// number that was used for something that is never sent again.
    ///
    /// # Errors
    /// It is not kept; the number is not used.
    fn add(&mut self, message: &[u8]) -> Result<(), StoreError>;

    /// The next message that we expect has this number.
    ///
    /// # Errors
    /// The number is the old one.
    fn expect(&mut self, next_in: u64) -> Result<(), StoreError>;

    /// Copies a message into `room`. 0: it is not kept any more, or was empty, or has no room.
    ///
    /// # Errors
    /// The store cannot be read.
    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError>;

    /// Both numbers begin again at 1, and no message is kept.
    ///
    /// # Errors
    /// Everything is as before; or nothing is kept, and everything is refused.
    fn reset(&mut self) -> Result<(), StoreError>;
}

/// A store whose kind is chosen at run time.
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
}

/// Reason why a store refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The system's error of this number.
    System(i32),
    /// What is read is not what was written.
    Damaged,
    /// A message is longer than what the store would take for one of its own when it is opened again.
    TooLong,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::System(number) => {
                let error = std::io::Error::from_raw_os_error(*number);
                write!(
                    f,
                    "the session's store failed: {error}; nothing more is sent or counted until it is opened again"
                )
            }
            StoreError::Damaged => f.write_str("the session's store is damaged"),
            StoreError::TooLong => f.write_str(
                "the session's store was given a longer message than it takes; nothing more is sent or counted until it is opened again",
            ),
        }
    }
}

/// A store that ends with its process: the latest messages, as far as they fit.
pub struct Memory {
    next_out: u64,
    next_in: u64,
    /// A ring of bytes, and a ring of where messages lie in it.
    bytes: Box<[u8]>,
    stored: Box<[Stored]>,
    /// Where the next message goes, in bytes since the beginning.
    end: u64,
}

/// Where a message lies: its first byte since the beginning, and its length.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    number: u64,
    start: u64,
    length: usize,
}

/// Other people's orders are in it.
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
        // A message lies in one piece: what is left at the end of the ring stays free.
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
