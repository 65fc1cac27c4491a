//! Settings of a bus of market data.

use super::book_image;
use super::channel_image;
use super::last_values;
use super::order_tables;
use super::tables::{DEFINITION_WORDS, TABLES};
use crate::bus::{Layout, Lock, Lossless};
use touchline_shm::last_value::Shape;
use touchline_types::native;

/// Orders of all instruments, by default: of a gateway, and of a relay that receives its bus. Their memory is taken when they are used.
pub const ORDERS_MAX: usize = 1_048_576;

/// Maximum number of instruments of a bus; a message of a higher one is invalid.
pub(super) const INSTRUMENTS_MAX: usize = 1 << 20;

/// Settings of a bus. All memory is reserved from them at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Size of the ring in bytes, a power of two: the maximum lag of a reader.
    pub ring_bytes: u64,
    /// Number of instruments with a definition and a book.
    pub instruments_max: usize,
    /// Levels per list of a price book's slot. A deeper book has no snapshot; a late joiner waits
    /// for the next whole publication.
    pub image_levels_max: usize,
    /// Number of orders of all instruments with a row, 64 bytes each; 0: no tables of order books.
    pub orders_max: usize,
    /// Whether the top of book is published separately at each change.
    pub tops: bool,
    /// Registered readers that are waited for; `None` never waits.
    pub lossless: Option<Lossless>,
    /// Huge pages, if the system has them.
    pub huge_pages: bool,
    /// Locking of memory.
    pub lock: Lock,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            ring_bytes: 16 * 1024 * 1024,
            instruments_max: 65_536,
            image_levels_max: 16,
            orders_max: 65_536,
            tops: true,
            lossless: None,
            huge_pages: false,
            lock: Lock::IfAllowed,
        }
    }
}

impl Settings {
    /// Files of the bus.
    pub(super) fn layout(&self) -> Layout<{ TABLES.len() }> {
        let content_words = book_image::words(self.image_levels_max).max(channel_image::WORDS);
        let definitions = Shape {
            slots: self.instruments_max,
            content_words: DEFINITION_WORDS,
        };
        let images = Shape {
            slots: self.instruments_max + 1,
            content_words,
        };
        let [order_books, orders] = order_tables::shapes(self.instruments_max, self.orders_max);
        let last_values = Shape {
            slots: last_values::GROUPS + self.instruments_max,
            content_words: last_values::WORDS,
        };
        let shapes = [definitions, images, order_books, orders, last_values];
        Layout {
            ring_bytes: self.ring_bytes,
            message_bytes_min: native::PART_BYTES_MIN,
            schema: native::SCHEMA_VERSION,
            tables: std::array::from_fn(|table| (TABLES[table], shapes[table])),
            lossless: self.lossless,
            huge_pages: self.huge_pages,
            lock: self.lock,
        }
    }
}
