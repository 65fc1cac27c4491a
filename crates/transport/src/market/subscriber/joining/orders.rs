//! Joining, order books: all as of one position of the stream, each in one piece of any length.
//!
//! See [`OrderScan`]. A step reads some hundred slots or merges one message, so no poll takes long. Books that cannot
//! be read, because the publisher died or was stopped during a change or a batch, are handed out as not live.

use super::{NOTHING_HAPPENED, Part, image_item};
use crate::bus::END_OF_BATCH;
use crate::market::channel_image::{self, ChannelImage};
use crate::market::order_image::{BOOK_WORDS, ROW_WORDS};
use crate::market::reading::{DEFINITIONS, IMAGES, ORDER_BOOKS, ORDERS};
use crate::market::subscriber::order_scan::{Known, Merged, OrderScan};
use crate::market::subscriber::rows::OrdersHeld;
use crate::market::subscriber::{Item, Step, Subscriber};
use touchline_shm::last_value::Found;
use touchline_types::native::Message;
use touchline_types::{Instrument, OrdersUpdate, PacketInfo, Timestamps, Update, Validity};
use zerocopy::IntoBytes;

/// Slots that one step reads.
const SLOTS: usize = 256;

/// Next part of the order books.
#[derive(Clone, Copy, Debug)]
pub enum OrderPart {
    /// Start position, and state of the channel.
    Begin,
    /// Read the state of the channel.
    Channel,
    /// Read the book of an instrument, without its orders.
    Book(usize),
    /// Read a row.
    Row(usize),
    /// Merge a message of the ring.
    Merge,
    /// Hand out an instrument's book.
    HandOut(u32),
}

impl Subscriber {
    /// One step of joining the order books.
    pub(super) fn join_orders<T>(
        &mut self,
        part: OrderPart,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let Some(mut scan) = self.scratch.orders_scan.take() else {
            return self.join_without_order_images();
        };
        let step = match part {
            OrderPart::Begin => {
                scan.begin(self.reading.ring.look_ahead(), self.at_batch_end);
                self.go_on(Part::Orders(OrderPart::Channel));
                Step::Passed
            }
            OrderPart::Channel => self.scan_channel(&mut scan),
            OrderPart::Book(first) => self.scan_books(&mut scan, first),
            OrderPart::Row(first) => self.scan_rows(&mut scan, first),
            OrderPart::Merge => self.merge_message(&mut scan),
            OrderPart::HandOut(index) => self.hand_out_orders(&mut scan, Instrument(index), take),
        };
        self.scratch.orders_scan = Some(scan);
        step
    }

    /// Without tables, order books arrive with messages that contain all of them, after the
    /// channel's state.
    fn join_without_order_images<T>(&mut self) -> Step<T> {
        let channel = self.channel();
        let told = channel
            .reset
            .into_iter()
            .chain(channel.gap.map(|(gap, _)| gap));
        let ahead =
            |position: &u64| channel_image::is_before(self.reading.ring.next().position, *position);
        let until = told.filter(ahead).max();
        let until = until.unwrap_or(self.reading.ring.next().position);
        self.rows.orders_taken(until, OrdersHeld::Awaited, None);
        self.end_orders();
        Step::Passed
    }

    fn scan_channel<T>(&mut self, scan: &mut OrderScan) -> Step<T> {
        let mut content = [0; channel_image::WORDS];
        let found = self.reading.tables[IMAGES].read(channel_image::SLOT, &mut content);
        // Before the slots: one that comes late is written before it is stated as present.
        let refused_from = self.reading.tables[ORDER_BOOKS].refused_from();
        let channel = match found {
            Found::Content { .. } => ChannelImage::take(&content),
            Found::Nothing => NOTHING_HAPPENED,
            Found::Busy(_) | Found::Overwritten if self.tries_later() => return Step::Nothing,
            Found::Busy(_) | Found::Overwritten => {
                scan.take_channel(NOTHING_HAPPENED, refused_from);
                return self.give_up_orders(scan);
            }
        };
        scan.take_channel(channel, refused_from);
        self.go_on(Part::Orders(OrderPart::Book(0)));
        Step::Passed
    }

    fn scan_books<T>(&mut self, scan: &mut OrderScan, first: usize) -> Step<T> {
        let used = self.reading.tables[ORDER_BOOKS].used();
        let mut content = [0; BOOK_WORDS];
        for slot in first..used.min(first + SLOTS) {
            match self.reading.tables[ORDER_BOOKS].read(slot, &mut content) {
                Found::Content { position } => scan.take_book(Some((position, &content))),
                Found::Nothing => scan.take_book(None),
                Found::Busy(_) | Found::Overwritten => {
                    self.go_on_at(OrderPart::Book(slot));
                    if self.tries_later() {
                        return Step::Nothing;
                    }
                    scan.take_no_book();
                }
            }
        }
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        self.go_on(Part::Orders(match first + SLOTS < used {
            true => OrderPart::Book(first + SLOTS),
            false => OrderPart::Row(0),
        }));
        Step::Passed
    }

    fn scan_rows<T>(&mut self, scan: &mut OrderScan, first: usize) -> Step<T> {
        let used = self.reading.tables[ORDERS].used();
        let mut content = [0; ROW_WORDS];
        for slot in first..used.min(first + SLOTS) {
            match self.reading.tables[ORDERS].read(slot, &mut content) {
                Found::Content { position } => {
                    let rows = &mut self.rows;
                    scan.take_row(position, &content, |instrument| rows.is_wanted(instrument));
                }
                Found::Nothing => {}
                Found::Busy(_) | Found::Overwritten => {
                    self.go_on_at(OrderPart::Row(slot));
                    return match self.tries_later() {
                        true => Step::Nothing,
                        // The unread row may have an order of any book.
                        false => self.give_up_orders(scan),
                    };
                }
            }
        }
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        self.go_on(Part::Orders(match first + SLOTS < used {
            true => OrderPart::Row(first + SLOTS),
            false => OrderPart::Merge,
        }));
        Step::Passed
    }

    fn merge_message<T>(&mut self, scan: &mut OrderScan) -> Step<T> {
        if scan.is_done() {
            // The ring still has a reset that these books contain: it would empty them again.
            if scan.is_ahead_of(self.rows.told()) {
                return self.join_all_again();
            }
            return self.begin_handing_out(scan, OrdersHeld::Held);
        }
        let room = &mut self.scratch.message;
        let read = scan.ring().read(|frame| {
            frame.copy_to(room);
            (frame.len(), frame.flags.0 & END_OF_BATCH.0 != 0)
        });
        let Ok(read) = read else {
            return self.leave_orders(scan);
        };
        let Some((length, is_batch_end)) = read else {
            // The batch is incomplete: its publisher is running, stopped or dead.
            return match self.tries_later() {
                true => Step::Nothing,
                false => self.give_up_orders(scan),
            };
        };
        let bytes = self.scratch.message.as_bytes().get(..length).unwrap_or(&[]);
        let Ok(message) = Message::parse(bytes) else {
            return self.leave_orders(scan);
        };
        let rows = &mut self.rows;
        let merged = scan.merge(&message, is_batch_end, |instrument| {
            rows.is_wanted(instrument)
        });
        self.go_on(Part::Orders(match merged {
            Merged::More => OrderPart::Merge,
            Merged::Again => OrderPart::Channel,
        }));
        Step::Passed
    }

    /// Reads the tables again, so that price books are as recent as order books.
    #[cold]
    fn join_all_again<T>(&mut self) -> Step<T> {
        if let Some(joining) = &mut self.joining {
            joining.next = Part::Channel;
            joining.orders_alone = false;
        }
        Step::Passed
    }

    /// The ring has an event in place of a message. The subscription reads the same event next and handles it.
    #[cold]
    fn leave_orders<T>(&mut self, scan: &mut OrderScan) -> Step<T> {
        scan.end();
        self.rows.await_orders();
        self.joining = None;
        Step::Passed
    }

    /// A part needed for every book cannot be read.
    #[cold]
    fn give_up_orders<T>(&mut self, scan: &mut OrderScan) -> Step<T> {
        scan.give_up();
        self.begin_handing_out(scan, OrdersHeld::Wanted)
    }

    fn begin_handing_out<T>(&mut self, scan: &OrderScan, held: OrdersHeld) -> Step<T> {
        (self.rows).orders_taken(scan.position(), held, scan.refused_from());
        self.go_on(Part::Orders(OrderPart::HandOut(0)));
        Step::Passed
    }

    fn hand_out_orders<T>(
        &mut self,
        scan: &mut OrderScan,
        instrument: Instrument,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let books = self.reading.tables[IMAGES].used().saturating_sub(1);
        let known = self.reading.tables[DEFINITIONS].used().max(books);
        if instrument.index() >= scan.instruments().max(known) {
            scan.end();
            self.end_orders();
            return Step::Passed;
        }
        self.go_on(Part::Orders(OrderPart::HandOut(instrument.0 + 1)));
        if !self.rows.is_wanted(instrument) {
            return Step::Passed;
        }
        let unnamed = scan.unnamed();
        let mut book = scan.book(instrument);
        let known = book.known;
        match (known, unnamed) {
            (Known::Nothing, Some(validity)) => book.snapshot.validity = validity,
            (Known::Nothing, None) => return Step::Passed,
            (Known::Whole, _) => {}
            (Known::Cut | Known::Unknown, _) => book.snapshot.validity = Validity::Recovering,
        }
        self.rows
            .orders_handed_out(instrument, book.snapshot.validity);
        let validity = &mut book.snapshot.validity;
        let is_doubtful = *validity == Validity::Live || known != Known::Whole;
        if self.is_publisher_away() && is_doubtful {
            *validity = Validity::Stale;
        }
        let seen = self.rows.orders_seen(*validity);
        let is_hidden = self.settings.live_only && seen != Validity::Live;
        let missing = match (known, is_hidden) {
            (Known::Cut, _) => Some(OrdersHeld::Awaited),
            (Known::Unknown, _) | (_, true) => Some(OrdersHeld::Wanted),
            _ => None,
        };
        let timestamps = Timestamps {
            exchange_ns: book.exchange_ns,
            packet: PacketInfo {
                receive_ns: book.receive_ns,
                ..PacketInfo::default()
            },
            ..Timestamps::default()
        };
        let Some(missing) = missing else {
            if known == Known::Whole {
                self.rows.set_orders_of(instrument, OrdersHeld::Held);
            }
            let update = Update::OrdersSnapshot(book.snapshot);
            return Step::Given(take(image_item(book.sequence, timestamps, update)));
        };
        self.rows.set_orders_of(instrument, missing);
        let update = Update::Orders(OrdersUpdate {
            instrument,
            validity: if is_hidden { seen } else { *validity },
            changes: &[],
        });
        Step::Given(take(image_item(0, Timestamps::default(), update)))
    }

    /// Continues at a slot that is tried again, without a restart.
    fn go_on_at(&mut self, part: OrderPart) {
        if let Some(joining) = &mut self.joining {
            joining.next = Part::Orders(part);
        }
    }
}
