//! A reader of a ring of [self-describing payloads](crate::payload) that holds everything it is given against what
//! must have been sent.

use crate::payload;
use std::fmt;
use touchline_shm::Words;
use touchline_shm::broadcast::{Frame, Reader, RingEvent};

/// What a reader has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of the first message that this reader could have got.
    pub first: u64,
    /// Messages that it got.
    pub received: u64,
    /// Messages that it was told to have lost.
    pub lost: u64,
    /// How often it was told so.
    pub laps: u64,
    /// Writers that it saw begin.
    pub epochs: u64,
    /// Messages that were overwritten while it looked at them, and that the ring therefore kept back.
    pub torn: u64,
}

impl Tally {
    /// Number of the message that comes next, if nothing was forgotten.
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
    /// A message was given out that was never sent under this number.
    Wrong {
        /// The number.
        sequence: u64,
    },
    /// Received and lost do not add up to where the reader stands.
    Uncounted {
        /// The next message by counting.
        counted: u64,
        /// The next message as the reader says.
        said: u64,
    },
    /// The reader found what no writer writes.
    Corrupt {
        /// Where.
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
    /// Watches a ring of such payloads of at most that length, from where the reader is.
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

    /// Believes what it reads before the ring has validated it: a broken reader, to test the tests.
    pub fn credulous(self) -> Self {
        Self {
            credulous: true,
            ..self
        }
    }

    /// Takes what comes next; `false` if there is nothing.
    ///
    /// # Errors
    /// What the ring did wrong.
    pub fn poll(&mut self) -> Result<bool, Violation> {
        self.poll_while(|| ())
    }

    /// Takes what comes next, and does something in the middle of looking at it.
    ///
    /// # Errors
    /// What the ring did wrong.
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

    /// What it has seen.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The reader itself.
    pub fn reader(&self) -> &Reader<M> {
        &self.reader
    }
}

/// Whether this is the payload of its number; looks at the last word first, and goes away in between.
fn is_right(frame: &Frame<'_>, length_max: usize, meanwhile: impl FnOnce()) -> bool {
    let (sequence, length) = (frame.sequence, frame.len());
    let is_right = |index| frame.word(index) == payload::word(sequence, length, index);
    let words = length.div_ceil(8);
    let last = words == 0 || is_right(words - 1);
    meanwhile();
    let others = (0..words.saturating_sub(1)).all(is_right);
    last && others && length == payload::length(sequence, length_max)
}
