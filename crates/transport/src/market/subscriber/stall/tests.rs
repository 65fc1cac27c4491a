//! Messages published between an empty read and the following check of the publisher.

use super::super::{Item, Join, Step, Subscriber};
use crate::shm::{Activity, Publisher, Root, Settings};
use crate::{Publish, SubscriptionEvent, boot_ns};
use touchline_testing::Folder;
use touchline_types::{
    Depth, Instrument, InstrumentDefinition, OrderAction, OrderChange, OrderRow, OrdersSnapshot,
    OrdersUpdate, Price, Quantity, ReferenceData, Side, Timestamps, Update, Validity,
};

const INSTRUMENT: Instrument = Instrument(0);

/// Reports to a subscriber about the order book and the subscription.
#[derive(Debug, PartialEq)]
enum Notified {
    Orders(Validity),
    SubscriptionEvent(SubscriptionEvent),
    Other,
}

fn told(item: Item<'_>) -> Notified {
    let Item::Update(received) = item else {
        return match item {
            Item::SubscriptionEvent(event) => Notified::SubscriptionEvent(event),
            _ => Notified::Other,
        };
    };
    match received.update {
        Update::Orders(update) => Notified::Orders(update.validity),
        Update::OrdersSnapshot(snapshot) => Notified::Orders(snapshot.validity),
        _ => Notified::Other,
    }
}

fn publish(publisher: &mut Publisher, update: &Update<'_>) {
    publisher.publish(update, &Timestamps::default());
    publisher.commit();
}

/// Sets the age and timeout of the publisher's last activity.
fn state(publisher: &mut Publisher, ago_ns: u64, timeout_ns: u64) {
    publisher.state_activity(Activity {
        at_ns: boot_ns() - ago_ns,
        timeout_ns,
    });
}

/// All items until the subscriber has checked the publisher and has nothing more to report.
fn settle(subscriber: &mut Subscriber) -> Vec<Notified> {
    subscriber.look_again();
    std::iter::from_fn(|| subscriber.poll(told).given()).collect()
}

/// A bus with one live order book, which a subscriber has.
fn begun(folder: &Folder) -> (Publisher, Subscriber) {
    let settings = Settings {
        ring_bytes: 1 << 16,
        instruments_max: 4,
        ..Settings::default()
    };
    let root = Root::at(folder);
    let mut publisher = Publisher::open(&root, "test", &settings).expect("nobody else has it");
    let depth = Depth {
        direct: 10,
        implied: 0,
    };
    let definition = InstrumentDefinition {
        defined: true,
        reference: ReferenceData::NULL,
        ..InstrumentDefinition::unknown(INSTRUMENT, 1, depth)
    };
    publish(&mut publisher, &Update::Definition(&definition));
    let mut subscriber = Subscriber::join(&root, "test", Join::default()).expect("a bus");
    settle(&mut subscriber);
    let order = OrderChange {
        order_id: 7,
        priority: 1,
        price: Price(100),
        quantity: Quantity(5),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow {
            index: 0,
            number: 0,
        },
    };
    let snapshot = OrdersSnapshot {
        instrument: INSTRUMENT,
        validity: Validity::Live,
        orders: &[order],
    };
    publish(&mut publisher, &Update::OrdersSnapshot(snapshot));
    assert_eq!(settle(&mut subscriber), [Notified::Orders(Validity::Live)]);
    (publisher, subscriber)
}

/// A seen statement counts only after the messages published before it: the order book lost meanwhile is not reported
/// live before that.
#[test]
fn messages_before_an_activity_statement_are_read_before_a_book_is_live() {
    let folder = Folder::new("stall");
    let (mut publisher, mut subscriber) = begun(&folder);
    // A timeout that has passed already.
    state(&mut publisher, 2, 1);
    let stalled = [Notified::SubscriptionEvent(
        SubscriptionEvent::PublisherStalled,
    )];
    assert_eq!(settle(&mut subscriber), stalled);
    // The two halves of a step: the read finds no message, and the publisher catches up before the check.
    assert!(matches!(subscriber.reading.ring.read(|_| ()), Ok(None)));
    let lost = OrdersUpdate {
        instrument: INSTRUMENT,
        validity: Validity::Recovering,
        changes: &[],
    };
    publish(&mut publisher, &Update::Orders(lost));
    state(&mut publisher, 0, 3_600_000_000_000);
    subscriber.look_again();
    let mut seen = Vec::new();
    if let Step::Given(first) = subscriber.nothing(&mut told) {
        seen.push(first);
    }
    seen.extend(settle(&mut subscriber));
    let in_order = [
        Notified::Orders(Validity::Recovering),
        Notified::SubscriptionEvent(SubscriptionEvent::PublisherResumed),
        Notified::SubscriptionEvent(SubscriptionEvent::CaughtUp),
    ];
    assert_eq!(seen, in_order);
}

/// The bus goes on in other files: messages published in the old files between the last read and the check are read before the move.
#[test]
fn messages_before_a_move_to_other_files_are_read_first() {
    let folder = Folder::new("stall");
    let (mut publisher, mut subscriber) = begun(&folder);
    // The two halves of a step, as above.
    assert!(matches!(subscriber.reading.ring.read(|_| ()), Ok(None)));
    let lost = OrdersUpdate {
        instrument: INSTRUMENT,
        validity: Validity::Recovering,
        changes: &[],
    };
    publish(&mut publisher, &Update::Orders(lost));
    drop(publisher);
    let larger = Settings {
        ring_bytes: 1 << 17,
        instruments_max: 4,
        ..Settings::default()
    };
    let _next = Publisher::open(&Root::at(&folder), "test", &larger).expect("it has ended");
    subscriber.look_again();
    let mut seen = Vec::new();
    if let Step::Given(first) = subscriber.nothing(&mut told) {
        seen.push(first);
    }
    seen.extend(settle(&mut subscriber));
    let restarted = SubscriptionEvent::Restarted { generation: 1 };
    let in_order = [
        Notified::Orders(Validity::Recovering),
        Notified::SubscriptionEvent(restarted),
        Notified::SubscriptionEvent(SubscriptionEvent::CaughtUp),
    ];
    assert_eq!(seen, in_order);
}
