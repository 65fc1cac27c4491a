//! A bus in a folder of its own, and a market to publish on it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use touchline_book::PriceBooks;
use touchline_lab::random::Random;
use touchline_transport::shm::{Join, Publisher, Root, Settings, Subscriber};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookUpdate, Depth, Instrument, InstrumentDefinition, LevelEvent, Price, Quantity,
    Side, Stamps, Symbol, Update, UpdateAction, Validity,
};

/// A folder that goes away with its buses.
pub struct Stage {
    folder: PathBuf,
}

impl Stage {
    pub fn new() -> Stage {
        static STAGES: AtomicU32 = AtomicU32::new(0);
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("touchline-bus-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Stage { folder }
    }

    pub fn root(&self) -> Root {
        Root::at(&self.folder)
    }

    pub fn publisher(&self) -> Publisher {
        Publisher::open(&self.root(), "test", &small()).expect("nobody else writes it")
    }

    pub fn join(&self, join: Join) -> Subscriber {
        Subscriber::join(&self.root(), "test", join).expect("the bus is there")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Small enough that rings go round many times in a test.
pub fn small() -> Settings {
    Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        ..Settings::default()
    }
}

/// Order books of several instruments that change at random, and the publications of it.
pub struct Market {
    random: Random,
    books: PriceBooks,
    pub instruments: u32,
}

impl Market {
    pub fn new(seed: u64, instruments: u32) -> Market {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        Market {
            random: Random::from_seed(seed),
            books: PriceBooks::new(instruments as usize, depth),
            instruments,
        }
    }

    /// Defines every instrument.
    pub fn define(&mut self, out: &mut impl Publish) {
        for index in 0..self.instruments {
            let definition = definition(index);
            out.publish(&Update::Definition(&definition), &Stamps::default());
        }
        out.commit();
    }

    /// One event: a few changes of one instrument's book.
    pub fn event(&mut self, out: &mut impl Publish) {
        let instrument = Instrument(self.random.below(u64::from(self.instruments)) as u32);
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let event = self.level(instrument);
            self.books.apply(&event, &mut changes);
        }
        let book = self.books.get(instrument).expect("it was changed");
        let update = BookUpdate {
            instrument,
            venue_id: i64::from(instrument.0) + 1000,
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: book.levels(BookKind::Direct, Side::Bid).first().copied(),
            best_ask: book.levels(BookKind::Direct, Side::Ask).first().copied(),
        };
        out.publish(&Update::Book(update), &Stamps::default());
        if self.random.below(2) == 0 {
            out.commit();
        }
    }

    fn level(&mut self, instrument: Instrument) -> LevelEvent {
        let actions = [
            UpdateAction::New,
            UpdateAction::New,
            UpdateAction::Change,
            UpdateAction::Delete,
        ];
        let book = if self.random.below(5) == 0 {
            BookKind::Implied
        } else {
            BookKind::Direct
        };
        let depth = if book == BookKind::Implied { 2 } else { 10 };
        LevelEvent {
            instrument,
            orders: self.random.below(9) as i32,
            price: Price(self.random.below(1_000) as i64),
            quantity: Quantity(self.random.below(100) as i64),
            position: 1 + self.random.below(depth) as u8,
            action: actions[self.random.below(4) as usize],
            side: Side::BOTH[self.random.below(2) as usize],
            book,
        }
    }

    /// The levels of every book equal those of the mirror, and the mirror missed nothing.
    pub fn assert_equal(&self, mirror: &Mirror, context: &str) {
        assert_eq!(mirror.misfits(), 0, "{context}");
        for instrument in (0..self.instruments).map(Instrument) {
            let Some(book) = self.books.get(instrument) else {
                continue;
            };
            for kind in [BookKind::Direct, BookKind::Implied] {
                for side in Side::BOTH {
                    let theirs = mirror
                        .book(instrument)
                        .map_or(&[][..], |book| book.levels(kind, side));
                    assert_eq!(
                        book.levels(kind, side),
                        theirs,
                        "{context}: {instrument:?} {kind:?} {side:?}"
                    );
                }
            }
        }
    }
}

pub fn definition(index: u32) -> InstrumentDefinition {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    InstrumentDefinition {
        symbol: Symbol::new(format!("SYM{index}").as_bytes()),
        defined: true,
        ..InstrumentDefinition::unknown(Instrument(index), i64::from(index) + 1000, depth)
    }
}

/// A mirror that a subscriber keeps.
pub fn mirror() -> Mirror {
    Mirror::new(64, 64)
}
