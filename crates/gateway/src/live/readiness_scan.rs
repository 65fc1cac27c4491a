//! How the channel stands: which books are live, and whether the gateway is ready.
//!
//! A channel has thousands of instruments, and the thread that counts them is the one that must not
//! be late: each look takes a few.

use touchline_feed::Feed;
use touchline_types::{Instrument, Validity};

/// Instruments of one look.
const SLICE: usize = 64;

/// Book health: what the last complete scan found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BookHealth {
    /// Instruments of the channel.
    pub known: u64,
    /// Price books that are live.
    pub live: u64,
    /// Order books that are live.
    pub orders_live: u64,
    /// Every definition was seen and every price book is live.
    pub ready: bool,
}

/// Readiness scan: a round over the instruments that goes on.
#[derive(Debug, Default)]
pub struct ReadinessScan {
    next: usize,
    found: BookHealth,
    book_health: BookHealth,
}

impl ReadinessScan {
    /// Looks at the next few instruments.
    pub fn step(&mut self, feed: &impl Feed, known: usize) {
        let end = known.min(self.next + SLICE);
        for index in self.next..end {
            let instrument = Instrument(index as u32);
            self.found.live += u64::from(feed.validity(instrument) == Validity::Live);
            self.found.orders_live += u64::from(feed.orders_validity(instrument) == Validity::Live);
        }
        self.next = end;
        if end == known {
            if !feed.is_fresh() {
                // They are shown as gapped or stale.
                (self.found.live, self.found.orders_live) = (0, 0);
            }
            self.found.known = known as u64;
            self.found.ready =
                feed.is_defined() && known > 0 && self.found.live == self.found.known;
            self.book_health = std::mem::take(&mut self.found);
            self.next = 0;
        }
    }

    /// Book health: what the last complete scan found.
    pub fn book_health(&self) -> BookHealth {
        self.book_health
    }
}
