//! A bus of market data as its readers attach it: ring, definitions and images.

use super::tables::TABLES;
use crate::bus::{Error, Reading, Root, SlotGuard};

/// Ring and tables of a bus of market data.
pub type MarketReading = Reading<{ TABLES.len() }>;

/// Place of the definitions among the tables.
pub const DEFINITIONS: usize = 0;
/// Place of the images among the tables.
pub const IMAGES: usize = 1;
/// Place of the order books among the tables.
pub const ORDER_BOOKS: usize = 2;
/// Place of the orders among the tables.
pub const ORDERS: usize = 3;

/// Place of the last values among the tables.
pub const LAST_VALUES: usize = 4;

/// Attaches, as a named reader if that is wanted; waits for a writer that is just starting.
pub fn join(
    root: &Root,
    bus: &str,
    registered: bool,
) -> Result<(MarketReading, Option<SlotGuard>), Error> {
    Reading::join(root, bus, TABLES, registered)
}

/// The same without waiting: a writer that is just starting is an error.
pub fn try_join(
    root: &Root,
    bus: &str,
    registered: bool,
) -> Result<(MarketReading, Option<SlotGuard>), Error> {
    Reading::try_join(root, bus, TABLES, registered)
}
