//! A bus whose books change at random, and what a reader has that joins a bus now.

use std::time::{Duration, Instant};
use touchline_lab::random::Random;
use touchline_transport::shm::{Activity, Join, Lock, Publisher, Root, Settings, Subscriber};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::{
    BookKind, BookSnapshot, Depth, Instrument, InstrumentDefinition, Level, Price, Quantity, Side,
    Symbol, Timestamps, Update, Validity,
};

/// The gateway's part: books that change at random.
pub struct Gateway {
    publisher: Publisher,
    random: Random,
}

const INSTRUMENTS: u32 = 8;

impl Gateway {
    /// Begins bus `a`, or takes it over; its books are current for an hour.
    pub fn start(root: &Root, seed: u64) -> Gateway {
        let settings = Settings {
            instruments_max: 64,
            lock: Lock::No,
            ..Settings::default()
        };
        let mut publisher = Publisher::open(root, "a", &settings).expect("nobody else writes it");
        publisher.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 3_600_000_000_000,
        });
        for index in 0..INSTRUMENTS {
            let depth = Depth {
                direct: 1,
                implied: 0,
            };
            let instrument = Instrument(index);
            let definition = InstrumentDefinition {
                symbol: Symbol::new(format!("SYM{index}").as_bytes()),
                defined: true,
                ..InstrumentDefinition::unknown(instrument, i64::from(index) + 1, depth)
            };
            publisher.publish(&Update::Definition(&definition), &Timestamps::default());
        }
        publisher.commit();
        Gateway {
            publisher,
            random: Random::from_seed(seed),
        }
    }

    /// Publishes this many books.
    pub fn publish(&mut self, events: usize) {
        for _ in 0..events {
            let level = |random: &mut Random| Level {
                price: Price(random.below(1_000) as i64),
                quantity: Quantity(random.below(100) as i64),
                orders: 1,
                known: true,
            };
            let (bid, ask) = (level(&mut self.random), level(&mut self.random));
            let book = BookSnapshot {
                instrument: Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32),
                validity: Validity::Live,
                bids: &[bid],
                asks: &[ask],
                implied_bids: &[],
                implied_asks: &[],
            };
            self.publisher
                .publish(&Update::BookSnapshot(book), &Timestamps::default());
            self.publisher.commit();
        }
    }
}

/// What a reader has that joins now; nothing where there is no bus.
pub fn joined(root: &Root, bus: &str) -> Vec<(Vec<Level>, Validity)> {
    let Ok(mut reader) = Subscriber::join(root, bus, Join::default()) else {
        return Vec::new();
    };
    let mut mirror = Mirror::new(64, 64);
    while reader.drain(usize::MAX, &mut mirror) > 0 {}
    let seen = |instrument| {
        let book = mirror.book(instrument);
        let levels = |side| {
            let levels = book.map(|book| book.levels(BookKind::Direct, side).iter().copied());
            levels.into_iter().flatten()
        };
        let levels = levels(Side::Bid).chain(levels(Side::Ask)).collect();
        (levels, mirror.validity(instrument))
    };
    (0..INSTRUMENTS).map(Instrument).map(seen).collect()
}

/// Waits until something holds; fails after 30 s. Returns how long that took.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}
