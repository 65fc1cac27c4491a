//! Resolved changes of a book, which a reader applies without a venue's rules.

use crate::{BookKind, Level, Price, Quantity, Side};

coded! {
    /// Change of a list of levels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LevelAction {
        /// A level was inserted at the index; the levels at and after the index moved down by one.
        Insert = 0,
        /// The level at the index has these values.
        Replace = 1,
        /// The level at the index was removed; the ones behind it moved up by one.
        Remove = 2,
        /// The list was emptied.
        Clear = 3,
    }
}

/// One step of a list of levels. A reader that applies the steps of an update to its own list has
/// the publisher's list, without knowledge of depths or venue rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// New values of the level; unused for `Remove` and `Clear`.
    pub level: Level,
    /// Book of the list.
    pub book: BookKind,
    /// Side of the list.
    pub side: Side,
    /// Kind of change.
    pub action: LevelAction,
    /// Index from 0, the best.
    pub index: u16,
}

coded! {
    /// Change of an order; in an event, as stated by the venue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OrderAction {
        /// New order.
        New = 0,
        /// New values.
        Update = 1,
        /// Removed order.
        Delete = 2,
    }
}

/// Row of an order among all orders of its publisher, from the message that adds the order to the one that removes it.
/// In the batch of the latter another order may get the row, also earlier in the batch.
///
/// The row is the place of the order in the order table. No message contains it: in a decoded message it is
/// [`NONE`](OrderRow::NONE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct OrderRow {
    /// Index of the row, from 0.
    pub index: u32,
    /// Number of orders that had rows before this one: of two orders with one row the larger number is the newer.
    pub number: u64,
}

impl OrderRow {
    /// No row: the order is not in the order table.
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
    /// Side.
    pub side: Side,
    /// Kind of change.
    pub action: OrderAction,
    /// Place in the order table.
    pub row: OrderRow,
}

const _: () = assert!(size_of::<LevelChange>() == 32);
const _: () = assert!(size_of::<OrderChange>() == 48);
