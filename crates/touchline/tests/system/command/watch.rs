//! `stat` and `book` with `--watch`.

use super::Desk;
use serde_json::Value;
use touchline_testing::Process;
use touchline_transport::Publish;
use touchline_transport::shm::{Lock, Publisher, Root, Settings};
use touchline_types::{
    BookSnapshot, Depth, Instrument, InstrumentDefinition, Level, Price, Quantity, Symbol,
    Timestamps, Update, Validity,
};

/// `--watch` goes on with the next publisher, with a bus that is created again, and with instruments that are defined later.
#[test]
fn a_watch_goes_on_while_the_bus_is_created_again() {
    let desk = Desk::bare("watch");
    let mut bus = Bus::open(&desk);
    bus.define(0, "ESH");
    bus.define(1, "ESM");
    bus.publish_book(0, 11);
    let mut watches = [
        desk.start("book lab --watch"),
        desk.start("book lab --watch --json"),
        desk.start("book lab ESH --watch"),
        desk.start("stat lab --watch"),
    ];
    let mut all = |words: [&str; 4]| {
        let watches = watches.iter_mut().zip(words);
        let line = |(watch, words): (&mut Process, &str)| watch.wait_for_line(words);
        watches.map(line).collect::<Vec<_>>()
    };
    all(["ESM", "ESH", "ESH", "lab"]);
    bus.define(2, "ESU");
    bus.publish_book(2, 22);
    all(["ESU", "ESU", "ESH", "3 defined"]);
    drop(bus);
    std::fs::remove_dir_all(desk.path("buses/lab")).expect("our folder");
    let absent = "no bus is called lab";
    let said = all([absent, absent, absent, "lab does not exist"]);
    let json: Value = serde_json::from_str(&said[1]).expect("an object");
    assert_eq!(json["bus"], "lab", "{json}");

    let mut bus = Bus::open(&desk);
    let empty = "no instrument yet";
    all([empty, empty, empty, "0 defined"]);
    bus.define(0, "ESZ");
    bus.define(1, "ESH");
    all(["ESZ", absent, "no book was published yet", "2 defined"]);
    for arguments in ["", " --json"] {
        desk.run(&format!("book lab ESH{arguments}"))
            .refused(1, &["no book was published yet"]);
    }
    bus.publish_book(1, 7_331);
    all(["7331", "7331", "7331", "at most 2 defined, 2 with a book"]);
    for mut watch in watches {
        assert_eq!(watch.end("TERM"), Some(0), "{}", watch.err());
    }
}

/// A bus `lab` without counters.
struct Bus(Publisher);

impl Bus {
    fn open(desk: &Desk) -> Bus {
        let settings = Settings {
            instruments_max: 64,
            lock: Lock::No,
            ..Settings::default()
        };
        let root = Root::at(desk.path("buses"));
        Bus(Publisher::open(&root, "lab", &settings).expect("a free bus"))
    }

    fn define(&mut self, index: u32, symbol: &str) {
        let depth = Depth {
            direct: 1,
            implied: 0,
        };
        let instrument = Instrument(index);
        let definition = InstrumentDefinition {
            symbol: Symbol::new(symbol.as_bytes()),
            defined: true,
            ..InstrumentDefinition::unknown(instrument, i64::from(index) + 1, depth)
        };
        self.publish(&Update::Definition(&definition));
    }

    fn publish_book(&mut self, index: u32, quantity: i64) {
        let level = Level {
            price: Price(1),
            quantity: Quantity(quantity),
            orders: 1,
            known: true,
        };
        let book = BookSnapshot {
            instrument: Instrument(index),
            validity: Validity::Live,
            bids: &[level],
            asks: &[],
            implied_bids: &[],
            implied_asks: &[],
        };
        self.publish(&Update::BookSnapshot(book));
    }

    fn publish(&mut self, update: &Update<'_>) {
        self.0.publish(update, &Timestamps::default());
        self.0.commit();
    }
}
