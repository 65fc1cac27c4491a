//! A market that changes at random, published on any carrier.

use crate::random::Random;
use touchline_book::PriceBooks;
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookUpdate, Depth, Instrument, InstrumentDefinition, Level, LevelEvent, OrderAction,
    OrderChange, OrderRow, OrdersUpdate, Place, Price, Quantity, ReferenceData, Side, Statistic,
    StatisticKind, Symbol, Timestamps, Trade, TradingStatus, Update, UpdateAction, Validity,
};

/// Instruments of a market.
pub const INSTRUMENTS: u32 = 16;

/// Books, orders and values that change at random.
#[derive(Debug)]
pub struct Market {
    random: Random,
    books: PriceBooks,
    order_id: u64,
}

impl Market {
    /// The market of this seed.
    pub fn new(seed: u64) -> Market {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        Market {
            random: Random::from_seed(seed),
            books: PriceBooks::new(INSTRUMENTS as usize, depth, 0),
            order_id: 0,
        }
    }

    /// Defines every instrument, and resets their books.
    pub fn define(&mut self, out: &mut impl Publish) {
        for index in 0..INSTRUMENTS {
            let depth = Depth {
                direct: 10,
                implied: 2,
            };
            let definition = InstrumentDefinition {
                symbol: Symbol::new(format!("SYM{index}").as_bytes()),
                defined: true,
                reference: ReferenceData::NULL,
                ..InstrumentDefinition::unknown(Instrument(index), i64::from(index) + 1000, depth)
            };
            out.publish(&Update::Definition(&definition), &times());
        }
        out.publish(&Update::Reset, &times());
        out.commit();
    }

    /// Applies this number of events.
    pub fn events(&mut self, count: usize, out: &mut impl Publish) {
        for _ in 0..count {
            match self.random.below(10) {
                0 => self.order(out),
                1 => self.value(out),
                _ => self.book(out),
            }
            if self.random.below(2) == 0 {
                out.commit();
            }
        }
        out.commit();
    }

    fn instrument(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32)
    }

    fn book(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let actions = [
                UpdateAction::New,
                UpdateAction::New,
                UpdateAction::Change,
                UpdateAction::Delete,
            ];
            let event = LevelEvent {
                instrument,
                orders: self.random.below(9) as i32,
                price: Price(self.random.below(1_000) as i64),
                quantity: Quantity(self.random.below(100) as i64),
                place: Place::Position(1 + self.random.below(10) as u8),
                action: actions[self.random.below(4) as usize],
                side: Side::BOTH[self.random.below(2) as usize],
                book: BookKind::Direct,
            };
            let _ = self.books.apply(&event, &mut changes);
        }
        let update = BookUpdate {
            instrument,
            security_id: i64::from(instrument.0) + 1000,
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: None,
            best_ask: None,
        };
        out.publish(&Update::Book(update), &times());
    }

    fn order(&mut self, out: &mut impl Publish) {
        self.order_id += 1;
        let id = self.order_id;
        let changes = [OrderChange {
            order_id: id,
            priority: id,
            price: Price(self.random.below(1_000) as i64),
            quantity: Quantity(1),
            side: Side::BOTH[(id % 2) as usize],
            action: OrderAction::New,
            row: OrderRow {
                index: (id % 1_000) as u32,
                number: id,
            },
        }];
        // One book has few orders, so that rows are not reused.
        if id < 1_000 {
            let instrument = self.instrument();
            let update = OrdersUpdate {
                instrument,
                validity: Validity::Live,
                changes: &changes,
            };
            out.publish(&Update::Orders(update), &times());
        }
    }

    fn value(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        let (price, quantity) = (Price(self.random.below(1_000) as i64), Quantity(3));
        let trade_id = self.random.below(1 << 40) + 1;
        let trade = Trade {
            instrument,
            orders: 1,
            price,
            quantity,
            aggressor: Some(Side::Bid),
            action: UpdateAction::New,
            trade_id,
        };
        let statistic = Statistic {
            instrument,
            kind: StatisticKind::High,
            action: UpdateAction::New,
            price,
            quantity: Quantity::NULL,
        };
        let status = TradingStatus {
            instrument: Some(instrument),
            group: *b"GROUP1",
            status: 17,
            reason: 0,
            event: 0,
        };
        out.publish(&Update::Trade(&trade), &times());
        out.publish(&Update::Statistic(&statistic), &times());
        out.publish(&Update::Status(&status), &times());
    }
}

/// Times of every update.
pub fn times() -> Timestamps {
    Timestamps {
        exchange_ns: 1_700_000_000_000_000_000,
        ..Timestamps::default()
    }
}

/// Lists of levels, orders, and both validities.
pub type Seen = (Vec<Vec<Level>>, Vec<(u64, Price)>, Validity, Validity);

/// State of an instrument in a mirror.
pub fn seen(mirror: &Mirror, instrument: Instrument) -> Seen {
    let mut lists = Vec::new();
    let mut all = Vec::new();
    for side in Side::BOTH {
        for kind in [BookKind::Direct, BookKind::Implied] {
            let book = mirror.book(instrument);
            let levels = book.map(|book| book.levels(kind, side).iter().copied().collect());
            lists.push(levels.unwrap_or_default());
        }
        mirror.orders().visit(instrument, side, |order| {
            all.push((order.order_id, order.price))
        });
    }
    (
        lists,
        all,
        mirror.validity(instrument),
        mirror.orders_validity(instrument),
    )
}
