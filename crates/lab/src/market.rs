//! Random books of several instruments as a publisher puts them on a bus, and the state that a reader must have then.
//!
//! The books are those of `book`, as in a gateway: this is for tests of bus, relay and client, which begin behind them.

pub mod values;

use crate::random::Random;
use touchline_book::{OrderBooks, PriceBook, PriceBooks};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Depth, Gap, Instrument, InstrumentDefinition,
    Level, LevelEvent, OrderAction, OrderEvent, OrdersSnapshot, OrdersUpdate, Place, Price,
    Quantity, ReferenceData, Side, Symbol, Timestamps, Trade, Update, UpdateAction, Validity,
};

/// Lists of levels of an instrument.
pub const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

/// Levels of a list of direct or implied levels.
const DEPTH: Depth = Depth {
    direct: 10,
    implied: 2,
};

/// The books. No method but [`Market::event`] and [`Market::define`] ends a batch.
#[derive(Debug)]
pub struct Market {
    /// Choices of the market, and of its test.
    pub random: Random,
    /// Number of instruments.
    pub instruments: u32,
    /// Unit of random prices.
    pub unit: i64,
    /// Times of each update.
    pub timestamps: Timestamps,
    books: PriceBooks,
    orders: OrderBooks,
    validity: Vec<Validity>,
    channel: ChannelState,
    /// Instruments of the market, by the publisher's number.
    numbers: Vec<Instrument>,
    /// Id of the newest trade of each instrument, and the price of the last one that is not busted.
    trades: Vec<(u64, Option<Price>)>,
}

impl Market {
    /// A market whose books are empty and not live.
    pub fn new(seed: u64, instruments: u32) -> Market {
        Market {
            random: Random::from_seed(seed),
            instruments,
            unit: 1,
            timestamps: Timestamps::default(),
            books: PriceBooks::new(instruments as usize, DEPTH, 0),
            orders: OrderBooks::new(instruments as usize, 1_024),
            validity: vec![Validity::Gapped; instruments as usize],
            channel: ChannelState::LIVE,
            numbers: (0..instruments).map(Instrument).collect(),
            trades: vec![(0, None); instruments as usize],
        }
    }

    /// Another publisher numbers the instruments in another order, and has no trades yet.
    pub fn renumber(&mut self) {
        self.trades.fill((0, None));
        for place in (1..self.numbers.len()).rev() {
            let other = self.random.below(place as u64 + 1) as usize;
            self.numbers.swap(place, other);
        }
    }

    /// The publisher's number of an instrument.
    ///
    /// # Panics
    /// The market has no such instrument.
    pub fn number(&self, instrument: Instrument) -> Instrument {
        let mut numbers = self.numbers.iter();
        let place = numbers.position(|other| *other == instrument);
        Instrument(place.expect("all are numbered") as u32)
    }

    /// All instruments.
    pub fn all(&self) -> impl Iterator<Item = Instrument> + use<> {
        (0..self.instruments).map(Instrument)
    }

    /// A random instrument.
    pub fn pick(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(self.instruments)) as u32)
    }

    /// Last published state of the channel.
    pub fn channel(&self) -> &ChannelState {
        &self.channel
    }

    /// Published validity of a price book: the worse of its own and the channel's.
    pub fn validity(&self, instrument: Instrument) -> Validity {
        self.channel.price_of(self.validity[instrument.index()])
    }

    /// Levels of an instrument's list.
    pub fn levels(&self, instrument: Instrument, kind: BookKind, side: Side) -> Vec<Level> {
        levels(self.books.get(instrument), kind, side)
    }

    /// Defines every instrument, in a batch.
    pub fn define(&mut self, out: &mut impl Publish) {
        for instrument in self.all() {
            self.publish(&Update::Definition(&definition(instrument.0)), out);
        }
        out.commit();
    }

    fn publish(&self, update: &Update<'_>, out: &mut impl Publish) {
        out.publish(update, &self.timestamps);
    }

    /// A few changes of one instrument's book; every other time the end of a batch.
    pub fn event(&mut self, out: &mut impl Publish) {
        let instrument = self.pick();
        self.change(instrument, out);
        if self.random.below(2) == 0 {
            out.commit();
        }
    }

    /// A few changes of an instrument's book, which is live.
    pub fn change(&mut self, instrument: Instrument, out: &mut impl Publish) {
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let event = self.level(instrument);
            let _ = self.books.apply(&event, &mut changes);
        }
        self.validity[instrument.index()] = Validity::Live;
        let best = |side| {
            let book = self.books.get(instrument);
            book.and_then(|book| book.first(side))
        };
        let update = BookUpdate {
            instrument: self.number(instrument),
            security_id: security_id(instrument.0),
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: best(Side::Bid),
            best_ask: best(Side::Ask),
        };
        self.publish(&Update::Book(update), out);
    }

    fn level(&mut self, instrument: Instrument) -> LevelEvent {
        let random = &mut self.random;
        let (book, depth) = match random.below(5) {
            0 => (BookKind::Implied, u64::from(DEPTH.implied)),
            _ => (BookKind::Direct, u64::from(DEPTH.direct)),
        };
        let actions = [
            UpdateAction::New,
            UpdateAction::New,
            UpdateAction::Change,
            UpdateAction::Delete,
        ];
        LevelEvent {
            instrument,
            orders: random.below(9) as i32,
            price: Price(random.below(1_000) as i64 * self.unit),
            quantity: Quantity(random.below(100) as i64),
            place: Place::Position(1 + random.below(depth) as u8),
            action: actions[random.below(4) as usize],
            side: Side::BOTH[random.below(2) as usize],
            book,
        }
    }

    /// An order is inserted, changed or removed.
    ///
    /// # Panics
    /// The orders need more room than 1,024 orders.
    pub fn order(&mut self, instrument: Instrument, out: &mut impl Publish) {
        let random = &mut self.random;
        let actions = [OrderAction::New, OrderAction::New, OrderAction::Delete];
        let order_id = 100 * u64::from(instrument.0) + random.below(12);
        let event = OrderEvent {
            order_id,
            priority: Some(random.below(1_000)),
            price: Price(random.below(1_000) as i64 * self.unit),
            quantity: Quantity(1 + random.below(100) as i64),
            instrument,
            action: actions[random.below(3) as usize],
            side: Side::BOTH[(order_id % 2) as usize],
        };
        let mut changes = Vec::with_capacity(4);
        self.orders.apply(&event, &mut changes).expect("room");
        let update = OrdersUpdate {
            instrument: self.number(instrument),
            validity: Validity::Live,
            changes: &changes,
        };
        self.publish(&Update::Orders(update), out);
    }

    /// A trade, or a correction or bust of the last one, or of one before it.
    pub fn trade(&mut self, instrument: Instrument, out: &mut impl Publish) {
        let price = Price(self.random.below(1_000) as i64 * self.unit);
        let action = match self.random.below(4) {
            0 => UpdateAction::Change,
            1 => UpdateAction::Delete,
            _ => UpdateAction::New,
        };
        let is_of_earlier = action != UpdateAction::New && self.random.below(3) == 0;
        let (newest, last) = &mut self.trades[instrument.index()];
        let trade_id = match action {
            UpdateAction::New => *newest + 1,
            _ => *newest - u64::from(is_of_earlier && *newest > 0),
        };
        match action {
            UpdateAction::New => (*newest, *last) = (trade_id, Some(price)),
            _ if trade_id != *newest || last.is_none() => {}
            UpdateAction::Delete => *last = None,
            _ => *last = Some(price),
        }
        let trade = Trade {
            instrument: self.number(instrument),
            orders: 1,
            price,
            quantity: Quantity(1),
            aggressor: None,
            action,
            trade_id,
        };
        self.publish(&Update::Trade(&trade), out);
    }

    /// Price of the last trade of an instrument since its publisher began, unless it was busted.
    pub fn last_trade(&self, instrument: Instrument) -> Option<Price> {
        self.trades[instrument.index()].1
    }

    /// The whole book of an instrument, which is live.
    pub fn whole(&mut self, instrument: Instrument, out: &mut impl Publish) {
        self.validity[instrument.index()] = Validity::Live;
        let [bids, asks, implied_bids, implied_asks] =
            LISTS.map(|(kind, side)| self.levels(instrument, kind, side));
        let snapshot = BookSnapshot {
            instrument: self.number(instrument),
            validity: Validity::Live,
            bids: &bids,
            asks: &asks,
            implied_bids: &implied_bids,
            implied_asks: &implied_asks,
        };
        self.publish(&Update::BookSnapshot(snapshot), out);
    }

    /// All orders of an instrument, which are live.
    pub fn whole_orders(&mut self, instrument: Instrument, out: &mut impl Publish) {
        let mut orders = Vec::with_capacity(1_024);
        self.orders.gather(instrument, &mut orders);
        let snapshot = OrdersSnapshot {
            instrument: self.number(instrument),
            validity: Validity::Live,
            orders: &orders,
        };
        self.publish(&Update::OrdersSnapshot(snapshot), out);
    }

    /// Natural refresh: a random book is emptied and refilled from updates; the book is correct and incomplete.
    pub fn natural(&mut self, out: &mut impl Publish) {
        let instrument = self.pick();
        self.books.get_mut(instrument).clear(&mut Vec::new());
        self.validity[instrument.index()] = Validity::Natural;
        let snapshot = BookSnapshot {
            instrument: self.number(instrument),
            validity: Validity::Natural,
            bids: &[],
            asks: &[],
            implied_bids: &[],
            implied_asks: &[],
        };
        self.publish(&Update::BookSnapshot(snapshot), out);
    }

    /// A loss on the channel: every book is gapped until it is confirmed, and orders begin again.
    pub fn lose(&mut self, out: &mut impl Publish) {
        let gap = Gap {
            first: 5,
            last: 6,
            orders: Validity::Recovering,
        };
        self.orders.clear_all();
        self.validity.fill(Validity::Gapped);
        self.publish(&Update::Gap(gap), out);
    }

    /// A reset of the channel: every book is empty and live.
    pub fn reset(&mut self, out: &mut impl Publish) {
        self.books.clear();
        self.orders.clear_all();
        self.validity.fill(Validity::Live);
        self.publish(&Update::Reset, out);
    }

    /// Changes the validity of the channel; every other time it becomes live.
    pub fn state_channel(&mut self, out: &mut impl Publish) {
        let doubtful = [Validity::Gapped, Validity::Stale];
        let price = match self.random.below(2) {
            0 => Validity::Live,
            _ => doubtful[self.random.below(2) as usize],
        };
        self.channel = ChannelState {
            price,
            orders: price,
            sequence: self.random.below(1_000),
        };
        self.publish(&Update::Channel(&self.channel), out);
    }

    /// Every price book and its validity equal those of the mirror, and the mirror missed no message.
    ///
    /// # Panics
    /// They do not.
    #[track_caller]
    pub fn assert_equal(&self, mirror: &Mirror, context: &str) {
        self.compare(mirror, context, |ours, seen| {
            assert_eq!(seen, ours, "{context}");
            true
        });
    }

    /// Live price books equal those of the mirror, which has no other live book.
    ///
    /// # Panics
    /// They do not.
    #[track_caller]
    pub fn assert_live_equal(&self, mirror: &Mirror, context: &str) {
        self.compare(mirror, context, |ours, seen| {
            let is_live = ours == Validity::Live;
            assert_eq!(seen == Validity::Live, is_live, "{context}: {seen:?}");
            is_live
        });
    }

    /// The mirror's live price books equal the market's, and the mirror missed no message.
    ///
    /// # Panics
    /// They do not.
    #[track_caller]
    pub fn assert_what_is_live(&self, mirror: &Mirror, context: &str) {
        self.compare(mirror, context, |_, seen| seen == Validity::Live);
    }

    /// Compares the books for which `judge` says so, given the validity of the market and that of the mirror.
    #[track_caller]
    fn compare(&self, mirror: &Mirror, context: &str, judge: impl Fn(Validity, Validity) -> bool) {
        assert_eq!(mirror.inconsistent_updates(), 0, "{context}");
        for instrument in self.all() {
            let seen = mirror.validity(self.number(instrument));
            let context = format!("{context}: {instrument:?}");
            if judge(self.validity(instrument), seen) {
                self.assert_one_equal(mirror, instrument, &context);
            }
        }
    }

    /// One price book equals that of the mirror.
    ///
    /// # Panics
    /// It does not.
    #[track_caller]
    pub fn assert_one_equal(&self, mirror: &Mirror, instrument: Instrument, context: &str) {
        for (kind, side) in LISTS {
            let ours = self.levels(instrument, kind, side);
            let theirs = levels(mirror.book(self.number(instrument)), kind, side);
            assert_eq!(ours, theirs, "{context}: {instrument:?} {kind:?} {side:?}");
        }
    }
}

fn levels(book: Option<&PriceBook>, kind: BookKind, side: Side) -> Vec<Level> {
    book.map_or(Vec::new(), |book| {
        book.levels(kind, side).iter().copied().collect()
    })
}

/// Symbol of an instrument.
pub fn symbol(index: u32) -> String {
    format!("SYM{index}")
}

/// Security id of an instrument.
pub fn security_id(index: u32) -> i64 {
    i64::from(index) + 1_000
}

/// Definition of an instrument.
pub fn definition(index: u32) -> InstrumentDefinition {
    InstrumentDefinition {
        symbol: Symbol::new(symbol(index).as_bytes()),
        defined: true,
        reference: ReferenceData::NULL,
        ..InstrumentDefinition::unknown(Instrument(index), security_id(index), DEPTH)
    }
}
