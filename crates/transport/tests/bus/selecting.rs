//! Selection by kind or instrument: only selected messages are handed out, and the number of
//! skipped ones is returned.

use crate::stage::{Market, Stage};
use touchline_transport::Publish;
use touchline_transport::shm::{Item, Join, Kinds, Polled, Subscriber};
use touchline_types::native::TopOfBook;
use touchline_types::{Instrument, Price, Quantity, Timestamps, Trade, Update, UpdateAction};

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
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(3, 4);
    market.define(&mut publisher);
    let mut all = stage.join(Join::default());
    let mut tops = stage.join(of(Kinds::TOPS));
    let mut trades = stage.join(of(Kinds::TRADES));
    for reader in [&mut all, &mut tops, &mut trades] {
        assert_eq!(take(reader).definitions, 4, "they concern every reader");
    }
    for _ in 0..150 {
        market.event(&mut publisher);
    }
    trade(Instrument(2), &mut publisher);
    market.event(&mut publisher);
    publisher.commit();
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
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(5, 4);
    market.define(&mut publisher);
    let mut early = stage.join(of(Kinds::TOPS));
    (0..100).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let mut last = [None; 4];
    for top in take(&mut early).tops {
        last[top.instrument.index()] = Some(top);
    }
    let late = take(&mut stage.join(of(Kinds::TOPS)));
    assert_eq!(late.books, 0);
    let mut first = [None; 4];
    for top in late.tops {
        first[top.instrument.index()].get_or_insert(top);
    }
    assert_eq!(first, last);
}

#[test]
fn deselected_instruments_are_skipped() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    let mut market = Market::new(9, 4);
    let mut reader = stage.join(Join {
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
