//! Order books from their tables as of one position of the stream: a fuzzy checkpoint.
//!
//! The rows are read one by one while the publisher continues, so together they belong to no single moment. The
//! messages from the start position `P0` bring them to one: each sets an order, removes it, or empties a book, and does not
//! depend on the row that was read. An order that no message names was unchanged meanwhile. So after the last of them, at `S1`, every
//! book equals the publisher's. `S1` is the first end of a batch after the last row was read: within a batch a row
//! may be reused for another order before the message that removes the first one.

use crate::market::channel_image::{ChannelImage, is_before};
use crate::market::order_image::{
    BOOK_WORDS, OrderBookImage, ROW_WORDS, emptied_validity, is_emptied_since, order_of,
};
use touchline_book::OrderBooks;
use touchline_shm::broadcast;
use touchline_shm::segment::Mapping;
use touchline_types::native::{Body, Flags, Message};
use touchline_types::{Instrument, OrderChange, OrderEvent, OrdersSnapshot, Timestamps, Validity};

/// State of the scan.
pub struct OrderScan {
    books: OrderBooks,
    /// By instrument.
    states: Vec<State>,
    instruments_max: usize,
    /// First instrument whose book may be missing because the file system was full.
    refused_from: usize,
    /// State of the channel, as far as read.
    channel: ChannelImage,
    /// The ring from `P0` on, independent of the subscription's position.
    ring: Option<broadcast::Reader<Mapping>>,
    /// Position after everything read from the tables.
    target: u64,
    /// Whether the ring's position is between two batches.
    at_batch_end: bool,
    /// Whether any order book was published.
    is_any: bool,
    /// `P0`.
    from: u64,
    /// No message was merged yet.
    is_fresh: bool,
    /// The ring started within a multi-part update, whose first parts no row had: restart after it.
    begins_inside: bool,
    steps: Vec<OrderChange>,
    snapshot: Vec<OrderChange>,
}

/// Completeness of an order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Never published.
    Nothing,
    /// Complete.
    Whole,
    /// An order of it has no row.
    Cut,
    /// The book cannot be read.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct State {
    known: Known,
    /// The book without its orders.
    image: OrderBookImage,
}

/// An order book to be handed out.
#[derive(Debug)]
pub struct ScannedBook<'a> {
    pub known: Known,
    pub sequence: u64,
    pub exchange_ns: u64,
    pub receive_ns: u64,
    pub snapshot: OrdersSnapshot<'a>,
}

/// Result of merging a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// More messages follow.
    More,
    /// The ring started within a multi-part update, which has ended: read the tables again, from this position.
    Again,
}

const NOTHING: State = State {
    known: Known::Nothing,
    image: OrderBookImage {
        validity: Validity::Recovering,
        cleared_at: None,
        cut_at: None,
        sequence: 0,
        exchange_ns: 0,
        receive_ns: 0,
    },
};

impl OrderScan {
    /// Allocates room for the books and orders of the bus.
    pub fn new(instruments_max: usize, orders_max: usize) -> OrderScan {
        OrderScan {
            books: OrderBooks::new(instruments_max, orders_max),
            states: Vec::with_capacity(instruments_max),
            instruments_max,
            refused_from: usize::MAX,
            channel: ChannelImage::default(),
            ring: None,
            target: 0,
            at_batch_end: false,
            is_any: false,
            from: 0,
            is_fresh: true,
            begins_inside: false,
            steps: Vec::with_capacity(1),
            snapshot: Vec::with_capacity(orders_max),
        }
    }

    /// Starts at the position of a ring, which is between two batches or possibly within one.
    pub fn begin(&mut self, ring: broadcast::Reader<Mapping>, at_batch_end: bool) {
        self.ring = Some(ring);
        self.at_batch_end = at_batch_end;
    }

    /// The ring from its start position.
    ///
    /// # Panics
    /// There was no start, or it has ended.
    pub fn ring(&mut self) -> &mut broadcast::Reader<Mapping> {
        let ring = self.ring.as_mut();
        ring.expect("order books are merged from the ring between begin and end of the scan")
    }

    /// Takes the state of the channel, before everything else, and the first instrument whose book was refused its slot.
    pub fn take_channel(&mut self, channel: ChannelImage, refused_from: Option<usize>) {
        self.refused_from = refused_from.unwrap_or(usize::MAX);
        self.books.clear_all();
        self.states.clear();
        self.is_any = false;
        self.is_fresh = true;
        self.begins_inside = false;
        self.from = self.position();
        self.target = self.from;
        self.channel = channel;
        let gap = channel.gap.map(|(gap, _)| gap);
        channel
            .reset
            .into_iter()
            .chain(gap)
            .for_each(|at| self.aim(at));
    }

    /// Takes the book of the next instrument, without its orders; `None` if its slot cannot be read.
    pub fn take_book(&mut self, found: Option<(u64, &[u64; BOOK_WORDS])>) {
        let nothing = self.nothing_of(self.states.len());
        let state = found.map_or(Some(nothing), |(position, content)| {
            self.is_any = true;
            self.aim(position);
            let image = OrderBookImage::take(content)?;
            let emptied = is_emptied_since(&self.channel, position);
            let validity = emptied_validity(&self.channel).filter(|_| emptied);
            let is_cut = image.is_cut(&self.channel);
            Some(State {
                known: if is_cut { Known::Cut } else { Known::Whole },
                image: OrderBookImage {
                    validity: validity.unwrap_or(image.validity),
                    ..image
                },
            })
        });
        self.states.push(state.unwrap_or(UNKNOWN));
    }

    /// The slot of the next instrument's book cannot be read.
    pub fn take_no_book(&mut self) {
        self.is_any = true;
        self.states.push(UNKNOWN);
    }

    /// Takes an order from its row.
    pub fn take_row(
        &mut self,
        position: u64,
        content: &[u64; ROW_WORDS],
        is_wanted: impl FnOnce(Instrument) -> bool,
    ) {
        self.is_any = true;
        self.aim(position);
        // mutant: orders: a row of an instrument beyond the tables is taken
        let Some(order) = order_of(content).filter(|order| self.has(order.instrument)) else {
            return;
        };
        let state = self.states.get(order.instrument.index());
        let image = state.map_or(NOTHING.image, |state| state.image);
        if image.counts(position, &self.channel) && is_wanted(order.instrument) {
            self.apply(&order);
        }
    }

    /// Whether all books are as of the ring's position: `S1`.
    pub fn is_done(&self) -> bool {
        let is_empty = self.is_fresh && !self.is_any;
        is_empty || self.at_batch_end && !is_before(self.position(), self.target)
    }

    /// Whether the books contain a reset or a loss that was not reported with the price books.
    pub fn is_ahead_of(&self, told: &ChannelImage) -> bool {
        let gap_of = |channel: &ChannelImage| channel.gap.map(|(gap, _)| gap);
        let is_new = |at: Option<u64>, told: Option<u64>| {
            at != told && at.is_some_and(|at| is_before(self.from, at))
        };
        is_new(self.channel.reset, told.reset) || is_new(gap_of(&self.channel), gap_of(told))
    }

    /// Merges the message that was just read from the ring.
    pub fn merge(
        &mut self,
        message: &Message<'_>,
        is_batch_end: bool,
        mut is_wanted: impl FnMut(Instrument) -> bool,
    ) -> Merged {
        self.at_batch_end = is_batch_end;
        let flags = message.flags();
        let is_orders = matches!(message.body, Body::OrderUpdate(_) | Body::OrdersSnapshot(_));
        let is_continued = is_orders && flags.has(Flags::CONTINUED);
        self.begins_inside |= std::mem::take(&mut self.is_fresh) && is_continued;
        if self.begins_inside {
            return match flags.has(Flags::MORE) {
                true => Merged::More,
                false => Merged::Again,
            };
        }
        // mutant: orders: orders that arrive during the read of the rows are left out
        match &message.body {
            Body::OrderUpdate(view) if self.has(view.instrument) && is_wanted(view.instrument) => {
                self.update_state(view.instrument, view.validity, message, false);
                view.changes
                    .iter()
                    .for_each(|change| self.step(view.instrument, &change));
            }
            Body::OrdersSnapshot(view)
                if self.has(view.instrument) && is_wanted(view.instrument) =>
            {
                if !is_continued {
                    self.books.clear(view.instrument);
                }
                self.update_state(view.instrument, view.validity, message, !is_continued);
                view.changes
                    .iter()
                    .for_each(|change| self.step(view.instrument, &change));
            }
            Body::Gap(gap) => {
                self.channel.gap = Some((self.position(), *gap));
                self.empty(gap.orders);
            }
            Body::Reset => {
                self.channel.reset = Some(self.position());
                self.empty(Validity::Live);
            }
            _ => {}
        }
        Merged::More
    }

    /// Gives up all books.
    pub fn give_up(&mut self) {
        self.states.iter_mut().for_each(|state| {
            if state.known != Known::Nothing {
                state.known = Known::Unknown;
            }
        });
    }

    /// Number of possibly known instruments.
    pub fn instruments(&self) -> usize {
        self.states.len()
    }

    /// Validity of an order book that was never published: empty since the last reset or loss, if there was one.
    pub fn unnamed(&self) -> Option<Validity> {
        emptied_validity(&self.channel)
    }

    /// Position of the ring.
    pub fn position(&self) -> u64 {
        self.ring.as_ref().map_or(0, |ring| ring.next().position)
    }

    /// First instrument whose order book is unknown until its next message, if there is one.
    pub fn refused_from(&self) -> Option<usize> {
        (self.refused_from != usize::MAX).then_some(self.refused_from)
    }

    /// State of a book without a slot: not published, unless its slot may have been refused.
    fn nothing_of(&self, index: usize) -> State {
        match index < self.refused_from {
            true => NOTHING,
            false => REFUSED,
        }
    }

    /// An instrument's order book, best orders first.
    pub fn book(&mut self, instrument: Instrument) -> ScannedBook<'_> {
        let state = self.states.get(instrument.index()).copied();
        let nothing = self.nothing_of(instrument.index());
        let State { known, image } = state.unwrap_or(nothing);
        self.books.gather(instrument, &mut self.snapshot);
        ScannedBook {
            known,
            sequence: image.sequence,
            exchange_ns: image.exchange_ns,
            receive_ns: image.receive_ns,
            snapshot: OrdersSnapshot {
                instrument,
                validity: image.validity,
                orders: &self.snapshot,
            },
        }
    }

    /// Ends the scan.
    pub fn end(&mut self) {
        self.ring = None;
        self.books.clear_all();
        self.states.clear();
    }

    /// Whether the tables have this instrument; memory and messages may name any.
    fn has(&self, instrument: Instrument) -> bool {
        instrument.index() < self.instruments_max
    }

    /// Raises the target position.
    fn aim(&mut self, position: u64) {
        if is_before(self.target, position) {
            self.target = position;
        }
    }

    fn step(&mut self, instrument: Instrument, change: &OrderChange) {
        self.apply(&OrderEvent {
            order_id: change.order_id,
            priority: Some(change.priority),
            price: change.price,
            quantity: change.quantity,
            instrument,
            action: change.action,
            side: change.side,
        });
    }

    fn apply(&mut self, order: &OrderEvent) {
        self.steps.clear();
        if self.books.apply(order, &mut self.steps).is_err() {
            self.state(order.instrument).known = Known::Unknown;
        }
    }

    fn update_state(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        message: &Message<'_>,
        is_whole: bool,
    ) {
        let Timestamps {
            exchange_ns,
            packet,
            ..
        } = message.timestamps();
        let state = self.state(instrument);
        if is_whole || state.known == Known::Nothing {
            state.known = Known::Whole;
        }
        state.image = OrderBookImage {
            validity,
            sequence: message.sequence(),
            exchange_ns,
            receive_ns: packet.receive_ns,
            ..state.image
        };
    }

    /// Empties all order books.
    fn empty(&mut self, validity: Validity) {
        self.books.clear_all();
        self.refused_from = usize::MAX;
        for state in &mut self.states {
            state.image.validity = validity;
            if state.known != Known::Nothing {
                state.known = Known::Whole;
            }
        }
    }

    fn state(&mut self, instrument: Instrument) -> &mut State {
        if instrument.index() >= self.states.len() {
            let count = instrument.index() + 1;
            (self.states.len()..count).for_each(|at| self.states.push(self.nothing_of(at)));
        }
        &mut self.states[instrument.index()]
    }
}

/// Its slot may have been refused: the book has missed messages.
const REFUSED: State = State {
    known: Known::Cut,
    ..NOTHING
};

const UNKNOWN: State = State {
    known: Known::Unknown,
    ..NOTHING
};
