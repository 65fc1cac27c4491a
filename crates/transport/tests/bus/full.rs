//! A full file system: instruments without memory are refused, and return whole when there is memory again.

use crate::world::{Market, counts, definition, mirror, stall};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use touchline_testing::{Folder, with_role};
use touchline_transport::shm::{Activity, Join, Publisher, Root, Settings, Subscriber};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent, boot_ns};
use touchline_types::{
    BookKind, BookUpdate, Instrument, Level, LevelAction, LevelChange, OrderAction, OrderChange,
    OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity, Side, State, Timestamps, Update,
    Validity,
};

const INSTRUMENTS: u32 = 600;

/// Runs itself on a small file system, in a mount namespace.
#[test]
fn refused_books_return_whole_and_no_joiner_sees_a_part_of_one() {
    const TEST: &str = "full::refused_books_return_whole_and_no_joiner_sees_a_part_of_one";
    if let Some((_, folder)) = touchline_testing::role() {
        return on_a_small_file_system(&folder);
    }
    let folder = Folder::new("full");
    let place = folder.to_str().expect("a plain path");
    let mounted = format!("mount -t tmpfs -o size=4m,mode=700 tmpfs {place}");
    let probe = Command::new("unshare")
        .args(["-rm", "sh", "-c", &mounted])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("not run: this user cannot make a mount namespace");
        return;
    }
    let script = format!("{mounted} && exec \"$0\" \"$@\"");
    let before = ["unshare", "-rm", "sh", "-c", &script];
    let output = with_role(&before, TEST, "small", &folder).output();
    let output = output.expect("unshare");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{output:?}"
    );
}

fn on_a_small_file_system(folder: &Path) {
    for (name, events) in [("test", None), ("reset", Some(4_000)), ("quiet", Some(0))] {
        refused_and_admitted(folder, name, events);
    }
    order_books(folder);
}

/// Fills the file system.
fn fill(folder: &Path) -> PathBuf {
    let full = folder.join("full");
    let filled = std::io::copy(
        &mut std::io::repeat(1),
        &mut File::create(&full).expect("our folder"),
    );
    assert_eq!(
        filled.expect_err("it is small").kind(),
        ErrorKind::StorageFull
    );
    full
}

/// An order book without a slot is unknown, not empty, to a reader that joins: while the file system is full, after that, and until a
/// message has all of it. One with a slot has its orders.
fn order_books(folder: &Path) {
    const NONE: [u64; 0] = [];
    const KEPT: Instrument = Instrument(4_000);
    const REFUSED: Instrument = Instrument(4_999);
    const NEW: Instrument = Instrument(4_998);
    let root = Root::at(folder);
    let settings = Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 5_000,
        orders_max: 64,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, "orders", &settings).expect("there is room");
    let full = fill(folder);
    let mut follower = Reader::join(&root, "orders");
    follower.drain();
    order(KEPT, 1, &mut publisher);
    order(REFUSED, 2, &mut publisher);
    assert_eq!(follower.order_ids(REFUSED), [2]);
    assert!(counts(&publisher).images_refused > 0);
    lap(&mut publisher);
    let mut early = Reader::join(&root, "orders");
    early.drain();
    order(KEPT, 3, &mut publisher);
    order(REFUSED, 4, &mut publisher);
    assert_eq!(early.order_ids(KEPT), [1, 3]);
    assert_eq!(early.order_ids(REFUSED), NONE);

    std::fs::remove_file(full).expect("our file");
    std::thread::sleep(Duration::from_millis(1_050));
    publisher.check().expect("the bus is there");
    let mut late = Reader::join(&root, "orders");
    assert_eq!(late.order_ids(REFUSED), NONE);
    assert_eq!(late.drain().orders_validity(REFUSED), Validity::Recovering);
    order(REFUSED, 5, &mut publisher);
    order(NEW, 6, &mut publisher);
    for (reader, new) in [(&mut early, vec![]), (&mut late, vec![6])] {
        assert_eq!(reader.order_ids(REFUSED), NONE);
        assert_eq!(reader.order_ids(NEW), new);
    }
    assert_eq!(Reader::join(&root, "orders").order_ids(REFUSED), NONE);

    let changes = [2, 4, 5].map(new_order);
    let whole = OrdersSnapshot {
        instrument: REFUSED,
        validity: Validity::Live,
        orders: &changes,
    };
    publisher.publish(&Update::OrdersSnapshot(whole), &Timestamps::default());
    publisher.commit();
    for mut reader in [early, late, Reader::join(&root, "orders")] {
        assert_eq!(reader.order_ids(REFUSED), [2, 4, 5]);
        assert_eq!(reader.drain().orders_validity(REFUSED), Validity::Live);
    }
}

/// Publishes until every earlier message of the ring is overwritten.
fn lap(publisher: &mut Publisher) {
    let state = Update::State(State {
        instrument: Instrument(0),
        validity: Validity::Live,
    });
    (0..2_000).for_each(|_| publisher.publish(&state, &Timestamps::default()));
    publisher.commit();
}

fn new_order(order_id: u64) -> OrderChange {
    OrderChange {
        order_id,
        priority: order_id,
        price: Price(5),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow {
            index: order_id as u32,
            number: order_id,
        },
    }
}

fn order(instrument: Instrument, order_id: u64, publisher: &mut Publisher) {
    let update = OrdersUpdate {
        instrument,
        validity: Validity::Live,
        changes: &[new_order(order_id)],
    };
    publisher.publish(&Update::Orders(update), &Timestamps::default());
    publisher.commit();
}

/// Books are refused while the file system is full. With `events` the venue resets the channel then, and that many follow.
fn refused_and_admitted(folder: &Path, name: &str, events: Option<u32>) {
    let root = Root::at(folder);
    let settings = Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 1_000,
        image_levels_max: 12,
        orders_max: 0,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, name, &settings).expect("there is room");
    let full = fill(folder);
    let mut market = Market::new(1, INSTRUMENTS);
    market.define(&mut publisher);
    (0..6_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let refused = counts(&publisher).images_refused;
    assert!(refused > 2_000, "{refused}");
    let mut late = Reader::join(&root, name);
    late.drain();
    for _ in 0..200 {
        market.event(&mut publisher);
    }
    publisher.commit();
    market.assert_what_is_live(late.drain(), "full");
    let definitions = Reader::join(&root, name).definitions();
    assert!(
        (1..INSTRUMENTS).contains(&definitions),
        "{definitions} definitions"
    );
    if let Some(events) = events {
        let live = Join {
            live_only: true,
            ..Join::default()
        };
        let mut live = Reader::with(&root, name, live);
        after_a_reset(&mut market, &mut publisher, (&mut late, &mut live), events);
    }

    std::fs::remove_file(full).expect("our file");
    std::thread::sleep(Duration::from_millis(1_050));
    publisher.check().expect("the bus is there");
    let refused = counts(&publisher).images_refused;
    // Slots of all came in between, and say that they have missed updates.
    let mut early = Reader::join(&root, name);
    let instruments = INSTRUMENTS + u32::from(events == Some(0));
    assert_eq!(early.definitions(), instruments);
    // Few for each instrument: a book of its first updates alone would look right.
    (0..INSTRUMENTS).for_each(|_| {
        market.event(&mut publisher);
        publisher.commit();
        early.drain();
    });
    market.assert_what_is_live(early.drain(), "joined before the first updates");
    assert_eq!(counts(&publisher).images_refused, refused);
    assert!(counts(&publisher).images_cut > 0);
    let mut reader = Reader::join(&root, name);
    market.assert_what_is_live(reader.drain(), "after the first updates");
    assert_eq!(reader.definitions(), instruments);

    (0..INSTRUMENTS).for_each(|index| market.whole(Instrument(index), &mut publisher));
    publisher.commit();
    let mut reader = Reader::join(&root, name);
    for (mirror, context) in [(reader.drain(), "whole"), (early.drain(), "early")] {
        market.assert_equal(mirror, context);
    }
    std::fs::remove_dir_all(folder.join(name)).expect("our bus");
}

/// Every reader has the empty books. A reader that loses later messages has no live book of those without a slot; one that learns of a
/// new instrument after a stall has all of its book, unless it reads live books alone, and has read the tables since.
fn after_a_reset(
    market: &mut Market,
    publisher: &mut Publisher,
    (late, live): (&mut Reader, &mut Reader),
    events: u32,
) {
    live.drain();
    market.reset(publisher);
    publisher.commit();
    late.drain();
    live.drain();
    (0..events).for_each(|_| market.event(publisher));
    publisher.commit();
    for _ in 0..events.min(INSTRUMENTS) {
        late.drain();
        market.event(publisher);
        publisher.commit();
    }
    market.assert_what_is_live(late.drain(), "overrun");
    if events > 0 {
        return;
    }
    stall(publisher);
    late.drain();
    live.drain();
    publisher.state_activity(Activity {
        at_ns: boot_ns(),
        timeout_ns: 3_600_000_000_000,
    });
    late.drain();
    live.drain();
    let new = Instrument(INSTRUMENTS);
    let change = LevelChange {
        level: Level {
            price: Price(5),
            quantity: Quantity(1),
            orders: 1,
            known: true,
        },
        book: BookKind::Direct,
        side: Side::Bid,
        action: LevelAction::Insert,
        index: 0,
    };
    let update = Update::Book(BookUpdate {
        instrument: new,
        security_id: 0,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes: &[change],
        best_bid: None,
        best_ask: None,
    });
    publisher.publish(
        &Update::Definition(&definition(new.0)),
        &Timestamps::default(),
    );
    publisher.publish(&update, &Timestamps::default());
    publisher.commit();
    assert_eq!(live.drain().validity(new), Validity::Recovering);
    let books = late.drain();
    assert_eq!(books.validity(new), Validity::Live);
    let book = books.book(new).expect("it was changed");
    let bids = book.levels(BookKind::Direct, Side::Bid);
    assert_eq!(bids.first(), Some(&change.level));
}

/// A subscriber, its books, and the number of its definitions.
struct Reader {
    subscriber: Subscriber,
    books: Mirror,
    definitions: u32,
}

impl Reader {
    fn join(root: &Root, bus: &str) -> Reader {
        Reader::with(root, bus, Join::default())
    }

    fn with(root: &Root, bus: &str, join: Join) -> Reader {
        Reader {
            subscriber: Subscriber::join(root, bus, join).expect("the bus is there"),
            books: mirror(),
            definitions: 0,
        }
    }

    /// Its books after all that there is.
    fn drain(&mut self) -> &Mirror {
        self.subscriber.look_again();
        let mut both = Both(&mut self.books, &mut self.definitions);
        while self.subscriber.drain(usize::MAX, &mut both) > 0 {}
        &self.books
    }

    fn order_ids(&mut self, instrument: Instrument) -> Vec<u64> {
        let mut orders = Vec::new();
        self.drain().orders().gather(instrument, &mut orders);
        orders.iter().map(|order| order.order_id).collect()
    }

    fn definitions(&mut self) -> u32 {
        self.drain();
        self.definitions
    }
}

/// Keeps books and counts definitions.
struct Both<'a>(&'a mut Mirror, &'a mut u32);

impl Subscribe for Both<'_> {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.0.update(envelope);
        *self.1 += u32::from(matches!(envelope.update, Update::Definition(_)));
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        assert_ne!(*event, SubscriptionEvent::Damaged);
        self.0.event(event);
    }
}

/// New orders of one instrument may need more room than all books have: that book alone is lost, until it arrives as a whole.
#[test]
fn a_mirror_without_room_for_an_order_has_no_live_book_without_it() {
    let [full, other] = [Instrument(0), Instrument(1)];
    let mut mirror = Mirror::new(2, 3);
    let mut take = |update: Update<'_>| {
        mirror.update(&Envelope {
            sequence: 1,
            timestamps: &Timestamps::default(),
            update: &update,
        });
        let of = |instrument| {
            (
                mirror.orders_validity(instrument),
                mirror.orders().len_of(instrument),
            )
        };
        (of(full), of(other))
    };
    let [live, lost] = [Validity::Live, Validity::Recovering];
    take(whole(full, &[new_order(1)]));
    let fits = take(whole(other, &[new_order(2)]));
    assert_eq!(fits, ((live, 1), (live, 1)));
    let overflow = take(changes(full, &[new_order(3), new_order(4), new_order(5)]));
    assert_eq!(overflow, ((lost, 0), (live, 1)));
    let after = take(changes(full, &[new_order(6)]));
    assert_eq!(
        after,
        ((lost, 0), (live, 1)),
        "room alone does not bring the book back"
    );
    let again = take(whole(full, &[new_order(3), new_order(6)]));
    assert_eq!(again, ((live, 2), (live, 1)));
    let deep = [3, 4, 5, 6].map(new_order);
    assert_eq!(take(whole(full, &deep)), ((lost, 0), (live, 1)));
    assert_eq!(take(Update::Reset), ((live, 0), (live, 0)));
    let empty = take(changes(full, &[new_order(7)]));
    assert_eq!(
        empty,
        ((live, 1), (live, 0)),
        "all books begin empty behind a reset"
    );
    assert_eq!(mirror.inconsistent_updates(), 2);
}

fn whole(instrument: Instrument, orders: &[OrderChange]) -> Update<'_> {
    Update::OrdersSnapshot(OrdersSnapshot {
        instrument,
        validity: Validity::Live,
        orders,
    })
}

fn changes(instrument: Instrument, changes: &[OrderChange]) -> Update<'_> {
    Update::Orders(OrdersUpdate {
        instrument,
        validity: Validity::Live,
        changes,
    })
}
