//! A subscriber's copy of the books, kept from updates only.

use super::settings::INSTRUMENTS_MAX;
use crate::{Envelope, Subscribe, SubscriptionEvent};
use std::collections::BTreeSet;
use touchline_book::price::{DIRECT_MAX, IMPLIED_MAX};
use touchline_book::{OrderBooks, PriceBook, PriceBooks};
use touchline_types::{
    BookKind, BookSnapshot, ChannelState, Depth, Instrument, Level, LevelAction, LevelChange,
    OrderAction, OrderChange, OrderEvent, Phase, Side, Update, Validity,
};

/// Books and validities of a subscriber.
///
/// It needs no venue rules and no depth: the steps of updates suffice. Memory grows with the
/// instruments and orders received, up to the given limit of orders and 2^20 instruments: an update of a later instrument is counted as
/// inconsistent, and left out. So is an order without room: its book is empty and recovering until it arrives as a whole.
#[derive(Debug)]
pub struct Mirror {
    prices: PriceBooks,
    orders: OrderBooks,
    /// Instruments whose order books had no room for an order: they await a whole book, or an empty one.
    overflowed: BTreeSet<Instrument>,
    /// Own validity of each price and order book.
    validity: Vec<(Validity, Validity)>,
    channel: ChannelState,
    /// Validity of an instrument that no update has named yet.
    unnamed: (Validity, Validity),
    inconsistent_updates: u64,
    download: Option<Phase>,
    order_steps: Vec<OrderChange>,
}

/// Validity of an instrument before any update.
const UNNAMED: (Validity, Validity) = (Validity::Gapped, Validity::Recovering);

impl Mirror {
    /// Room for `instruments_max` instruments and `orders_max` orders.
    pub fn new(instruments_max: usize, orders_max: usize) -> Mirror {
        let depth = Depth {
            direct: DIRECT_MAX as u16,
            implied: IMPLIED_MAX as u8,
        };
        Mirror {
            prices: PriceBooks::new(instruments_max, depth, 0),
            orders: OrderBooks::new(instruments_max, orders_max),
            overflowed: BTreeSet::new(),
            validity: Vec::with_capacity(instruments_max),
            channel: ChannelState::LIVE,
            unnamed: UNNAMED,
            inconsistent_updates: 0,
            download: None,
            order_steps: Vec::with_capacity(1),
        }
    }

    /// An instrument's price book, if an update named the instrument or a later one.
    pub fn book(&self, instrument: Instrument) -> Option<&PriceBook> {
        self.prices.get(instrument)
    }

    /// All order books.
    pub fn orders(&self) -> &OrderBooks {
        &self.orders
    }

    /// Validity of an instrument's price book: the worse of its own and the channel's.
    pub fn validity(&self, instrument: Instrument) -> Validity {
        self.channel.price_of(self.validities(instrument).0)
    }

    /// Validity of an instrument's order book, likewise.
    pub fn orders_validity(&self, instrument: Instrument) -> Validity {
        self.channel.orders_of(self.validities(instrument).1)
    }

    /// Validity of an instrument's price book and order book, without that of the channel.
    pub fn own_validity(&self, instrument: Instrument) -> (Validity, Validity) {
        self.validities(instrument)
    }

    /// Last published state of the channel; live if none was published.
    pub fn channel(&self) -> &ChannelState {
        &self.channel
    }

    /// Steps that did not fit their book: 0 unless an update was missed, or the orders need more room.
    pub fn inconsistent_updates(&self) -> u64 {
        self.inconsistent_updates
    }

    /// Download phase of the venue; `None` if none was published.
    pub fn download(&self) -> Option<Phase> {
        self.download
    }

    fn validities(&self, instrument: Instrument) -> (Validity, Validity) {
        self.validity
            .get(instrument.index())
            .copied()
            .unwrap_or(self.unnamed)
    }

    fn row(&mut self, instrument: Instrument) -> &mut (Validity, Validity) {
        if instrument.index() >= self.validity.len() {
            self.validity.resize(instrument.index() + 1, self.unnamed);
        }
        &mut self.validity[instrument.index()]
    }

    fn set_all(&mut self, change: impl Fn((Validity, Validity)) -> (Validity, Validity)) {
        self.unnamed = change(self.unnamed);
        for row in &mut self.validity {
            *row = change(*row);
        }
    }

    /// Empties every book and marks it as recovering until it arrives as a whole: for a reader that lost messages.
    pub fn begin_recovery(&mut self) {
        self.prices.clear();
        self.clear_orders();
        self.set_all(|_| (Validity::Recovering, Validity::Recovering));
    }

    /// Changes the validity of live books.
    fn distrust(&mut self, instead: Validity) {
        let of = |validity| match validity {
            Validity::Live => instead,
            other => other,
        };
        self.set_all(|(price, orders)| (of(price), of(orders)));
    }

    fn replace(&mut self, snapshot: &BookSnapshot<'_>) {
        if snapshot.bids.len().max(snapshot.asks.len()) > DIRECT_MAX {
            self.prices.deepen(snapshot.instrument);
        }
        let book = self.prices.get_mut(snapshot.instrument);
        let lists = [
            (BookKind::Direct, Side::Bid, snapshot.bids),
            (BookKind::Direct, Side::Ask, snapshot.asks),
            (BookKind::Implied, Side::Bid, snapshot.implied_bids),
            (BookKind::Implied, Side::Ask, snapshot.implied_asks),
        ];
        let mut inconsistent_updates = 0;
        for (kind, side, levels) in lists {
            let step = |action, index: usize, level| LevelChange {
                level,
                book: kind,
                side,
                action,
                index: index as u16,
            };
            book.apply_delta(&step(LevelAction::Clear, 0, Level::UNKNOWN));
            for (index, level) in levels.iter().enumerate() {
                inconsistent_updates +=
                    u64::from(!book.apply_delta(&step(LevelAction::Insert, index, *level)));
            }
        }
        self.inconsistent_updates += inconsistent_updates;
    }

    fn clear_orders(&mut self) {
        self.orders.clear_all();
        self.overflowed.clear();
    }

    /// Applies the orders of one message; an order without room ends it.
    #[inline]
    fn apply_orders(&mut self, instrument: Instrument, orders: &[OrderChange], validity: Validity) {
        for order in orders {
            if !self.order(instrument, order) {
                return self.orders_overflowed(instrument);
            }
        }
        self.row(instrument).1 = validity;
    }

    /// A book that lacks an order is none.
    #[cold]
    fn orders_overflowed(&mut self, instrument: Instrument) {
        self.orders.clear(instrument);
        self.overflowed.insert(instrument);
        // mutant: mirror: an order book without an order is live
        self.row(instrument).1 = Validity::Recovering;
    }

    /// False if there is no room for the order.
    fn order(&mut self, instrument: Instrument, change: &OrderChange) -> bool {
        let OrderChange {
            order_id,
            priority,
            price,
            quantity,
            side,
            action,
            row: _,
        } = *change;
        let priority = Some(priority);
        let event = OrderEvent {
            order_id,
            priority,
            price,
            quantity,
            instrument,
            action,
            side,
        };
        self.order_steps.clear();
        let applied = self.orders.apply(&event, &mut self.order_steps);
        let fits = applied.is_ok() && !self.order_steps.is_empty();
        self.inconsistent_updates += u64::from(!fits);
        applied.is_ok()
    }
}

impl Subscribe for Mirror {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let instrument = envelope.update.instrument();
        if instrument.is_some_and(|instrument| instrument.index() >= INSTRUMENTS_MAX) {
            self.inconsistent_updates += 1;
            return;
        }
        match envelope.update {
            Update::Book(update) => {
                let book = self.prices.get_mut(update.instrument);
                let inconsistent_updates = update
                    .changes
                    .iter()
                    .filter(|change| !book.apply_delta(change))
                    .count();
                self.inconsistent_updates += inconsistent_updates as u64;
                self.row(update.instrument).0 = update.validity;
            }
            Update::BookSnapshot(snapshot) => {
                self.replace(snapshot);
                self.row(snapshot.instrument).0 = snapshot.validity;
            }
            Update::Orders(update) => {
                // mutant: mirror: an order book without an order is live again by its next step
                let is_whole = !self.overflowed.contains(&update.instrument);
                if is_whole {
                    self.apply_orders(update.instrument, update.changes, update.validity);
                }
            }
            Update::OrdersSnapshot(snapshot) => {
                let mut orders = snapshot.orders.iter();
                debug_assert!(
                    orders.all(|order| order.action == OrderAction::New),
                    "a whole order book is read as orders that are new"
                );
                self.orders.clear(snapshot.instrument);
                self.overflowed.remove(&snapshot.instrument);
                self.apply_orders(snapshot.instrument, snapshot.orders, snapshot.validity);
            }
            Update::State(state) => self.row(state.instrument).0 = state.validity,
            Update::Gap(gap) => {
                self.clear_orders();
                self.set_all(|(price, _)| {
                    let price = if price == Validity::Live {
                        Validity::Gapped
                    } else {
                        price
                    };
                    (price, gap.orders)
                });
            }
            Update::Reset => {
                self.prices.clear();
                self.clear_orders();
                self.set_all(|_| (Validity::Live, Validity::Live));
            }
            // The books of the instrument follow as snapshots.
            Update::Definition(definition) => {
                let _ = self.row(definition.instrument);
                if definition.depth.is_all() {
                    self.prices.deepen(definition.instrument);
                }
            }
            Update::Download(phase) => self.download = Some(*phase),
            Update::Channel(state) => self.channel = **state,
            Update::Trade(_) | Update::Statistic(_) | Update::Status(_) => {}
            Update::Quotes(_) | Update::QuoteSnapshot(_) => {}
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::CaughtUp | SubscriptionEvent::NotWaitedFor => {}
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                self.distrust(Validity::Gapped);
                self.clear_orders();
                self.set_all(|(price, _)| (price, Validity::Recovering));
            }
            SubscriptionEvent::Restarted { .. } => {
                self.prices.clear();
                self.clear_orders();
                self.validity.clear();
                self.unnamed = UNNAMED;
                self.download = None;
                self.channel = ChannelState::LIVE;
            }
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => self.distrust(Validity::Stale),
            // The known books follow.
            SubscriptionEvent::PublisherResumed => {
                let of = |validity| match validity {
                    Validity::Stale => Validity::Live,
                    other => other,
                };
                self.unnamed = (of(self.unnamed.0), of(self.unnamed.1));
            }
        }
    }
}
