//! Order books from their tables: at once, of any size, beside a publisher at full speed, and their state if they
//! cannot be read.

use crate::orders::{OrderMarket, Orders, orders_of};
use crate::torn::Stamp;
use crate::world::{Buses, counts, definition, empty_ring, small};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use touchline_transport::shm::{Item, Join, Publisher, Settings};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe};
use touchline_types::{
    ChannelState, Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate,
    Price, Quantity, Side, Timestamps, Update, Validity,
};

const INSTRUMENT: Instrument = Instrument(0);

fn order(order_id: u64, row: u32) -> OrderChange {
    OrderChange {
        order_id,
        priority: order_id,
        price: Price(100 - (order_id % 7) as i64),
        quantity: Quantity(1 + order_id as i64),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow {
            index: row,
            number: order_id,
        },
    }
}

fn publish(publisher: &mut Publisher, update: &Update<'_>) {
    publisher.publish(update, &Timestamps::default());
}

fn publish_whole(publisher: &mut Publisher, instrument: Instrument, orders: &[OrderChange]) {
    let snapshot = OrdersSnapshot {
        instrument,
        validity: Validity::Live,
        orders,
    };
    publish(publisher, &Update::OrdersSnapshot(snapshot));
}

fn publish_change(publisher: &mut Publisher, instrument: Instrument, changes: &[OrderChange]) {
    let update = OrdersUpdate {
        instrument,
        validity: Validity::Live,
        changes,
    };
    publish(publisher, &Update::Orders(update));
}

/// Joins, and returns the first instrument's book.
fn joined(buses: &Buses, join: Join) -> (Validity, usize) {
    let reader = buses.settled(join);
    assert_eq!(reader.mirror.inconsistent_updates(), 0);
    (
        reader.mirror.orders_validity(INSTRUMENT),
        reader.mirror.orders().len_of(INSTRUMENT),
    )
}

/// More orders than a message may contain, best first, in one piece.
#[test]
fn a_late_joiner_has_a_book_of_a_hundred_thousand_orders_at_once() {
    const ORDERS: u64 = 100_000;
    let settings = Settings {
        orders_max: ORDERS as usize,
        ..small()
    };
    let buses = Buses::new();
    let mut publisher = buses.publisher_with(&settings);
    publish(&mut publisher, &Update::Definition(&definition(0)));
    let orders: Vec<_> = (0..ORDERS).map(|id| order(id, id as u32)).collect();
    for some in orders.chunks(100) {
        publish_change(&mut publisher, INSTRUMENT, some);
        publisher.commit();
    }
    assert_eq!(counts(&publisher).images_cut, 0);
    let mut subscriber = buses.join(Join::default());
    let mut seen = Vec::new();
    let start = Instant::now();
    while subscriber.is_joining() {
        assert!(start.elapsed() < Duration::from_secs(30));
        let _ = subscriber.poll(|item| {
            if let Item::Update(received) = item
                && let Update::OrdersSnapshot(snapshot) = received.update
            {
                assert!(received.is_image && seen.is_empty());
                assert_eq!(snapshot.validity, Validity::Live);
                seen.extend(
                    snapshot
                        .orders
                        .iter()
                        .map(|o| (-o.price.0, o.priority, o.order_id)),
                );
            }
        });
    }
    let mut expected: Vec<_> = orders
        .iter()
        .map(|o| (-o.price.0, o.priority, o.order_id))
        .collect();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

/// Content of each book after each of its messages.
type History = Mutex<HashMap<(u32, u64), Orders>>;

/// A reader that compares each received book with the publisher's after that message.
struct Judge<'a> {
    mirror: Mirror,
    history: &'a History,
    images: u64,
}

impl Subscribe for Judge<'_> {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.mirror.update(envelope);
        let instrument = match envelope.update {
            Update::Orders(update) if update.validity == Validity::Live => update.instrument,
            Update::OrdersSnapshot(snapshot) => {
                self.images += 1;
                snapshot.instrument
            }
            _ => return,
        };
        let held = orders_of(self.mirror.orders(), instrument);
        let history = self.history.lock().expect("nobody panicked");
        let was = history.get(&(instrument.0, envelope.sequence));
        assert_eq!(Some(&held), was, "{instrument:?} at {}", envelope.sequence);
        assert_eq!(self.mirror.inconsistent_updates(), 0);
    }

    fn event(&mut self, event: &touchline_transport::SubscriptionEvent) {
        self.mirror.event(event);
    }
}

/// A publisher without pauses, with books that are emptied and published whole occasionally; readers join repeatedly,
/// and follow for a while.
#[test]
fn a_joined_order_book_is_that_of_its_message() {
    for seed in touchline_lab::random::seeds(4) {
        println!("SEED={seed}");
        let buses = Buses::new();
        let settings = Settings {
            ring_bytes: 1 << 20,
            ..small()
        };
        let mut publisher = buses.publisher_with(&settings);
        let mut market = OrderMarket::begin(seed, &mut publisher);
        let history = History::default();
        market.reset(&mut publisher);
        (0..200).for_each(|_| change(&mut market, &mut publisher, &history));
        let is_over = AtomicBool::new(false);
        let images = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    change(&mut market, &mut publisher, &history);
                }
            });
            let _over = SetAtEnd(&is_over);
            let mut images = 0;
            for _ in 0..60 {
                let mut judge = Judge {
                    mirror: Mirror::new(64, 1 << 14),
                    history: &history,
                    images: 0,
                };
                let mut subscriber = buses.join(Join::default());
                while subscriber.is_joining() {
                    subscriber.drain(1_000, &mut judge);
                }
                subscriber.drain(500, &mut judge);
                images += judge.images;
            }
            images
        });
        assert!(images > 60, "SEED={seed}: {images} books were joined");
    }
}

/// Sets the flag on drop, also in a failed test: the test waits for the other thread, which ends at the flag.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A batch of the market, with the books after each of its messages, recorded before they can be read.
fn change(market: &mut OrderMarket, publisher: &mut Publisher, history: &History) {
    let before = counts(publisher).messages_published;
    if market.random.below(40) == 0 {
        market.refresh(INSTRUMENT, publisher);
        remember(market, history, INSTRUMENT, before + 1);
        publisher.commit();
        return;
    }
    market.change_telling(4, publisher, &mut |market, publisher, instrument| {
        let sequence = counts(publisher).messages_published;
        remember(market, history, instrument, sequence);
    });
}

fn remember(market: &OrderMarket, history: &History, instrument: Instrument, sequence: u64) {
    let mut history = history.lock().expect("nobody panicked");
    history.insert((instrument.0, sequence), market.orders(instrument));
}

/// On a bus without tables of order books a joiner is notified of each missing book, and receives it with the next
/// whole message.
#[test]
fn a_bus_without_images_of_order_books_has_them_in_its_messages() {
    let buses = Buses::new();
    let settings = Settings {
        orders_max: 0,
        ..small()
    };
    let mut publisher = buses.publisher_with(&settings);
    publish(&mut publisher, &Update::Definition(&definition(0)));
    publish_whole(&mut publisher, INSTRUMENT, &[order(1, 1), order(2, 2)]);
    publisher.commit();
    empty_ring(&mut publisher);
    let mut reader = buses.settled(Join::default());
    publish_change(&mut publisher, INSTRUMENT, &[order(3, 3)]);
    publisher.commit();
    reader.settle();
    assert_eq!(
        reader.mirror.orders_validity(INSTRUMENT),
        Validity::Recovering
    );
    publish_whole(
        &mut publisher,
        INSTRUMENT,
        &[order(1, 1), order(2, 2), order(3, 3)],
    );
    publisher.commit();
    reader.settle();
    assert_eq!(reader.mirror.orders_validity(INSTRUMENT), Validity::Live);
    assert_eq!(reader.mirror.orders().len_of(INSTRUMENT), 3);
    assert_eq!(counts(&publisher).images_cut, 0);
}

/// A book with an order beyond the rows has no snapshot: it is not live to a joiner, and is again when it is published
/// whole.
#[test]
fn a_book_with_an_order_without_a_row_is_not_live_to_joiners() {
    let buses = Buses::new();
    let settings = Settings {
        orders_max: 4,
        ..small()
    };
    let mut publisher = buses.publisher_with(&settings);
    publish(&mut publisher, &Update::Definition(&definition(0)));
    publish_whole(&mut publisher, INSTRUMENT, &[order(1, 0)]);
    publish_change(&mut publisher, INSTRUMENT, &[order(2, 4)]);
    publisher.commit();
    empty_ring(&mut publisher);
    assert_eq!(counts(&publisher).images_cut, 1);
    let mut reader = buses.settled(Join::default());
    publish_change(&mut publisher, INSTRUMENT, &[order(3, 3)]);
    publisher.commit();
    reader.settle();
    assert_eq!(
        reader.mirror.orders_validity(INSTRUMENT),
        Validity::Recovering
    );
    publish_whole(&mut publisher, INSTRUMENT, &[order(3, 3)]);
    publisher.commit();
    reader.settle();
    assert_eq!(reader.mirror.orders_validity(INSTRUMENT), Validity::Live);
    // The first order still has a row, from before its book was emptied.
    empty_ring(&mut publisher);
    assert_eq!(joined(&buses, Join::default()), (Validity::Live, 1));
}

/// A subscriber of live books was not handed a change; later messages are not applied to its old book.
#[test]
fn a_change_that_was_not_live_is_in_the_image_that_follows() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(0)));
    publish_whole(&mut publisher, INSTRUMENT, &[order(1, 0)]);
    publisher.commit();
    let join = Join {
        live_only: true,
        ..Join::default()
    };
    let mut reader = buses.settled(join);
    assert_eq!(reader.mirror.orders().len_of(INSTRUMENT), 1);
    let update = OrdersUpdate {
        instrument: INSTRUMENT,
        validity: Validity::Recovering,
        changes: &[order(2, 1)],
    };
    publish(&mut publisher, &Update::Orders(update));
    publisher.commit();
    reader.settle();
    assert_eq!(
        reader.mirror.orders_validity(INSTRUMENT),
        Validity::Recovering
    );
    publish_change(&mut publisher, INSTRUMENT, &[order(3, 2)]);
    publisher.commit();
    reader.settle();
    assert_eq!(reader.mirror.orders_validity(INSTRUMENT), Validity::Live);
    assert_eq!(reader.mirror.orders().len_of(INSTRUMENT), 3);
}

/// In one batch an order is removed and a new order takes its row; the removal is published after the new order.
#[test]
fn an_order_reuses_a_row_that_was_freed_in_the_same_batch() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    for index in 0..2 {
        publish(&mut publisher, &Update::Definition(&definition(index)));
        publish_whole(&mut publisher, Instrument(index), &[]);
    }
    publish_change(&mut publisher, Instrument(1), &[order(7, 0)]);
    publisher.commit();
    publish_change(&mut publisher, INSTRUMENT, &[order(8, 0)]);
    let gone = OrderChange {
        action: OrderAction::Delete,
        ..order(7, 0)
    };
    publish_change(&mut publisher, Instrument(1), &[gone]);
    publisher.commit();
    empty_ring(&mut publisher);
    assert_eq!(joined(&buses, Join::default()), (Validity::Live, 1));
}

/// A publisher that was stopped or died within a row, a book or a batch: no order book is reported live. When it
/// continues, the next message brings them.
#[test]
fn unreadable_order_books_are_not_live_and_arrive_with_the_next_message() {
    for (table, slot) in [("orders", 1), ("order_books", 0), ("images", 0)] {
        let buses = Buses::new();
        let mut publisher = buses.publisher();
        publish(&mut publisher, &Update::Definition(&definition(0)));
        publish(&mut publisher, &Update::Reset);
        publish_whole(&mut publisher, INSTRUMENT, &[order(1, 0), order(2, 1)]);
        publisher.commit();
        empty_ring(&mut publisher);
        let stamp = Stamp::of(&buses, table, slot);
        stamp.stop_in_a_change();
        let mut reader = buses.settled(Join::default());
        assert_ne!(
            reader.mirror.orders_validity(INSTRUMENT),
            Validity::Live,
            "{table}"
        );
        stamp.go_on();
        publish(&mut publisher, &Update::Channel(&ChannelState::LIVE));
        publish_change(&mut publisher, INSTRUMENT, &[order(3, 2)]);
        publisher.commit();
        reader.settle();
        assert_eq!(
            reader.mirror.orders_validity(INSTRUMENT),
            Validity::Live,
            "{table}"
        );
        assert_eq!(reader.mirror.orders().len_of(INSTRUMENT), 3);
        stamp.stop_in_a_change();
        drop(publisher);
        let (validity, _) = joined(&buses, Join::default());
        assert_ne!(validity, Validity::Live, "{table}, dead");
    }
}

/// The publisher is within a batch: rows may be from before or after it, so no order book is usable.
#[test]
fn order_books_of_an_interrupted_batch_are_not_read() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publish(&mut publisher, &Update::Definition(&definition(0)));
    publish_whole(&mut publisher, INSTRUMENT, &[order(1, 0)]);
    publisher.commit();
    publish_change(&mut publisher, INSTRUMENT, &[order(2, 1)]);
    let stopped = joined(&buses, Join::default());
    assert_eq!(stopped, (Validity::Recovering, 0));
    drop(publisher);
    assert_eq!(joined(&buses, Join::default()), (Validity::Stale, 0));
    let mut publisher = buses.publisher();
    publish_whole(&mut publisher, INSTRUMENT, &[order(1, 0)]);
    publisher.commit();
    assert_eq!(joined(&buses, Join::default()), (Validity::Live, 1));
}
