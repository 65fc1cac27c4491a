//! A bus of market data as attached by readers.

use super::tables::TABLES;
use crate::bus::{Error, Place, Reading, Root};

/// Ring and tables of a bus of market data.
pub type MarketReading = Reading<{ TABLES.len() }>;

/// Index of the definitions among the tables.
pub const DEFINITIONS: usize = 0;
/// Index of the price books among the tables.
pub const IMAGES: usize = 1;
/// Index of the order books among the tables.
pub const ORDER_BOOKS: usize = 2;
/// Index of the orders among the tables.
pub const ORDERS: usize = 3;

/// Index of the last values among the tables.
pub const LAST_VALUES: usize = 4;

/// Attaches, as a registered reader if requested; waits for a starting writer.
pub fn join(
    root: &Root,
    bus: &str,
    registered: bool,
) -> Result<(MarketReading, Option<Place>), Error> {
    Reading::join(root, bus, TABLES, registered)
}

/// [`join`] without waiting: a starting writer is an error.
pub fn try_join(
    root: &Root,
    bus: &str,
    registered: bool,
) -> Result<(MarketReading, Option<Place>), Error> {
    Reading::try_join(root, bus, TABLES, registered)
}

/// [`try_join`] of a reader that goes on in other files, with its place in the old ones.
pub fn rejoin(
    root: &Root,
    bus: &str,
    registered: bool,
    held: &mut Option<Place>,
) -> Result<(MarketReading, Option<Place>), Error> {
    Reading::rejoin(root, bus, TABLES, registered, held)
}
