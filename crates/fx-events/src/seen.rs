//! What the router saw when it made a plan: enough to make the same plan again.

use crate::setup::{BANKS_MAX, Bank, Pair};
use std::ops::Range;

/// Entries in a record; a plan that used more has all that it used.
pub const ENTRIES_MAX: usize = 16;

/// Entries, limits, omissions and hits of all plans of a batch.
#[derive(Debug, Clone, Default)]
pub struct SeenLists {
    /// First entries of each side.
    pub entries: Vec<SeenEntry>,
    /// Banks that were limited, or have terms of their own.
    pub limits: Vec<BankLimit>,
    /// Banks without a counted entry.
    pub left_out: Vec<LeftOut>,
    /// Quotes that the orders of the plan hit, in the order of its legs.
    pub hits: Vec<Hit>,
}

impl SeenLists {
    /// Reserves memory for plans with this many orders.
    pub fn reserve(&mut self, orders: usize) {
        self.entries.reserve(orders + ENTRIES_MAX);
        self.limits.reserve(BANKS_MAX);
        self.left_out.reserve(BANKS_MAX);
        self.hits.reserve(orders);
    }

    /// Removes all and keeps the memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.limits.clear();
        self.left_out.clear();
        self.hits.clear();
    }
}

/// Market and limits of one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Number of the parent.
    pub parent: u32,
    /// Pair.
    pub pair: Pair,
    /// The pair's lot, units.
    pub lot: i64,
    /// Whether a ticket and a sweep might be combined.
    pub combine: bool,
    /// Number of counted entries of the side that was taken; those in the record may be fewer.
    pub counted: u16,
    /// Range in [`SeenLists::entries`].
    pub entries: Range<usize>,
    /// Range in [`SeenLists::limits`].
    pub limits: Range<usize>,
    /// Range in [`SeenLists::left_out`].
    pub left_out: Range<usize>,
    /// Range in [`SeenLists::hits`].
    pub hits: Range<usize>,
}

/// An entry that counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenEntry {
    /// Bank.
    pub bank: Bank,
    /// Whether it is on the side that the plan takes.
    pub is_taken_side: bool,
    /// Whether it is a band, used as one ticket.
    pub is_full: bool,
    /// Whether the plan used it.
    pub is_used: bool,
    /// Ticks.
    pub price: i64,
    /// Size in whole lots, units.
    pub size: i64,
    /// Minimum quantity of an order on it, units.
    pub minimum: i64,
    /// Time since its gateway received it, or since the engine took it where the gateway does not say; microseconds, at most an hour.
    pub age_us: u32,
    /// Number of its setting among all of the bank, low bits: the lower of two is older.
    pub setting: u16,
}

/// Limit and terms of a bank with an entry in the record; a bank without them was not limited, had no penalty and gets limit orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BankLimit {
    /// Bank.
    pub bank: Bank,
    /// Whether its orders name a quote.
    pub is_quoted: bool,
    /// Weighted penalty, tenths of a tick.
    pub penalty: i64,
    /// Units at most; none if that is not below the open quantity.
    pub cap: Option<i64>,
}

/// A bank of the pair without a counted entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Bank.
    pub bank: Bank,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why a bank was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It had no usable quote on the side.
    NoQuote,
    /// Its best price was beyond the parent's limit.
    Limit,
    /// Its prices were off the market.
    OffMarket,
    /// Its order session was down.
    Session,
    /// It had as many orders in this second as it may have.
    Rate,
    /// The pair was disabled until the desk enables it.
    Disabled,
    /// The pair cooled down.
    Cooldown,
    /// An order of it had no outcome.
    InDoubt,
    /// Its prices were beyond the collar.
    Collar,
    /// All its quotes were used by earlier orders.
    Used,
}

impl WhyLeftOut {
    /// The reason as a word.
    pub fn name(self) -> &'static str {
        match self {
            WhyLeftOut::NoQuote => "no_quote",
            WhyLeftOut::Limit => "limit",
            WhyLeftOut::OffMarket => "off_market",
            WhyLeftOut::Session => "session_down",
            WhyLeftOut::Rate => "rate",
            WhyLeftOut::Disabled => "disabled",
            WhyLeftOut::Cooldown => "cooldown",
            WhyLeftOut::InDoubt => "in_doubt",
            WhyLeftOut::Collar => "collar",
            WhyLeftOut::Used => "used",
        }
    }
}

/// Times of the quote that an order hit, nanoseconds since 1970; 0: not known. Of an order on several entries, the first one used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hit {
    /// Sending time of the bank's message.
    pub sending_ns: u64,
    /// Time that the bank states for the prices.
    pub exchange_ns: u64,
    /// Receive time at the bank's gateway, by the engine's clock.
    pub receive_ns: u64,
    /// When the engine took it.
    pub set_ns: u64,
}
