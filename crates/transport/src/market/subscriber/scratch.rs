//! Memory of a subscriber, allocated when it joins.

use super::Join;
use super::order_scan::OrderScan;
use crate::market::Kinds;
use crate::market::Room;
use crate::market::book_image::{self, BookImage};
use crate::market::reading::{
    DEFINITIONS, IMAGES, LAST_VALUES, MarketReading, ORDER_BOOKS, ORDERS,
};
use touchline_types::native::{self, Decoder, Malformed, Message};
use zerocopy::IntoBytes;

/// Buffers and the decoder.
pub struct Scratch {
    /// The message read last.
    pub message: Box<[u64]>,
    /// Content of a slot.
    pub content: Box<[u64]>,
    /// Book of a slot.
    pub book: BookImage,
    /// The content of a definition's slot.
    pub definition: Box<[u64]>,
    /// The content of a slot of last values.
    pub last_values: Box<[u64]>,
    pub decoder: Decoder,
    room: Room,
    /// Scan of order books; `None` without their tables.
    pub orders_scan: Option<OrderScan>,
}

impl Scratch {
    pub fn new(reading: &MarketReading, join: &Join) -> Scratch {
        let Join {
            changes_max,
            orders_max,
            quotes_max,
            ..
        } = *join;
        let [order_books, rows] =
            [ORDER_BOOKS, ORDERS].map(|table| reading.tables[table].shape().slots);
        // Kinds that are not selected are skipped by their headers, and take no memory.
        let asked = |kinds, entries| match join.kinds.has_any(kinds) {
            true => entries,
            false => 0,
        };
        let (changes_max, orders_max) = (
            asked(Kinds::BOOKS, changes_max),
            asked(Kinds::ORDERS, orders_max),
        );
        let quotes_max = asked(Kinds::QUOTES, quotes_max);
        let has_orders = rows > 0 && join.kinds.has_any(Kinds::ORDERS);
        let message_bytes_max = reading.ring.geometry().message_max();
        let content_words = reading.tables[IMAGES].shape().content_words;
        Scratch {
            message: vec![0; message_bytes_max.div_ceil(8)].into(),
            content: vec![0; content_words].into(),
            book: BookImage::with_room(book_image::levels_max(content_words)),
            definition: vec![0; reading.tables[DEFINITIONS].shape().content_words].into(),
            last_values: vec![0; reading.tables[LAST_VALUES].shape().content_words].into(),
            decoder: Decoder::new(),
            room: Room::new(changes_max, orders_max, quotes_max),
            orders_scan: has_orders.then(|| OrderScan::new(order_books, rows)),
        }
    }

    /// The message of this size, as bytes and parsed, with the decoder for an update.
    // Returned in memory, the parsed message costs a reader as much again as parsing it.
    #[inline(always)]
    pub fn decoding(
        &mut self,
        length: usize,
    ) -> (
        &[u8],
        Result<Message<'_>, Malformed>,
        &mut Decoder,
        native::Scratch<'_>,
    ) {
        let bytes = self.message.as_bytes().get(..length).unwrap_or(&[]);
        let room = self.room.lend();
        (bytes, Message::parse(bytes), &mut self.decoder, room)
    }

    /// The definition in the content of its slot.
    pub fn definition_message(&self) -> Option<Message<'_>> {
        let (length, content) = self.definition.split_first()?;
        let bytes = content.as_bytes().get(..usize::try_from(*length).ok()?)?;
        Message::parse(bytes).ok()
    }
}
