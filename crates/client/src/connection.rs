//! What happens to a connection to a bus, beside its data.

use std::fmt;

/// An event of the connection to a bus. Reading goes on through all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connection {
    /// Every book is as of one place in the stream: the program may act. Comes once after joining, and again after each
    /// overrun and restart.
    CaughtUp {
        /// Instruments that are known.
        instruments: u32,
    },
    /// The publisher overran this reader. Books are recovering and follow from their snapshots at once.
    Overrun {
        /// Messages that were lost, trades among them.
        messages: u64,
        /// Bytes of them.
        bytes: u64,
    },
    /// The publisher is gone: books that were live are stale.
    PublisherGone,
    /// The publisher gives no sign of life: it is stopped, stuck or behind its venue. Books that were live are stale.
    PublisherStalled,
    /// A stalled publisher works again: books follow as they are now.
    PublisherResumed,
    /// Another publisher goes on. All books are empty and recovering; definitions and books follow, under the same
    /// handles.
    Restarted {
        /// How many publishers the bus has had, this one included.
        generation: u64,
    },
    /// The shared memory holds what no publisher writes, from this message on: as an overrun.
    Corrupt {
        /// Number of the message that was expected.
        sequence: u64,
    },
    /// Another publisher goes on in a format that this client cannot read: books that were live are stale.
    Incompatible {
        /// Number of the format.
        layout: u64,
    },
    /// A file of the bus was made shorter: nothing can be read until its publisher is started again. Books that were
    /// live are stale.
    Damaged,
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
            Connection::Overrun { messages, .. } => write!(
                f,
                "overrun: {} messages lost; books are reloaded",
                crate::words::count(*messages)
            ),
            Connection::PublisherGone => f.write_str("publisher gone; books are stale"),
            Connection::PublisherStalled => f.write_str("publisher stalled; books are stale"),
            Connection::PublisherResumed => f.write_str("publisher resumed; books are reloaded"),
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
                "publisher writes format {layout}, which this client cannot read; books are stale: use the client of the gateway's version"
            ),
            Connection::Damaged => f.write_str(
                "a file of the bus was made shorter; books are stale: start its publisher again",
            ),
        }
    }
}
