//! Conversion of messages to events: their order, and the application to the kept values.
//!
//! Kept values are as of the last returned event, together with all messages without an event up to the next one. So a
//! message with an event is stored first and applied when its event is returned; a message without one is applied at
//! once.
//!
//! The last event of a venue packet is marked. Whether an event is the last one is known at the end of the packet or at
//! the next event. So a message waits for that, stored and not applied: within a packet as long as its publisher writes.
//! A message without an event behind it is applied before it where neither changes what the other does; where books make no
//! events, their changes wait with it.

mod all_books;
mod behind;
mod books;
mod connection;
mod local;

use crate::event::{
    ChannelChange, ChannelEvent, Defined, Event, LevelChange, OrderChange, QuoteChange,
    QuotesChange, Statistic, Status, Top,
};
use crate::pending::{Kind, Pending};
use crate::values::{Meta, StoredValues, quote_of, quotes, trade_of};
use crate::{Events, State, Stats, Times, Trace};
use all_books::AllBooks;
use behind::{Behind, apply_book};
use touchline_instruments::Symbols;
use touchline_transport::shm::{Item, Received};
use touchline_types::native::TopOfBook;
use touchline_types::{Code, Phase, QuoteStream, TradingStatus, Update};

/// Converts a subscriber's items to events.
#[derive(Debug)]
pub(crate) struct Reading {
    pub kept: StoredValues,
    pub stats: Stats,
    /// Steps of the last book event.
    pub changes: Vec<LevelChange>,
    /// Steps of the last event of an order book.
    pub order_changes: Vec<OrderChange>,
    /// Steps of the last event of a provider's quotes.
    pub quote_changes: Vec<QuoteChange>,
    /// Message of the last event.
    pub trace: Trace,
    wanted: Events,
    /// By which instruments are selected.
    symbols: Symbols,
    stored: Pending,
    /// Event of the message that was stored until the next item came: its return is due, or, behind a message without an
    /// event that had to be applied after it, the end of the packet.
    current: Option<Event>,
    current_trace: Trace,
    /// Changes of books behind it.
    behind: Behind,
    /// Change of all books that is being reported.
    all_books: Option<AllBooks>,
    /// The venue's download of definitions.
    download: Option<Phase>,
    /// The reader has caught up, and the instruments are not known yet.
    caught_up: bool,
    /// The reader has reported that it caught up, and has lost no message since.
    has_caught_up: bool,
}

/// Result of taking an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// Stored: its event is next.
    Stored,
    /// The same of an event of the subscription.
    Event,
    /// Applied; it has no event.
    Applied {
        /// Whether its packet ends with it.
        batch_end: bool,
    },
}

/// Result of a step.
pub(crate) enum Given {
    /// An event.
    Event(Event),
    /// No result yet: continue reading.
    Nothing,
}

impl Reading {
    pub fn new(
        kept: StoredValues,
        (wanted, symbols): (Events, Symbols),
        changes_max: usize,
        orders_max: usize,
        quotes_max: usize,
    ) -> Reading {
        Reading {
            kept,
            wanted,
            symbols,
            stats: Stats::default(),
            changes: Vec::with_capacity(changes_max + 4),
            order_changes: Vec::with_capacity(orders_max),
            quote_changes: Vec::with_capacity(quotes_max),
            trace: Trace::default(),
            stored: Pending::with_room(changes_max, orders_max, quotes_max),
            current: None,
            current_trace: Trace::default(),
            behind: Behind::new(wanted),
            all_books: None,
            download: None,
            caught_up: false,
            has_caught_up: false,
        }
    }

    /// Takes an item of the subscriber. A stored message must wait for it.
    #[inline]
    pub fn take(&mut self, item: Item<'_>) -> Took {
        match item {
            Item::Update(received) => self.update(&received),
            Item::Top {
                sequence,
                timestamps,
                top,
                is_image,
                bytes: _,
            } => {
                let meta = Meta {
                    sequence,
                    timestamps,
                    batch_end: false,
                    is_image,
                };
                self.top(&top, meta)
            }
            // Only with `Join::undecoded`, which the client does not set.
            Item::Undecoded(_) => Took::Applied { batch_end: false },
            Item::BatchEnd => self.applied(true),
            Item::SubscriptionEvent(event) => {
                self.apply_waiting();
                self.stored.kind = Kind::Subscription(event);
                self.stored.meta = Meta {
                    is_image: true,
                    ..Meta::default()
                };
                Took::Event
            }
        }
    }

    /// Result after an item was taken.
    #[inline]
    pub fn after(&mut self, took: Took) -> Given {
        match took {
            Took::Stored | Took::Event => match self.current.take() {
                Some(event) => self.give(event),
                None if self.is_due() => self.promote(),
                None => Given::Nothing,
            },
            Took::Applied { batch_end: true } => match self.current.take() {
                Some(mut event) => {
                    event.mark_end_of_batch();
                    self.give(event)
                }
                None => Given::Nothing,
            },
            Took::Applied { batch_end: false } => Given::Nothing,
        }
    }

    /// Result before anything is read.
    #[inline]
    pub fn before(&mut self) -> Given {
        self.apply_behind();
        if self.all_books.is_some() {
            return self.next_of_all();
        }
        match self.current.is_none() && self.is_due() {
            true => self.promote(),
            false => Given::Nothing,
        }
    }

    /// Whether the stored message has an event that is returned before the next item is read. Otherwise it waits to be known
    /// as the last of its packet or not.
    #[inline]
    fn is_due(&self) -> bool {
        let Meta {
            batch_end,
            is_image,
            ..
        } = self.stored.meta;
        let is_top_first = self.stored.top.is_some() && self.wanted.has(Events::BOOKS);
        // mutant: client: a message is applied while its event waits
        self.stored.is_some()
            && (batch_end || is_image || is_top_first || self.stored.may_change_all())
    }

    /// Applies the message that waits for the next item, before that is applied.
    #[inline]
    fn apply_waiting(&mut self) {
        if self.stored.is_some() {
            debug_assert!(self.current.is_none(), "one event waits for the next item");
            let meta = self.stored.meta;
            self.current_trace = Trace::of(meta.sequence, &meta.timestamps, false);
            self.current = self.apply_stored();
        }
    }

    /// Result for an applied message, which may end the packet of one that waits.
    #[inline]
    fn applied(&mut self, batch_end: bool) -> Took {
        if batch_end {
            self.apply_waiting();
        }
        Took::Applied { batch_end }
    }

    /// Applies the stored message; its event waits for the end of the packet if that is unknown.
    fn promote(&mut self) -> Given {
        let meta = self.stored.meta;
        let is_connection = matches!(self.stored.kind, Kind::Subscription(_));
        let is_kept = meta.is_image && !is_connection;
        self.current_trace = Trace::of(meta.sequence, &meta.timestamps, is_kept);
        let Some(event) = self.apply_stored() else {
            return Given::Nothing;
        };
        if self.all_books.is_some() {
            return self.give_with_all_books(event);
        }
        match self.stored.is_some() {
            true => self.give(event),
            false => self.give_last_of(event, &meta),
        }
    }

    /// Gives the last event of a message; it waits for the end of the packet if that is unknown.
    fn give_last_of(&mut self, mut event: Event, meta: &Meta) -> Given {
        if meta.batch_end {
            event.mark_end_of_batch();
            return self.give(event);
        }
        if meta.is_image {
            return self.give(event);
        }
        self.current = Some(event);
        Given::Nothing
    }

    #[inline]
    fn give(&mut self, event: Event) -> Given {
        self.stats.events += 1;
        self.trace = self.current_trace;
        self.behind.note_given();
        Given::Event(event)
    }

    fn top(&mut self, top: &TopOfBook, meta: Meta) -> Took {
        let Some((instrument, _)) = self.kept.registry.of_publisher(top.instrument) else {
            return self.undefined(false);
        };
        if self.stored.is_of_book(top.instrument) {
            self.apply_waiting();
        }
        if !self.wanted.has(Events::TOPS) || !self.kept.is_news(instrument, top) {
            self.kept.apply_top(instrument, top, &meta);
            return Took::Applied { batch_end: false };
        }
        self.apply_waiting();
        self.stored.kind = Kind::Top(*top);
        self.stored.meta = meta;
        Took::Stored
    }

    #[inline]
    fn update(&mut self, received: &Received<'_>) -> Took {
        let meta = Meta {
            sequence: received.sequence,
            timestamps: received.timestamps,
            batch_end: received.batch_end,
            is_image: received.is_image,
        };
        let update = &received.update;
        let index = match update {
            Update::Book(book) => book.instrument,
            Update::BookSnapshot(book) => book.instrument,
            _ => return self.other(update, meta),
        };
        let Some((instrument, _)) = self.kept.registry.of_publisher(index) else {
            return self.undefined(meta.batch_end);
        };
        let own_top = self.stored.top_of(index);
        if own_top.is_none() && self.stored.is_of_book(index) {
            self.apply_waiting();
        }
        let top = match update {
            Update::BookSnapshot(book) => TopOfBook::from(book),
            Update::Book(book) => self.top_behind(book),
            _ => unreachable!("a price book, as matched above"),
        };
        // On a bus with tops the top was published just before, and may wait.
        let is_told = match own_top {
            Some(own) => own == top,
            None => !self.kept.is_news(instrument, &top),
        };
        let is_news = self.wanted.has(Events::TOPS) && !is_told;
        if !is_news && !self.wanted.has(Events::BOOKS) {
            if self.waits_behind() {
                return self.put_behind(update, meta);
            }
            self.kept.apply_book(instrument, &meta, update);
            if own_top.is_none() {
                self.kept.apply_top(instrument, &top, &meta);
            }
            return self.applied(meta.batch_end);
        }
        self.apply_waiting();
        self.stored.top = is_news.then_some(top);
        self.store(update, meta)
    }

    /// Takes updates other than a price book's contents.
    fn other(&mut self, update: &Update<'_>, meta: Meta) -> Took {
        let instrument = match update {
            Update::Trade(trade) => Some(trade.instrument),
            Update::Statistic(statistic) => Some(statistic.instrument),
            Update::Orders(orders) => Some(orders.instrument),
            Update::OrdersSnapshot(orders) => Some(orders.instrument),
            Update::State(state) => Some(state.instrument),
            Update::Status(status) => status.instrument,
            Update::Quotes(quotes) => Some(quotes.stream.instrument),
            Update::QuoteSnapshot(quotes) => Some(quotes.stream.instrument),
            _ => None,
        };
        if let (Update::Trade(trade), true) = (update, meta.is_image) {
            return self.last_trade(trade, &meta);
        }
        let is_known = |index| self.kept.registry.of_publisher(index).is_some();
        if !instrument.is_none_or(is_known) {
            return self.undefined(meta.batch_end);
        }
        self.apply_waiting();
        self.store(update, meta)
    }

    /// A kept trade: stored without an event.
    fn last_trade(&mut self, trade: &touchline_types::Trade, meta: &Meta) -> Took {
        if let Some(row) = self.kept.registry.of_publisher(trade.instrument) {
            self.kept.set_last_trade(&trade_of(trade, row, meta));
        }
        Took::Applied { batch_end: false }
    }

    fn store(&mut self, update: &Update<'_>, meta: Meta) -> Took {
        self.stored.put(update, meta);
        if let Update::Definition(definition) = update
            && !self.selects(definition)
        {
            self.stored.kind = Kind::Unselected;
        }
        Took::Stored
    }

    /// Whether a definition is of a selected instrument; one that was selected by its id stays selected with its symbol.
    fn selects(&self, definition: &touchline_types::InstrumentDefinition) -> bool {
        self.symbols.admit_instrument(definition) || self.symbols.names_id(definition.security_id)
    }

    #[cold]
    fn undefined(&mut self, batch_end: bool) -> Took {
        self.stats.undefined += 1;
        self.applied(batch_end)
    }

    /// Applies the stored message and makes its event. A top derived from it is returned first and leaves it stored.
    fn apply_stored(&mut self) -> Option<Event> {
        let meta = self.stored.meta;
        if let Some(top) = self.stored.top.take() {
            if !self.wanted.has(Events::BOOKS) {
                apply_book(&mut self.kept, &self.stored);
                self.stored.kind = Kind::Nothing;
            }
            return self.top_event(&top, &meta);
        }
        let kind = self.stored.kind;
        let event = match &kind {
            Kind::Nothing => None,
            Kind::Top(top) => self.top_event(top, &meta),
            Kind::Book(head) => {
                apply_book(&mut self.kept, &self.stored);
                self.book_event(head, &meta)
            }
            Kind::Whole(instrument, validity, counts) => {
                apply_book(&mut self.kept, &self.stored);
                self.whole_event(*instrument, *validity, *counts, &meta)
            }
            Kind::Orders(instrument, validity, is_whole) => {
                self.orders_event(*instrument, *validity, *is_whole, &meta)
            }
            other => self.rare_event(other, &meta),
        };
        self.stored.kind = Kind::Nothing;
        event
    }

    fn top_event(&mut self, top: &TopOfBook, meta: &Meta) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(top.instrument)?;
        self.kept.apply_top(instrument, top, meta);
        let (bid, ask) = quotes(top, &slot);
        Some(Event::Top(Top {
            instrument,
            state: State::of(self.kept.mirror.channel().price_of(top.validity)),
            bid,
            ask,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    fn quotes_event(&mut self, stream: &QuoteStream, is_whole: bool, meta: &Meta) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(stream.instrument)?;
        self.quote_changes.clear();
        let stored = self.stored.quotes.iter();
        self.quote_changes
            .extend(stored.map(|change| quote_of(change, &slot)));
        Some(Event::Quotes(QuotesChange {
            instrument,
            provider: stream.provider,
            value_date: stream.value_date,
            state: State::of(self.kept.mirror.channel().price_of(stream.validity)),
            changes: self.quote_changes.len() as u32,
            is_whole,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    fn rare_event(&mut self, kind: &Kind, meta: &Meta) -> Option<Event> {
        self.begin_change_of_all(kind, meta);
        match kind {
            Kind::Quotes(stream, is_whole) => self.quotes_event(stream, *is_whole, meta),
            Kind::Trade(trade) => {
                let row = self.kept.registry.of_publisher(trade.instrument)?;
                let trade = trade_of(trade, row, meta);
                self.kept.apply_trade(&trade);
                Some(Event::Trade(trade))
            }
            Kind::Statistic(statistic) => self.statistic(statistic, meta),
            Kind::Status(status) => Some(self.status(status, meta)),
            Kind::State(state) => {
                let (instrument, _) = self.kept.registry.of_publisher(state.instrument)?;
                self.kept.set_state(instrument, state, meta);
                Some(self.state_event(instrument, meta))
            }
            Kind::Definition => {
                let definition = self.stored.definition;
                let (instrument, is_displacing) = self.kept.define(meta, &definition);
                if is_displacing {
                    self.all_books = Some(AllBooks::new(meta));
                }
                Some(Event::Defined(Defined {
                    instrument,
                    end_of_batch: false,
                }))
            }
            Kind::Unselected => self.unselected_event(meta),
            Kind::Subscription(event) => self.subscription_event(event),
            _ => self.channel_event(kind, meta),
        }
    }

    fn statistic(&self, statistic: &touchline_types::Statistic, meta: &Meta) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(statistic.instrument)?;
        Some(Event::Statistic(Statistic {
            instrument,
            kind: statistic.kind,
            action: statistic.action,
            price: slot.scale.optional(statistic.price),
            quantity: Some(slot.quantity(statistic.quantity))
                .filter(|quantity| !quantity.is_null()),
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    fn status(&self, status: &TradingStatus, meta: &Meta) -> Event {
        let index = status.instrument;
        let row = index.and_then(|index| self.kept.registry.of_publisher(index));
        let group = status.group.split(|byte| *byte == 0).next();
        Event::Status(Status {
            instrument: row.map(|(instrument, _)| instrument),
            group: Code::lossy(group.unwrap_or_default().trim_ascii_end()),
            status: status.status,
            reason: status.reason,
            event: status.event,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        })
    }

    /// A change of the whole channel.
    fn channel_event(&mut self, kind: &Kind, meta: &Meta) -> Option<Event> {
        let what = match kind {
            Kind::Gap(gap) => {
                self.kept.gap(meta, &Update::Gap(*gap));
                ChannelChange::Gap {
                    first: gap.first,
                    last: gap.last,
                    orders: State::of(gap.orders),
                }
            }
            Kind::Reset => {
                self.kept.reset(meta);
                ChannelChange::Reset
            }
            Kind::Download(phase) => {
                self.download = Some(*phase);
                match phase {
                    Phase::Begun => ChannelChange::DownloadStarted,
                    Phase::Ended => ChannelChange::DownloadEnded,
                }
            }
            Kind::Channel(state) => {
                self.kept.play(meta, &Update::Channel(state));
                ChannelChange::State {
                    price: State::of(state.price),
                    orders: State::of(state.orders),
                    sequence: state.sequence,
                }
            }
            _ => return None,
        };
        Some(Event::Channel(ChannelEvent {
            what,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }
}
