//! Kept values of a bus: books, tops and last trades, as of the last returned event.

use crate::event::{Aggressor, Quote, QuoteChange, Top, Trade};
use crate::registry::{Registry, Slot};
use crate::room::Limits;
use crate::{Events, Instrument, State, Times};
use touchline_book::{ImpliedLists, PriceBook};
use touchline_transport::{Envelope, Mirror, Subscribe, SubscriptionEvent};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookUpdate, Level, Side, Timestamps, Touch, Update, UpdateAction, Validity,
};

/// Books by the publisher's index, and kept values by handle.
#[derive(Debug)]
pub(crate) struct StoredValues {
    pub registry: Registry,
    pub mirror: Mirror,
    keep_books: bool,
    rows: Vec<Row>,
    /// Steps that did not fit the books of smaller or larger publications.
    inconsistent_before: u64,
    /// Instruments and orders that the books have room for.
    room: (usize, usize),
    /// Those of the publication behind the event that waits.
    next_room: Option<(usize, usize)>,
    limits: Limits,
}

/// Kept values of a handle.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Last returned top, in the venue's prices.
    top: Option<TopOfBook>,
    top_times: Times,
    top_sequence: u64,
    last_trade: Option<Trade>,
    book_times: Times,
    book_sequence: u64,
    /// State before a change of all books, until the change is reported.
    before: Option<Before>,
}

/// State of a row before a change of all books, as far as its changes are not reported.
#[derive(Clone, Copy, Debug)]
struct Before {
    state: State,
    has_top: bool,
    has_levels: bool,
    orders_state: State,
    has_orders: bool,
}

/// Change of one book by a change of all books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The top is empty, in any state.
    NoTop,
    /// The price book is empty, in any state.
    Emptied,
    /// Another state of the price book.
    State,
    /// Another state of the order book, or its orders are gone.
    Orders { is_emptied: bool },
}

/// The lists of a price book.
pub(crate) const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

impl Row {
    const EMPTY: Row = Row {
        top: None,
        top_times: Times {
            exchange_ns: 0,
            receive_ns: 0,
            published: crate::Ticks(0),
        },
        top_sequence: 0,
        last_trade: None,
        book_times: Times {
            exchange_ns: 0,
            receive_ns: 0,
            published: crate::Ticks(0),
        },
        book_sequence: 0,
        before: None,
    };

    fn has_top(&self) -> bool {
        self.top
            .is_some_and(|top| !top.bid_price.is_null() || !top.ask_price.is_null())
    }
}

/// A message's number and times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meta {
    pub sequence: u64,
    pub timestamps: Timestamps,
    pub batch_end: bool,
    pub is_image: bool,
}

impl StoredValues {
    /// Allocates room for these numbers of instruments and orders.
    pub fn new(
        registry: Registry,
        room: (usize, usize),
        limits: Limits,
        keep_books: bool,
    ) -> StoredValues {
        let (instruments_max, orders_max) = room;
        StoredValues {
            registry,
            mirror: Mirror::new(instruments_max, orders_max),
            keep_books,
            inconsistent_before: 0,
            rows: Vec::with_capacity(instruments_max),
            room,
            next_room: None,
            limits,
        }
    }

    /// Another publication follows the event that waits: books have the room of the one that they are of.
    #[cold]
    pub fn set_next_room(&mut self, instruments_max: usize, orders_max: usize) {
        self.next_room = Some(self.limits.of_books(instruments_max, orders_max));
    }

    /// Books of the next publication, which are empty.
    pub fn make_room(&mut self) {
        let Some((instruments_max, orders_max)) = self.next_room.take() else {
            return;
        };
        // mutant: client: books keep the room of the publication before
        if self.room != (instruments_max, orders_max) {
            self.room = (instruments_max, orders_max);
            self.inconsistent_before = self.inconsistent();
            self.mirror = Mirror::new(instruments_max, orders_max);
        }
    }

    /// Steps that did not fit their book.
    pub fn inconsistent(&self) -> u64 {
        self.inconsistent_before + self.mirror.inconsistent_updates()
    }

    /// State of an instrument's price book.
    pub fn state(&self, instrument: Instrument) -> State {
        match self.registry.publisher_index(instrument) {
            Some(index) => State::of(self.mirror.validity(index)),
            None => State::Recovering,
        }
    }

    /// State of an instrument's order book.
    pub fn orders_state(&self, instrument: Instrument) -> State {
        match self.registry.publisher_index(instrument) {
            Some(index) => State::of(self.mirror.orders_validity(index)),
            None => State::Recovering,
        }
    }

    /// Price book of an instrument, if the present publisher has one.
    pub fn book(&self, instrument: Instrument) -> Option<&PriceBook> {
        self.mirror.book(self.registry.publisher_index(instrument)?)
    }

    /// Number and times of the last message in an instrument's book.
    pub fn book_moment(&self, instrument: Instrument) -> (u64, Times) {
        self.rows
            .get(instrument.index())
            .map_or((0, Times::default()), |row| {
                (row.book_sequence, row.book_times)
            })
    }

    /// Kept top of an instrument.
    pub fn top(&self, instrument: Instrument) -> Top {
        let row = self.rows.get(instrument.index()).unwrap_or(&Row::EMPTY);
        let slot = self
            .registry
            .publisher_index(instrument)
            .and_then(|index| self.registry.of_publisher(index));
        // The state is the top's own: a price book behind it may be applied before the top's event is returned.
        let (state, (bid, ask)) = match (&row.top, slot) {
            (Some(top), Some((_, slot))) => {
                let validity = self.mirror.channel().price_of(top.validity);
                (State::of(validity), quotes(top, &slot))
            }
            _ => (self.state(instrument), (None, None)),
        };
        Top {
            instrument,
            state,
            bid,
            ask,
            times: row.top_times,
            sequence: row.top_sequence,
            end_of_batch: false,
        }
    }

    /// Last trade of an instrument from the present publisher.
    pub fn last_trade(&self, instrument: Instrument) -> Option<Trade> {
        self.rows.get(instrument.index())?.last_trade
    }

    /// Implied levels of a book.
    #[inline]
    pub fn implied_of(&self, instrument: touchline_types::Instrument) -> ImpliedLists {
        let book = self.mirror.book(instrument);
        book.map_or(ImpliedLists::new(0), PriceBook::implied_lists)
    }

    /// The top that a book update will leave behind these implied levels: an update has the first levels of the direct book alone.
    #[inline]
    pub fn top_after(update: &BookUpdate<'_>, mut implied: ImpliedLists) -> TopOfBook {
        implied.apply(update.changes);
        let touches = implied.touches([update.best_bid, update.best_ask]);
        TopOfBook::new(update.instrument, update.validity, touches)
    }

    /// Whether a top differs from the kept one.
    #[inline]
    pub fn is_news(&self, instrument: Instrument, top: &TopOfBook) -> bool {
        let row = self.rows.get(instrument.index());
        row.is_none_or(|row| row.top.as_ref() != Some(top))
    }

    /// Keeps a top.
    #[inline]
    pub fn apply_top(&mut self, instrument: Instrument, top: &TopOfBook, meta: &Meta) {
        if !self.keep_books {
            let state = touchline_types::State {
                instrument: top.instrument,
                validity: top.validity,
            };
            self.play(meta, &Update::State(state));
        }
        let row = &mut self.rows[instrument.index()];
        row.top = Some(*top);
        row.top_times = Times::of(&meta.timestamps);
        row.top_sequence = meta.sequence;
    }

    /// Keeps a trade. A correction or bust changes the last trade if it refers to it.
    #[inline]
    pub fn apply_trade(&mut self, trade: &Trade) {
        let last = &mut self.rows[trade.instrument.index()].last_trade;
        let is_last =
            trade.trade_id != 0 && last.is_some_and(|last| last.trade_id == trade.trade_id);
        match trade.action {
            UpdateAction::New => *last = Some(*trade),
            UpdateAction::Delete if is_last => *last = None,
            _ if is_last => *last = Some(*trade),
            _ => {}
        }
    }

    /// Keeps a trade of a table or of a tape's state: it is the last one, also as a correction; a tape's state keeps a bust, too.
    pub fn set_last_trade(&mut self, trade: &Trade) {
        let is_busted = trade.action == UpdateAction::Delete;
        // mutant: client: a late joiner has no corrected trade
        self.rows[trade.instrument.index()].last_trade = (!is_busted).then_some(*trade);
    }

    /// Applies an update of one instrument's price book; `instrument` is its handle.
    #[inline]
    pub fn apply_book(&mut self, instrument: Instrument, meta: &Meta, update: &Update<'_>) {
        self.play(meta, update);
        let row = &mut self.rows[instrument.index()];
        row.book_sequence = meta.sequence;
        row.book_times = Times::of(&meta.timestamps);
    }

    /// Applies any other update.
    pub fn play(&mut self, meta: &Meta, update: &Update<'_>) {
        self.mirror.update(&Envelope {
            sequence: meta.sequence,
            timestamps: &meta.timestamps,
            update,
        });
    }

    /// Takes a definition; returns the handle, and whether another handle lost its books.
    pub fn define(
        &mut self,
        meta: &Meta,
        definition: &touchline_types::InstrumentDefinition,
    ) -> (Instrument, bool) {
        let displaced = self.registry.displaced(definition);
        for old in displaced.into_iter().flatten() {
            self.rows[old.index()] = Row {
                before: Some(self.before(old)),
                ..Row::EMPTY
            };
        }
        self.play(meta, &Update::Definition(definition));
        let instrument = self.registry.define(definition);
        if self.registry.len() > self.rows.len() {
            self.rows.resize(self.registry.len(), Row::EMPTY);
        }
        (instrument, displaced != [None; 2])
    }

    /// Takes the definition of an instrument that is not selected: the handle whose index it takes is not current any more, and is returned.
    /// Its state is reported with the definition.
    pub fn unselect(
        &mut self,
        meta: &Meta,
        definition: &touchline_types::InstrumentDefinition,
    ) -> Option<Instrument> {
        let (old, _) = self.registry.of_publisher(definition.instrument)?;
        let before = self.before(old);
        self.play(meta, &Update::Definition(definition));
        self.registry.unselect(definition.instrument);
        self.rows[old.index()] = Row {
            before: Some(Before {
                state: self.state(old),
                ..before
            }),
            ..Row::EMPTY
        };
        Some(old)
    }

    /// Sets the validity of a book; contents are unchanged.
    pub fn set_state(
        &mut self,
        instrument: Instrument,
        state: &touchline_types::State,
        meta: &Meta,
    ) {
        self.play(meta, &Update::State(*state));
        if let Some(top) = &mut self.rows[instrument.index()].top {
            top.validity = state.validity;
        }
    }

    /// Stores the state of each instrument before a change of all books.
    pub fn begin_change(&mut self) {
        for (instrument, index) in self.registry.all().zip(0..self.rows.len()) {
            self.rows[index].before = Some(self.before(instrument));
        }
    }

    fn before(&self, instrument: Instrument) -> Before {
        let row = self.rows.get(instrument.index()).unwrap_or(&Row::EMPTY);
        Before {
            state: self.state(instrument),
            has_top: row.has_top(),
            has_levels: self.has_levels(instrument),
            orders_state: self.orders_state(instrument),
            has_orders: self.has_orders(instrument),
        }
    }

    fn has_levels(&self, instrument: Instrument) -> bool {
        let is_filled = |book: &PriceBook| {
            let mut lists = LISTS.into_iter();
            lists.any(|(kind, side)| book.levels(kind, side).first().is_some())
        };
        self.book(instrument).is_some_and(is_filled)
    }

    fn has_orders(&self, instrument: Instrument) -> bool {
        let index = self.registry.publisher_index(instrument);
        index.is_some_and(|index| self.mirror.orders().len_of(index) > 0)
    }

    /// The next change of an instrument's books by the change of all books, from a handle's index on. Each is returned
    /// once.
    pub fn next_change(
        &mut self,
        from: &mut usize,
        wanted: Events,
    ) -> Option<(Instrument, Changed)> {
        for instrument in self.registry.all().skip(*from) {
            *from = instrument.index();
            let row = self.rows.get(instrument.index());
            let Some(mut before) = row.and_then(|row| row.before) else {
                continue;
            };
            let changed = self.changed(instrument, &mut before, wanted);
            self.rows[instrument.index()].before = changed.map(|_| before);
            if let Some(changed) = changed {
                return Some((instrument, changed));
            }
        }
        None
    }

    /// The next difference of an instrument's books from the state before the change; `before` is then updated by it.
    fn changed(
        &self,
        instrument: Instrument,
        before: &mut Before,
        wanted: Events,
    ) -> Option<Changed> {
        let row = self.rows.get(instrument.index())?;
        let state = self.state(instrument);
        // Without a top the contents follow.
        let is_without_top = before.has_top && row.top.is_some() && !row.has_top();
        if wanted.has(Events::TOPS) && is_without_top {
            (before.has_top, before.state) = (false, state);
            return Some(Changed::NoTop);
        }
        // A state follows: programs that keep tops do not look at books.
        let is_emptied = before.has_levels && !self.has_levels(instrument);
        // mutant: client: an emptied book has no steps
        if wanted.has(Events::BOOKS) && is_emptied {
            before.has_levels = false;
            return Some(Changed::Emptied);
        }
        if before.state != state {
            before.state = state;
            return Some(Changed::State);
        }
        let orders_state = self.orders_state(instrument);
        let is_emptied = before.has_orders && !self.has_orders(instrument);
        if wanted.has(Events::ORDERS) && (is_emptied || before.orders_state != orders_state) {
            (before.has_orders, before.orders_state) = (false, orders_state);
            return Some(Changed::Orders { is_emptied });
        }
        None
    }

    /// Marks live books as gapped.
    pub fn gap(&mut self, meta: &Meta, update: &Update<'_>) {
        self.play(meta, update);
        for top in self.rows.iter_mut().filter_map(|row| row.top.as_mut()) {
            if top.validity == Validity::Live {
                top.validity = Validity::Gapped;
            }
        }
    }

    /// Empties every book and marks it live.
    pub fn reset(&mut self, meta: &Meta) {
        self.play(meta, &Update::Reset);
        for top in self.rows.iter_mut().filter_map(|row| row.top.as_mut()) {
            *top = TopOfBook {
                validity: Validity::Live,
                ..TopOfBook::unknown(top.instrument)
            };
        }
    }

    /// Applies a subscription event.
    pub fn happened(&mut self, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                self.make_room();
                // mutant: client: an overrun leaves books as they were
                self.mirror.begin_recovery();
                for row in &mut self.rows {
                    // Its bust may be lost: the tables, or a tape's state, have the last trade again.
                    // mutant: client: a trade whose bust an overrun lost stays the last one
                    (row.top, row.last_trade) = (None, None);
                }
            }
            SubscriptionEvent::Restarted { .. } => {
                self.make_room();
                self.mirror.event(event);
                self.registry.restart();
                for row in &mut self.rows {
                    *row = Row {
                        before: row.before,
                        ..Row::EMPTY
                    };
                }
            }
            SubscriptionEvent::CaughtUp
            | SubscriptionEvent::NotWaitedFor
            | SubscriptionEvent::PublisherResumed => {
                self.mirror.event(event);
            }
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => {
                self.mirror.event(event);
                // A publisher that resumes with the same top publishes a change: it is live again.
                for top in self.rows.iter_mut().filter_map(|row| row.top.as_mut()) {
                    if top.validity == Validity::Live {
                        top.validity = Validity::Stale;
                    }
                }
            }
        }
    }
}

/// Converts a trade.
#[inline]
pub(crate) fn trade_of(
    trade: &touchline_types::Trade,
    (instrument, slot): (Instrument, Slot),
    meta: &Meta,
) -> Trade {
    Trade {
        instrument,
        price: slot.price(trade.price),
        quantity: slot.quantity(trade.quantity),
        aggressor: Aggressor::of(trade.aggressor),
        action: trade.action,
        trade_id: trade.trade_id,
        orders: u32::try_from(trade.orders).ok(),
        times: Times::of(&meta.timestamps),
        sequence: meta.sequence,
        end_of_batch: false,
    }
}

/// Converts bid and ask of a top.
#[inline]
pub(crate) fn quotes(top: &TopOfBook, slot: &Slot) -> (Option<Quote>, Option<Quote>) {
    (
        quote(top.touch(Side::Bid), slot),
        quote(top.touch(Side::Ask), slot),
    )
}

/// Converts a best price.
#[inline]
pub(crate) fn quote(touch: Option<Touch>, slot: &Slot) -> Option<Quote> {
    touch.map(|touch| Quote {
        price: slot.price(touch.price),
        quantity: slot.quantity(touch.quantity),
        source: touch.source,
    })
}

/// Converts a level.
#[inline]
pub(crate) fn level_of(level: &Level, slot: &Slot) -> crate::Level {
    crate::Level {
        price: slot.price(level.price),
        quantity: slot.quantity(level.quantity),
        orders: u32::try_from(level.orders).ok(),
        is_known: level.known,
    }
}

/// Converts a step in a provider's quotes.
pub(crate) fn quote_of(change: &touchline_types::QuoteChange, slot: &Slot) -> QuoteChange {
    let quote = &change.quote;
    QuoteChange {
        action: change.action,
        entry: quote.entry,
        side: quote.side,
        price: slot.price(quote.price),
        quantity: slot.quantity(quote.quantity),
        quantity_min: slot.quantity(quote.quantity_min),
        expiry_ns: quote.expiry_ns,
        priority: quote.priority,
        tier: quote.tier,
        is_indicative: quote.is_indicative,
        is_full_amount: quote.is_full_amount,
        quote_id: quote.quote_id,
    }
}
