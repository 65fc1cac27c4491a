//! Events of the connection to a bus.

use std::fmt;

/// Event of the connection to a bus. Reading continues after each.
///
/// If an event changes the states of books, an [`Event::State`](crate::Event::State) of each of them precedes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connection {
    /// All books are consistent with one position of the stream: the program may act. Occurs once after joining, and
    /// after each overrun and restart, when the instruments are known: not before the first definition, nor during the
    /// venue's download of definitions.
    CaughtUp {
        /// Number of known instruments.
        instruments: u32,
    },
    /// The publisher overran this reader. Books are recovering; they follow at once from their snapshot slots.
    Overrun {
        /// Lost messages, trades included; 0 if their number is unknown: history, by a time, that a tape does not have.
        messages: u64,
        /// Lost bytes.
        bytes: u64,
    },
    /// The publisher has ended: books that were live are stale.
    PublisherGone,
    /// The publisher shows no activity: it is stopped, stuck or behind its venue. Books that were live are stale.
    PublisherStalled,
    /// A stalled publisher works again: the state of each book that is live again follows, and no message is skipped. With
    /// [`live_only`](crate::Options::live_only) the present books follow.
    PublisherResumed,
    /// Another publisher has started. All books are empty and recovering; definitions and books follow, with the same
    /// handles.
    Restarted {
        /// Number of publishers that the bus has had, this one included.
        generation: u64,
    },
    /// The shared memory contains an invalid message; the reader recovers as after an overrun.
    Corrupt {
        /// Number of the expected message.
        sequence: u64,
    },
    /// Another publisher has started with a format that this client cannot read: books that were live are stale.
    Incompatible {
        /// Number of the format.
        layout: u64,
    },
    /// A file of the bus was truncated: nothing can be read until its publisher is started again. Books that were live
    /// are stale.
    Damaged,
    /// This process was forked from the process that joined with a name or as a lossless reader, and the bus stays with that process: the
    /// child reads no messages, and books that were live are stale. Join the bus again in the child.
    Forked,
    /// The bus was created again, and this reader cannot join it: among others, this user may not read it any more, or memory is missing.
    /// Books that were live are stale. The reader tries again several times a second; the error of a new join says why.
    Refused,
    /// The present publisher does not wait for this reader, which joined as a lossless one: its bus is not lossless, or all places are
    /// taken. Messages can be lost from here on; each loss is a [`Connection::Overrun`].
    NotWaitedFor,
}

impl Connection {
    /// Counts of the event: instruments, lost messages and bytes, the generation, the expected message, or the format; else 0.
    pub fn counts(&self) -> [u64; 2] {
        match *self {
            Connection::CaughtUp { instruments } => [instruments.into(), 0],
            Connection::Overrun { messages, bytes } => [messages, bytes],
            Connection::Restarted { generation } => [generation, 0],
            Connection::Corrupt { sequence } => [sequence, 0],
            Connection::Incompatible { layout } => [layout, 0],
            Connection::PublisherGone
            | Connection::PublisherStalled
            | Connection::PublisherResumed
            | Connection::Damaged
            | Connection::Forked
            | Connection::Refused
            | Connection::NotWaitedFor => [0, 0],
        }
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Connection::CaughtUp { instruments: 1 } => f.write_str("caught up, 1 instrument"),
            Connection::CaughtUp { instruments } => {
                write!(
                    f,
                    "caught up, {} instruments",
                    crate::words::count(u64::from(*instruments))
                )
            }
            Connection::Overrun { messages: 0, .. } => {
                f.write_str("overrun: an unknown number of messages lost; books are reloaded")
            }
            Connection::Overrun { messages, .. } => write!(
                f,
                "overrun: {} messages lost; books are reloaded",
                crate::words::count(*messages)
            ),
            Connection::PublisherGone => f.write_str("publisher gone; books are stale"),
            Connection::PublisherStalled => f.write_str("publisher stalled; books are stale"),
            Connection::PublisherResumed => {
                f.write_str("publisher resumed; the state of each live book follows")
            },
            Connection::Restarted { generation } => write!(
                f,
                "publisher restarted (generation {generation}); books are reloaded"
            ),
            Connection::Corrupt { sequence } => write!(
                f,
                "message {sequence} is corrupt: another process writes this memory; books are reloaded"
            ),
            Connection::Incompatible { layout } => write!(
                f,
                "publisher writes format {layout}, which this client cannot read; books are stale: use the client of the gateway's version; or, if this one reads tops alone, read the books too"
            ),
            Connection::Damaged => f.write_str(
                "a file of the bus was made shorter; books are stale: start its publisher again",
            ),
            Connection::Forked => f.write_str(
                "name and place of this reader are those of the process that forked this one; books are stale: join the bus again here",
            ),
            Connection::Refused => f.write_str(
                "the bus was created again, and this reader cannot join it; books are stale: join it in another process, whose error says why",
            ),
            Connection::NotWaitedFor => f.write_str(
                "the publisher does not wait for this reader, and messages can be lost: make its bus lossless again, or give it more readers_max, and restart it",
            ),
        }
    }
}
