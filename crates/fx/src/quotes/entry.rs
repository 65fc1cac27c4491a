//! One entry of a bank's book, and what it is found by.

use touchline_types::{Id, Side};

/// An entry: what a bank says that it deals at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Which side of the bank's book.
    pub side: Side,
    /// Whether it may be dealt on; otherwise it is indicative.
    pub is_firm: bool,
    /// Whether an order took it since the bank set it.
    pub is_used: bool,
    /// Price, ticks.
    pub price: i64,
    /// Size, units.
    pub size: i64,
    /// Least quantity of an order on it, units.
    pub minimum: i64,
    /// When it is gone, nanoseconds since 1970; [`NEVER`] without an end.
    pub expires_ns: u64,
    /// Number of the setting among all of the bank.
    pub age: u64,
    /// The bank's name for it; empty if there is none.
    pub quote_id: Id,
    /// MDReqID (262) under which it was set; empty if there is none.
    pub request: Id,
}

/// The time that never comes.
pub const NEVER: u64 = u64::MAX;

/// What an entry is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// MDEntryID (278).
    Entry(Id),
    /// QuoteEntryID (299) of a snapshot without MDEntryID.
    Level(Side, Id),
    /// MDReqID (262), and the place in the message, where a snapshot names no entries.
    Place(Id, u32),
    /// QuoteReqID (131) of a quote.
    Request(Side, Id),
    /// QuoteEntryID (299) of a mass quote.
    Mass(Side, Id),
}

impl Key {
    /// A word that mostly tells keys apart; equal keys have equal ones.
    pub fn word(&self) -> u64 {
        let (kind, text) = match self {
            Key::Entry(id) => (0, id),
            Key::Level(side, id) => (1 + side.index() as u64, id),
            Key::Place(id, place) => (u64::from(*place) << 8 | 3, id),
            Key::Request(side, id) => (4 + side.index() as u64, id),
            Key::Mass(side, id) => (6 + side.index() as u64, id),
        };
        // FNV-1a: short, and no bank gains by collisions, which cost only itself time.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ kind;
        for byte in text.as_str().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash
    }
}
