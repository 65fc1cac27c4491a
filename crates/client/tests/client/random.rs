//! Seeded sequences of publishing, overruns and restarts: the client's books equal the publisher's.

use crate::fold::Fold;
use crate::world::{World, define, small, timestamps};
use std::time::Duration;
use touchline_client::{Bus, Connection, Event, Events, Instrument, Next, State, Top, TouchSource};
use touchline_lab::market::{self, LISTS, security_id, symbol};
use touchline_lab::random::{Random, seeds};
use touchline_transport::Publish;
use touchline_transport::shm::Publisher;
use touchline_types::{BookKind, Level, Price, Side, Validity};

const INSTRUMENTS: u32 = 6;
/// A hundredth of a venue's price is quoted.
const CENT: i64 = 1_000_000_000;

/// A market with definitions of the client's tests.
pub struct Market {
    books: market::Market,
}

impl Market {
    pub fn new(seed: u64) -> Market {
        let mut books = market::Market::new(seed, INSTRUMENTS);
        (books.unit, books.timestamps) = (CENT, timestamps());
        Market { books }
    }

    /// Starts another publisher: another order, definitions, and each whole book.
    pub fn begin(&mut self, publisher: &mut Publisher) {
        self.books.renumber();
        for instrument in self.books.all() {
            let (number, id) = (self.books.number(instrument), security_id(instrument.0));
            define(publisher, number.0, &symbol(instrument.0), id);
            self.books.whole(instrument, publisher);
            self.books.whole_orders(instrument, publisher);
        }
        publisher.commit();
    }

    pub fn step(&mut self, publisher: &mut Publisher) {
        let books = &mut self.books;
        let instrument = books.pick();
        match books.random.below(40) {
            0 => books.lose(publisher),
            1 => books.reset(publisher),
            2 => books.whole(instrument, publisher),
            3..8 => books.trade(instrument, publisher),
            8..18 => books.order(instrument, publisher),
            18 => books.whole_orders(instrument, publisher),
            _ => books.change(instrument, publisher),
        }
        if self.books.random.below(3) > 0 {
            publisher.commit();
        }
    }

    /// Compares books, states, tops and last trades with the market; prices are a hundredth of the venue's.
    pub fn assert_equal(&self, bus: &Bus, context: &str) {
        assert_eq!(bus.stats().inconsistent, 0, "{context}");
        // A reader that joins while a publisher ends may read its last messages without its
        // definitions.
        if bus.stats().restarts == 0 {
            assert_eq!(bus.stats().undefined, 0, "{context}");
        }
        for instrument in self.books.all() {
            let name = symbol(instrument.0);
            let handle = bus.instrument(name.as_str()).expect("it was defined");
            let book = bus.book(handle).expect("ours");
            let expected = match self.books.validity(instrument) {
                Validity::Live => State::Live,
                _ => State::Gapped,
            };
            assert_eq!(book.state(), expected, "{context}: {name}");
            let lists = LISTS.map(|(kind, side)| self.books.levels(instrument, kind, side));
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
            let expected = self.books.last_trade(instrument);
            let expected = expected.map(|price| Price(price.0 / 100));
            assert_eq!(last.map(|trade| trade.price), expected, "{context}: {name}");
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
        Events::TRADES,
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
