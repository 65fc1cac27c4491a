//! Order books by their tables and by the ring: a reader that joins, is overrun or was notified of a stall receives
//! them at once, with losses and resets in between that were reported with the tables.

use crate::world::{Buses, definition, mirror, stall, state};
use std::collections::BTreeMap;
use touchline_book::OrderBooks;
use touchline_lab::random::{Random, seeds};
use touchline_transport::shm::{Join, Publisher, Subscriber};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookSnapshot, ChannelState, Gap, Instrument, Level, OrderAction, OrderEvent,
    OrdersSnapshot, OrdersUpdate, Price, Quantity, Side, Timestamps, Update, Validity,
};

/// Order id and quantity of each order of a book.
pub type Orders = BTreeMap<u64, i64>;

const INSTRUMENTS: u32 = 3;

/// Order books of a publisher, and all their earlier states.
pub struct OrderMarket {
    pub random: Random,
    next_id: u64,
    books: OrderBooks,
    validity: Vec<Validity>,
    channel: ChannelState,
    /// Live states of each instrument's book, in order of time.
    were: Vec<Vec<Orders>>,
}

impl OrderMarket {
    pub fn begin(seed: u64, out: &mut Publisher) -> OrderMarket {
        for index in 0..INSTRUMENTS {
            let definition = definition(index);
            out.publish(&Update::Definition(&definition), &Timestamps::default());
        }
        out.commit();
        OrderMarket {
            random: Random::from_seed(seed),
            next_id: 0,
            books: OrderBooks::new(INSTRUMENTS as usize, 1 << 16),
            validity: vec![Validity::Recovering; INSTRUMENTS as usize],
            channel: ChannelState::LIVE,
            were: vec![Vec::new(); INSTRUMENTS as usize],
        }
    }

    /// A random event.
    fn event(&mut self, out: &mut Publisher) {
        match self.random.below(12) {
            0 => self.lose(out),
            1 => self.reset(out),
            2..5 => {
                let instrument = self.instrument();
                self.refresh(instrument, out);
                out.commit();
            }
            _ => self.change(3, out),
        }
        self.remember();
    }

    fn instrument(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32)
    }

    /// One batch: orders are inserted, changed and removed in live books. The books take all of it first, so that an
    /// order may get the row of another whose removal is published after it.
    fn change(&mut self, changes_max: u64, out: &mut Publisher) {
        self.change_telling(changes_max, out, &mut |_, _, _| ());
    }

    /// [`Self::change`]; `told` is called for each message before it can be read.
    pub fn change_telling(
        &mut self,
        changes_max: u64,
        out: &mut Publisher,
        told: &mut impl FnMut(&OrderMarket, &Publisher, Instrument),
    ) {
        let mut changes = vec![Vec::new(); INSTRUMENTS as usize];
        for _ in 0..=self.random.below(changes_max) {
            let instrument = self.instrument();
            if self.validity[instrument.index()] == Validity::Live {
                let event = self.order(instrument);
                let changes = &mut changes[instrument.index()];
                self.books.apply(&event, changes).expect("there is room");
            }
        }
        let first = self.random.below(u64::from(INSTRUMENTS)) as u32;
        for index in (0..INSTRUMENTS).map(|index| (index + first) % INSTRUMENTS) {
            let changes = &changes[index as usize];
            if !changes.is_empty() {
                let update = OrdersUpdate {
                    instrument: Instrument(index),
                    validity: Validity::Live,
                    changes,
                };
                out.publish(&Update::Orders(update), &Timestamps::default());
                told(self, out, Instrument(index));
            }
        }
        out.commit();
    }

    fn order(&mut self, instrument: Instrument) -> OrderEvent {
        let oldest = self.orders(instrument).keys().next().copied();
        let (order_id, action) = match (oldest, self.random.below(3)) {
            (Some(order_id), 0) => (order_id, OrderAction::Delete),
            (Some(order_id), 1) => (order_id, OrderAction::Update),
            _ => {
                self.next_id += 1;
                (self.next_id, OrderAction::New)
            }
        };
        OrderEvent {
            order_id,
            priority: Some(order_id),
            price: Price(100),
            quantity: Quantity(self.random.between(1, 1 << 40)),
            instrument,
            action,
            side: Side::Bid,
        }
    }

    pub fn orders(&self, instrument: Instrument) -> Orders {
        orders_of(&self.books, instrument)
    }

    /// A book is published whole, and is live from then on.
    pub fn refresh(&mut self, instrument: Instrument, out: &mut Publisher) {
        self.validity[instrument.index()] = Validity::Live;
        let mut orders = Vec::new();
        self.books.gather(instrument, &mut orders);
        let snapshot = OrdersSnapshot {
            instrument,
            validity: Validity::Live,
            orders: &orders,
        };
        out.publish(&Update::OrdersSnapshot(snapshot), &Timestamps::default());
    }

    /// A loss: all order books are unknown.
    fn lose(&mut self, out: &mut Publisher) {
        self.books.clear_all();
        self.validity.fill(Validity::Recovering);
        let gap = Gap {
            first: 5,
            last: 6,
            orders: Validity::Recovering,
        };
        out.publish(&Update::Gap(gap), &Timestamps::default());
        out.commit();
    }

    /// A reset: every order book is empty and live.
    pub fn reset(&mut self, out: &mut Publisher) {
        self.books.clear_all();
        self.validity.fill(Validity::Live);
        out.publish(&Update::Reset, &Timestamps::default());
        out.commit();
    }

    /// Sets the validity of the channel's order books.
    fn state_channel(&mut self, orders: Validity, out: &mut Publisher) {
        self.channel.orders = orders;
        out.publish(&Update::Channel(&self.channel), &Timestamps::default());
        out.commit();
    }

    fn remember(&mut self) {
        for instrument in (0..INSTRUMENTS).map(Instrument) {
            let book = self.orders(instrument);
            let were = &mut self.were[instrument.index()];
            let is_live = self.validity[instrument.index()] == Validity::Live;
            if is_live && were.last() != Some(&book) {
                were.push(book);
            }
        }
    }
}

pub fn orders_of(books: &OrderBooks, instrument: Instrument) -> Orders {
    let mut orders = Orders::new();
    books.visit(instrument, Side::Bid, |order| {
        orders.insert(order.order_id, order.quantity.0);
    });
    orders
}

/// A subscriber, its books, and the last seen state of each.
struct Reader {
    subscriber: Subscriber,
    mirror: Mirror,
    at: [usize; INSTRUMENTS as usize],
}

impl Reader {
    fn join(buses: &Buses, live_only: bool) -> Reader {
        let join = Join {
            live_only,
            ..Join::default()
        };
        Reader {
            subscriber: buses.join(join),
            mirror: mirror(),
            at: [0; INSTRUMENTS as usize],
        }
    }

    /// Reads one item, and compares live books with the history: only states that existed, in order. Returns whether
    /// there was an item.
    fn step(&mut self, market: &OrderMarket, context: &str) -> bool {
        let work = self.subscriber.drain(1, &mut self.mirror) > 0;
        assert_eq!(self.mirror.inconsistent_updates(), 0, "{context}");
        for instrument in (0..INSTRUMENTS).map(Instrument) {
            if self.mirror.orders_validity(instrument) != Validity::Live {
                continue;
            }
            let held = self.held(instrument);
            let (at, were) = (
                &mut self.at[instrument.index()],
                &market.were[instrument.index()],
            );
            let found = were[*at..].iter().position(|state| *state == held);
            *at += found.unwrap_or_else(|| {
                panic!("{context}: {instrument:?} was never {held:?} after state {at}")
            });
        }
        work
    }

    fn held(&self, instrument: Instrument) -> Orders {
        orders_of(self.mirror.orders(), instrument)
    }

    /// Reads everything, and checks the publisher.
    fn settle(&mut self, market: &OrderMarket, context: &str) {
        self.subscriber.look_again();
        while self.step(market, context) {}
    }

    /// The reader has every book that is live in the market, and no other live book.
    fn assert_equal(&self, market: &OrderMarket, context: &str) {
        for instrument in (0..INSTRUMENTS).map(Instrument) {
            let own = market.validity[instrument.index()];
            let is_live = market.channel.orders_of(own) == Validity::Live;
            let seen = self.mirror.orders_validity(instrument);
            let context = format!("{context}: {instrument:?} is {seen:?}");
            assert_eq!(seen == Validity::Live, is_live, "{context}");
            if is_live {
                assert_eq!(
                    self.held(instrument),
                    market.orders(instrument),
                    "{context}"
                );
            }
        }
    }
}

/// The ring is positioned when a reader joins, and the tables are read at its first poll and later: events in between
/// were reported with the tables, though earlier order books are read from the ring.
#[test]
fn a_slow_reader_receives_only_order_books_that_existed() {
    for seed in seeds(60) {
        let buses = Buses::new();
        let mut publisher = buses.publisher();
        let mut market = OrderMarket::begin(seed, &mut publisher);
        let mut readers: Vec<Reader> = Vec::new();
        for event in 0..300 {
            if event % 20 == 0 {
                readers.push(Reader::join(&buses, event % 40 == 0));
            }
            market.event(&mut publisher);
            match market.random.below(24) {
                0 => stall(&mut publisher),
                1..4 => state(&mut publisher, 0),
                4 => market.state_channel(Validity::Stale, &mut publisher),
                5 | 6 => market.state_channel(Validity::Live, &mut publisher),
                _ => {}
            }
            for (number, reader) in readers.iter_mut().enumerate() {
                if market.random.below(8) == 0 {
                    reader.subscriber.look_again();
                }
                if market.random.below(2) == 0 {
                    reader.step(
                        &market,
                        &format!("SEED={seed}, event {event}, reader {number}"),
                    );
                }
            }
        }
        readers.push(Reader::join(&buses, false));
        readers.push(Reader::join(&buses, true));
        state(&mut publisher, 0);
        market.state_channel(Validity::Live, &mut publisher);
        for (number, reader) in readers.iter_mut().enumerate() {
            let context = format!("SEED={seed}, at the end, reader {number}");
            reader.settle(&market, &context);
            reader.assert_equal(&market, &context);
        }
    }
}

/// When a reader joins, its order books are from before a reset and its price book is from after it. The reset is not
/// handed out and empties neither.
#[test]
fn a_reset_that_was_reported_does_not_empty_a_newer_price_book() {
    for live_only in [false, true] {
        let buses = Buses::new();
        let mut publisher = buses.publisher();
        let mut market = OrderMarket::begin(1, &mut publisher);
        price(&mut publisher, 1);
        let mut reader = Reader::join(&buses, live_only);
        market.refresh(Instrument(0), &mut publisher);
        publisher.commit();
        market.remember();
        market.reset(&mut publisher);
        market.remember();
        price(&mut publisher, 2);
        let mut seen = Vec::new();
        while reader.step(&market, "a reset") {
            let book = reader.mirror.book(Instrument(0));
            let bids = book.map(|book| book.levels(BookKind::Direct, Side::Bid));
            let quantity = bids.and_then(|bids| bids.first().map(|level| level.quantity.0));
            seen.push(quantity.unwrap_or(0));
        }
        seen.dedup();
        assert_eq!(seen, [0, 2], "live books alone: {live_only}");
        assert_eq!(reader.mirror.orders_validity(Instrument(0)), Validity::Live);
        assert_eq!(reader.mirror.validity(Instrument(0)), Validity::Live);
    }
}

/// Publishes a price book of one level.
fn price(out: &mut Publisher, quantity: i64) {
    let level = Level {
        price: Price(100),
        quantity: Quantity(quantity),
        ..Level::UNKNOWN
    };
    let snapshot = BookSnapshot {
        instrument: Instrument(0),
        validity: Validity::Live,
        bids: &[level],
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    };
    out.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
    out.commit();
}
