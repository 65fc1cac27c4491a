//! An entry of a bank's book, and its key.

use touchline_types::{Id, Side};

/// Entry of a bank's book. The fields that decide whether it is usable, and for which quantity, and its age are in its first
/// cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Entry {
    /// Price, ticks.
    pub price: i64,
    /// Size, units.
    pub size: i64,
    /// Size in whole lots of the pair, units.
    pub whole: i64,
    /// Minimum quantity of an order on it, units.
    pub minimum: i64,
    /// Expiry, nanoseconds since 1970; [`NEVER`] without one.
    pub expires_ns: u64,
    /// Age: number of its setting among all of the bank.
    pub age: u64,
    /// Time of its setting, nanoseconds since 1970.
    pub set_ns: u64,
    /// Side of the bank's book.
    pub side: Side,
    /// Firm; otherwise indicative.
    pub is_firm: bool,
    /// Whether an order has used it since the bank set it.
    pub is_used: bool,
    /// The bank's quote id; may be empty.
    pub quote_id: Id,
    /// MDReqID (262) of the entry; may be empty.
    pub request: Id,
    /// Times of the message that set it, where a gateway published it.
    pub times: QuoteTimes,
}

/// Times of a bank's message, nanoseconds since 1970; 0: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuoteTimes {
    /// Sending time of the bank.
    pub sending_ns: u64,
    /// Time that the bank states for its prices.
    pub exchange_ns: u64,
    /// Receive time at the gateway.
    pub receive_ns: u64,
}

/// Time that is never reached.
pub const NEVER: u64 = u64::MAX;

/// Key of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// MDEntryID (278).
    Entry(Id),
    /// QuoteEntryID (299) of a snapshot without MDEntryID.
    Level(Side, Id),
    /// MDReqID (262) and index in the message, for a snapshot whose entries have no ids.
    Place(Id, u32),
    /// QuoteReqID (131) of a quote.
    Request(Side, Id),
    /// QuoteEntryID (299) of a mass quote.
    Mass(Side, Id),
    /// Number of a quote on a bus.
    Number(u32),
}

impl Key {
    /// A hash of the key; equal keys have equal hashes.
    pub fn word(&self) -> u64 {
        let (kind, text) = match self {
            Key::Entry(id) => (0, id),
            Key::Level(side, id) => (1 + side.index() as u64, id),
            Key::Place(id, place) => (u64::from(*place) << 8 | 3, id),
            Key::Request(side, id) => (4 + side.index() as u64, id),
            Key::Mass(side, id) => (6 + side.index() as u64, id),
            Key::Number(number) => return u64::from(*number) << 8 | 8,
        };
        // FNV-1a: short. A bank that forces collisions slows down only its own book.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ kind;
        for byte in text.as_str().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash
    }
}
