//! Files and sizes of a bus, and its slow-reader policy.

use std::time::Duration;
use touchline_shm::last_value::Shape;
use touchline_shm::segment::Lock;

/// Layout of a bus with `N` tables. All memory is reserved from it at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const N: usize> {
    /// Size of the ring in bytes, a power of two: the maximum lag of a reader.
    pub ring_bytes: u64,
    /// Message size that must fit, bytes: a ring that cannot contain it is refused.
    pub message_bytes_min: usize,
    /// Version of the schema of its messages.
    pub schema: u16,
    /// Tables of keyed latest values: name of the file, number and size of the slots.
    pub tables: [(&'static str, Shape); N],
    /// Registered readers that are waited for; `None` never waits.
    pub lossless: Option<Lossless>,
    /// Huge pages, if the system has them.
    pub huge_pages: bool,
    /// Locking of memory.
    pub lock: Lock,
}

/// Waiting of a lossless bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lossless {
    /// Minimum number of slots for registered readers; each page has 32.
    pub readers_max: u32,
    /// Maximum wait for the slowest reader before its slot is freed. The slot of a dead one is
    /// freed at once.
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
