//! Writing side of the tables: definitions, price books, order books, and last values.

use super::book_image::{Moment, SlotWriter, Written, words};
use super::channel_image::{self, ChannelImage};
use super::last_values::LastValueTable;
use super::order_tables::{ORDER_BOOKS, ORDERS, OrderTables, OrdersMessage};
use super::reserved_table::ReservedTable;
use super::stored::Stored;
use crate::bus::{Damage, Error, Staged, TableWriter};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use touchline_types::native;
use touchline_types::{Instrument, LevelChange, Timestamps, Trade, Update, Validity};

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
    definitions: ReservedTable,
    images: ReservedTable,
    orders: OrderTables,
    last_values: LastValueTable,
    channel: ChannelImage,
    /// Written state of each slot.
    written: Vec<Written>,
    instruments_max: usize,
    levels_max: usize,
    /// Instruments below this index that have no slot yet were refused one, and have missed updates.
    refused_below: usize,
    /// Position after the last message of a refused instrument.
    refused_end: u64,
    /// Definitions of refused instruments, for their slots if there are any later.
    refused_definitions: BTreeMap<usize, Box<[u64]>>,
}

impl Tables {
    /// Reserves memory for the first instruments.
    pub fn new(
        [definitions, images, order_books, orders, last_values]: [TableWriter; TABLES.len()],
        instruments_max: usize,
        levels_max: usize,
    ) -> Result<Tables, Error> {
        let chunk = (CHUNK_WORDS / words(levels_max)).clamp(1, CHUNK);
        Ok(Tables {
            definitions: ReservedTable::new(definitions, chunk)?,
            images: ReservedTable::new(images, chunk + 1)?,
            orders: OrderTables::new(order_books, orders)?,
            last_values: LastValueTable::new(last_values)?,
            channel: ChannelImage::default(),
            written: Vec::with_capacity(instruments_max),
            instruments_max,
            levels_max,
            refused_below: 0,
            refused_end: 0,
            refused_definitions: BTreeMap::new(),
        })
    }

    /// Keeps the changes of an update for late joiners.
    #[inline]
    pub fn store(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        message: &Staged<'_>,
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
        message: &Staged<'_>,
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
                self.refused_below = 0;
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

    /// States that the next stored trade is the last one of its instrument, also if it corrects or busts another trade.
    pub fn expect_trade(&mut self, trade: &Trade) {
        self.last_values.expect_trade(trade);
    }

    /// Fetches an instrument's price book, so that it is in the caches when it changes.
    pub fn warm(&self, instrument: Instrument) {
        self.images.table.warm(slot_of(instrument));
    }

    /// Asks again for memory that was refused, once a second. Not for the path of a message.
    pub fn retry(&mut self) {
        self.definitions.retry();
        self.images.retry();
        self.orders.retry();
        self.last_values.retry();
        // Here, since all slots of refused instruments are written: on the path that would take milliseconds.
        let defined = self.refused_definitions.last_key_value();
        let defined = defined.map_or(0, |(index, _)| index + 1);
        let refused = self.refused_below.max(defined);
        if refused > self.written.len() && self.has_memory(refused - 1) {
            self.admit(refused - 1, self.refused_end);
        }
    }

    /// Checks the tables' files.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.definitions.table.memory())?;
        Damage::of_file(self.images.table.memory())?;
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
        if index >= self.written.len() && !self.admit(index, end) {
            return Stored::Refused;
        }
        let (written, levels_max) = (&mut self.written[index], self.levels_max);
        let whole = self
            .images
            .table
            .change(slot_of(instrument), end, |content| {
                let mut writer = SlotWriter::new(content, written, levels_max);
                let whole = change(&mut writer);
                writer.sign(moment);
                whole
            });
        match whole {
            Some(true) => Stored::Whole,
            Some(false) => Stored::Cut,
            None => without_slot(index),
        }
    }

    fn define(&mut self, instrument: Instrument, message: &Staged<'_>) -> Stored {
        let index = instrument.index();
        let words = message.length.div_ceil(8).min(DEFINITION_WORDS - 1);
        let words = message.words()[..words].iter();
        let words = words.map(|word| word.load(Ordering::Relaxed));
        if index >= self.written.len() && !self.admit(index, message.end) {
            if index < self.instruments_max {
                let content = std::iter::once(message.length as u64).chain(words);
                self.refused_definitions.insert(index, content.collect());
            }
            return Stored::Refused;
        }
        let written = self
            .definitions
            .table
            .change(index, message.end, |content| {
                content[0].store(message.length as u64, Ordering::Relaxed);
                for (word, value) in content[1..].iter().zip(words) {
                    word.store(value, Ordering::Relaxed);
                }
            });
        match written {
            Some(()) => Stored::Whole,
            None => without_slot(index),
        }
    }

    fn write_channel(&mut self, end: u64) -> Stored {
        let channel = self.channel;
        let written = self
            .images
            .table
            .change(channel_image::SLOT, end, |content| channel.write(content));
        match written {
            Some(()) => Stored::Whole,
            None => unreachable!("the state of the channel has the first slot of the price books"),
        }
    }

    /// Reserves the slots of a new instrument, in the message that ends at `end`.
    #[cold]
    fn admit(&mut self, index: usize, end: u64) -> bool {
        if index >= self.instruments_max {
            return false;
        }
        if !self.has_memory(index) {
            self.refused_below = self.refused_below.max(index + 1);
            self.refused_end = end;
            return false;
        }
        self.add_slots(index + 1);
        while let Some((refused, _)) = self.refused_definitions.first_key_value()
            && let refused = *refused
            && self.has_memory(refused)
            && let Some(words) = self.refused_definitions.remove(&refused)
        {
            self.add_slots(refused + 1);
            self.definitions
                .table
                .change(refused, self.refused_end, |content| {
                    for (word, value) in content.iter().zip(words) {
                        word.store(value, Ordering::Relaxed);
                    }
                });
        }
        true
    }

    fn has_memory(&mut self, index: usize) -> bool {
        self.definitions.has(index) && self.images.has(index + 1)
    }

    /// Adds slots up to a number of them. A slot that was refused has missed updates, and is marked so before its first update: a
    /// reader that joins takes an empty slot for an empty book.
    fn add_slots(&mut self, slots: usize) {
        assert!(
            slots <= self.instruments_max,
            "{slots} instruments are admitted, more than instruments_max = {}",
            self.instruments_max
        );
        // mutant: image: a slot that comes late has the updates from then on for a book
        let missed = self.written.len()..self.refused_below.min(slots);
        self.written
            .resize(slots.max(self.written.len()), Written::default());
        for index in missed {
            let written = &mut self.written[index];
            *written = Written::without_book();
            let slot = slot_of(Instrument(index as u32));
            // mutant: image: a slot that comes late is empty until its first update
            self.images.table.change(slot, self.refused_end, |content| {
                SlotWriter::new(content, written, self.levels_max).sign(&MISSED);
            });
        }
    }
}

#[cold]
fn without_slot(index: usize) -> ! {
    unreachable!("instrument {index} has memory in the tables, and no slot");
}

/// Moment of a slot that has missed updates.
const MISSED: Moment = Moment {
    validity: Validity::Recovering,
    sequence: 0,
    exchange_ns: 0,
    receive_ns: 0,
};

const NO_CHANGES: &[LevelChange] = &[];

/// Slot of an instrument among the price books.
pub const fn slot_of(instrument: Instrument) -> usize {
    instrument.index() + 1
}

#[inline]
fn moment(validity: Validity, timestamps: &Timestamps, message: &Staged<'_>) -> Moment {
    Moment {
        validity,
        sequence: message.sequence,
        exchange_ns: timestamps.exchange_ns,
        receive_ns: timestamps.packet.receive_ns,
    }
}
