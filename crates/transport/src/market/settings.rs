//! Sizes and ways of a bus of market data.

use super::book_image;
use super::channel_image;
use super::last_values;
use super::order_tables;
use super::tables::{DEFINITION_WORDS, TABLES};
use crate::bus::{Layout, Lock, Lossless};
use touchline_shm::last_value::Shape;
use touchline_types::native;

/// How a bus is made. All memory is taken from these at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of messages that the ring holds: a power of two. How far a reader may fall behind.
    pub ring_bytes: u64,
    /// Instruments that have a definition and an image.
    pub instruments_max: usize,
    /// Levels of each list of an image. A deeper book has no image, and who joins waits until the
    /// whole book is published.
    pub image_levels_max: usize,
    /// Orders of all instruments that have an image, 64 bytes each; 0 is a bus without images of order books.
    pub orders_max: usize,
    /// Whether the top of book is published by itself whenever it changes.
    pub tops: bool,
    /// Named readers that are waited for; `None` never waits.
    pub lossless: Option<Lossless>,
    /// Huge pages, where the system has them.
    pub huge_pages: bool,
    /// Whether memory is kept from being swapped out.
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
    /// Files of such a bus.
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
