//! A stalled publisher: none of its books is live, and all are restored when it resumes.

use crate::world::{Buses, Gateway, Reader, Seen, small, state};
use std::time::Duration;
use touchline_transport::shm::{Images, Item, Join, Lossless, Overview, Polled, Settings};
use touchline_transport::{Envelope, Mirror, Subscribe, SubscriptionEvent};
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity,
    Side, Update, Validity,
};

/// Instruments with price books, and instruments with order books only.
const BOOKS: u32 = 4;

fn one_order(index: u32, quantity: i64, action: OrderAction) -> OrderChange {
    OrderChange {
        row: OrderRow { index, number: 0 },
        order_id: 7,
        priority: 1,
        price: Price(100),
        quantity: Quantity(quantity),
        side: Side::Bid,
        action,
    }
}

/// Publishes an instrument's whole order book, and one change of it.
fn publish_orders(gateway: &mut Gateway, index: u32) {
    let snapshot = OrdersSnapshot {
        instrument: Instrument(index),
        validity: Validity::Live,
        orders: &[one_order(index, 5, OrderAction::New)],
    };
    gateway.publish(&Update::OrdersSnapshot(snapshot));
}

fn change_orders(gateway: &mut Gateway, index: u32, quantity: i64, validity: Validity) {
    let update = OrdersUpdate {
        instrument: Instrument(index),
        validity,
        changes: &[one_order(index, quantity, OrderAction::Update)],
    };
    gateway.publish(&Update::Orders(update));
}

fn quantity_of(mirror: &Mirror, index: u32) -> i64 {
    let mut found = 0;
    mirror
        .orders()
        .visit(Instrument(index), Side::Bid, |order| {
            found = order.quantity.0
        });
    found
}

/// A market of some books and two order books, with a subscriber that has all of it.
fn begun(buses: &Buses) -> (Gateway, Reader) {
    let mut gateway = buses.gateway(1, BOOKS);
    gateway.events(200);
    gateway.state();
    let mut reader = Reader::new(buses.join(Join::default()));
    reader.look();
    publish_orders(&mut gateway, 0);
    publish_orders(&mut gateway, 1);
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "before");
    assert_eq!(reader.mirror.orders_validity(Instrument(0)), Validity::Live);
    (gateway, reader)
}

#[test]
fn a_stalled_publisher_has_no_live_book_and_all_of_them_when_it_resumes() {
    let buses = Buses::new();
    let (mut gateway, mut reader) = begun(&buses);
    gateway.stall();
    reader.look();
    assert_eq!(
        reader.events.last(),
        Some(&SubscriptionEvent::PublisherStalled)
    );
    for instrument in (0..BOOKS).map(Instrument) {
        assert_eq!(reader.mirror.validity(instrument), Validity::Stale);
        gateway
            .market
            .assert_one_equal(&reader.mirror, instrument, "as it was left");
    }
    assert_eq!(
        reader.mirror.orders_validity(Instrument(0)),
        Validity::Stale
    );
    // The publisher continues with old packets, and is still behind.
    gateway.events(50);
    change_orders(&mut gateway, 0, 9, Validity::Live);
    change_orders(&mut gateway, 1, 8, Validity::Recovering);
    reader.look();
    for instrument in (0..BOOKS).map(Instrument) {
        assert_eq!(reader.mirror.validity(instrument), Validity::Stale);
        gateway
            .market
            .assert_one_equal(&reader.mirror, instrument, "followed all the same");
    }
    gateway.state();
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "resumed");
    let orders = |index| {
        (
            reader.mirror.orders_validity(Instrument(index)),
            quantity_of(&reader.mirror, index),
        )
    };
    assert_eq!(orders(0), (Validity::Live, 9));
    assert_eq!(
        orders(1),
        (Validity::Recovering, 8),
        "as its publisher said meanwhile"
    );
    let told = &reader.events;
    let count = |event| told.iter().filter(|told| **told == event).count();
    assert_eq!(count(SubscriptionEvent::PublisherStalled), 1, "{told:?}");
    assert_eq!(count(SubscriptionEvent::PublisherResumed), 1, "{told:?}");
    // After that the subscriber works as before.
    gateway.events(50);
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "after it");
}

/// Everything published before the activity statement is read before a book is live.
#[test]
fn no_book_is_live_before_the_reader_has_read_what_came_before_the_statement() {
    let buses = Buses::new();
    let (mut gateway, mut reader) = begun(&buses);
    gateway.stall();
    reader.look();
    gateway.lose();
    gateway.state();
    reader.subscriber.look_again();
    // One item at a time: each live book is also live in the market.
    while reader.take(1) > 0 {
        gateway
            .market
            .assert_what_is_live(&reader.mirror, "on the way");
        for instrument in (0..BOOKS).map(Instrument) {
            assert_ne!(
                reader.mirror.validity(instrument),
                Validity::Live,
                "all were lost"
            );
        }
    }
    assert_eq!(reader.events.last(), Some(&SubscriptionEvent::CaughtUp));
}

/// The venue restarted while the publisher was behind: its books are empty and live, and stale to readers.
#[test]
fn a_reset_by_a_stalled_publisher_makes_no_book_live() {
    let buses = Buses::new();
    let (mut gateway, mut reader) = begun(&buses);
    gateway.stall();
    reader.look();
    gateway.reset();
    reader.look();
    for instrument in (0..BOOKS + 1).map(Instrument) {
        assert_eq!(reader.mirror.validity(instrument), Validity::Stale);
        assert_eq!(reader.mirror.orders_validity(instrument), Validity::Stale);
    }
    gateway.state();
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "resumed");
    for instrument in (0..BOOKS + 1).map(Instrument) {
        assert_eq!(reader.mirror.orders_validity(instrument), Validity::Live);
    }
}

#[test]
fn joining_a_stalled_bus_gives_stale_books_and_live_ones_later() {
    let buses = Buses::new();
    let (mut gateway, _) = begun(&buses);
    gateway.stall();
    for live_only in [false, true] {
        let join = Join {
            live_only,
            ..Join::default()
        };
        let mut reader = Reader::new(buses.join(join));
        reader.look();
        gateway.events(20);
        reader.look();
        for instrument in (0..BOOKS).map(Instrument) {
            assert_eq!(reader.mirror.validity(instrument), Validity::Stale);
        }
        gateway.state();
        reader.look();
        gateway.market.assert_live_equal(&reader.mirror, "resumed");
        gateway.events(20);
        reader.look();
        gateway.market.assert_live_equal(&reader.mirror, "after it");
        gateway.stall();
    }
}

/// A subscriber of live books receives no change of a stalled one, and each book whole when it is live again.
#[test]
fn a_reader_of_live_books_receives_complete_books_after_a_stall() {
    let buses = Buses::new();
    let (mut gateway, _) = begun(&buses);
    let join = Join {
        live_only: true,
        ..Join::default()
    };
    let mut reader = Reader::new(buses.join(join));
    reader.look();
    publish_orders(&mut gateway, 0);
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "before");
    gateway.stall();
    reader.look();
    gateway.events(50);
    change_orders(&mut gateway, 0, 9, Validity::Live);
    reader.look();
    gateway.state();
    reader.look();
    gateway.market.assert_equal(&reader.mirror, "resumed");
    // A change of this book was not handed out; its slot contains the change.
    assert_eq!(reader.mirror.orders_validity(Instrument(0)), Validity::Live);
    assert_eq!(quantity_of(&reader.mirror, 0), 9);
}

/// A reader notes the numbers of its messages, the last of which may be several items.
#[derive(Default)]
struct Numbers {
    seen: Seen,
    last: u64,
    missed: Vec<(u64, u64)>,
}

impl Numbers {
    fn take(&mut self, item: Item<'_>) {
        let number = match item {
            Item::Update(received) => {
                let envelope = Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
                    update: &received.update,
                };
                self.seen.update(&envelope);
                (!received.is_image).then_some(received.sequence)
            }
            Item::Top { sequence, top, .. } => {
                self.seen.top(sequence, &top);
                (sequence > 0).then_some(sequence)
            }
            Item::SubscriptionEvent(event) => {
                self.seen.event(&event);
                None
            }
            Item::BatchEnd | Item::Undecoded(_) => None,
        };
        if let Some(number) = number {
            if number != self.last + 1 && self.last > 0 {
                self.missed.push((self.last, number));
            }
            self.last = number;
        }
    }
}

/// Slow readers, with a place and without one, that take the publisher for stalled and find it resumed while it publishes on: the
/// tables are ahead of the ring then.
#[test]
fn no_message_is_skipped_when_a_publisher_resumes() {
    for seed in touchline_lab::random::seeds(32) {
        for registered in [false, true] {
            let buses = Buses::new();
            let settings = Settings {
                ring_bytes: 1 << 20,
                lossless: Some(Lossless {
                    readers_max: 2,
                    wait_max: Duration::from_secs(60),
                }),
                ..small()
            };
            let mut gateway = buses.gateway_with(&settings, seed, BOOKS);
            gateway.state();
            let mut subscriber = buses.join(Join {
                registered,
                ..Join::default()
            });
            let mut reader = Numbers::default();
            while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
            for step in 0..2_000 {
                match gateway.market.random.below(100) {
                    0 => gateway.lose(),
                    1 => gateway.reset(),
                    2 => gateway.state_channel(),
                    3 => gateway.natural(),
                    4 => publish_orders(&mut gateway, step % BOOKS),
                    5..7 => gateway.stall(),
                    7..12 => gateway.state(),
                    12..40 => (0..2).for_each(|_| {
                        subscriber.poll(|item| reader.take(item)).given();
                    }),
                    40..45 => {
                        subscriber.look_again();
                        while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
                    }
                    _ => gateway.event(),
                }
            }
            gateway.commit();
            gateway.state();
            subscriber.look_again();
            while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
            let Numbers { seen, missed, .. } = &reader;
            let context = format!("SEED={seed} registered={registered}");
            let resumed = SubscriptionEvent::PublisherResumed;
            let turns = seen.events.iter().filter(|event| **event == resumed);
            assert!(turns.count() > 2, "{context}: {:?}", seen.events);
            assert_eq!(missed[..], [], "{context}");
            gateway.market.assert_live_equal(&seen.mirror, &context);
        }
    }
}

#[test]
fn snapshots_and_overview_report_a_stalled_publisher() {
    let buses = Buses::new();
    let (mut gateway, _) = begun(&buses);
    let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
    let mut validity = || images.book(Instrument(0)).expect("it has one").validity;
    assert_eq!(validity(), Validity::Live);
    gateway.stall();
    assert_eq!(validity(), Validity::Stale, "without another look");
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.publisher.is_some() && overview.is_stalled() && !overview.is_live());
    state(&mut gateway.publisher, 7_000_000_000);
    assert_eq!(validity(), Validity::Live);
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.is_live());
    assert_eq!(
        overview.liveness.map(|liveness| liveness.age.as_secs()),
        Some(7)
    );
    drop(gateway);
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(!overview.is_live());
}

/// The statement of the last publisher does not apply to the next one, which may make none.
#[test]
fn a_publisher_without_activity_statements_is_never_stalled() {
    let buses = Buses::new();
    let (mut gateway, _) = begun(&buses);
    let mut reader = Reader::new(buses.join(Join::default()));
    reader.look();
    gateway.stall();
    reader.look();
    drop(gateway);
    let mut gateway = buses.gateway(2, 3);
    gateway.events(50);
    reader.look();
    gateway
        .market
        .assert_equal(&reader.mirror, "after the restart");
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.is_live() && overview.liveness.is_none());
}

/// A subscriber without messages checks ten times a second by itself.
#[test]
fn a_stall_is_detected_in_time() {
    let buses = Buses::new();
    let (mut gateway, mut reader) = begun(&buses);
    gateway.stall();
    reader.wait_for(SubscriptionEvent::PublisherStalled);
}
