//! Seeded sequences of publishing, overruns and restarts: the client's books equal the publisher's.

use crate::fold::Fold;
use crate::world::{World, definition, small, timestamps};
use std::time::Duration;
use touchline_book::{OrderBooks, PriceBooks};
use touchline_client::{Bus, Connection, Event, Events, Instrument, Next, State, Top, TouchSource};
use touchline_lab::random::{Random, seeds};
use touchline_transport::Publish;
use touchline_transport::shm::Publisher;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Depth, Gap, Instrument as Index, Level, LevelEvent,
    OrderAction, OrderEvent, OrdersSnapshot, OrdersUpdate, Place, Price, Quantity, Side, Trade,
    Update, UpdateAction, Validity,
};

const INSTRUMENTS: usize = 6;
const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

/// A market, with the instrument indexes of its present publisher.
struct Market {
    random: Random,
    books: PriceBooks,
    orders: OrderBooks,
    validity: [Validity; INSTRUMENTS],
    /// Instruments of the market, by the publisher's index.
    order: Vec<usize>,
    last_trade: [Option<i64>; INSTRUMENTS],
}

impl Market {
    fn new(seed: u64) -> Market {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        Market {
            random: Random::from_seed(seed),
            books: PriceBooks::new(INSTRUMENTS, depth, 0),
            orders: OrderBooks::new(INSTRUMENTS, 1_024),
            validity: [Validity::Recovering; INSTRUMENTS],
            order: (0..INSTRUMENTS).collect(),
            last_trade: [None; INSTRUMENTS],
        }
    }

    /// The publisher's index of an instrument of the market.
    fn index(&self, instrument: usize) -> Index {
        let place = self.order.iter().position(|other| *other == instrument);
        Index(place.expect("all are numbered") as u32)
    }

    /// Starts another publisher: another order, definitions, and each whole book.
    fn begin(&mut self, publisher: &mut Publisher) {
        for place in (1..INSTRUMENTS).rev() {
            let other = self.random.below(place as u64 + 1) as usize;
            self.order.swap(place, other);
        }
        self.last_trade = [None; INSTRUMENTS];
        for instrument in 0..INSTRUMENTS {
            let index = self.index(instrument);
            let definition = definition(index.0, &symbol(instrument), id(instrument));
            publisher.publish(&Update::Definition(&definition), &timestamps());
            self.whole(instrument, publisher);
            self.whole_orders(instrument, publisher);
        }
        publisher.commit();
    }

    fn whole(&mut self, instrument: usize, publisher: &mut Publisher) {
        self.validity[instrument] = Validity::Live;
        let lists = self.lists(instrument);
        let snapshot = BookSnapshot {
            instrument: self.index(instrument),
            validity: Validity::Live,
            bids: &lists[0],
            asks: &lists[1],
            implied_bids: &lists[2],
            implied_asks: &lists[3],
        };
        publisher.publish(&Update::BookSnapshot(snapshot), &timestamps());
    }

    fn whole_orders(&mut self, instrument: usize, publisher: &mut Publisher) {
        let mut orders = Vec::with_capacity(1_024);
        self.orders.gather(Index(instrument as u32), &mut orders);
        let snapshot = OrdersSnapshot {
            instrument: self.index(instrument),
            validity: Validity::Live,
            orders: &orders,
        };
        publisher.publish(&Update::OrdersSnapshot(snapshot), &timestamps());
    }

    fn order(&mut self, instrument: usize, publisher: &mut Publisher) {
        let random = &mut self.random;
        let actions = [OrderAction::New, OrderAction::New, OrderAction::Delete];
        let order_id = 100 * instrument as u64 + random.below(12);
        let event = OrderEvent {
            order_id,
            priority: Some(random.below(1_000)),
            price: Price(random.below(1_000) as i64 * 1_000_000_000),
            quantity: Quantity(1 + random.below(100) as i64),
            instrument: Index(instrument as u32),
            action: actions[random.below(3) as usize],
            side: Side::BOTH[(order_id % 2) as usize],
        };
        let mut changes = Vec::with_capacity(4);
        self.orders.apply(&event, &mut changes).expect("room");
        let update = OrdersUpdate {
            instrument: self.index(instrument),
            validity: Validity::Live,
            changes: &changes,
        };
        publisher.publish(&Update::Orders(update), &timestamps());
    }

    fn lists(&self, instrument: usize) -> [Vec<Level>; 4] {
        LISTS.map(|(kind, side)| {
            let book = self.books.get(Index(instrument as u32));
            book.map_or(Vec::new(), |book| {
                book.levels(kind, side).iter().copied().collect()
            })
        })
    }

    fn step(&mut self, publisher: &mut Publisher) {
        let instrument = self.random.below(INSTRUMENTS as u64) as usize;
        match self.random.below(40) {
            0 => self.gap(publisher),
            1 => self.reset(publisher),
            2 => self.whole(instrument, publisher),
            3..8 => self.trade(instrument, publisher),
            8..18 => self.order(instrument, publisher),
            18 => self.whole_orders(instrument, publisher),
            _ => self.change(instrument, publisher),
        }
        if self.random.below(3) > 0 {
            publisher.commit();
        }
    }

    fn change(&mut self, instrument: usize, publisher: &mut Publisher) {
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let event = self.level(Index(instrument as u32));
            let _ = self.books.apply(&event, &mut changes);
        }
        self.validity[instrument] = Validity::Live;
        let book = self
            .books
            .get(Index(instrument as u32))
            .expect("it was changed");
        let update = BookUpdate {
            instrument: self.index(instrument),
            security_id: id(instrument),
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: book.first(Side::Bid),
            best_ask: book.first(Side::Ask),
        };
        publisher.publish(&Update::Book(update), &timestamps());
    }

    fn level(&mut self, instrument: Index) -> LevelEvent {
        let random = &mut self.random;
        let book = match random.below(5) {
            0 => BookKind::Implied,
            _ => BookKind::Direct,
        };
        let depth = if book == BookKind::Implied { 2 } else { 10 };
        let actions = [
            UpdateAction::New,
            UpdateAction::New,
            UpdateAction::Change,
            UpdateAction::Delete,
        ];
        LevelEvent {
            instrument,
            orders: random.below(9) as i32,
            price: Price(random.below(1_000) as i64 * 1_000_000_000),
            quantity: Quantity(random.below(100) as i64),
            place: Place::Position(1 + random.below(depth) as u8),
            action: actions[random.below(4) as usize],
            side: Side::BOTH[random.below(2) as usize],
            book,
        }
    }

    fn trade(&mut self, instrument: usize, publisher: &mut Publisher) {
        let cents = self.random.below(1_000) as i64;
        self.last_trade[instrument] = Some(cents);
        let trade = Trade {
            instrument: self.index(instrument),
            orders: 1,
            price: Price(cents * 1_000_000_000),
            quantity: Quantity(1),
            aggressor: None,
            action: UpdateAction::New,
            trade_id: 0,
        };
        publisher.publish(&Update::Trade(&trade), &timestamps());
    }

    fn gap(&mut self, publisher: &mut Publisher) {
        for validity in &mut self.validity {
            if *validity == Validity::Live {
                *validity = Validity::Gapped;
            }
        }
        let gap = Gap {
            first: 1,
            last: 2,
            orders: Validity::Recovering,
        };
        self.orders.clear_all();
        publisher.publish(&Update::Gap(gap), &timestamps());
    }

    fn reset(&mut self, publisher: &mut Publisher) {
        self.books.clear();
        self.orders.clear_all();
        self.validity = [Validity::Live; INSTRUMENTS];
        publisher.publish(&Update::Reset, &timestamps());
    }

    /// Compares books, states, tops and last trades with the market; prices are a hundredth of the venue's.
    fn assert_equal(&self, bus: &Bus, context: &str) {
        assert_eq!(bus.stats().inconsistent, 0, "{context}");
        // A reader that joins while a publisher ends may read its last messages without its
        // definitions.
        if bus.stats().restarts == 0 {
            assert_eq!(bus.stats().undefined, 0, "{context}");
        }
        for instrument in 0..INSTRUMENTS {
            let name = symbol(instrument);
            let handle = bus.instrument(name.as_str()).expect("it was defined");
            let book = bus.book(handle).expect("ours");
            let expected = match self.validity[instrument] {
                Validity::Live => State::Live,
                _ => State::Gapped,
            };
            assert_eq!(book.state(), expected, "{context}: {name}");
            let lists = self.lists(instrument);
            for ((kind, side), expected) in LISTS.into_iter().zip(&lists) {
                let levels = book.list(kind, side);
                let got: Vec<_> = levels
                    .map(|level| {
                        (
                            level.price,
                            level.quantity.mantissa(),
                            level.orders,
                            level.is_known,
                        )
                    })
                    .collect();
                let expected: Vec<_> = expected.iter().map(quoted).collect();
                assert_eq!(got, expected, "{context}: {name} {kind:?} {side:?}");
            }
            let top = bus.top(handle).expect("ours");
            for (side, quote) in [(Side::Bid, top.bid), (Side::Ask, top.ask)] {
                assert_eq!(quote, book.best(side), "{context}: {name} {side:?}");
                let quote = quote.map(|best| (best.price, best.quantity.mantissa(), best.source));
                let first = |kind: BookKind| lists[kind as usize * 2 + side as usize].first();
                let expected = best(side, [first(BookKind::Direct), first(BookKind::Implied)]);
                assert_eq!(quote, expected, "{context}: {name} {side:?}");
            }
            let last = bus.last_trade(handle).expect("ours");
            let expected = self.last_trade[instrument];
            assert_eq!(
                last.map(|trade| trade.price),
                expected.map(|cents| Price(cents * 10_000_000)),
                "{context}: {name}"
            );
        }
    }
}

/// The better of two first levels, or both together: the rule written down once more.
fn best(side: Side, firsts: [Option<&Level>; 2]) -> Option<(Price, i64, TouchSource)> {
    let mut best: Option<(Price, i64, TouchSource)> = None;
    for (level, source) in firsts.into_iter().zip(TouchSource::ALL) {
        let Some(level) = level else { continue };
        if !level.known {
            return None;
        }
        let (price, quantity, ..) = quoted(level);
        let sign = if side == Side::Bid { 1 } else { -1 };
        best = match best {
            Some((other, more, _)) if other == price => {
                Some((price, quantity + more, TouchSource::Merged))
            }
            Some((other, ..)) if other.0 * sign > price.0 * sign => best,
            _ => Some((price, quantity, *source)),
        };
    }
    best
}

/// A level with quoted prices.
fn quoted(level: &Level) -> (Price, i64, Option<u32>, bool) {
    let price = match level.price.is_null() {
        true => level.price,
        false => Price(level.price.0 / 100),
    };
    (
        price,
        level.quantity.0,
        u32::try_from(level.orders).ok(),
        level.known,
    )
}

fn symbol(instrument: usize) -> String {
    format!("SYM{instrument}")
}

fn id(instrument: usize) -> i64 {
    1_000 + instrument as i64
}

/// Tables by handle that a program builds from events of instruments alone.
#[derive(Default)]
struct Own {
    tops: Vec<Option<Top>>,
    names: Vec<String>,
    caught_up: usize,
    disrupted: usize,
    fold: Fold,
    has_tops: bool,
    has_books: bool,
}

impl Own {
    fn event(&mut self, bus: &Bus, event: &Event) {
        self.fold.event(bus, event);
        let row = |table: &mut Vec<Option<Top>>, instrument: Instrument| {
            if instrument.index() >= table.len() {
                table.resize(instrument.index() + 1, None);
            }
            instrument.index()
        };
        match event {
            Event::Defined(defined) => {
                let index = row(&mut self.tops, defined.instrument);
                self.names.resize(self.tops.len(), String::new());
                let name = bus.symbol(defined.instrument).to_owned();
                let known = std::mem::replace(&mut self.names[index], name.clone());
                assert!(
                    known.is_empty() || known == name,
                    "a handle is of one instrument"
                );
            }
            Event::Top(top) => {
                assert!(
                    self.names
                        .get(top.instrument.index())
                        .is_some_and(|name| !name.is_empty()),
                    "its definition comes first"
                );
                let index = row(&mut self.tops, top.instrument);
                self.tops[index] = Some(*top);
            }
            Event::State(change) => {
                let index = row(&mut self.tops, change.instrument);
                if let Some(top) = &mut self.tops[index] {
                    top.state = change.state;
                }
            }
            Event::Connection(Connection::CaughtUp { .. }) => self.caught_up += 1,
            Event::Connection(Connection::Overrun { .. } | Connection::Restarted { .. }) => {
                self.disrupted += 1;
            }
            _ => {}
        }
    }
}

impl Own {
    /// Tops and states that a program keeps from events of instruments alone equal those of the bus, after any publisher's actions.
    fn assert_equal(&mut self, bus: &Bus, context: &str) {
        if self.has_books {
            self.fold.check(bus, context);
        }
        if !self.has_tops {
            return;
        }
        for instrument in bus.instruments() {
            let kept = bus.top(instrument).expect("ours");
            let own = self.tops[instrument.index()].expect("it had a top");
            let name = bus.symbol(instrument);
            assert_eq!(own.state, kept.state, "{context}: {name}");
            assert_eq!(
                (own.bid, own.ask),
                (kept.bid, kept.ask),
                "{context}: {name}"
            );
        }
    }
}

/// Returns how many lists of folded books were emptied.
fn run(seed: u64) -> u64 {
    let mut cleared = 0;
    let world = World::new();
    let mut market = Market::new(seed);
    let mut random = Random::from_seed(seed ^ 0x5EED);
    let mut publisher = world.publisher_with("test", &small());
    market.begin(&mut publisher);
    let kinds = [
        Events::TOPS | Events::TRADES,
        Events::ALL,
        Events::BOOKS | Events::ORDERS | Events::TRADES,
    ];
    let mut buses: Vec<_> = kinds
        .into_iter()
        .map(|kinds| {
            let own = Own {
                has_tops: kinds.has(Events::TOPS),
                has_books: kinds.has(Events::BOOKS),
                ..Own::default()
            };
            (world.join(world.options().events(kinds)), own)
        })
        .collect();
    for round in 0..30 {
        match random.below(6) {
            // Longer than the ring: an overrun, unless the readers keep up.
            0 => (0..1_200).for_each(|_| market.step(&mut publisher)),
            1 => {
                drop(publisher);
                publisher = world.publisher_with("test", &small());
                market.begin(&mut publisher);
            }
            _ => (0..random.below(60)).for_each(|_| market.step(&mut publisher)),
        }
        // Or all that is there is a part of a packet.
        let is_whole = random.chance(0.7);
        if is_whole {
            publisher.commit();
        }
        for (bus, own) in &mut buses {
            // Some of the pending messages, or all of them.
            let mut left = match random.below(3) {
                0 => random.below(40),
                _ => u64::MAX,
            };
            while left > 0 {
                match bus.next_within(Duration::ZERO) {
                    Next::Event(event) => own.event(bus, &event),
                    Next::TimedOut | Next::Stopped => break,
                }
                left -= 1;
            }
            if left > 0 {
                if is_whole {
                    market.assert_equal(bus, &format!("seed {seed} round {round}"));
                }
                own.assert_equal(bus, &format!("seed {seed} round {round}"));
            }
        }
    }
    publisher.commit();
    for (bus, own) in &mut buses {
        while let Next::Event(event) = bus.next_within(Duration::ZERO) {
            own.event(bus, &event);
        }
        market.assert_equal(bus, &format!("seed {seed} at the end"));
        assert!(own.caught_up >= 1, "seed {seed}");
        assert!(
            own.caught_up <= own.disrupted + 1,
            "seed {seed}: told once behind each"
        );
        for (index, name) in own.names.iter().enumerate() {
            let handle = bus.instrument(name.as_str()).expect("it was defined");
            assert_eq!(handle.index(), index, "seed {seed}: handles stay");
        }
        own.assert_equal(bus, &format!("seed {seed} at the end"));
        cleared += own.fold.cleared;
    }
    cleared
}

#[test]
fn kept_books_are_those_of_the_publisher_over_random_sequences() {
    let cleared: u64 = seeds(60).map(run).sum();
    assert!(cleared > 100, "{cleared} lists were emptied");
}
