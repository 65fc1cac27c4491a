//! From events to updates: books take each event at once, subscribers see whole venue events.

mod whole;

use crate::counters::Counters;
use crate::event_changes::EventChanges;
use touchline_book::price::STEPS_MAX;
use touchline_book::{ApplyResult, OrderBooks, PriceBooks, Spread};
use touchline_feed::Venue;
use touchline_net::clock::ticks;
use touchline_transport::Publish;
use touchline_types::{
    BookKind, BookUpdate, Depth, Event, Gap, Instrument, LevelChange, LevelEvent, OrderChange,
    OrderEvent, OrdersSnapshot, OrdersUpdate, Side, State, Timestamps, Update, Validity,
};

use whole::{WholeSides, gather, orders_validity, snapshot};

/// Limits of the books and of one event; all memory is taken from these at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most instruments.
    pub instruments_max: usize,
    /// Most orders in all books.
    pub orders_max: usize,
    /// Most changes in one venue event; of one with more, whole books are published at its end.
    pub event_changes_max: usize,
    /// Depth of an instrument without a definition.
    pub default_depth: Depth,
    /// Levels a side of a book that is kept by price.
    pub levels_max: usize,
}

/// Market books: the books, and the changes of the open event.
#[derive(Debug)]
pub struct MarketBooks {
    pub prices: PriceBooks,
    pub orders: OrderBooks,
    pub counters: Counters,
    pub timestamps: Timestamps,
    pub trace: bool,
    levels: EventChanges<LevelChange>,
    steps: Vec<LevelChange>,
    order_changes: EventChanges<OrderChange>,
    order_steps: Vec<OrderChange>,
    whole_book: Vec<OrderChange>,
    whole_sides: WholeSides,
    /// The open event had more changes than there is room for.
    spilled: bool,
    /// Books of the open event that had an inconsistent update.
    inconsistent: Vec<Instrument>,
    /// Instruments that were announced to subscribers.
    announced: usize,
}

impl MarketBooks {
    /// All memory is taken here.
    pub fn new(limits: Limits) -> MarketBooks {
        let Limits {
            instruments_max,
            orders_max,
            event_changes_max,
            default_depth,
            levels_max,
        } = limits;
        let changes_max = event_changes_max.max(STEPS_MAX);
        MarketBooks {
            prices: PriceBooks::new(instruments_max, default_depth, levels_max),
            orders: OrderBooks::new(instruments_max, orders_max),
            counters: Counters::default(),
            timestamps: Timestamps::default(),
            trace: true,
            levels: EventChanges::new(changes_max, instruments_max),
            steps: Vec::with_capacity(STEPS_MAX),
            order_changes: EventChanges::new(changes_max, instruments_max),
            order_steps: Vec::with_capacity(1),
            whole_book: Vec::with_capacity(orders_max),
            whole_sides: match default_depth.is_all() {
                true => WholeSides::with_room(levels_max),
                false => WholeSides::default(),
            },
            spilled: false,
            inconsistent: Vec::with_capacity(instruments_max),
            announced: 0,
        }
    }

    /// Announces instruments that the venue names for the first time. Until their definition comes,
    /// which may be long, or never in a short capture, this is how subscribers know them.
    #[inline]
    pub fn announce_instruments(&mut self, venue: &impl Venue, out: &mut impl Publish) {
        if self.announced < venue.instruments() {
            self.announce_new(venue, out);
        }
    }

    #[cold]
    fn announce_new(&mut self, venue: &impl Venue, out: &mut impl Publish) {
        let new = self.announced..venue.instruments();
        self.announced = new.end;
        for instrument in new.map(|index| Instrument(index as u32)) {
            let definition = venue.definition(instrument);
            // One that is defined already is told of by its own event.
            // mutant: bus: an instrument has no name before its definition
            if !definition.defined {
                self.publish(&Update::Definition(definition), out);
            }
        }
    }

    /// Takes one event.
    #[inline]
    pub fn event(&mut self, event: &Event, venue: &mut impl Venue, out: &mut impl Publish) {
        match event {
            Event::Level(level, validity) => self.level(level, *validity, venue),
            Event::Order(order, validity) => self.order(order, *validity, venue),
            Event::EndOfEvent { transact_ns } => self.end_of_event(*transact_ns, venue, out),
            Event::Trade(trade, begun_ns) => {
                self.counters.trades += 1;
                // mutant: series: a trade has the time of the event before
                self.timestamps.exchange_ns = *begun_ns;
                self.publish(&Update::Trade(trade), out);
            }
            Event::Statistic(statistic) => {
                self.counters.statistics += 1;
                self.publish(&Update::Statistic(statistic), out);
            }
            _ => self.rare_event(event, venue, out),
        }
    }

    #[inline]
    fn level(&mut self, level: &LevelEvent, validity: Validity, venue: &mut impl Venue) {
        if self.levels.room() < STEPS_MAX {
            self.spilled = true;
            self.levels.spill();
        }
        let MarketBooks { levels, prices, .. } = self;
        let definition = venue.definition(level.instrument);
        let mut result = ApplyResult::Expected;
        let touched = levels.add(definition, validity, |changes| {
            result = prices.apply(level, changes);
        });
        // mutant: gateway: implied levels alone make a top
        touched.direct |= level.book == BookKind::Direct;
        if result != ApplyResult::Expected {
            self.inconsistent_update(level.instrument, result, venue);
        }
    }

    /// A change did not do to a book kept by price what it said.
    #[cold]
    fn inconsistent_update(
        &mut self,
        instrument: Instrument,
        result: ApplyResult,
        venue: &mut impl Venue,
    ) {
        match result {
            ApplyResult::Expected => {}
            ApplyResult::Beyond => self.counters.levels_beyond += 1,
            ApplyResult::Unexpected => {
                self.counters.levels_unexpected += 1;
                if !self.inconsistent.contains(&instrument) {
                    self.inconsistent.push(instrument);
                }
                venue.book_inconsistent(instrument);
            }
        }
    }

    #[inline]
    fn order(&mut self, order: &OrderEvent, validity: Validity, venue: &mut impl Venue) {
        if self.order_changes.room() == 0 {
            self.spilled = true;
            // mutant: live: orders without room are not published whole
            self.order_changes.spill();
        }
        let MarketBooks {
            order_changes,
            orders,
            ..
        } = self;
        let mut applied = Ok(());
        order_changes.add(venue.definition(order.instrument), validity, |changes| {
            applied = orders.apply(order, changes);
        });
        if applied.is_err() {
            self.orders_overflowed(order.instrument, venue);
        }
    }

    /// The event ends: everything that it changed becomes visible.
    #[inline]
    fn end_of_event(&mut self, transact_ns: u64, venue: &impl Venue, out: &mut impl Publish) {
        self.timestamps.exchange_ns = transact_ns;
        self.counters.events += 1;
        self.flush(FlushReason::EndOfEvent, venue, out);
        self.inconsistent.clear();
    }

    #[inline(never)]
    fn rare_event(&mut self, event: &Event, venue: &mut impl Venue, out: &mut impl Publish) {
        match *event {
            Event::BookEmptied(instrument, validity) => {
                self.book_emptied(instrument, validity, venue)
            }
            Event::Status(ref status) => self.publish(&Update::Status(status), out),
            Event::Defined {
                instrument,
                price,
                orders,
            } => {
                self.defined(instrument, price, orders, venue, out);
            }
            Event::Lost { first, last } => self.lost(first, last, venue, out),
            Event::Reset => self.reset(out),
            Event::BookLost(instrument, validity) => {
                self.clear_book(instrument, validity);
                self.publish_book(instrument, validity, out);
            }
            Event::RebuildBook(instrument) => self.clear_book(instrument, Validity::Recovering),
            Event::RebuildLevel(ref level) => {
                self.steps.clear();
                let result = self.prices.apply(level, &mut self.steps);
                if result != ApplyResult::Expected {
                    self.inconsistent_update(level.instrument, result, venue);
                }
            }
            Event::BookRebuilt(instrument, validity) => {
                let validity = match self.inconsistent.contains(&instrument) {
                    true => venue.validity(instrument),
                    false => validity,
                };
                self.show_book(instrument, validity, venue, out);
            }
            Event::RebuildOrders(instrument) => self.clear_orders(instrument, Validity::Recovering),
            Event::RebuildOrder(ref order) => self.rebuild_order(order, venue),
            Event::OrdersRebuilt(instrument, validity) => {
                self.show_orders(instrument, validity, venue, out);
            }
            Event::Validity(instrument, validity) => {
                self.validity(instrument, validity, venue, out)
            }
            Event::PublishedState {
                instrument,
                price,
                orders,
            } => self.published_state(instrument, price, orders, out),
            Event::Download(phase) => self.publish(&Update::Download(phase), out),
            // Its book may hold half of the event until the event ends.
            Event::Confirmed(instrument) => {
                self.levels
                    .touch(venue.definition(instrument), Validity::Live);
            }
            // On the path, see above.
            Event::Level(..) | Event::Order(..) | Event::EndOfEvent { .. } => {}
            Event::Trade(..) | Event::Statistic(_) => {}
        }
    }

    /// The venue emptied a book as part of an event.
    fn book_emptied(&mut self, instrument: Instrument, validity: Validity, venue: &impl Venue) {
        if self.levels.room() < STEPS_MAX {
            self.spilled = true;
            self.levels.spill();
        }
        let MarketBooks { levels, prices, .. } = self;
        let definition = venue.definition(instrument);
        let clear = |changes: &mut Vec<LevelChange>| prices.get_mut(instrument).clear(changes);
        levels.add(definition, validity, clear).direct = true;
    }

    /// The definition may be what makes the instrument one to publish: its books come with it.
    fn defined(
        &mut self,
        instrument: Instrument,
        price: Validity,
        orders: Option<Validity>,
        venue: &impl Venue,
        out: &mut impl Publish,
    ) {
        let definition = venue.definition(instrument);
        self.prices.define(instrument, definition.depth);
        self.publish(&Update::Definition(definition), out);
        self.show_book(instrument, price, venue, out);
        if let Some(orders) = orders {
            self.show_orders(instrument, orders, venue, out);
        }
    }

    /// Packets are lost: say so first, then show what the open event had changed until then.
    fn lost(&mut self, first: u32, last: u32, venue: &impl Venue, out: &mut impl Publish) {
        self.orders.clear_all();
        self.order_changes.clear();
        let orders = venue.missing();
        self.publish(
            &Update::Gap(Gap {
                first,
                last,
                orders,
            }),
            out,
        );
        self.flush(FlushReason::Gap, venue, out);
    }

    fn reset(&mut self, out: &mut impl Publish) {
        self.levels.clear();
        self.order_changes.clear();
        self.spilled = false;
        self.prices.clear();
        self.orders.clear_all();
        self.publish(&Update::Reset, out);
    }

    /// The validity of an unchanged book is told at once, or at the end of the event that the book
    /// may hold half of.
    fn validity(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        venue: &impl Venue,
        out: &mut impl Publish,
    ) {
        if self.event_open(venue) {
            self.levels.touch(venue.definition(instrument), validity);
        } else {
            self.publish(
                &Update::State(State {
                    instrument,
                    validity,
                }),
                out,
            );
        }
    }

    /// What subscribers hold is of this validity now, whatever the open event has changed since. A book that was rebuilt in
    /// the open event is not what they hold: nothing of theirs is live before it is shown.
    fn published_state(
        &mut self,
        instrument: Instrument,
        price: Option<Validity>,
        orders: Option<Validity>,
        out: &mut impl Publish,
    ) {
        // mutant: stages: a book that is yet to be shown is live when a silence ends
        if let (Some(touched), Some(Validity::Live)) = (self.levels.rebuilt(instrument), price) {
            touched.validity = Validity::Live;
        } else if let Some(validity) = price {
            let state = State {
                instrument,
                validity,
            };
            self.publish(&Update::State(state), out);
        }
        if let (Some(touched), Some(Validity::Live)) =
            (self.order_changes.rebuilt(instrument), orders)
        {
            touched.validity = Validity::Live;
        } else if let Some(validity) = orders {
            let unchanged = OrdersUpdate {
                instrument,
                validity,
                changes: &[],
            };
            self.publish(&Update::Orders(unchanged), out);
        }
    }

    /// A whole book is shown at once, or at the end of the event that it may hold half of.
    fn show_book(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        venue: &impl Venue,
        out: &mut impl Publish,
    ) {
        if self.event_open(venue) {
            self.levels
                .touch(venue.definition(instrument), validity)
                .rebuilt = true;
        } else {
            self.publish_book(instrument, validity, out);
        }
    }

    fn show_orders(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        venue: &impl Venue,
        out: &mut impl Publish,
    ) {
        if self.event_open(venue) {
            self.order_changes
                .touch(venue.definition(instrument), validity)
                .rebuilt = true;
        } else {
            self.publish_orders(instrument, validity, venue, out);
        }
    }

    /// Whether a book may hold half an event. The venue is at the end of the packet already, so what
    /// waits here counts, too.
    fn event_open(&self, venue: &impl Venue) -> bool {
        // mutant: gateway: a recovered book is seen in the middle of an event
        venue.event_open() || !self.levels.is_empty() || !self.order_changes.is_empty()
    }

    fn clear_book(&mut self, instrument: Instrument, validity: Validity) {
        self.steps.clear();
        self.prices.get_mut(instrument).clear(&mut self.steps);
        self.levels.forget(instrument, validity);
    }

    fn clear_orders(&mut self, instrument: Instrument, validity: Validity) {
        self.orders.clear(instrument);
        self.order_changes.forget(instrument, validity);
    }

    /// An order of a snapshot.
    fn rebuild_order(&mut self, order: &OrderEvent, venue: &mut impl Venue) {
        self.order_steps.clear();
        if self.orders.apply(order, &mut self.order_steps).is_err() {
            self.orders_overflowed(order.instrument, venue);
        }
    }

    /// The limit of orders is reached: this order book is unknown from here on.
    #[cold]
    fn orders_overflowed(&mut self, instrument: Instrument, venue: &mut impl Venue) {
        venue.orders_overflowed(instrument);
        self.clear_orders(instrument, venue.missing());
        let definition = venue.definition(instrument);
        self.order_changes
            .touch(definition, venue.missing())
            .rebuilt = true;
    }

    /// Publishes what the open event has changed, in the order of the venue's ids.
    #[inline]
    fn flush(&mut self, reason: FlushReason, venue: &impl Venue, out: &mut impl Publish) {
        if self.levels.is_empty() && self.order_changes.is_empty() {
            return;
        }
        let is_spilled = std::mem::take(&mut self.spilled);
        self.counters.events_cut += u64::from(is_spilled || reason == FlushReason::Gap);
        if !self.inconsistent.is_empty() {
            self.distrust(venue);
        }
        self.trace_applied();
        self.flush_books(reason, out);
        self.flush_orders(venue, out);
    }

    /// Nobody is to take a book for right that a change did not fit, not even for a moment.
    #[cold]
    fn distrust(&mut self, venue: &impl Venue) {
        for instrument in &self.inconsistent {
            let validity = venue.validity(*instrument);
            self.levels.touch(venue.definition(*instrument), validity);
        }
    }

    #[inline]
    fn flush_books(&mut self, reason: FlushReason, out: &mut impl Publish) {
        let MarketBooks {
            prices,
            counters,
            timestamps,
            levels,
            whole_sides,
            ..
        } = self;
        levels.drain(|touched, changes| {
            let (instrument, validity) = (touched.instrument, reason.validity(touched.validity));
            let book = prices.get_mut(instrument);
            if touched.rebuilt {
                counters.book_snapshots += 1;
                out.publish(
                    &Update::BookSnapshot(snapshot(instrument, validity, book, whole_sides)),
                    timestamps,
                );
            }
            if touched.rebuilt && !touched.direct {
                return;
            }
            let (best_bid, best_ask) = (book.best(Side::Bid), book.best(Side::Ask));
            let spread = book.spread();
            counters.book_updates += 1;
            counters.books_locked += u64::from(spread == Spread::Locked);
            counters.books_crossed += u64::from(spread == Spread::Crossed);
            let update = BookUpdate {
                instrument,
                security_id: touched.security_id,
                validity,
                direct: touched.direct,
                // mutant: gateway: a cut event counts as whole
                whole: reason == FlushReason::EndOfEvent,
                changes: if touched.rebuilt { &[] } else { changes },
                best_bid,
                best_ask,
            };
            out.publish(&Update::Book(update), timestamps);
        });
    }

    #[inline]
    fn flush_orders(&mut self, venue: &impl Venue, out: &mut impl Publish) {
        let MarketBooks {
            orders,
            counters,
            timestamps,
            order_changes,
            whole_book,
            ..
        } = self;
        order_changes.drain(|touched, changes| {
            let instrument = touched.instrument;
            let validity = orders_validity(touched.validity, instrument, venue);
            if touched.rebuilt {
                counters.order_snapshots += 1;
                let orders = gather(orders, instrument, whole_book);
                let snapshot = OrdersSnapshot {
                    instrument,
                    validity,
                    orders,
                };
                out.publish(&Update::OrdersSnapshot(snapshot), timestamps);
            } else {
                counters.order_updates += 1;
                out.publish(
                    &Update::Orders(OrdersUpdate {
                        instrument,
                        validity,
                        changes,
                    }),
                    timestamps,
                );
            }
        });
    }

    fn publish(&mut self, update: &Update<'_>, out: &mut impl Publish) {
        self.trace_applied();
        out.publish(update, &self.timestamps);
    }

    /// The books have taken what is published now. One reading serves both ticks: what lies
    /// between them is the filling in of the update.
    #[inline]
    fn trace_applied(&mut self) {
        if self.trace {
            self.timestamps.applied = ticks();
            self.timestamps.published = self.timestamps.applied;
        }
    }
}

/// Why what the open event has changed is published now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlushReason {
    /// The event ended.
    EndOfEvent,
    /// A packet was lost.
    Gap,
}

impl FlushReason {
    /// What a book is that was `validity` with its last change.
    fn validity(self, validity: Validity) -> Validity {
        match (self, validity) {
            // mutant: gateway: a book that was cut stays live
            (FlushReason::Gap, Validity::Live) => Validity::Gapped,
            _ => validity,
        }
    }
}
