//! A stalled publisher: none of its books is live, and all are restored when it resumes.

use crate::world::{Buses, Market, mirror, small, stall, state};
use std::time::{Duration, Instant};
use touchline_transport::shm::{
    Images, Item, Join, Lossless, Overview, Polled, Publisher, Settings, Subscriber,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity,
    Side, Timestamps, Update, Validity,
};

/// Instruments with price books, and instruments with order books only.
const BOOKS: u32 = 4;

/// Events of a subscriber, and books that were live during a reported stall.
#[derive(Default)]
struct Notified {
    events: Vec<SubscriptionEvent>,
    stalled: bool,
    live_while_stalled: u32,
}

impl Subscribe for Notified {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let validity = match envelope.update {
            Update::Book(update) => update.validity,
            Update::BookSnapshot(snapshot) => snapshot.validity,
            Update::Orders(update) => update.validity,
            Update::OrdersSnapshot(snapshot) => snapshot.validity,
            Update::State(state) => state.validity,
            _ => return,
        };
        self.live_while_stalled += u32::from(self.stalled && validity == Validity::Live);
    }

    fn top(&mut self, _: u64, top: &touchline_types::native::TopOfBook) {
        self.live_while_stalled += u32::from(self.stalled && top.validity == Validity::Live);
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.stalled |= *event == SubscriptionEvent::PublisherStalled;
        self.stalled &= *event != SubscriptionEvent::PublisherResumed;
        self.events.push(*event);
    }
}

type Reader = (Notified, Mirror);

fn reader() -> Reader {
    (Notified::default(), mirror())
}

/// Reads everything, and checks the publisher.
fn settle(subscriber: &mut Subscriber, reader: &mut Reader) {
    subscriber.look_again();
    while subscriber.drain(usize::MAX, reader) > 0 {}
}

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
fn publish_orders(publisher: &mut Publisher, index: u32) {
    let snapshot = OrdersSnapshot {
        instrument: Instrument(index),
        validity: Validity::Live,
        orders: &[one_order(index, 5, OrderAction::New)],
    };
    publisher.publish(&Update::OrdersSnapshot(snapshot), &Timestamps::default());
    publisher.commit();
}

fn change_orders(publisher: &mut Publisher, index: u32, quantity: i64, validity: Validity) {
    let update = OrdersUpdate {
        instrument: Instrument(index),
        validity,
        changes: &[one_order(index, quantity, OrderAction::Update)],
    };
    publisher.publish(&Update::Orders(update), &Timestamps::default());
    publisher.commit();
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
fn begun(buses: &Buses) -> (Publisher, Market, Subscriber, Reader) {
    let mut publisher = buses.publisher();
    let mut market = Market::new(1, BOOKS);
    market.define(&mut publisher);
    (0..200).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    state(&mut publisher, 0);
    let mut subscriber = buses.join(Join::default());
    let mut reader = reader();
    settle(&mut subscriber, &mut reader);
    publish_orders(&mut publisher, 0);
    publish_orders(&mut publisher, 1);
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "before");
    assert_eq!(reader.1.orders_validity(Instrument(0)), Validity::Live);
    (publisher, market, subscriber, reader)
}

#[test]
fn a_stalled_publisher_has_no_live_book_and_all_of_them_when_it_resumes() {
    let buses = Buses::new();
    let (mut publisher, mut market, mut subscriber, mut reader) = begun(&buses);
    stall(&mut publisher);
    settle(&mut subscriber, &mut reader);
    assert_eq!(
        reader.0.events.last(),
        Some(&SubscriptionEvent::PublisherStalled)
    );
    for instrument in (0..BOOKS).map(Instrument) {
        assert_eq!(reader.1.validity(instrument), Validity::Stale);
        market.assert_one_equal(&reader.1, instrument, "as it was left");
    }
    assert_eq!(reader.1.orders_validity(Instrument(0)), Validity::Stale);
    // It continues with old packets, and has not caught up.
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    change_orders(&mut publisher, 0, 9, Validity::Live);
    change_orders(&mut publisher, 1, 8, Validity::Recovering);
    settle(&mut subscriber, &mut reader);
    for instrument in (0..BOOKS).map(Instrument) {
        assert_eq!(reader.1.validity(instrument), Validity::Stale);
        market.assert_one_equal(&reader.1, instrument, "followed all the same");
    }
    assert_eq!(reader.0.live_while_stalled, 0);
    state(&mut publisher, 0);
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "resumed");
    let orders = |index| {
        (
            reader.1.orders_validity(Instrument(index)),
            quantity_of(&reader.1, index),
        )
    };
    assert_eq!(orders(0), (Validity::Live, 9));
    assert_eq!(
        orders(1),
        (Validity::Recovering, 8),
        "as its publisher said meanwhile"
    );
    let told = &reader.0.events;
    let count = |event| told.iter().filter(|told| **told == event).count();
    assert_eq!(count(SubscriptionEvent::PublisherStalled), 1, "{told:?}");
    assert_eq!(count(SubscriptionEvent::PublisherResumed), 1, "{told:?}");
    // After that the subscriber works as before.
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "after it");
}

/// Everything published before the activity statement is read before a book is live.
#[test]
fn no_book_is_live_before_the_reader_has_read_what_came_before_the_statement() {
    let buses = Buses::new();
    let (mut publisher, mut market, mut subscriber, mut reader) = begun(&buses);
    stall(&mut publisher);
    settle(&mut subscriber, &mut reader);
    market.lose(&mut publisher);
    state(&mut publisher, 0);
    subscriber.look_again();
    // One item at a time: each live book is also live in the market.
    while subscriber.drain(1, &mut reader) > 0 {
        market.assert_what_is_live(&reader.1, "on the way");
        for instrument in (0..BOOKS).map(Instrument) {
            assert_ne!(
                reader.1.validity(instrument),
                Validity::Live,
                "all were lost"
            );
        }
    }
    assert_eq!(reader.0.events.last(), Some(&SubscriptionEvent::CaughtUp));
    assert_eq!(reader.0.live_while_stalled, 0);
}

/// The venue restarted while the publisher was behind: its books are empty and live, and stale to readers.
#[test]
fn a_reset_by_a_stalled_publisher_makes_no_book_live() {
    let buses = Buses::new();
    let (mut publisher, mut market, mut subscriber, mut reader) = begun(&buses);
    stall(&mut publisher);
    settle(&mut subscriber, &mut reader);
    market.reset(&mut publisher);
    settle(&mut subscriber, &mut reader);
    for instrument in (0..BOOKS + 1).map(Instrument) {
        assert_eq!(reader.1.validity(instrument), Validity::Stale);
        assert_eq!(reader.1.orders_validity(instrument), Validity::Stale);
    }
    state(&mut publisher, 0);
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "resumed");
    for instrument in (0..BOOKS + 1).map(Instrument) {
        assert_eq!(reader.1.orders_validity(instrument), Validity::Live);
    }
}

#[test]
fn joining_a_stalled_bus_gives_stale_books_and_live_ones_later() {
    let buses = Buses::new();
    let (mut publisher, mut market, ..) = begun(&buses);
    stall(&mut publisher);
    for live_only in [false, true] {
        let join = Join {
            live_only,
            ..Join::default()
        };
        let mut subscriber = buses.join(join);
        let mut reader = reader();
        settle(&mut subscriber, &mut reader);
        (0..20).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        settle(&mut subscriber, &mut reader);
        for instrument in (0..BOOKS).map(Instrument) {
            assert_eq!(reader.1.validity(instrument), Validity::Stale);
        }
        state(&mut publisher, 0);
        settle(&mut subscriber, &mut reader);
        market.assert_live_equal(&reader.1, "resumed");
        (0..20).for_each(|_| market.event(&mut publisher));
        publisher.commit();
        settle(&mut subscriber, &mut reader);
        market.assert_live_equal(&reader.1, "after it");
        stall(&mut publisher);
    }
}

/// A subscriber of live books receives no change of a stalled one, and each book whole when it is live again.
#[test]
fn a_reader_of_live_books_receives_complete_books_after_a_stall() {
    let buses = Buses::new();
    let (mut publisher, mut market, ..) = begun(&buses);
    let join = Join {
        live_only: true,
        ..Join::default()
    };
    let (mut subscriber, mut reader) = (buses.join(join), reader());
    settle(&mut subscriber, &mut reader);
    publish_orders(&mut publisher, 0);
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "before");
    stall(&mut publisher);
    settle(&mut subscriber, &mut reader);
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    change_orders(&mut publisher, 0, 9, Validity::Live);
    settle(&mut subscriber, &mut reader);
    assert_eq!(reader.0.live_while_stalled, 0);
    state(&mut publisher, 0);
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "resumed");
    // A change of this book was not handed out; its slot contains the change.
    assert_eq!(reader.1.orders_validity(Instrument(0)), Validity::Live);
    assert_eq!(quantity_of(&reader.1, 0), 9);
}

/// A reader notes the numbers of its messages, the last of which may be several items.
#[derive(Default)]
struct Numbers {
    notified: Notified,
    mirror: Option<Mirror>,
    last: u64,
    missed: Vec<(u64, u64)>,
}

impl Numbers {
    fn take(&mut self, item: Item<'_>) {
        let mirror = self.mirror.get_or_insert_with(mirror);
        let number = match item {
            Item::Update(received) => {
                let envelope = Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
                    update: &received.update,
                };
                self.notified.update(&envelope);
                mirror.update(&envelope);
                (!received.is_image).then_some(received.sequence)
            }
            Item::Top { sequence, top, .. } => {
                self.notified.top(sequence, &top);
                (sequence > 0).then_some(sequence)
            }
            Item::SubscriptionEvent(event) => {
                self.notified.event(&event);
                mirror.event(&event);
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
            let root = buses.root();
            let mut publisher = Publisher::open(&root, "test", &settings).expect("nobody has it");
            let mut market = Market::new(seed, BOOKS);
            market.define(&mut publisher);
            state(&mut publisher, 0);
            let mut subscriber = buses.join(Join {
                registered,
                ..Join::default()
            });
            let mut reader = Numbers::default();
            while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
            for step in 0..2_000 {
                match market.random.below(100) {
                    0 => market.lose(&mut publisher),
                    1 => market.reset(&mut publisher),
                    2 => market.state_channel(&mut publisher),
                    3 => market.natural(&mut publisher),
                    4 => publish_orders(&mut publisher, step % BOOKS),
                    5..7 => stall(&mut publisher),
                    7..12 => state(&mut publisher, 0),
                    12..40 => (0..2).for_each(|_| {
                        subscriber.poll(|item| reader.take(item)).given();
                    }),
                    40..45 => {
                        subscriber.look_again();
                        while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
                    }
                    _ => market.event(&mut publisher),
                }
            }
            publisher.commit();
            state(&mut publisher, 0);
            subscriber.look_again();
            while subscriber.poll(|item| reader.take(item)) != Polled::Nothing {}
            let Numbers {
                notified,
                mirror,
                missed,
                ..
            } = &reader;
            let context = format!("SEED={seed} registered={registered}");
            let resumed = SubscriptionEvent::PublisherResumed;
            let turns = notified.events.iter().filter(|event| **event == resumed);
            assert!(turns.count() > 2, "{context}: {:?}", notified.events);
            assert_eq!(missed[..], [], "{context}");
            assert_eq!(notified.live_while_stalled, 0, "{context}");
            market.assert_live_equal(mirror.as_ref().expect("items"), &context);
        }
    }
}

#[test]
fn snapshots_and_overview_report_a_stalled_publisher() {
    let buses = Buses::new();
    let (mut publisher, ..) = begun(&buses);
    let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
    let mut validity = || images.book(Instrument(0)).expect("it has one").validity;
    assert_eq!(validity(), Validity::Live);
    stall(&mut publisher);
    assert_eq!(validity(), Validity::Stale, "without another look");
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.publisher.is_some() && overview.is_stalled() && !overview.is_live());
    state(&mut publisher, 7_000_000_000);
    assert_eq!(validity(), Validity::Live);
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.is_live());
    assert_eq!(
        overview.liveness.map(|liveness| liveness.age.as_secs()),
        Some(7)
    );
    drop(publisher);
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(!overview.is_live());
}

/// The statement of the last publisher does not apply to the next one, which may make none.
#[test]
fn a_publisher_without_activity_statements_is_never_stalled() {
    let buses = Buses::new();
    let (mut publisher, ..) = begun(&buses);
    let (mut subscriber, mut reader) = (buses.join(Join::default()), reader());
    settle(&mut subscriber, &mut reader);
    stall(&mut publisher);
    settle(&mut subscriber, &mut reader);
    drop(publisher);
    let mut publisher = buses.publisher();
    let mut market = Market::new(2, 3);
    market.define(&mut publisher);
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    settle(&mut subscriber, &mut reader);
    market.assert_equal(&reader.1, "after the restart");
    let overview = Overview::of(&buses.root(), "test").expect("the bus is there");
    assert!(overview.is_live() && overview.liveness.is_none());
}

/// A subscriber without messages checks ten times a second by itself.
#[test]
fn a_stall_is_detected_in_time() {
    let buses = Buses::new();
    let (mut publisher, _, mut subscriber, mut reader) = begun(&buses);
    stall(&mut publisher);
    let start = Instant::now();
    while reader.0.events.last() != Some(&SubscriptionEvent::PublisherStalled) {
        assert!(start.elapsed() < Duration::from_secs(20));
        subscriber
            .poll(|item| {
                if let Item::SubscriptionEvent(event) = item {
                    reader.0.event(&event);
                }
            })
            .given();
    }
}
