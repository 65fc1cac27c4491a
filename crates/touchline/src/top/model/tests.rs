//! Models of buses that the tests publish.

mod engine;

use super::{Condition, Ladder, Model, Picture, STATES, State};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_client::State as BookState;
use touchline_client::monitor::Monitor;
use touchline_fx_desk::DeskClient;
use touchline_testing::Folder;
use touchline_transport::shm::{
    CountersFile, FineClock, Join, Publisher, ReaderStats, Root, Settings, Subscriber,
};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookSnapshot, ChannelState, CounterInfo, Depth, DisplayFactor, Instrument,
    InstrumentDefinition, Level, Price, PriceFraction, Quantity, ReferenceData, Symbol, Timestamps,
    Update, Validity,
};

/// A temporary folder with its buses.
struct Buses(Folder);

impl Buses {
    fn new() -> Buses {
        Buses(Folder::new("top"))
    }

    fn root(&self) -> Root {
        Root::at(&self.0)
    }

    fn monitor(&self) -> Monitor {
        Monitor::new(Some(&self.0))
    }

    fn publisher(&self) -> Publisher {
        let settings = Settings {
            ring_bytes: 16 * 1024,
            instruments_max: 16,
            ..Settings::default()
        };
        Publisher::open(&self.root(), "test", &settings).expect("no other process writes it")
    }

    fn join(&self, name: &str) -> Subscriber {
        let clock = FineClock {
            ticks: || 1_000,
            ns_per_tick: 1.0,
        };
        let counters_file = ReaderStats::create(&self.root(), "test", name, clock);
        let join = Join {
            reader_stats: Some(counters_file.expect("the name is free")),
            ..Join::default()
        };
        Subscriber::join(&self.root(), "test", join).expect("the bus is there")
    }
}

const fn info(name: &'static str) -> CounterInfo {
    CounterInfo {
        name,
        unit: "ns",
        help: "For a test.",
    }
}

const COUNTERS: [CounterInfo; 4] = [
    info("packets_a"),
    info("trades"),
    info("packets_lost"),
    info("socket_drops"),
];
const HISTOGRAMS: [CounterInfo; 2] = [info("second_ns"), info("first_ns")];

fn counters_file(publisher: &Publisher) -> CountersFile {
    CountersFile::create(publisher.lock(), 1.0, &COUNTERS, &HISTOGRAMS).expect("room for a board")
}

fn define(publisher: &mut Publisher, symbols: &[&str]) {
    for (index, symbol) in symbols.iter().enumerate() {
        let depth = Depth {
            direct: 10,
            implied: 0,
        };
        let instrument = Instrument(index as u32);
        let definition = InstrumentDefinition {
            symbol: Symbol::new(symbol.as_bytes()),
            defined: true,
            reference: ReferenceData::NULL,
            ..InstrumentDefinition::unknown(instrument, 100 + index as i64, depth)
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
    }
    publisher.commit();
}

fn book(publisher: &mut Publisher, index: u32, validity: Validity) {
    book_of(publisher, index, validity, &Timestamps::default());
}

fn book_of(publisher: &mut Publisher, index: u32, validity: Validity, timestamps: &Timestamps) {
    let bids = [Level {
        price: Price(4_500_000_000_000),
        quantity: Quantity(12),
        orders: 3,
        known: true,
    }];
    let snapshot = BookSnapshot {
        instrument: Instrument(index),
        validity,
        bids: &bids,
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    };
    publisher.publish(&Update::BookSnapshot(snapshot), timestamps);
    publisher.commit();
}

fn looked(model: &mut Model) -> &Picture {
    model.look();
    let picture = model.picture();
    assert_eq!(picture.last_error, None);
    picture
}

fn books(picture: &Picture, state: BookState) -> usize {
    let place = STATES.iter().position(|other| *other == state);
    picture.books[place.expect("every state is counted")]
}

#[test]
fn rates_and_latencies_cover_the_time_between_two_samples() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    let mut counters_file = counters_file(&publisher);
    counters_file.show([1_000, 50, 3, 7]);
    counters_file.record(1, 900);
    let mut model = Model::of(&buses.monitor(), "test");
    let picture = looked(&mut model);
    let names: Vec<_> = picture.rates.iter().map(|rate| rate.name).collect();
    assert_eq!(names, ["packets, line A", "updates"], "what the board has");
    assert_eq!(picture.rates[0].total, 1_000);
    assert_eq!(picture.rates[0].per_second, 0.0, "of one look");
    assert_eq!(picture.latencies[1].recent.count, 0);

    counters_file.show([1_600, 50, 5, 7]);
    (0..10).for_each(|_| counters_file.record(1, 100));
    let picture = looked(&mut model);
    let [packets, updates] = &picture.rates[..] else {
        panic!("two rates")
    };
    assert_eq!((packets.total, updates.total), (1_600, 50));
    // 600 updates arrived in the interval, which is shorter than a minute.
    assert!(packets.per_second > 10.0 && packets.past.len() == 1);
    assert_eq!(updates.per_second, 0.0);
    let lines = &picture.lines;
    let lines: Vec<_> = lines
        .iter()
        .map(|line| (line.name.as_str(), line.recent, line.total, line.is_bad))
        .collect();
    assert_eq!(lines, [("lost", 2, 5, true), ("socket drops", 0, 7, true)]);
    let [second, first] = &picture.latencies[..] else {
        panic!("two histograms")
    };
    assert_eq!(
        (second.name.as_str(), first.name.as_str()),
        ("second_ns", "first_ns"),
        "as in the table"
    );
    assert_eq!((first.recent.count, first.total.count), (10, 11));
    assert_eq!((first.recent.at[3], second.total.at[0]), (Some(100), None));
    assert!(first.total.at[3] >= Some(900));

    model.reset();
    counters_file.show([1_601, 50, 5, 7]);
    counters_file.record(1, 200);
    let picture = looked(&mut model);
    assert!(picture.is_since_reset);
    assert_eq!(picture.rates[0].total, 1);
    assert_eq!(picture.latencies[1].total.count, 1);
    assert_eq!(picture.lines[0].total, 0);
}

#[test]
fn a_bus_that_does_not_exist_is_shown_with_those_that_do() {
    let buses = Buses::new();
    let _publisher = buses.publisher();
    // The ring of a client of an engine is not a bus to look at.
    let _ring = DeskClient::open(&buses.root(), "test", "desk").expect("a free name");
    let mut model = Model::of(&buses.monitor(), "tset");
    model.look();
    let last_error = model
        .picture()
        .last_error
        .clone()
        .expect("there is no such bus");
    let listed = "tset does not exist; did you mean test? buses in that directory: test";
    assert!(last_error.ends_with(listed), "{last_error}");
}

/// Whenever this process read it: at the start, from the tables, or from the stream.
#[test]
fn an_age_is_that_of_the_books_packet() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    define(&mut publisher, &["AAA", "BBB"]);
    let mut model = Model::of(&buses.monitor(), "test");
    for (index, is_joined) in [(0, false), (1, true)] {
        if is_joined {
            looked(&mut model);
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let mut timestamps = Timestamps::default();
        timestamps.packet.receive_ns = now.as_nanos() as u64 - 90_000_000_000;
        book_of(&mut publisher, index, Validity::Live, &timestamps);
    }
    let ages: Vec<_> = looked(&mut model)
        .list
        .rows
        .iter()
        .map(|row| row.age)
        .collect();
    let is_old = |age: &Option<Duration>| age.is_some_and(|age| age.as_secs().abs_diff(90) < 5);
    assert!(ages.len() == 2 && ages.iter().all(is_old), "{ages:?}");
}

#[test]
fn the_end_and_the_start_of_a_publisher_are_shown() {
    let buses = Buses::new();
    let mut model = Model::of(&buses.monitor(), "test");
    model.look();
    let last_error = model.picture().last_error.clone().expect("there is no bus");
    let start = "does not exist, and there is no other bus; start a gateway";
    assert!(last_error.contains(start), "{last_error}");

    let mut publisher = buses.publisher();
    assert_eq!(looked(&mut model).state, State::Starting);
    let mut first = counters_file(&publisher);
    first.show([500, 0, 0, 0]);
    define(&mut publisher, &["AAA", "BBB", "CCC"]);
    book(&mut publisher, 0, Validity::Live);
    book(&mut publisher, 1, Validity::Recovering);
    let picture = looked(&mut model);
    assert_eq!(picture.state, State::Recovering);
    let states = [BookState::Live, BookState::Recovering].map(|state| books(picture, state));
    assert_eq!(states, [1, 1]);
    assert_eq!(picture.books[STATES.len()], 1, "it has no book");
    book(&mut publisher, 1, Validity::Live);
    assert_eq!(looked(&mut model).state, State::Ready);
    for (validity, state) in [
        (Validity::Stale, State::Silent),
        (Validity::Live, State::Ready),
    ] {
        let channel = ChannelState {
            price: validity,
            orders: validity,
            sequence: 1,
        };
        publisher.publish(&Update::Channel(&channel), &Timestamps::default());
        publisher.commit();
        assert_eq!(looked(&mut model).state, state, "its feed");
    }

    drop(publisher);
    let picture = looked(&mut model);
    assert_eq!(
        (picture.state, books(picture, BookState::Stale)),
        (State::Gone, 2)
    );
    assert_eq!(
        picture.rates[0].total, 500,
        "its counters can still be read"
    );

    let mut publisher = buses.publisher();
    let _second = counters_file(&publisher);
    define(&mut publisher, &["CCC"]);
    book(&mut publisher, 0, Validity::Live);
    let picture = looked(&mut model);
    assert_eq!(
        (picture.state, books(picture, BookState::Live)),
        (State::Ready, 1)
    );
    assert_eq!(
        picture
            .overview
            .as_ref()
            .map(|overview| overview.generation),
        Some(2)
    );
    assert_eq!(
        (picture.rates[0].total, picture.rates[0].past.len()),
        (0, 0)
    );
}

#[test]
fn an_overrun_reader_is_listed_first() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    define(&mut publisher, &["AAA"]);
    let (mut quick, mut slow) = (buses.join("a-quick-one"), buses.join("the-slow-one"));
    let mut model = Model::of(&buses.monitor(), "test");
    let condition = |picture: &Picture, name: &str| {
        let reader = picture.readers.iter().find(|reader| reader.name == name);
        reader.expect(name).condition.clone()
    };
    let drain = |subscriber: &mut Subscriber| {
        let mut mirror = Mirror::new(16, 0);
        while subscriber.drain(usize::MAX, &mut mirror) > 0 {}
    };
    looked(&mut model);
    for round in 0..1_000 {
        book(&mut publisher, 0, Validity::Live);
        if round % 10 == 0 {
            drain(&mut quick);
        }
    }
    drain(&mut quick);
    let picture = looked(&mut model);
    let names: Vec<_> = picture
        .readers
        .iter()
        .map(|reader| reader.name.as_str())
        .collect();
    assert_eq!(names, ["the-slow-one", "a-quick-one"]);
    assert_eq!(condition(picture, "the-slow-one"), Condition::Slow);
    assert!(picture.readers[0].lag_share > 1.0, "it is overrun already");
    assert_eq!(condition(picture, "a-quick-one"), Condition::Well);
    assert!(picture.readers[1].per_second > 0.0 && picture.readers[1].overruns == 0);

    drain(&mut slow);
    let picture = looked(&mut model);
    let reader = &picture.readers[0];
    assert_eq!((reader.name.as_str(), reader.overruns), ("the-slow-one", 1));
    assert_eq!(
        reader.condition,
        Condition::Slow,
        "it has just lost something"
    );
    assert!(reader.lost > 100);
    assert_eq!(
        condition(looked(&mut model), "the-slow-one"),
        Condition::HasLost
    );
    model.reset();
    assert_eq!(
        condition(looked(&mut model), "the-slow-one"),
        Condition::Well
    );

    std::fs::write(
        buses.0.join("test/boards/the-slow-one/counters"),
        "no board",
    )
    .expect("our folder");
    let said = condition(looked(&mut model), "the-slow-one");
    assert!(matches!(said, Condition::Unreadable(_)), "{said:?}");
    drop(slow);
    assert_eq!(
        looked(&mut model).readers.len(),
        1,
        "a reader that has left is not shown"
    );
}

/// The lag of a link is known from the first answer until its relay ends.
#[test]
fn the_lag_of_a_link_is_that_of_a_living_relay() {
    let buses = Buses::new();
    let publisher = buses.publisher();
    let table = [info("relay_lag_ns")];
    let file = CountersFile::create(publisher.lock(), 1.0, &table, []);
    let mut file = file.expect("room for a file");
    let mut model = Model::of(&buses.monitor(), "test");
    let mut lag_ns = || looked(&mut model).link_lag_ns;
    assert_eq!(lag_ns(), None);
    file.show([400_000]);
    assert_eq!(lag_ns(), Some(400_000));
    drop(publisher);
    assert_eq!(lag_ns(), None);
}

fn ladder(model: &Model) -> &Ladder {
    model.picture().ladder.as_ref().expect("a ladder")
}

#[test]
fn the_ladder_is_that_of_the_chosen_instrument() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    define(&mut publisher, &["ESU4", "ESZ4", "NQU4"]);
    book(&mut publisher, 0, Validity::Live);
    book(&mut publisher, 2, Validity::Gapped);
    let mut model = Model::of(&buses.monitor(), "test");
    let chosen = |model: &Model| (ladder(model).symbol.clone(), ladder(model).state);
    looked(&mut model);
    let es = ("ESU4".to_owned(), Some(BookState::Live));
    assert_eq!(
        chosen(&model),
        es,
        "the first of those that are equally busy"
    );
    model.change_list(|list| list.step(2));
    assert_eq!(chosen(&model), ("NQU4".to_owned(), Some(BookState::Gapped)));
    model.change_list(|list| list.step(-5));
    assert_eq!(chosen(&model), es);
    assert!(model.choose("esz") && !model.choose("ZZZ"));
    assert_eq!(chosen(&model), ("ESZ4".to_owned(), None));
    let why = ladder(&model).why_none.clone();
    assert_eq!(why.as_deref(), Some("no book was published yet"));
    assert!(model.choose("102"));
    looked(&mut model);
    assert_eq!(chosen(&model).0, "NQU4", "it stays");

    // Selected before any instrument is known, as by --symbol.
    let mut model = Model::of(&buses.monitor(), "test");
    assert!(!model.choose("esz"));
    looked(&mut model);
    assert_eq!(chosen(&model).0, "ESZ4");
    let mut model = Model::of(&buses.monitor(), "test");
    model.choose("ZZZ");
    looked(&mut model);
    let why = ladder(&model).why_none.clone().expect("there is none");
    assert!(why.starts_with("no instrument is called ZZZ"), "{why}");
    model.change_list(|list| list.step(1));
    assert_eq!(chosen(&model).0, "ESU4");
}

/// A venue states 450025 with a display factor of 0.01; traders quote 4500.25.
#[test]
fn prices_are_in_display_format() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let depth = Depth {
        direct: 10,
        implied: 0,
    };
    let definition = InstrumentDefinition {
        symbol: Symbol::new(b"ESU4"),
        defined: true,
        tick: Price(25_000_000_000),
        reference: ReferenceData {
            display_factor: DisplayFactor::new(1, 100),
            maturity: 20_240_900,
            price_fraction: Some(PriceFraction { main: 32, sub: 4 }),
            ..ReferenceData::NULL
        },
        ..InstrumentDefinition::unknown(Instrument(0), 100, depth)
    };
    publisher.publish(&Update::Definition(&definition), &Timestamps::default());
    let level = |price: i64, quantity| Level {
        price: Price(price * 1_000_000_000),
        quantity: Quantity(quantity),
        orders: 3,
        known: true,
    };
    let snapshot = BookSnapshot {
        instrument: Instrument(0),
        validity: Validity::Live,
        bids: &[level(450_050, 12), level(450_025, 40)],
        asks: &[level(450_075, 7)],
        implied_bids: &[level(450_050, 5)],
        implied_asks: &[],
    };
    publisher.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
    publisher.commit();
    let mut model = Model::of(&buses.monitor(), "test");
    let picture = looked(&mut model);
    let row = &picture.list.rows[0];
    let shown = |quoted: &Option<super::Quoted>| {
        let quoted = quoted.as_ref().expect("a quote");
        (quoted.price.clone(), quoted.quantity.clone())
    };
    let pair = |price: &str, quantity: &str| (price.to_owned(), quantity.to_owned());
    assert_eq!(
        shown(&row.bid),
        pair("4500.50", "17+i"),
        "as many places as the tick has; direct and implied together, as in `book`"
    );
    assert_eq!(shown(&row.ask), pair("4500.75", "7"));
    let levels = &ladder(&model).levels;
    let texts = |level: &super::LadderLevel| {
        [&level.price, &level.quantity, &level.implied, &level.orders].map(Clone::clone)
    };
    assert_eq!(texts(&levels[0][0]), ["4500.50", "12", "5", "3"]);
    assert_eq!(texts(&levels[1][0]), ["4500.25", "40", "", "3"]);
    assert_eq!(texts(&levels[1][1]), ["", "", "", ""]);
    let details = &ladder(&model).details;
    assert!(
        details.contains(&("tick", "0.25".to_owned())),
        "{details:?}"
    );
    assert!(
        details.contains(&("display factor", "1/100".to_owned())),
        "{details:?}"
    );
    assert!(
        details.contains(&("quoted in", "1/32 and 1/4 of it".to_owned())),
        "{details:?}"
    );
    assert!(
        details.contains(&("expiry", "2024-09".to_owned())),
        "{details:?}"
    );
}

#[test]
fn changes_are_counted_by_instrument() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    define(&mut publisher, &["AAA", "BBB"]);
    book(&mut publisher, 0, Validity::Live);
    book(&mut publisher, 1, Validity::Live);
    let mut model = Model::of(&buses.monitor(), "test");
    let quiet = looked(&mut model);
    assert!(
        quiet.list.rows.iter().all(|row| row.per_second == 0.0),
        "a kept value is not a change"
    );
    for _ in 0..20 {
        book(&mut publisher, 1, Validity::Live);
    }
    model.read();
    let rows = &looked(&mut model).list.rows;
    assert!(
        rows[0].per_second == 0.0 && rows[1].per_second > 0.0,
        "{rows:?}"
    );
    assert!(rows[1].age.is_none(), "its packets have no time: {rows:?}");
    assert!(looked(&mut model).list.rows[1].per_second == 0.0);
}

/// Banks of the selected pair alone, the one that is most at the best first, with shares of the time that they were up.
#[test]
fn banks_of_a_composite_are_scored_for_the_selected_pair() {
    const SCORES: [CounterInfo; 9] = [
        info("score_quotes:LP01:EUR/USD"),
        info("score_up_ns:LP01:EUR/USD"),
        info("score_best_bid_ns:LP01:EUR/USD"),
        info("score_best_ask_ns:LP01:EUR/USD"),
        info("score_quoting_ns:LP01:EUR/USD"),
        info("score_spread_tick_us:LP01:EUR/USD"),
        info("score_quotes:LP02:EUR/USD"),
        info("score_up_ns:LP02:EUR/USD"),
        info("score_quotes:LP03:GBP/USD"),
    ];
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    define(&mut publisher, &["EUR/USD"]);
    let mut file = CountersFile::create(publisher.lock(), 1.0, &SCORES, &HISTOGRAMS).expect("room");
    let second = 1_000_000_000;
    file.show([
        20,
        10 * second,
        5 * second,
        second,
        8 * second,
        24_000_000,
        3,
        second,
        7,
    ]);
    let mut model = Model::of(&buses.monitor(), "test");
    model.look();
    let scores = &model.picture().scores;
    let names: Vec<&str> = scores.iter().map(|score| score.bank.as_str()).collect();
    assert_eq!(names, ["LP01", "LP02"]);
    let first = &scores[0];
    assert_eq!((first.best, first.spread), ([0.5, 0.1], Some(3.0)));
    assert!((first.quotes_per_second - 2.0).abs() < 1e-9);
    assert_eq!((scores[1].best, scores[1].spread), ([0.0; 2], None));
}
