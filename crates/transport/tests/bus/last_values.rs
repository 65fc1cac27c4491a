//! Last trades, statistics and statuses: late joiners receive them, and the ring does not set them
//! back.

use crate::world::{Buses, Market, definition};
use touchline_transport::market::{InstrumentImage, StreamState};
use touchline_transport::shm::{Images, Item, Join, Kinds, Polled, Publisher, Subscriber, Value};
use touchline_transport::{Publish, SubscriptionEvent};
use touchline_types::{
    Instrument, PacketInfo, Price, Quantity, Side, Statistic, StatisticKind, Timestamps, Trade,
    TradingStatus, Update, UpdateAction,
};

fn timestamps() -> Timestamps {
    Timestamps {
        exchange_ns: 5,
        packet: PacketInfo {
            receive_ns: 6,
            ..PacketInfo::default()
        },
        ..Timestamps::default()
    }
}

fn trade(trade_id: u64, price: i64, action: UpdateAction) -> Trade {
    Trade {
        instrument: Instrument(1),
        orders: 2,
        price: Price(price),
        quantity: Quantity(3),
        aggressor: Some(Side::Ask),
        action,
        trade_id,
    }
}

fn figure(kind: StatisticKind, price: i64, action: UpdateAction) -> Statistic {
    Statistic {
        instrument: Instrument(1),
        kind,
        action,
        price: Price(price),
        quantity: Quantity::NULL,
    }
}

fn status(instrument: Option<Instrument>, group: &[u8; 6], status: u8) -> TradingStatus {
    TradingStatus {
        instrument,
        group: *group,
        status,
        reason: 1,
        event: 255,
    }
}

fn publish(publisher: &mut Publisher, update: &Update<'_>) {
    publisher.publish(update, &timestamps());
    publisher.commit();
}

fn asking() -> Join {
    Join {
        last_values: true,
        ..Join::default()
    }
}

/// All pending items except books and definitions, as text, snapshots with a star.
fn told(subscriber: &mut Subscriber) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let polled = subscriber.poll(|item| {
            if let Item::Update(received) = item {
                let text = match received.update {
                    Update::Trade(trade) => format!("trade {}", trade.price.0),
                    Update::Statistic(figure) => format!("{:?} {}", figure.kind, figure.price.0),
                    Update::Status(status) => match status.instrument {
                        Some(instrument) => {
                            format!("status of {}: {}", instrument.0, status.status)
                        }
                        None => format!(
                            "status of {}: {}",
                            String::from_utf8_lossy(&status.group),
                            status.status
                        ),
                    },
                    _ => return,
                };
                if received.is_image {
                    assert_eq!(received.timestamps, timestamps());
                }
                told.push(if received.is_image {
                    format!("*{text}")
                } else {
                    text
                });
            }
        });
        if polled == Polled::Nothing && !subscriber.is_joining() {
            return told;
        }
    }
}

#[test]
fn a_late_joiner_has_the_last_trade_statistics_and_statuses() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    Market::new(1, 3).define(&mut publisher);
    for update in [
        Update::Trade(&trade(7, 100, UpdateAction::New)),
        Update::Trade(&trade(8, 101, UpdateAction::New)),
        Update::Statistic(&figure(StatisticKind::Open, 90, UpdateAction::New)),
        Update::Statistic(&figure(StatisticKind::Settlement, 95, UpdateAction::New)),
        Update::Statistic(&figure(StatisticKind::Open, 91, UpdateAction::New)),
        Update::Statistic(&figure(StatisticKind::Settlement, 95, UpdateAction::Delete)),
        Update::Status(&status(Some(Instrument(1)), b"ES\0\0\0\0", 17)),
        Update::Status(&status(None, b"ES\0\0\0\0", 21)),
        Update::Status(&status(None, b"NQ\0\0\0\0", 4)),
    ] {
        publish(&mut publisher, &update);
    }
    let expected = [
        "*trade 101",
        "*status of 1: 17",
        "*Open 91",
        "*status of ES\0\0\0\0: 21",
        "*status of NQ\0\0\0\0: 4",
    ];
    let mut late = buses.join(asking());
    let told_late = told(&mut late);
    // After the snapshots the trades of the ring follow: they may have happened during joining.
    assert_eq!(&told_late[..5], expected);
    assert!(
        told_late[5..].iter().all(|text| text.starts_with("trade ")),
        "{told_late:?}"
    );
    publish(
        &mut publisher,
        &Update::Statistic(&figure(StatisticKind::Open, 92, UpdateAction::New)),
    );
    publish(
        &mut publisher,
        &Update::Status(&status(None, b"NQ\0\0\0\0", 17)),
    );
    assert_eq!(told(&mut late), ["Open 92", "status of NQ\0\0\0\0: 17"]);

    let only = Join {
        kinds: Kinds::STATUS,
        ..asking()
    };
    let mut statuses = buses.join(only);
    assert_eq!(told(&mut statuses)[0], "*status of 1: 17");
    let unasked = told(&mut buses.join(Join::default()));
    assert!(
        unasked.iter().all(|text| !text.starts_with('*')),
        "{unasked:?}"
    );

    let mut images = Images::open(&buses.root(), "test").expect("it is there");
    let values: Vec<_> = images
        .last_values(Instrument(1))
        .map(|value| value.value)
        .collect();
    assert_eq!(
        values,
        [
            Value::Trade(trade(8, 101, UpdateAction::New)),
            Value::Status(status(Some(Instrument(1)), b"ES\0\0\0\0", 17)),
            Value::Statistic(figure(StatisticKind::Open, 92, UpdateAction::New)),
        ]
    );
    assert_eq!(images.last_values(Instrument(2)).count(), 0);
}

/// A correction and a bust apply to the trade with their id only.
#[test]
fn a_bust_takes_the_last_trade_away_and_one_of_an_earlier_trade_does_not() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(1)));
    let last = |publisher: &mut Publisher, trade: Trade| {
        publish(publisher, &Update::Trade(&trade));
        let mut images = Images::open(&buses.root(), "test").expect("it is there");
        let mut values = images.last_values(Instrument(1));
        match values.next()?.value {
            Value::Trade(trade) => Some((trade.trade_id, trade.price.0)),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        last(&mut publisher, trade(7, 100, UpdateAction::New)),
        Some((7, 100))
    );
    assert_eq!(
        last(&mut publisher, trade(8, 101, UpdateAction::New)),
        Some((8, 101))
    );
    assert_eq!(
        last(&mut publisher, trade(7, 1, UpdateAction::Delete)),
        Some((8, 101))
    );
    assert_eq!(
        last(&mut publisher, trade(8, 102, UpdateAction::Change)),
        Some((8, 102))
    );
    assert_eq!(
        last(&mut publisher, trade(8, 102, UpdateAction::Delete)),
        None
    );
}

/// Entries of an earlier publisher are not the next one's.
#[test]
fn the_next_publisher_begins_without_last_values() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(1)));
    publish(
        &mut publisher,
        &Update::Trade(&trade(7, 100, UpdateAction::New)),
    );
    publish(
        &mut publisher,
        &Update::Statistic(&figure(StatisticKind::Open, 90, UpdateAction::New)),
    );
    drop(publisher);
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(1)));
    let mut images = Images::open(&buses.root(), "test").expect("it is there");
    assert_eq!(images.last_values(Instrument(1)).count(), 0);
    publish(
        &mut publisher,
        &Update::Statistic(&figure(StatisticKind::High, 99, UpdateAction::New)),
    );
    let values: Vec<_> = images
        .last_values(Instrument(1))
        .map(|value| value.value)
        .collect();
    let high = figure(StatisticKind::High, 99, UpdateAction::New);
    assert_eq!(values, [Value::Statistic(high)]);
}

/// A reader that lags behind the tables while it joins does not receive older statistics than it
/// already has.
#[test]
fn statistics_of_the_ring_do_not_replace_newer_ones_of_the_table() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(1)));
    let mut subscriber = buses.join(asking());
    // The reader has joined the ring, and still has to read the tables.
    for price in 1..=5 {
        publish(
            &mut publisher,
            &Update::Statistic(&figure(StatisticKind::High, price, UpdateAction::New)),
        );
        publish(
            &mut publisher,
            &Update::Status(&status(None, b"ES\0\0\0\0", price as u8)),
        );
    }
    let told = told(&mut subscriber);
    assert_eq!(told, ["*High 5", "*status of ES\0\0\0\0: 5"]);
}

/// A loss may have a bust in it: what the tables do not have again is void, and says so to a receiver that missed it.
#[test]
fn a_loss_of_messages_voids_what_the_tables_do_not_have_again() {
    let mut state = StreamState::new(4, 0);
    let told = |state: &mut StreamState, is_image: bool, updates: &[Update<'_>]| {
        for update in updates {
            state.update(1, update, &Timestamps::default(), is_image);
        }
        let mut image = InstrumentImage::default();
        assert!(state.copy_to(Instrument(1), &mut image));
        let mut actions = Vec::new();
        image.updates(|update, _| match update {
            Update::Trade(trade) => actions.push(trade.action),
            Update::Statistic(statistic) => actions.push(statistic.action),
            _ => {}
        });
        actions
    };
    let trade = trade(7, 100, UpdateAction::New);
    let high = figure(StatisticKind::High, 99, UpdateAction::New);
    let (new, deleted) = ([UpdateAction::New; 2], [UpdateAction::Delete; 2]);
    let values = [Update::Trade(&trade), Update::Statistic(&high)];
    assert_eq!(told(&mut state, false, &values), new);
    for loss in [
        SubscriptionEvent::Overrun {
            messages: 1,
            bytes: 64,
        },
        SubscriptionEvent::Corrupt { sequence: 2 },
    ] {
        state.event(&loss);
        assert_eq!(told(&mut state, false, &[]), deleted);
        assert_eq!(told(&mut state, true, &values), new);
    }
}
