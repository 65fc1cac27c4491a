//! Layout of order books in their tables.
//!
//! ```text
//!  order_books, by instrument   state │ cleared at │ cut at │ sequence │ exchange_ns │ receive_ns
//!  orders, by row               key │ order id │ priority │ price │ quantity │ number
//! ```
//!
//! Each slot also has the position after the message that changed it last. A slot is one cache line.
//!
//! The key of a row says whether it has an order. The order counts only if its message is not before the last one that emptied
//! the book of its instrument (`cleared at`), nor before the last reset or loss of the channel: so emptying a book, or
//! all of them, changes one slot. A book with an order that has no row is incomplete until it is emptied (`cut at`).

use super::channel_image::{ChannelImage, is_before};
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderEvent, Price, Quantity, Side, Validity,
};

/// Words of the slot of an order book.
pub const BOOK_WORDS: usize = 6;
/// Words of the slot of an order.
pub const ROW_WORDS: usize = 6;

/// Bits of the state: the following words are set.
const CLEARED: u64 = 1 << 8;
const CUT: u64 = 1 << 9;

/// Bits of the key: the side, and presence of an order.
const ASK: u64 = 1 << 32;
const HELD: u64 = 1 << 33;

/// Order book of an instrument, without its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBookImage {
    /// Own validity.
    pub validity: Validity,
    /// Position after the last message that published it as a whole.
    pub cleared_at: Option<u64>,
    /// Position after the last message with an order without a row.
    pub cut_at: Option<u64>,
    /// Number of its last message.
    pub sequence: u64,
    /// Time stated by the venue, nanoseconds since the Unix epoch.
    pub exchange_ns: u64,
    /// Receive time, nanoseconds since the Unix epoch.
    pub receive_ns: u64,
}

impl OrderBookImage {
    /// Writes it as the content of a slot.
    #[inline]
    pub fn write(&self, content: &[AtomicU64]) {
        let cleared = if self.cleared_at.is_some() {
            CLEARED
        } else {
            0
        };
        let cut = if self.cut_at.is_some() { CUT } else { 0 };
        let words: [u64; BOOK_WORDS] = [
            self.validity as u64 | cleared | cut,
            self.cleared_at.unwrap_or(0),
            self.cut_at.unwrap_or(0),
            self.sequence,
            self.exchange_ns,
            self.receive_ns,
        ];
        for (word, value) in content.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Reads it from the content of a slot; `None` if the content is invalid.
    pub fn take(content: &[u64; BOOK_WORDS]) -> Option<OrderBookImage> {
        let [state, cleared_at, cut_at, sequence, exchange_ns, receive_ns] = *content;
        Some(OrderBookImage {
            validity: Validity::from_code(state as u8)?,
            cleared_at: (state & CLEARED != 0).then_some(cleared_at),
            cut_at: (state & CUT != 0).then_some(cut_at),
            sequence,
            exchange_ns,
            receive_ns,
        })
    }

    /// Whether an order whose message ends at `position` is in the book.
    pub fn counts(&self, position: u64, channel: &ChannelImage) -> bool {
        let is_of_book = self
            .cleared_at
            .is_none_or(|cleared| !is_before(position, cleared));
        is_of_book && !is_emptied_since(channel, position)
    }

    /// Whether an order of the book has no row.
    pub fn is_cut(&self, channel: &ChannelImage) -> bool {
        self.cut_at.is_some_and(|cut| self.counts(cut, channel))
    }
}

/// Whether a reset or a loss has emptied all order books since `position`.
pub fn is_emptied_since(channel: &ChannelImage, position: u64) -> bool {
    let gap = channel.gap.map(|(gap, _)| gap);
    let [reset, gap] = [channel.reset, gap].map(|at| at.is_some_and(|at| is_before(position, at)));
    reset || gap
}

/// Validity of an order book since the last reset or loss, which left it empty; `None` if there was
/// none.
pub fn emptied_validity(channel: &ChannelImage) -> Option<Validity> {
    match (channel.reset, channel.gap) {
        (Some(reset), Some((gap, _))) if is_before(gap, reset) => Some(Validity::Live),
        (_, Some((_, gap))) => Some(gap.orders),
        (Some(_), None) => Some(Validity::Live),
        (None, None) => None,
    }
}

/// The order of a row, as an event.
pub fn order_of(content: &[u64; ROW_WORDS]) -> Option<OrderEvent> {
    let [key, order_id, priority, price, quantity, _] = *content;
    (key & HELD != 0).then_some(OrderEvent {
        order_id,
        priority: Some(priority),
        price: Price(price as i64),
        quantity: Quantity(quantity as i64),
        instrument: Instrument(key as u32),
        action: OrderAction::New,
        side: if key & ASK == 0 { Side::Bid } else { Side::Ask },
    })
}

/// Number of a row's order.
#[inline]
pub fn number_of(content: &[AtomicU64]) -> Option<u64> {
    let is_held = content[0].load(Ordering::Relaxed) & HELD != 0;
    is_held.then(|| content[ROW_WORDS - 1].load(Ordering::Relaxed))
}

/// Writes an order as the content of its row.
#[inline]
pub fn write_order(content: &[AtomicU64], instrument: Instrument, order: &OrderChange) {
    let side = match order.side {
        Side::Bid => 0,
        Side::Ask => ASK,
    };
    let words: [u64; ROW_WORDS] = [
        u64::from(instrument.0) | side | HELD,
        order.order_id,
        order.priority,
        order.price.0 as u64,
        order.quantity.0 as u64,
        order.row.number,
    ];
    for (word, value) in content.iter().zip(words) {
        word.store(value, Ordering::Relaxed);
    }
}

/// Empties a row.
#[inline]
pub fn write_none(content: &[AtomicU64]) {
    content[0].store(0, Ordering::Relaxed);
}
