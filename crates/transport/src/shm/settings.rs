//! Sizes and ways of a bus.

use std::time::Duration;
use touchline_shm::segment::Lock;

/// How a bus is made. All memory is taken from these at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of messages that the ring holds: a power of two. How far a reader may fall behind.
    pub ring_bytes: u64,
    /// Instruments that have a definition and an image.
    pub instruments_max: usize,
    /// Levels of each list of an image. A deeper book has no image, and who joins waits until the
    /// whole book is published.
    pub image_levels_max: usize,
    /// Whether the top of book is published by itself whenever it changes.
    pub tops: bool,
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

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            ring_bytes: 16 * 1024 * 1024,
            instruments_max: 65_536,
            image_levels_max: 16,
            tops: true,
            lossless: None,
            huge_pages: false,
            lock: Lock::IfAllowed,
        }
    }
}

impl Default for Lossless {
    fn default() -> Lossless {
        Lossless {
            readers_max: 16,
            wait_max: Duration::from_secs(1),
        }
    }
}
