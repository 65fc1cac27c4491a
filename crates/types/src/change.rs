//! Resolved changes: what happened to a book, in terms that need no venue's rules to follow.

use crate::{BookKind, Level, Price, Quantity, Side};

coded! {
    /// What happened to a list of levels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LevelAction {
        /// The level came in at the index; the ones from there on moved down by one.
        Insert = 0,
        /// The level at the index has these values now.
        Replace = 1,
        /// The level at the index went away; the ones behind it moved up by one.
        Remove = 2,
        /// The whole list went away.
        Clear = 3,
    }
}

/// One step of a list of levels. A reader who plays the steps of an update on its own list has
/// the publisher's list; no depth and no venue rule is needed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// The level's new values; meaningless for `Remove` and `Clear`.
    pub level: Level,
    /// Which list, with `side`.
    pub book: BookKind,
    /// Which list, with `book`.
    pub side: Side,
    /// What happened.
    pub action: LevelAction,
    /// Index from 0, the best.
    pub index: u16,
}

coded! {
    /// What happened to an order; on an event, what the venue says should.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OrderAction {
        /// It came in.
        New = 0,
        /// It has these values now.
        Update = 1,
        /// It went away.
        Delete = 2,
    }
}

/// Row of an order among all orders of its publisher: its own from the message that brings it to the one that takes it
/// away. In the batch of that last message another order may get the row already, also before it.
///
/// It says where the image of the order lies, and no message carries it: read from a message it is
/// [`NONE`](OrderRow::NONE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct OrderRow {
    /// Index of the row, from 0.
    pub index: u32,
    /// How many orders had rows before this one got its own: of two orders of one row it tells the newer.
    pub number: u64,
}

impl OrderRow {
    /// No row: the order has no image.
    pub const NONE: OrderRow = OrderRow {
        index: u32::MAX,
        number: 0,
    };
}

/// One step of an order book, with the order's full values after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderChange {
    /// The venue's order id.
    pub order_id: u64,
    /// Rank within its price, lowest first.
    pub priority: u64,
    /// Price.
    pub price: Price,
    /// Visible quantity.
    pub quantity: Quantity,
    /// Which side.
    pub side: Side,
    /// What happened.
    pub action: OrderAction,
    /// Where its image lies.
    pub row: OrderRow,
}

const _: () = assert!(size_of::<LevelChange>() == 32);
const _: () = assert!(size_of::<OrderChange>() == 48);
