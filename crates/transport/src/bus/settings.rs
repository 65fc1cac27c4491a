//! Files of a bus and their sizes, and how its writer treats slow readers.

use std::time::Duration;
use touchline_shm::last_value::Shape;
use touchline_shm::segment::Lock;

/// Layout of a bus with `N` tables. All memory is taken from this at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const N: usize> {
    /// Bytes of messages that the ring holds: a power of two. How far a reader may fall behind.
    pub ring_bytes: u64,
    /// Bytes that a message must be allowed to have: a ring that holds none so long is refused.
    pub message_bytes_min: usize,
    /// Version of the schema of its messages.
    pub schema: u16,
    /// Tables of keyed latest values: name of the file, number and size of the slots.
    pub tables: [(&'static str, Shape); N],
    /// Named readers that are waited for; `None` never waits.
    pub lossless: Option<Lossless>,
    /// Huge pages, where the system has them.
    pub huge_pages: bool,
    /// Whether memory is kept from being swapped out.
    pub lock: Lock,
}

/// How long a lossless bus waits, and for how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lossless {
    /// Named readers for which there is room at least; pages are whole, and each has room for 32.
    pub readers_max: u32,
    /// How long the slowest may stop the writer before it is left behind. A dead one is left behind
    /// at once.
    pub wait_max: Duration,
}

impl Default for Lossless {
    fn default() -> Lossless {
        Lossless {
            readers_max: 16,
            wait_max: Duration::from_secs(1),
        }
    }
}
