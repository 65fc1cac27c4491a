//! Writing side of the tables: definitions, price books, order books, and last values.

use super::book_image::{Moment, SlotWriter, Written, words};
use super::channel_image::{self, ChannelImage};
use super::last_values::LastValueTable;
use super::order_tables::{ORDER_BOOKS, ORDERS, OrderTables, OrdersMessage};
use crate::bus::{Damage, Error, TableWriter};
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_types::native;
use touchline_types::{Instrument, LevelChange, Timestamps, Update, Validity};

/// File of the definitions.
pub const DEFINITIONS: &str = "definitions";
/// File of the price books.
pub const IMAGES: &str = "images";
/// File of the last trades, statistics and statuses.
pub const LAST_VALUES: &str = "last_values";
/// Files of the tables, in their order.
pub const TABLES: [&str; 5] = [DEFINITIONS, IMAGES, ORDER_BOOKS, ORDERS, LAST_VALUES];

/// The first word of a definition's slot has the size of the message, which follows.
pub const DEFINITION_WORDS: usize = 1 + native::PART_BYTES_MIN / 8;

/// Instruments reserved at a time, at most; at most this many words of price books, and at least
/// one instrument.
const CHUNK: usize = 256;
const CHUNK_WORDS: usize = 1 << 20;

/// Keeps values for late joiners.
#[derive(Debug)]
pub struct Tables {
    definitions: TableWriter,
    images: TableWriter,
    orders: OrderTables,
    last_values: LastValueTable,
    channel: ChannelImage,
    /// Written state of each slot.
    written: Vec<Written>,
    instruments_max: usize,
    levels_max: usize,
    chunk: usize,
    /// Number of instruments with reserved memory.
    reserved: usize,
}

/// Published message of an update.
#[derive(Clone, Copy, Debug)]
pub struct PublishedMessage<'a> {
    /// Number of its last message.
    pub sequence: u64,
    /// Position after that.
    pub end: u64,
    /// Its words, in place.
    pub words: &'a [AtomicU64],
    /// Its bytes.
    pub length: usize,
}

/// Result of keeping an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Available to late joiners.
    Whole,
    /// The book is deeper than its slot.
    Cut,
    /// The instrument has no slot.
    Refused,
}

impl Tables {
    /// Reserves memory for the first instruments.
    pub fn new(
        [definitions, images, order_books, orders, last_values]: [TableWriter; TABLES.len()],
        instruments_max: usize,
        levels_max: usize,
    ) -> Result<Tables, Error> {
        let chunk = (CHUNK_WORDS / words(levels_max)).clamp(1, CHUNK);
        let mut tables = Tables {
            chunk,
            definitions,
            images,
            orders: OrderTables::new(order_books, orders)?,
            last_values: LastValueTable::new(last_values)?,
            channel: ChannelImage::default(),
            written: Vec::with_capacity(instruments_max),
            instruments_max,
            levels_max,
            reserved: 0,
        };
        tables.reserve(chunk.min(instruments_max))?;
        Ok(tables)
    }

    /// Keeps the changes of an update for late joiners.
    #[inline]
    pub fn store(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        message: &PublishedMessage<'_>,
    ) -> Stored {
        match update {
            Update::Book(book) => {
                let moment = moment(book.validity, timestamps, message);
                self.write(book.instrument, message.end, &moment, |writer| {
                    writer.apply_delta(book.changes)
                })
            }
            Update::Orders(orders) => {
                let orders = OrdersMessage {
                    instrument: orders.instrument,
                    validity: orders.validity,
                    is_whole: false,
                    changes: orders.changes,
                };
                self.orders.store(&orders, timestamps, message)
            }
            _ => self.store_rare(update, timestamps, message),
        }
    }

    #[inline(never)]
    fn store_rare(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        message: &PublishedMessage<'_>,
    ) -> Stored {
        match update {
            Update::BookSnapshot(book) => {
                let moment = moment(book.validity, timestamps, message);
                self.write(book.instrument, message.end, &moment, |writer| {
                    writer.replace(book)
                })
            }
            Update::State(state) => {
                let moment = moment(state.validity, timestamps, message);
                self.write(state.instrument, message.end, &moment, |writer| {
                    writer.apply_delta(NO_CHANGES)
                })
            }
            Update::Definition(definition) => self.define(definition.instrument, message),
            Update::Gap(gap) => {
                self.channel.gap = Some((message.end, *gap));
                self.write_channel(message.end)
            }
            Update::Download(phase) => {
                self.channel.download = Some((message.end, *phase));
                self.write_channel(message.end)
            }
            Update::Channel(state) => {
                self.channel.state = Some((message.end, **state));
                self.write_channel(message.end)
            }
            Update::Reset => {
                self.channel.reset = Some(message.end);
                self.written.fill(Written::default());
                self.write_channel(message.end)
            }
            Update::OrdersSnapshot(snapshot) => {
                let orders = OrdersMessage {
                    instrument: snapshot.instrument,
                    validity: snapshot.validity,
                    is_whole: true,
                    changes: snapshot.orders,
                };
                self.orders.store(&orders, timestamps, message)
            }
            Update::Trade(_) | Update::Statistic(_) | Update::Status(_) => {
                self.last_values.store(update, timestamps, message)
            }
            // No table: their publishers repeat all quotes periodically.
            Update::Quotes(_) | Update::QuoteSnapshot(_) => Stored::Whole,
            Update::Book(_) | Update::Orders(_) => unreachable!("they are on the path, above"),
        }
    }

    /// Checks the tables' files.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.definitions.memory())?;
        Damage::of_file(self.images.memory())?;
        self.orders.check()?;
        self.last_values.check()
    }

    #[inline]
    fn write(
        &mut self,
        instrument: Instrument,
        end: u64,
        moment: &Moment,
        change: impl FnOnce(&mut SlotWriter<'_>) -> bool,
    ) -> Stored {
        let index = instrument.index();
        if index >= self.written.len() && !self.admit(index) {
            return Stored::Refused;
        }
        let (written, levels_max) = (&mut self.written[index], self.levels_max);
        let whole = self.images.change(slot_of(instrument), end, |content| {
            let mut writer = SlotWriter::new(content, written, levels_max);
            let whole = change(&mut writer);
            writer.sign(moment);
            whole
        });
        match whole {
            Some(true) => Stored::Whole,
            Some(false) => Stored::Cut,
            None => Stored::Refused,
        }
    }

    fn define(&mut self, instrument: Instrument, message: &PublishedMessage<'_>) -> Stored {
        let index = instrument.index();
        if index >= self.written.len() && !self.admit(index) {
            return Stored::Refused;
        }
        let words = message.length.div_ceil(8).min(DEFINITION_WORDS - 1);
        let written = self.definitions.change(index, message.end, |content| {
            content[0].store(message.length as u64, Ordering::Relaxed);
            for (word, value) in content[1..].iter().zip(&message.words[..words]) {
                word.store(value.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        });
        written.map_or(Stored::Refused, |()| Stored::Whole)
    }

    fn write_channel(&mut self, end: u64) -> Stored {
        let channel = self.channel;
        let written = self
            .images
            .change(channel_image::SLOT, end, |content| channel.write(content));
        written.map_or(Stored::Refused, |()| Stored::Whole)
    }

    /// Reserves a slot for a new instrument.
    #[cold]
    fn admit(&mut self, index: usize) -> bool {
        if index >= self.instruments_max {
            return false;
        }
        if index >= self.reserved {
            let wanted = (index + 1)
                .next_multiple_of(self.chunk)
                .min(self.instruments_max);
            if self.reserve(wanted).is_err() {
                return false;
            }
        }
        self.written.resize(index + 1, Written::default());
        true
    }

    /// Reserves memory for the first `instruments`.
    fn reserve(&mut self, instruments: usize) -> Result<(), Error> {
        for (table, slots) in [
            (&self.definitions, instruments),
            (&self.images, instruments + 1),
        ] {
            let bytes = table.shape().words_through(slots.saturating_sub(1)) * size_of::<u64>();
            table.memory().reserve(0..bytes)?;
        }
        self.reserved = instruments;
        Ok(())
    }
}

const NO_CHANGES: &[LevelChange] = &[];

/// Slot of an instrument among the price books.
pub const fn slot_of(instrument: Instrument) -> usize {
    instrument.index() + 1
}

#[inline]
fn moment(validity: Validity, timestamps: &Timestamps, message: &PublishedMessage<'_>) -> Moment {
    Moment {
        validity,
        sequence: message.sequence,
        exchange_ns: timestamps.exchange_ns,
        receive_ns: timestamps.packet.receive_ns,
    }
}
