//! Order books have no images: whoever joins, falls behind or was told of a stall gets them from the ring alone, with
//! losses and resets in between that were told with the images of price books already.

use crate::stage::{Stage, definition, mirror, stall, state};
use std::collections::BTreeMap;
use touchline_lab::random::{Random, seeds};
use touchline_transport::shm::{Join, Publisher, Subscriber};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookSnapshot, Gap, Instrument, Level, OrderAction, OrderChange, OrdersSnapshot,
    OrdersUpdate, Price, Quantity, Side, Timestamps, Update, Validity,
};

/// Order id and quantity of each order of a book.
type Orders = BTreeMap<u64, i64>;

const INSTRUMENTS: u32 = 3;

/// Order books as a publisher has them, and all that they were.
struct OrderMarket {
    random: Random,
    next_id: u64,
    books: Vec<Orders>,
    validity: Vec<Validity>,
    /// Of each instrument, what its book was while it was live, in the order of time.
    were: Vec<Vec<Orders>>,
}

impl OrderMarket {
    fn begin(seed: u64, out: &mut Publisher) -> OrderMarket {
        for index in 0..INSTRUMENTS {
            out.publish(
                &Update::Definition(&definition(index)),
                &Timestamps::default(),
            );
        }
        out.commit();
        OrderMarket {
            random: Random::from_seed(seed),
            next_id: 0,
            books: vec![Orders::new(); INSTRUMENTS as usize],
            validity: vec![Validity::Recovering; INSTRUMENTS as usize],
            were: vec![Vec::new(); INSTRUMENTS as usize],
        }
    }

    /// Anything that happens to order books.
    fn event(&mut self, out: &mut Publisher) {
        match self.random.below(12) {
            0 => self.lose(out),
            1 => self.reset(out),
            2..5 => {
                let instrument = self.instrument();
                self.refresh(instrument, out);
            }
            _ => self.change(out),
        }
        self.remember();
    }

    fn instrument(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32)
    }

    /// One order comes, changes or goes, of a book that is live.
    fn change(&mut self, out: &mut Publisher) {
        let instrument = self.instrument();
        let book = &mut self.books[instrument.index()];
        if self.validity[instrument.index()] != Validity::Live {
            return;
        }
        let quantity = self.random.between(1, 1 << 40);
        let oldest = book.keys().next().copied();
        let (order_id, action) = match (oldest, self.random.below(3)) {
            (Some(order_id), 0) => (order_id, OrderAction::Delete),
            (Some(order_id), 1) => (order_id, OrderAction::Update),
            _ => {
                self.next_id += 1;
                (self.next_id, OrderAction::New)
            }
        };
        match action {
            OrderAction::Delete => drop(book.remove(&order_id)),
            _ => drop(book.insert(order_id, quantity)),
        }
        let update = OrdersUpdate {
            instrument,
            validity: Validity::Live,
            changes: &[order(order_id, quantity, action)],
        };
        out.publish(&Update::Orders(update), &Timestamps::default());
        out.commit();
    }

    /// A book is published whole, and is live from there on.
    fn refresh(&mut self, instrument: Instrument, out: &mut Publisher) {
        self.validity[instrument.index()] = Validity::Live;
        let orders: Vec<_> = self.books[instrument.index()]
            .iter()
            .map(|(id, quantity)| order(*id, *quantity, OrderAction::New))
            .collect();
        let snapshot = OrdersSnapshot {
            instrument,
            validity: Validity::Live,
            orders: &orders,
        };
        out.publish(&Update::OrdersSnapshot(snapshot), &Timestamps::default());
        out.commit();
    }

    /// A loss: no order book is known.
    fn lose(&mut self, out: &mut Publisher) {
        self.books.fill(Orders::new());
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
    fn reset(&mut self, out: &mut Publisher) {
        self.books.fill(Orders::new());
        self.validity.fill(Validity::Live);
        out.publish(&Update::Reset, &Timestamps::default());
        out.commit();
    }

    fn remember(&mut self) {
        for ((were, book), validity) in self.were.iter_mut().zip(&self.books).zip(&self.validity) {
            if *validity == Validity::Live && were.last() != Some(book) {
                were.push(book.clone());
            }
        }
    }

    /// Every book once more, for those who joined late: then they have everything.
    fn refresh_all(&mut self, out: &mut Publisher) {
        (0..INSTRUMENTS).for_each(|index| self.refresh(Instrument(index), out));
        self.remember();
    }
}

fn order(order_id: u64, quantity: i64, action: OrderAction) -> OrderChange {
    OrderChange {
        order_id,
        priority: order_id,
        price: Price(100),
        quantity: Quantity(quantity),
        side: Side::Bid,
        action,
    }
}

/// A subscriber, what it holds, and which of the states it was last shown of each book.
struct Reader {
    subscriber: Subscriber,
    mirror: Mirror,
    at: [usize; INSTRUMENTS as usize],
}

impl Reader {
    fn join(stage: &Stage, live_only: bool) -> Reader {
        let join = Join {
            live_only,
            ..Join::default()
        };
        Reader {
            subscriber: stage.join(join),
            mirror: mirror(),
            at: [0; INSTRUMENTS as usize],
        }
    }

    /// Takes one thing, and holds what is live now against what it was: nothing that it never was, nor anything
    /// older than what was shown before. Gives whether there was something to take.
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
        let mut held = Orders::new();
        let orders = self.mirror.orders();
        orders.visit(instrument, Side::Bid, |order| {
            held.insert(order.order_id, order.quantity.0);
        });
        held
    }

    /// Reads everything, and looks at the publisher.
    fn settle(&mut self, market: &OrderMarket, context: &str) {
        self.subscriber.look_again();
        while self.step(market, context) {}
    }

    fn assert_equal(&self, market: &OrderMarket, context: &str) {
        for instrument in (0..INSTRUMENTS).map(Instrument) {
            assert_eq!(
                self.mirror.orders_validity(instrument),
                Validity::Live,
                "{context}"
            );
            assert_eq!(
                self.held(instrument),
                market.books[instrument.index()],
                "{context}"
            );
        }
    }
}

/// The ring is put at a place when a reader joins, and the tables are read at its first poll and later: what happens
/// in between was told with the images, though order books before it are read from the ring.
#[test]
fn a_slow_reader_is_shown_no_order_book_that_never_was() {
    for seed in seeds(60) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = OrderMarket::begin(seed, &mut publisher);
        let mut readers: Vec<Reader> = Vec::new();
        for event in 0..300 {
            if event % 20 == 0 {
                readers.push(Reader::join(&stage, event % 40 == 0));
            }
            market.event(&mut publisher);
            match market.random.below(16) {
                0 => stall(&mut publisher),
                1..4 => state(&mut publisher, 0),
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
        // Who wants live books alone is handed order books whole after a stall, when they come.
        state(&mut publisher, 0);
        let context = format!("SEED={seed}, at the end, reader");
        for (number, reader) in readers.iter_mut().enumerate() {
            reader.settle(&market, &format!("{context} {number}"));
        }
        market.refresh_all(&mut publisher);
        for (number, reader) in readers.iter_mut().enumerate() {
            reader.settle(&market, &format!("{context} {number}"));
            reader.assert_equal(&market, &format!("{context} {number}"));
        }
    }
}

/// Order books of before a reset were handed out, and the price book is of behind it: who is told of the reset then
/// loses the order books alone.
#[test]
fn a_price_book_is_not_set_back_by_a_reset_that_was_told() {
    for live_only in [false, true] {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = OrderMarket::begin(1, &mut publisher);
        price(&mut publisher, 1);
        let mut reader = Reader::join(&stage, live_only);
        market.refresh(Instrument(0), &mut publisher);
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
