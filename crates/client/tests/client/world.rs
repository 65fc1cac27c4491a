//! Fixture: a temporary bus and messages to publish on it.

use std::path::PathBuf;
use std::time::Duration;
use touchline_client::{Bus, Connection, Event, Events, Next, Options};
use touchline_testing::Folder;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Code, Depth, DisplayFactor, Instrument,
    InstrumentDefinition, Level, LevelAction, LevelChange, PacketInfo, Price, Quantity,
    QuoteAction, QuoteChange, QuoteStream, QuoteUpdate, ReferenceData, Side, Symbol, Timestamps,
    Trade, Update, UpdateAction, Validity,
};

/// A folder with buses; the one of most tests is `test`.
pub struct World(Folder);

impl World {
    pub fn new() -> World {
        World(Folder::new("client"))
    }

    /// Their directory, which the first publisher makes.
    pub fn root(&self) -> Root {
        Root::at(self.0.join("buses"))
    }

    pub fn publisher(&self) -> Publisher {
        self.publisher_with("test", &small())
    }

    pub fn publisher_with(&self, bus: &str, settings: &Settings) -> Publisher {
        Publisher::open(&self.root(), bus, settings).expect("no other process writes it")
    }

    /// A publisher in whose open batch these instruments are defined, with ids from 100.
    pub fn publishing(&self, symbols: &[&str]) -> Publisher {
        let mut publisher = self.publisher();
        for (symbol, index) in symbols.iter().zip(0..) {
            define(&mut publisher, index, symbol, 100 + i64::from(index));
        }
        publisher
    }

    /// A file of bus `test`.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root().path().join("test").join(file)
    }

    /// A client that has all there is of these events.
    pub fn reading(&self, events: Events) -> Bus {
        let mut bus = self.join(self.options().events(events));
        drain(&mut bus);
        bus
    }

    /// Options with the folder.
    pub fn options(&self) -> Options {
        Bus::options().directory(self.root().path())
    }

    pub fn join(&self, options: Options) -> Bus {
        let joined = options.directory(self.root().path()).join("test");
        joined.expect("the bus is there")
    }
}

/// Small settings: the ring wraps many times in a test.
pub fn small() -> Settings {
    Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        orders_max: 1_024,
        ..Settings::default()
    }
}

/// Reads up to the event that says that the reader has caught up.
pub fn catch_up(bus: &mut Bus) {
    loop {
        match bus.next_within(Duration::from_secs(10)) {
            Next::Event(Event::Connection(Connection::CaughtUp { .. })) => return,
            Next::Event(_) => {}
            other => panic!("it does not catch up: {other:?}"),
        }
    }
}

/// All pending events.
pub fn drain(bus: &mut Bus) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        match bus.next_within(Duration::from_millis(1)) {
            Next::Event(event) => events.push(event),
            Next::TimedOut | Next::Stopped => return events,
        }
    }
}

/// An event as a short text, with its symbol.
pub fn word(bus: &Bus, event: &Event) -> String {
    let symbol = event
        .instrument()
        .map_or("", |instrument| bus.symbol(instrument));
    let end = if event.end_of_batch() { "." } else { "" };
    match event {
        Event::Top(top) => format!("{symbol} top {top}{end}"),
        Event::Trade(trade) => format!("{symbol} trade {}@{}{end}", trade.quantity, trade.price),
        Event::Book(change) => format!("{symbol} book {} {}{end}", change.state, change.changes),
        Event::Orders(change) => {
            format!("{symbol} orders {} {}{end}", change.state, change.changes)
        }
        Event::Quotes(change) => {
            format!("{symbol} quotes {} {}{end}", change.state, change.changes)
        }
        Event::Statistic(_) => format!("{symbol} statistic{end}"),
        Event::Status(_) => format!("{symbol} status{end}"),
        Event::State(change) => format!("{symbol} state {}{end}", change.state),
        Event::Channel(event) => format!("channel {:?}{end}", event.what),
        Event::Defined(_) => format!("{symbol} defined{end}"),
        Event::Connection(what) => what.to_string(),
        other => format!("{other:?}"),
    }
}

/// All pending events as texts.
pub fn words(bus: &mut Bus) -> Vec<String> {
    let mut words = Vec::new();
    while let Next::Event(event) = bus.next_within(Duration::from_millis(1)) {
        words.push(word(bus, &event));
    }
    words
}

/// A definition with prices in cents: the venue's price is a hundred times the quoted price.
pub fn definition(index: u32, symbol: &str, security_id: i64) -> InstrumentDefinition {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    InstrumentDefinition {
        symbol: Symbol::new(symbol.as_bytes()),
        defined: true,
        tick: Price(25_000_000_000),
        reference: ReferenceData {
            venue: Code::new(b"test").expect("a code"),
            display_factor: DisplayFactor::new(1, 100),
            ..ReferenceData::NULL
        },
        ..InstrumentDefinition::unknown(Instrument(index), security_id, depth)
    }
}

pub fn define(out: &mut impl Publish, index: u32, symbol: &str, security_id: i64) {
    let definition = definition(index, symbol, security_id);
    out.publish(&Update::Definition(&definition), &timestamps());
}

/// Recognisable times.
pub fn timestamps() -> Timestamps {
    Timestamps {
        exchange_ns: 1_000,
        packet: PacketInfo {
            sequence: 7,
            sending_ns: 1_500,
            receive_ns: 2_000,
        },
        ..Timestamps::default()
    }
}

/// A price of the venue.
pub fn venue(cents: i64) -> Price {
    Price(cents * 1_000_000_000)
}

pub fn level(cents: i64, quantity: i64) -> Level {
    Level {
        price: venue(cents),
        quantity: Quantity(quantity),
        orders: 1,
        known: true,
    }
}

/// A whole book of a bid and an ask.
pub fn whole(out: &mut impl Publish, index: u32, bid: (i64, i64), ask: (i64, i64)) {
    let snapshot = BookSnapshot {
        instrument: Instrument(index),
        validity: Validity::Live,
        bids: &[level(bid.0, bid.1)],
        asks: &[level(ask.0, ask.1)],
        implied_bids: &[],
        implied_asks: &[],
    };
    out.publish(&Update::BookSnapshot(snapshot), &timestamps());
}

/// A whole book of two bids with these quantities, and an ask.
pub fn two(out: &mut impl Publish, index: u32, first: i64, second: i64) {
    let snapshot = BookSnapshot {
        instrument: Instrument(index),
        validity: Validity::Live,
        bids: &[level(450_025, first), level(450_000, second)],
        asks: &[level(450_050, 7)],
        implied_bids: &[],
        implied_asks: &[],
    };
    out.publish(&Update::BookSnapshot(snapshot), &timestamps());
}

/// The best bid of a book has another quantity; its best ask is at 450,050.
pub fn bid(out: &mut impl Publish, index: u32, cents: i64, quantity: i64) {
    let level = level(cents, quantity);
    let change = LevelChange {
        level,
        book: BookKind::Direct,
        side: Side::Bid,
        action: LevelAction::Replace,
        index: 0,
    };
    let update = BookUpdate {
        instrument: Instrument(index),
        security_id: 0,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes: &[change],
        best_bid: Some(level),
        best_ask: Some(self::level(450_050, 7)),
    };
    out.publish(&Update::Book(update), &timestamps());
}

pub fn trade(out: &mut impl Publish, index: u32, cents: i64, quantity: i64) {
    trade_of(out, index, (5, UpdateAction::New), cents, quantity);
}

/// A trade, or a correction or bust of the one with its id.
pub fn trade_of(
    out: &mut impl Publish,
    index: u32,
    (trade_id, action): (u64, UpdateAction),
    cents: i64,
    quantity: i64,
) {
    let trade = Trade {
        instrument: Instrument(index),
        orders: 2,
        price: venue(cents),
        quantity: Quantity(quantity),
        aggressor: Some(Side::Ask),
        action,
        trade_id,
    };
    out.publish(&Update::Trade(&trade), &timestamps());
}

/// A live bid of a provider.
pub fn quotes(out: &mut impl Publish, index: u32, cents: i64) {
    let quote = touchline_types::Quote {
        side: Side::Bid,
        price: venue(cents),
        quantity: Quantity(1),
        entry: 1,
        ..touchline_types::Quote::NULL
    };
    let update = QuoteUpdate {
        stream: QuoteStream {
            instrument: Instrument(index),
            security_id: 100,
            provider: Code::lossy(b"LP"),
            value_date: 0,
            validity: Validity::Live,
            is_unquoted: false,
        },
        changes: &[QuoteChange {
            action: QuoteAction::Set,
            quote,
        }],
    };
    out.publish(&Update::Quotes(update), &timestamps());
}
