//! Reader of a ring of [self-describing payloads](crate::payload) that compares every message with the sent content.

use crate::payload;
use std::fmt;
use touchline_shm::Words;
use touchline_shm::broadcast::{Frame, Reader, RingEvent};

/// Counts of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of the first message that this reader could have received.
    pub first: u64,
    /// Received messages.
    pub received: u64,
    /// Lost messages, as reported by the ring.
    pub lost: u64,
    /// Number of such reports.
    pub laps: u64,
    /// Reported starts of a writer.
    pub epochs: u64,
    /// Messages that were overwritten during the read, and that the ring therefore did not deliver.
    pub torn: u64,
}

impl Tally {
    /// Number of the next message according to the counts.
    pub fn next(&self) -> u64 {
        self.first
            .wrapping_add(self.received)
            .wrapping_add(self.lost)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} received, {} lost in {} laps, {} torn and kept back, {} writers began",
            self.received, self.lost, self.laps, self.torn, self.epochs
        )
    }
}

/// A violation of the ring's protocol, or of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A delivered message differs from the sent one of this number.
    Wrong {
        /// The number.
        sequence: u64,
    },
    /// The counts of received and lost messages do not match the position of the reader.
    Uncounted {
        /// Next message according to the counts.
        counted: u64,
        /// Next message according to the reader.
        said: u64,
    },
    /// The reader found invalid data.
    Corrupt {
        /// Position in the ring.
        position: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong { sequence } => write!(f, "message {sequence} is not what was sent"),
            Self::Uncounted { counted, said } => {
                write!(
                    f,
                    "received and lost lead to message {counted}, the reader is at {said}"
                )
            }
            Self::Corrupt { position } => write!(f, "the ring is damaged at position {position}"),
        }
    }
}

/// Stream verifier: a reader that checks every message and every count.
#[derive(Debug)]
pub struct StreamVerifier<M: Words> {
    reader: Reader<M>,
    length_max: usize,
    credulous: bool,
    tally: Tally,
}

impl<M: Words> StreamVerifier<M> {
    /// Verifies a ring of such payloads of at most this length, from the reader's position on.
    pub fn new(reader: Reader<M>, length_max: usize) -> Self {
        let first = reader.next().sequence;
        let tally = Tally {
            first,
            ..Tally::default()
        };
        Self {
            reader,
            length_max,
            credulous: false,
            tally,
        }
    }

    /// Checks messages before the ring has validated them: an injected defect, to test the tests.
    pub fn credulous(self) -> Self {
        Self {
            credulous: true,
            ..self
        }
    }

    /// Reads the next message or event; `false` if there is nothing to read.
    ///
    /// # Errors
    /// The violation.
    pub fn poll(&mut self) -> Result<bool, Violation> {
        self.poll_while(|| ())
    }

    /// Reads the next message or event, and calls `meanwhile` in the middle of the read.
    ///
    /// # Errors
    /// The violation.
    pub fn poll_while(&mut self, meanwhile: impl FnOnce()) -> Result<bool, Violation> {
        let (mut sequence, mut right) = (0, true);
        let length_max = self.length_max;
        let taken = self.reader.read(|frame| {
            (sequence, right) = (frame.sequence, is_right(frame, length_max, meanwhile));
        });
        let delivered = matches!(taken, Ok(Some(())));
        if !right && (delivered || self.credulous) {
            return Err(Violation::Wrong { sequence });
        }
        self.tally.torn += u64::from(!right);
        match taken {
            Ok(None) => return Ok(false),
            Ok(Some(())) => self.tally.received += 1,
            Err(RingEvent::Generation(_)) => self.tally.epochs += 1,
            Err(RingEvent::Overrun(overrun)) => {
                self.tally.laps += 1;
                self.tally.lost = self.tally.lost.wrapping_add(overrun.messages);
            }
            Err(RingEvent::Corrupt { position }) => return Err(Violation::Corrupt { position }),
        }
        let (counted, said) = (self.tally.next(), self.reader.next().sequence);
        if counted != said {
            return Err(Violation::Uncounted { counted, said });
        }
        Ok(true)
    }

    /// Counts so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Reader.
    pub fn reader(&self) -> &Reader<M> {
        &self.reader
    }
}

/// Whether this is the payload of its number; reads the last word first, and calls `meanwhile` in between.
fn is_right(frame: &Frame<'_>, length_max: usize, meanwhile: impl FnOnce()) -> bool {
    let (sequence, length) = (frame.sequence, frame.len());
    let is_right = |index| frame.word(index) == payload::word(sequence, length, index);
    let words = length.div_ceil(8);
    let last = words == 0 || is_right(words - 1);
    meanwhile();
    let others = (0..words.saturating_sub(1)).all(is_right);
    last && others && length == payload::length(sequence, length_max)
}
