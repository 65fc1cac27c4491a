//! Per instrument, the state handed out to a subscriber, and the resulting treatment of messages.

mod channel;
mod withheld;

use super::Filter;
use super::verdict::Verdict;
use crate::market::Kinds;
use crate::market::channel_image::{ChannelImage, is_before};
use crate::market::kinds::is_of_books;
use crate::market::last_values::GROUPS;
use crate::market::settings::INSTRUMENTS_MAX;
use touchline_types::native::{Body, DefinitionView, Message};
use touchline_types::{ChannelState, Instrument, Validity};

/// Templates skipped if their instrument is not selected. Without definitions, which decide the selection.
const OF_INSTRUMENT: u64 = Kinds::NONE.left_out();

/// One row for each instrument.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    /// Row of an instrument that no message has named yet.
    unseen: Row,
    live_only: bool,
    filtered: bool,
    /// Templates that are left out, one bit each.
    left_out: u64,
    /// While joining and shortly after: tables may be ahead of the ring, up to this position.
    ahead_until: Option<u64>,
    /// Reset, loss and state reported with the tables.
    channel: ChannelImage,
    /// Last handed-out state of the channel.
    state: ChannelState,
    /// The state could not be read because of a change in progress: its message follows.
    channel_unknown: bool,
    /// Position up to which the order books from their tables are complete.
    orders_until: Option<u64>,
    /// From this instrument on a book that was not handed out may be missing, because its slot was refused.
    orders_refused_from: usize,
    /// Handed-out statuses of product groups, each with its position.
    groups: [Option<([u8; 6], u64)>; GROUPS],
    /// Whether the bus has tables of order books, and they are selected.
    order_images: bool,
    /// A book that is defined in the ring is new, so the receiver has it: empty.
    defined_held: bool,
    /// The handed-out state is void: books and the channel are handed out again only after the restart is reported.
    awaits_restart: bool,
    /// The publisher has ended or is stalled: no book is visible as live.
    is_away: bool,
    /// Tops are selected, and books are not.
    tops_alone: bool,
}

/// Handed-out state of an instrument.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Position up to which its book was handed out from a slot.
    book: u64,
    /// Position of its definition; `None` if none was handed out.
    definition: Option<u64>,
    /// Position up to which its statistics and status were handed out.
    last_values: u64,
    /// Selected by the filter.
    wanted: bool,
    /// The receiver has the published price book, so steps apply.
    book_held: bool,
    /// State of the receiver's order book.
    orders: OrdersHeld,
    /// Validity of the price book as of the last message that was handed out.
    price_validity: Validity,
    /// Validity of the order book as of the last message that was handed out.
    orders_validity: Validity,
}

/// State of a receiver's order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrdersHeld {
    /// As published, so steps apply.
    Held,
    /// Missing: its next message triggers a read of the tables.
    Wanted,
    /// Missing, and without a table: it arrives with a message that contains all of it.
    Awaited,
}

impl Rows {
    /// Nothing handed out; the ring is at `position`.
    pub fn new(filtered: bool, live_only: bool, position: u64) -> Rows {
        let unseen = Row {
            book: position,
            definition: None,
            last_values: position,
            wanted: !filtered,
            book_held: true,
            orders: OrdersHeld::Awaited,
            price_validity: Validity::Recovering,
            orders_validity: Validity::Recovering,
        };
        Rows {
            rows: Vec::new(),
            unseen,
            live_only,
            filtered,
            left_out: 0,
            ahead_until: None,
            channel: ChannelImage::default(),
            state: ChannelState::LIVE,
            channel_unknown: false,
            orders_until: None,
            orders_refused_from: usize::MAX,
            groups: [None; GROUPS],
            order_images: false,
            defined_held: true,
            awaits_restart: false,
            is_away: false,
            tops_alone: false,
        }
    }

    /// Sets whether order books have tables that this subscriber takes.
    pub fn take_order_images(&mut self, order_images: bool) {
        self.order_images = order_images;
        // A missing book can be read from them.
        self.forget_orders();
    }

    /// Excludes messages of other kinds.
    pub fn leave_out(&mut self, kinds: Kinds, instruments_max: usize) {
        self.left_out = kinds.left_out();
        self.tops_alone = kinds.has_any(Kinds::TOPS) && !kinds.has_any(Kinds::BOOKS);
        self.rows.reserve(instruments_max);
    }

    /// Whether a message may be for this subscriber, by two of its words: template and instrument. Any words have an
    /// answer; it applies once they are validated.
    #[inline]
    pub fn selects(&self, template: u64, instrument: u64) -> bool {
        let (template, instrument) = (template.to_le() >> 16 & 0xFFFF, instrument.to_le() as u32);
        let is_in = |mask: u64| template < 64 && mask >> template & 1 != 0;
        if is_in(self.left_out) {
            return false;
        }
        if !self.filtered || !is_in(OF_INSTRUMENT) || instrument == u32::MAX {
            return true;
        }
        let row = self.rows.get(instrument as usize);
        row.unwrap_or(&self.unseen).wanted
    }

    /// Tables are being read, with this state of the channel; `None` if it could not be read.
    pub fn begin_images(&mut self, position: u64, channel: Option<ChannelImage>) {
        self.state = channel
            .as_ref()
            .map_or(ChannelState::UNKNOWN, ChannelImage::state);
        self.channel = channel.unwrap_or_default();
        self.channel_unknown = channel.is_none();
        self.ahead_until = Some(position);
    }

    /// Reset and loss reported with the tables.
    pub fn told(&self) -> &ChannelImage {
        &self.channel
    }

    /// State of the channel to be handed out.
    pub fn state(&self) -> ChannelState {
        self.state
    }

    /// Whether the last handed-out state of the channel makes live books untrusted.
    pub fn is_doubted(&self) -> bool {
        (self.state.price, self.state.orders) != (Validity::Live, Validity::Live)
    }

    /// The state of the channel is handed out separately; `None` if it could not be read.
    pub fn note_channel(&mut self, channel: Option<&ChannelImage>) {
        self.channel.state = channel.and_then(|channel| channel.state);
        self.state = channel.map_or(ChannelState::UNKNOWN, ChannelImage::state);
        self.channel_unknown |= channel.is_none();
    }

    /// The next state of the channel is handed out at any position.
    pub fn forget_told_state(&mut self) {
        self.channel.state = None;
    }

    /// Visible validity of a price book with this own validity.
    pub fn seen(&self, own: Validity) -> Validity {
        self.state.price_of(self.unless_away(own))
    }

    /// Visible validity of an order book with this own validity.
    pub fn orders_seen(&self, own: Validity) -> Validity {
        self.state.orders_of(self.unless_away(own))
    }

    /// The receiver has the book of a slot up to `position`, published with this validity, or was notified that there is none.
    pub fn image_copied(
        &mut self,
        instrument: Instrument,
        position: u64,
        held: bool,
        validity: Validity,
    ) {
        let row = self.row(instrument);
        row.book = position;
        row.book_held = held;
        row.price_validity = validity;
        self.go_ahead(position);
    }

    /// The receiver has the last values of an instrument up to `position`.
    pub fn last_values_taken(&mut self, instrument: Instrument, position: u64) {
        self.row(instrument).last_values = position;
        self.go_ahead(position);
    }

    /// The receiver has the status of a product group, likewise.
    pub fn group_taken(&mut self, slot: usize, group: [u8; 6], position: u64) {
        self.groups[slot] = Some((group, position));
        self.go_ahead(position);
    }

    /// A table was read that is ahead of the ring up to this position, or everything up to it was.
    pub fn go_ahead(&mut self, position: u64) {
        let until = self.ahead_until.get_or_insert(position);
        if is_before(*until, position) {
            *until = position;
        }
    }

    /// The receiver is about to receive all order books up to `position`, or none of them if they cannot be read. Those from
    /// `refused_from` on are missing unless they are handed out.
    pub fn orders_taken(&mut self, position: u64, held: OrdersHeld, refused_from: Option<usize>) {
        self.set_orders(held);
        self.orders_refused_from = refused_from.unwrap_or(usize::MAX);
        self.await_refused(0);
        self.orders_until = Some(position);
        self.go_ahead(position);
    }

    /// The receiver did not receive this order book.
    pub fn set_orders_of(&mut self, instrument: Instrument, held: OrdersHeld) {
        self.row(instrument).orders = held;
    }

    /// The receiver was notified of an order book from its table, published with this validity.
    pub fn orders_handed_out(&mut self, instrument: Instrument, validity: Validity) {
        self.row(instrument).orders_validity = validity;
    }

    /// Another publisher started while tables were read: some books are ahead of the ring, others were not handed out,
    /// and all are void at its start in the ring.
    pub fn await_restart(&mut self) {
        self.awaits_restart = true;
        self.ahead_until = None;
    }

    /// Order books are not handed out until the subscription restarts.
    pub fn await_orders(&mut self) {
        self.set_orders(OrdersHeld::Awaited);
    }

    /// Awaits the refused order books among the rows from `first` on.
    fn await_refused(&mut self, first: usize) {
        let refused = self.rows.iter_mut();
        for row in refused.skip(first.max(self.orders_refused_from)) {
            // mutant: orders: a book without a slot is built from the updates after the join
            row.orders = OrdersHeld::Awaited;
        }
    }

    fn set_orders(&mut self, held: OrdersHeld) {
        self.orders_refused_from = usize::MAX;
        for row in self.rows.iter_mut().chain([&mut self.unseen]) {
            row.orders = held;
            row.orders_validity = Validity::Recovering;
        }
    }

    /// State of a missing order book.
    fn orders_missing(&self) -> OrdersHeld {
        match self.order_images {
            true => OrdersHeld::Wanted,
            false => OrdersHeld::Awaited,
        }
    }

    /// Whether the receiver gets a definition: its instrument is selected, or the one that had its number was until now, whose messages end with
    /// it. False if it had the definition already.
    pub fn definition_taken(
        &mut self,
        instrument: Instrument,
        position: u64,
        wanted: impl FnOnce() -> bool,
    ) -> bool {
        let (is_new, missing) = (instrument.index() >= self.rows.len(), self.orders_missing());
        let row = self.row(instrument);
        if row
            .definition
            .is_some_and(|held| !is_before(held, position))
        {
            return false;
        }
        let was_wanted = row.wanted && row.definition.is_some();
        row.definition = Some(position);
        let wanted = wanted();
        // Earlier steps were not handed out.
        row.book_held &= row.wanted || !wanted;
        // A new instrument has had no orders that could be missing.
        if wanted && !row.wanted && !is_new {
            row.orders = missing;
            row.price_validity = Validity::Recovering;
            row.orders_validity = Validity::Recovering;
        }
        row.wanted = wanted;
        // mutant: joining: a selected instrument ends without a word
        wanted || was_wanted
    }

    /// Whether an instrument is selected.
    pub fn is_wanted(&mut self, instrument: Instrument) -> bool {
        self.row(instrument).wanted
    }

    /// Whether the ring has reached the position of the tables, for the first time, or `is_over`: no further message comes.
    pub fn has_caught_up(&mut self, position: u64, is_over: bool) -> bool {
        let caught_up = self
            .ahead_until
            .is_some_and(|until| is_over || !is_before(position, until));
        if caught_up {
            self.ahead_until = None;
        }
        caught_up
    }

    /// The tables were read. A book that has no slot and no new definition was refused one: the receiver cannot have it.
    pub fn tables_read(&mut self) {
        self.unseen.book_held = false;
        self.defined_held = true;
    }

    /// Marks all price books as unknown.
    pub fn forget_books(&mut self) {
        self.defined_held = false;
        for row in self.rows.iter_mut().chain([&mut self.unseen]) {
            row.book_held = false;
            row.price_validity = Validity::Recovering;
        }
    }

    /// Marks an instrument's price book as unknown; returns its resulting validity.
    pub fn forget_book_of(&mut self, instrument: Instrument) -> Validity {
        let row = self.row(instrument);
        row.book_held = false;
        row.price_validity = Validity::Recovering;
        row.price_validity
    }

    /// Marks an instrument's order book as unknown; returns its resulting validity.
    pub fn forget_orders_of(&mut self, instrument: Instrument) -> Validity {
        let missing = self.orders_missing();
        let row = self.row(instrument);
        row.orders = missing;
        row.orders_validity = Validity::Recovering;
        row.orders_validity
    }

    /// Marks all order books as unknown.
    pub fn forget_orders(&mut self) {
        self.set_orders(self.orders_missing());
    }

    /// Treatment of a message that ends at `end`; `definitions` is the number of slots with a definition.
    #[inline]
    pub fn judge(
        &mut self,
        message: &Message<'_>,
        end: u64,
        filter: &mut Option<Filter>,
        definitions: impl FnOnce() -> usize,
    ) -> Verdict {
        // mutant: joining: after a restart during a join the ring continues from books that were not delivered
        if self.awaits_restart && is_of_books(&message.body) {
            return Verdict::Skip;
        }
        let Some(instrument) = message.instrument() else {
            return self.judge_channel(&message.body, end);
        };
        if instrument.index() >= INSTRUMENTS_MAX {
            return Verdict::Skip;
        }
        let validity = message.validity().unwrap_or(Validity::Live);
        match &message.body {
            Body::BookUpdate(_) | Body::BookSnapshot(_) | Body::InstrumentState(_) => {
                let whole = matches!(message.body, Body::BookSnapshot(_));
                self.judge_book(instrument, end, validity, whole)
            }
            Body::OrderUpdate(_) | Body::OrdersSnapshot(_) => {
                let whole = matches!(message.body, Body::OrdersSnapshot(_));
                self.judge_orders(instrument, end, validity, whole)
            }
            Body::InstrumentDefinition(view) => {
                // An instrument that was refused a slot may be defined again.
                let is_new = instrument.index() >= self.rows.len();
                let held = is_new && self.defined_held && instrument.index() < definitions();
                let verdict = self.judge_definition(instrument, view, end, filter);
                self.row(instrument).book_held |= held;
                verdict
            }
            Body::TopOfBook(_) => self.judge_top(instrument, end, validity),
            Body::Statistics(_) | Body::TradingStatus(_) => self.judge_last_value(instrument, end),
            _ if self.is_wanted(instrument) => Verdict::Deliver,
            _ => Verdict::Skip,
        }
    }

    #[inline]
    fn judge_book(
        &mut self,
        instrument: Instrument,
        end: u64,
        validity: Validity,
        whole: bool,
    ) -> Verdict {
        let (live_only, ahead) = (self.live_only, self.ahead_until.is_some());
        let seen = self.seen(validity);
        let row = self.row(instrument);
        if !row.wanted || ahead && !is_before(row.book, end) {
            return Verdict::Skip;
        }
        if live_only && seen != Validity::Live {
            let was_held = std::mem::replace(&mut row.book_held, false);
            return match was_held {
                true => Verdict::BookState(instrument, seen),
                false => Verdict::Skip,
            };
        }
        row.book_held |= whole;
        match row.book_held {
            true => {
                row.price_validity = validity;
                Verdict::Deliver
            }
            false => Verdict::Image(instrument),
        }
    }

    #[inline]
    fn judge_orders(
        &mut self,
        instrument: Instrument,
        end: u64,
        validity: Validity,
        whole: bool,
    ) -> Verdict {
        if let Some(until) = self.orders_until {
            // mutant: orders: a change contained in a slot is delivered again
            if !is_before(until, end) {
                return Verdict::Skip;
            }
            self.orders_until = None;
        }
        let (live_only, missing) = (self.live_only, self.orders_missing());
        let seen = self.orders_seen(validity);
        let row = self.row(instrument);
        if !row.wanted {
            return Verdict::Skip;
        }
        if live_only && seen != Validity::Live {
            return match std::mem::replace(&mut row.orders, missing) {
                OrdersHeld::Held => Verdict::OrdersState(instrument, seen),
                OrdersHeld::Wanted | OrdersHeld::Awaited => Verdict::Skip,
            };
        }
        if whole {
            row.orders = OrdersHeld::Held;
        }
        match row.orders {
            OrdersHeld::Held => {
                row.orders_validity = validity;
                Verdict::Deliver
            }
            OrdersHeld::Wanted => Verdict::OrderImages,
            OrdersHeld::Awaited => Verdict::Skip,
        }
    }

    #[inline]
    fn judge_top(&mut self, instrument: Instrument, end: u64, validity: Validity) -> Verdict {
        let (live_only, ahead) = (self.live_only, self.ahead_until.is_some());
        let (seen, tops_alone) = (self.seen(validity), self.tops_alone);
        let row = self.row(instrument);
        let is_old = ahead && !is_before(row.book, end);
        if !row.wanted || is_old || live_only && seen != Validity::Live {
            return Verdict::Skip;
        }
        if tops_alone {
            row.price_validity = validity;
        }
        Verdict::Deliver
    }

    /// Values contained in a snapshot are not handed out again.
    fn judge_last_value(&mut self, instrument: Instrument, end: u64) -> Verdict {
        let ahead = self.ahead_until.is_some();
        let row = self.row(instrument);
        match row.wanted && (!ahead || is_before(row.last_values, end)) {
            true => Verdict::Deliver,
            false => Verdict::Skip,
        }
    }

    fn judge_definition(
        &mut self,
        instrument: Instrument,
        view: &DefinitionView<'_>,
        end: u64,
        filter: &mut Option<Filter>,
    ) -> Verdict {
        let wanted = || match filter {
            Some(filter) => filter(&view.value()),
            None => true,
        };
        match self.definition_taken(instrument, end, wanted) {
            true => Verdict::Deliver,
            false => Verdict::Skip,
        }
    }

    #[inline]
    fn row(&mut self, instrument: Instrument) -> &mut Row {
        let index = instrument.index();
        if index >= self.rows.len() {
            self.add_rows(index + 1);
        }
        &mut self.rows[index]
    }

    #[cold]
    fn add_rows(&mut self, count: usize) {
        let first = self.rows.len();
        self.rows.resize(count, self.unseen);
        self.await_refused(first);
    }

    /// Another publisher starts at this position.
    pub fn restart(&mut self, position: u64) {
        // The memory of the rows is kept.
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        *self = Rows {
            rows,
            left_out: self.left_out,
            order_images: self.order_images,
            tops_alone: self.tops_alone,
            // Reported again when everything that it published was handed out.
            ahead_until: Some(position),
            ..Rows::new(self.filtered, self.live_only, position)
        };
        // All books start empty.
        self.unseen.orders = OrdersHeld::Held;
    }
}

#[cfg(test)]
mod tests;
