//! Selection by kind or instrument: only selected messages are handed out, and the number of
//! skipped ones is returned.

use crate::world::{Buses, Market};
use touchline_transport::shm::{Item, Join, Kinds, Polled, Publisher, Subscriber};
use touchline_transport::{Publish, SubscriptionEvent};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Gap, Instrument, Level, LevelAction, LevelChange, Price,
    Quantity, Side, State, Timestamps, TouchSource, Trade, Update, UpdateAction, Validity,
};

/// Items of a subscriber.
#[derive(Debug, Default, PartialEq)]
struct Given {
    tops: Vec<TopOfBook>,
    books: usize,
    trades: usize,
    definitions: usize,
    passed: usize,
}

fn take(subscriber: &mut Subscriber) -> Given {
    let mut given = Given::default();
    loop {
        let polled = subscriber.poll(|item| match item {
            Item::Top { top, .. } => given.tops.push(top),
            Item::Update(received) => match received.update {
                Update::Book(_) | Update::BookSnapshot(_) | Update::State(_) => given.books += 1,
                Update::Trade(_) => given.trades += 1,
                Update::Definition(_) => given.definitions += 1,
                _ => {}
            },
            Item::BatchEnd | Item::Undecoded(_) | Item::SubscriptionEvent(_) => {}
        });
        match polled {
            Polled::Given(()) => {}
            Polled::Passed(passed) => given.passed += passed,
            Polled::Nothing => return given,
        }
    }
}

fn trade(instrument: Instrument, out: &mut impl Publish) {
    let trade = Trade {
        instrument,
        orders: 1,
        price: Price(1),
        quantity: Quantity(1),
        aggressor: None,
        action: UpdateAction::New,
        trade_id: 1,
    };
    out.publish(&Update::Trade(&trade), &Timestamps::default());
    out.commit();
}

fn of(kinds: Kinds) -> Join {
    Join {
        kinds,
        ..Join::default()
    }
}

#[test]
fn deselected_kinds_of_messages_are_skipped() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(3, 4);
    let mut all = buses.join(Join::default());
    let mut tops = buses.join(of(Kinds::TOPS));
    let mut trades = buses.join(of(Kinds::TRADES));
    for reader in [&mut all, &mut tops, &mut trades] {
        assert_eq!(take(reader).definitions, 4, "they concern every reader");
    }
    (0..150).for_each(|_| gateway.event());
    trade(Instrument(2), &mut gateway.publisher);
    gateway.events(1);
    let (all, tops, trades) = (take(&mut all), take(&mut tops), take(&mut trades));
    assert_eq!((all.books, all.trades), (151, 1));
    assert_eq!(
        (tops.books, tops.trades, trades.books, trades.trades),
        (0, 0, 0, 1)
    );
    assert!(all.tops.len() > 10, "too few to tell");
    assert_eq!(tops.tops, all.tops);
    assert!(trades.tops.is_empty());
    // Messages after the trade.
    assert!(trades.passed > 0 && all.passed == 0);
}

#[test]
fn a_late_joiner_for_tops_gets_the_top_of_each_book() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(5, 4);
    let mut early = buses.join(of(Kinds::TOPS));
    gateway.events(100);
    let mut last = [None; 4];
    for top in take(&mut early).tops {
        last[top.instrument.index()] = Some(top);
    }
    let late = take(&mut buses.join(of(Kinds::TOPS)));
    assert_eq!(late.books, 0);
    let mut first = [None; 4];
    for top in late.tops {
        first[top.instrument.index()].get_or_insert(top);
    }
    assert_eq!(first, last);
}

/// Best levels of the direct book.
const BEST: [Level; 2] = [level(100, 5), level(110, 5)];

const fn level(price: i64, quantity: i64) -> Level {
    Level {
        price: Price(price),
        quantity: Quantity(quantity),
        orders: 1,
        known: true,
    }
}

/// A top is of both books: a change of the implied best alone gives one, and a change behind the best gives none. The relay
/// and each other publisher make theirs from updates, and these have the implied book as steps alone.
#[test]
fn a_change_of_the_implied_best_alone_is_a_top() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    Market::new(3, 1).define(&mut publisher);
    let mut reader = buses.join(of(Kinds::TOPS));
    take(&mut reader);
    let snapshot = |implied_bids: &[Level], out: &mut Publisher| {
        out.publish(
            &Update::BookSnapshot(BookSnapshot {
                instrument: Instrument(0),
                validity: Validity::Live,
                bids: &BEST[..1],
                asks: &BEST[1..],
                implied_bids,
                implied_asks: &[],
            }),
            &Timestamps::default(),
        );
    };
    let change = |action, index, level, out: &mut Publisher| {
        let change = LevelChange {
            level,
            book: BookKind::Implied,
            side: Side::Bid,
            action,
            index,
        };
        let update = BookUpdate {
            instrument: Instrument(0),
            security_id: 1_000,
            validity: Validity::Live,
            direct: false,
            whole: true,
            changes: &[change],
            best_bid: Some(BEST[0]),
            best_ask: Some(BEST[1]),
        };
        out.publish(&Update::Book(update), &Timestamps::default());
    };
    let bids = |reader: &mut Subscriber| {
        let tops = take(reader).tops.into_iter();
        let bid = |top: TopOfBook| {
            top.touch(Side::Bid)
                .map(|t| (t.price.0, t.quantity.0, t.source))
        };
        tops.map(bid).collect::<Vec<_>>()
    };
    use LevelAction::{Insert, Remove, Replace};
    use TouchSource::{Direct, Implied, Merged};
    snapshot(&[level(100, 7)], &mut publisher);
    change(Insert, 0, level(101, 3), &mut publisher);
    change(Replace, 1, level(100, 9), &mut publisher);
    change(Replace, 0, level(101, 4), &mut publisher);
    change(Remove, 0, Level::UNKNOWN, &mut publisher);
    change(Remove, 0, Level::UNKNOWN, &mut publisher);
    publisher.commit();
    let expected = [
        Some((100, 12, Merged)),
        Some((101, 3, Implied)),
        Some((101, 4, Implied)),
        Some((100, 14, Merged)),
        Some((100, 5, Direct)),
    ];
    assert_eq!(bids(&mut reader), expected);
    // Levels that a reset or a whole book removes are not merged any more.
    snapshot(&[level(102, 1)], &mut publisher);
    publisher.publish(&Update::Reset, &Timestamps::default());
    change(Insert, 0, level(99, 1), &mut publisher);
    snapshot(&[], &mut publisher);
    change(Insert, 0, level(100, 1), &mut publisher);
    publisher.commit();
    let expected = [
        Some((102, 1, Implied)),
        Some((100, 5, Direct)),
        Some((100, 6, Merged)),
    ];
    assert_eq!(bids(&mut reader), expected);
}

/// A loss makes each top gapped by its own message. A book that a snapshot had confirmed beyond the lost packets is live
/// again by a state alone: its top has the prices, also after a second loss.
#[test]
fn a_state_after_a_gap_is_a_top_with_its_prices() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    Market::new(3, 2).define(&mut publisher);
    let mut reader = buses.join(of(Kinds::TOPS));
    take(&mut reader);
    let book = |instrument| {
        Update::BookSnapshot(BookSnapshot {
            instrument,
            validity: Validity::Live,
            bids: &BEST[..1],
            asks: &BEST[1..],
            implied_bids: &[],
            implied_asks: &[],
        })
    };
    let gap = || {
        Update::Gap(Gap {
            first: 7,
            last: 8,
            orders: Validity::Recovering,
        })
    };
    let live = |instrument| {
        Update::State(State {
            instrument,
            validity: Validity::Live,
        })
    };
    let [one, two] = [0, 1].map(Instrument);
    // The second book is published in full after the loss, unchanged.
    for update in [
        book(one),
        book(two),
        gap(),
        live(one),
        book(two),
        gap(),
        live(one),
    ] {
        publisher.publish(&update, &Timestamps::default());
    }
    publisher.commit();
    let top = |instrument| match book(instrument) {
        Update::BookSnapshot(book) => TopOfBook::from(&book),
        _ => unreachable!("a book"),
    };
    let expected = [one, two, one, two, one].map(top);
    assert_eq!(take(&mut reader).tops, expected);
}

/// Tops of a publisher of the schema before are of the direct book alone. A reader of books too is not given them, and a
/// reader of tops alone is refused with what to do.
#[test]
fn tops_of_the_direct_book_alone_are_no_tops() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(3, 4);
    let mut reader = buses.join(Join::default());
    take(&mut reader);
    gateway.events(50);
    buses.make_older(2);
    let refused = Subscriber::join(&buses.root(), "test", of(Kinds::TOPS)).map(|_| ());
    let sentence = refused.expect_err("its tops are direct").to_string();
    assert!(
        sentence.contains("direct book alone") && sentence.contains("read the books too"),
        "{sentence}"
    );
    let read = take(&mut reader);
    assert_eq!((read.tops.len(), read.books), (0, 50));
}

/// An older publisher, whose tops are of the direct book alone, takes over in other files or in the same: a reader of tops
/// alone reports it once, and is given none of them. One of this version ends it.
#[test]
fn a_reader_of_tops_alone_reports_an_older_publisher() {
    const OLDER: u8 = 2;
    for is_in_other_files in [true, false] {
        let buses = Buses::new();
        let ring = buses.path("ring");
        let mut gateway = buses.gateway(1, 4);
        gateway.events(50);
        let mut reader = buses.reader_with(of(Kinds::TOPS));
        let market = gateway.end();
        if is_in_other_files {
            std::fs::remove_file(&ring).expect("our file");
        }
        let mut gateway = buses.next_gateway(market);
        gateway.events(50);
        buses.make_older(OLDER);
        let layout = u64::from(OLDER);
        let event = SubscriptionEvent::Incompatible { layout };
        reader.wait_for(event);
        gateway.events(50);
        buses.make_older(OLDER);
        assert!(take(&mut reader.subscriber).tops.is_empty());
        reader.look();
        assert_eq!(reader.count(event), 1, "{:?}", reader.events);
        // Other files are refused before they are read: the books of the last publisher stay, as stale.
        let is_restart = |event: &_| matches!(event, SubscriptionEvent::Restarted { .. });
        assert_eq!(reader.events.iter().any(is_restart), !is_in_other_files);
        let market = gateway.end();
        reader.events.clear();
        let _gateway = buses.next_gateway(market);
        let generation = if is_in_other_files { 2 } else { 3 };
        reader.wait_for(SubscriptionEvent::Restarted { generation });
    }
}

#[test]
fn deselected_instruments_are_skipped() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let mut market = Market::new(9, 4);
    let mut reader = buses.join(Join {
        filter: Some(Box::new(|definition| definition.symbol.as_str() == "SYM3")),
        ..Join::default()
    });
    market.define(&mut publisher);
    assert_eq!(take(&mut reader).definitions, 1);
    for _ in 0..400 {
        trade(Instrument(1), &mut publisher);
    }
    let mut polls = 0;
    while let Polled::Passed(passed) = reader.poll(|_| panic!("nothing is for this reader")) {
        assert!(passed > 0);
        polls += 1;
    }
    assert_eq!(polls, 2, "a poll passes over 256 at most");
    trade(Instrument(3), &mut publisher);
    assert_eq!(take(&mut reader).trades, 1);
}
