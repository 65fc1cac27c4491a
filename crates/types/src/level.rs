//! One level of a book.

use crate::{Price, Quantity};

/// One level of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Price; NULL in an unknown level.
    pub price: Price,
    /// Quantity; NULL where the venue states none.
    pub quantity: Quantity,
    /// Number of orders; -1 where the venue states none.
    pub orders: i32,
    /// False for a level that must exist (a worse one is known) but was never stated.
    pub known: bool,
}

impl Level {
    /// A level that must be there but was never stated (natural refresh).
    pub const UNKNOWN: Level = Level {
        price: Price::NULL,
        quantity: Quantity::NULL,
        orders: -1,
        known: false,
    };
}
