//! Books and the open event: events in, updates of complete venue events out.

mod changes;
mod rare;
#[cfg(test)]
mod tests;
mod updates;
mod whole;

use crate::counters::Counters;
use crate::incident::GapReport;
use touchline_book::price::STEPS_MAX;
use touchline_book::{ApplyResult, OrderBooks, PriceBooks};
use touchline_feed::{BookRules, Feedback, QuoteBatch};
use touchline_instruments::Instruments;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::{
    BookKind, Depth, Event, Instrument, LevelChange, LevelEvent, OrderChange, OrderEvent,
    Timestamps, Update, Validity,
};

use changes::{EventChanges, FlushReason};
use whole::WholeSides;

/// Limits of the books and of one event; all memory is allocated from them at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of instruments.
    pub instruments_max: usize,
    /// Maximum number of orders in all books.
    pub orders_max: usize,
    /// Maximum changes of one venue event; an event with more publishes whole books at its end.
    pub event_changes_max: usize,
    /// Depth of an instrument without a definition.
    pub default_depth: Depth,
    /// Levels a side of a deep book.
    pub levels_max: usize,
}

/// Market books: the books, and the changes of the open event. Events in, updates out; results for the feed are left as
/// [`Feedback`].
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
    /// Whether the open event had more changes than fit.
    spilled: bool,
    /// Books with an inconsistent update in the open event.
    inconsistent: Vec<Instrument>,
    /// Order books that were lost for lack of room, until they are rebuilt.
    overflowed: Vec<Instrument>,
    /// Number of instruments announced to subscribers.
    announced: usize,
    /// Whether the venue is within an event.
    event_open: bool,
    rules: BookRules,
    feedback: Feedback,
    /// Gaps not yet reported to the log.
    pub gaps: Option<GapReport>,
    /// Number of packets before the first received one, not yet reported to the log.
    pub missed: Option<u64>,
}

impl MarketBooks {
    /// Allocates all memory.
    pub fn new(limits: Limits, rules: BookRules) -> MarketBooks {
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
            overflowed: Vec::with_capacity(instruments_max),
            announced: 0,
            event_open: false,
            rules,
            feedback: Feedback::new(instruments_max),
            gaps: None,
            missed: None,
        }
    }

    /// Takes the events of one packet. `event_open`: whether the venue is within an event after them, even if no event
    /// reached a book.
    #[inline]
    pub fn apply(
        &mut self,
        events: &[Event],
        event_open: bool,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        self.event_open = event_open;
        debug_assert!(
            self.announced <= instruments.len(),
            "subscribers know an instrument that the table has no more"
        );
        if self.announced < instruments.len() {
            self.announce_instruments(instruments, out);
        }
        if self.orders.is_large() {
            self.orders
                .read_ahead(events.iter().filter_map(|event| match event {
                    Event::Order(order, _) => Some(order),
                    _ => None,
                }));
        }
        for event in events {
            self.event(event, instruments, out);
        }
    }

    /// Ends the input: publishes the books' changes that wait for the end of an event.
    pub fn finish(&mut self, instruments: &Instruments, out: &mut impl Publish) {
        self.event_open = false;
        self.flush(FlushReason::EndOfInput, instruments, out);
        self.inconsistent.clear();
    }

    /// Publishes providers' quotes, which belong to no book.
    pub fn quotes(&mut self, quotes: &QuoteBatch, out: &mut impl Publish) {
        let receive_ns = self.timestamps.packet.receive_ns;
        for (quoted_ns, update) in quotes.updates() {
            self.timestamps.packet.receive_ns = quoted_ns;
            self.publish(&update, out);
        }
        self.timestamps.packet.receive_ns = receive_ns;
    }

    /// Results for the feed since the last call.
    #[inline]
    pub fn feedback(&mut self) -> &mut Feedback {
        &mut self.feedback
    }

    /// Announces instruments that the venue names for the first time. Until their definition
    /// arrives, which may take long or never happen in a short capture, subscribers know them by
    /// this message.
    #[cold]
    fn announce_instruments(&mut self, instruments: &Instruments, out: &mut impl Publish) {
        for instrument in instruments.iter().skip(self.announced) {
            let definition = instruments.definition(instrument);
            // The definition event announces a defined one.
            if !definition.defined {
                self.publish(&Update::Definition(definition), out);
            }
        }
        self.announced = instruments.len();
    }

    /// Handles one event.
    #[inline]
    fn event(&mut self, event: &Event, instruments: &Instruments, out: &mut impl Publish) {
        match event {
            Event::Level(level, validity) => self.level(level, *validity, instruments),
            Event::Order(order, validity) => self.order(order, *validity, instruments),
            Event::EndOfEvent { transact_ns } => self.end_of_event(*transact_ns, instruments, out),
            Event::Trade(trade, begun_ns) => {
                self.counters.trades += 1;
                self.timestamps.exchange_ns = *begun_ns;
                self.publish(&Update::Trade(trade), out);
            }
            Event::Statistic(statistic, begun_ns) => {
                self.counters.statistics += 1;
                self.publish_of(*begun_ns, &Update::Statistic(statistic), out);
            }
            _ => self.rare_event(event, instruments, out),
        }
    }

    #[inline]
    fn level(&mut self, level: &LevelEvent, validity: Validity, instruments: &Instruments) {
        if self.levels.room() < STEPS_MAX {
            self.spilled = true;
            self.levels.spill();
        }
        let MarketBooks { levels, prices, .. } = self;
        let mut result = ApplyResult::Expected;
        let security_id = || instruments.definition(level.instrument).security_id;
        let touched = levels.add(level.instrument, security_id, validity, |changes| {
            result = prices.apply(level, changes);
        });
        touched.direct |= level.book == BookKind::Direct;
        if result != ApplyResult::Expected {
            self.inconsistent_update(level.instrument, result);
        }
    }

    /// Handles a change of a deep book with an unexpected result.
    #[cold]
    fn inconsistent_update(&mut self, instrument: Instrument, result: ApplyResult) {
        match result {
            ApplyResult::Expected => {}
            ApplyResult::Beyond => self.counters.levels_beyond += 1,
            ApplyResult::Unexpected => {
                self.counters.levels_unexpected += 1;
                if !self.inconsistent.contains(&instrument) {
                    self.inconsistent.push(instrument);
                }
                if !self.feedback.inconsistent.contains(&instrument) {
                    self.feedback.inconsistent.push(instrument);
                }
            }
        }
    }

    #[inline]
    fn order(&mut self, order: &OrderEvent, validity: Validity, instruments: &Instruments) {
        if self.order_changes.room() == 0 {
            self.spilled = true;
            self.order_changes.spill();
        }
        let MarketBooks {
            order_changes,
            orders,
            ..
        } = self;
        let mut applied = Ok(());
        let security_id = || instruments.definition(order.instrument).security_id;
        order_changes.add(order.instrument, security_id, validity, |changes| {
            applied = orders.apply(order, changes);
        });
        if applied.is_err() {
            self.orders_overflowed(order.instrument, instruments);
        }
    }

    /// Ends the event: all its changes become visible.
    #[inline]
    fn end_of_event(
        &mut self,
        transact_ns: u64,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        self.timestamps.exchange_ns = transact_ns;
        self.counters.events += 1;
        self.flush(FlushReason::EndOfEvent, instruments, out);
        self.inconsistent.clear();
    }

    /// Publishes an update that has a time of its own and may be of no event: what follows keeps the time of the last event.
    fn publish_of(&mut self, begun_ns: u64, update: &Update<'_>, out: &mut impl Publish) {
        // mutant: gateway: a statistic has the time of the event before
        let event_ns = std::mem::replace(&mut self.timestamps.exchange_ns, begun_ns);
        self.publish(update, out);
        self.timestamps.exchange_ns = event_ns;
    }

    fn publish(&mut self, update: &Update<'_>, out: &mut impl Publish) {
        self.trace_applied();
        out.publish(update, &self.timestamps);
    }

    /// Takes the time at which the books are updated. One reading serves both timestamps: the
    /// update is filled between them.
    #[inline]
    fn trace_applied(&mut self) {
        if self.trace {
            self.timestamps.applied = ticks();
            self.timestamps.published = self.timestamps.applied;
        }
    }
}
