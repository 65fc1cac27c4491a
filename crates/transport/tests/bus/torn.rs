//! A publisher that died or was stopped during a change: no reader blocks, no poll waits, and no book is wrongly
//! reported live.

use crate::world::{Buses, Gateway, Reader, mirror, small};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchline_testing::{PATIENCE, until};
use touchline_transport::shm::{
    Images, Item, Join, Polled, Publisher, Settings, Subscriber, Unseen,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::{
    BookKind, BookSnapshot, Instrument, Level, Phase, Price, Quantity, Side, Timestamps, Update,
    Validity,
};

/// Slot of the channel's state; those of the books follow.
const CHANNEL: u64 = 0;
const FIRST_BOOK: u64 = 1;

/// The stamp of a slot, in the file of its table.
pub struct Stamp {
    file: File,
    at: u64,
}

impl Stamp {
    pub fn of(buses: &Buses, table: &str, slot: u64) -> Stamp {
        let path = buses.root().path().join("test").join(table);
        let file = File::options().read(true).write(true).open(path);
        let file = file.expect("our file");
        let content_words = word(&file, 2 * 8);
        let slot_words = (2 + content_words).next_multiple_of(8);
        let at = (512 + slot * slot_words) * 8;
        Stamp { file, at }
    }

    /// Imitates a writer that stops after its first store of a change.
    pub fn stop_in_a_change(&self) {
        let stamp = word(&self.file, self.at);
        assert_eq!(stamp % 2, 0, "nobody writes");
        self.store(stamp + 1);
    }

    /// Imitates that writer when it continues and ends the change.
    pub fn go_on(&self) {
        let stamp = word(&self.file, self.at);
        assert_eq!(stamp % 2, 1);
        self.store(stamp + 1);
    }

    fn store(&self, stamp: u64) {
        self.file
            .write_all_at(&stamp.to_le_bytes(), self.at)
            .expect("our file");
    }
}

fn word(file: &File, at: u64) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at).expect("a whole table");
    u64::from_le_bytes(bytes)
}

/// A letter for each item.
fn letter(item: &Item<'_>) -> char {
    match item {
        Item::Update(received) => match (&received.update, received.is_image) {
            (Update::Definition(_), true) => 'd',
            (Update::BookSnapshot(_), true) => 'b',
            (Update::State(state), true) => match state.validity {
                Validity::Stale => 's',
                Validity::Recovering => 'r',
                _ => '?',
            },
            _ => '.',
        },
        Item::SubscriptionEvent(SubscriptionEvent::PublisherGone) => 'G',
        Item::SubscriptionEvent(SubscriptionEvent::CaughtUp) => '!',
        Item::SubscriptionEvent(_) => '?',
        Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => '.',
    }
}

/// Polls until no more items arrive, and returns their letters.
fn polled(subscriber: &mut Subscriber, mirror: &mut Mirror) -> String {
    let mut told = String::new();
    while poll(subscriber, mirror, &mut told) {}
    told
}

fn poll(subscriber: &mut Subscriber, mirror: &mut Mirror, told: &mut String) -> bool {
    let polled = subscriber.poll(|item| {
        let letter = letter(&item);
        store(item, mirror);
        letter
    });
    told.extend(polled.given());
    polled != Polled::Nothing
}

fn store(item: Item<'_>, mirror: &mut Mirror) {
    match item {
        Item::Update(received) => mirror.update(&Envelope {
            sequence: received.sequence,
            timestamps: &received.timestamps,
            update: &received.update,
        }),
        Item::SubscriptionEvent(event) => mirror.event(&event),
        Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => {}
    }
}

/// Polls until joining is complete, which takes longer with a change in progress. No poll waits.
fn join_at_length(subscriber: &mut Subscriber, mirror: &mut Mirror) -> String {
    let mut told = String::new();
    until("the end of the join", PATIENCE, || {
        if !subscriber.is_joining() {
            return Ok(());
        }
        poll(subscriber, mirror, &mut told);
        Err(told.clone())
    });
    told + &polled(subscriber, mirror)
}

/// A bus with books of several instruments.
fn begun(instruments: u32) -> (Buses, Gateway) {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, instruments);
    gateway.reset();
    go_round(&mut gateway);
    (buses, gateway)
}

/// Publishes enough events that each instrument had one, and that the ring wrapped.
fn go_round(gateway: &mut Gateway) {
    gateway.events(2_000);
}

const LEVELS: i64 = 8_192;

fn publish_book(publisher: &mut Publisher, instrument: Instrument, levels: i64) {
    let levels: Vec<_> = (0..levels)
        .map(|away| Level {
            price: Price(-away),
            quantity: Quantity(1 + away),
            orders: 1,
            known: true,
        })
        .collect();
    let book = BookSnapshot {
        instrument,
        validity: Validity::Live,
        bids: &levels,
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    };
    publisher.publish(&Update::BookSnapshot(book), &Timestamps::default());
    publisher.commit();
}

/// The deepest books: a read finds the torn one at once, and a joining subscriber does not block in any poll.
#[test]
fn a_writer_killed_during_a_change_of_a_deep_book_blocks_no_reader() {
    let settings = Settings {
        ring_bytes: 1 << 20,
        image_levels_max: LEVELS as usize,
        ..small()
    };
    let buses = Buses::new();
    let mut gateway = buses.gateway_with(&settings, 1, 3);
    (0..3).for_each(|index| publish_book(&mut gateway.publisher, Instrument(index), LEVELS));
    gateway.empty_ring();
    Stamp::of(&buses, "images", FIRST_BOOK + 1).stop_in_a_change();
    drop(gateway);

    let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
    assert_eq!(images.book(Instrument(1)).err(), Some(Unseen::Torn));
    for whole in [0, 2].map(Instrument) {
        let book = images.book(whole).expect("it is whole");
        assert_eq!(book.validity, Validity::Stale);
        let levels = book.levels(BookKind::Direct, Side::Bid);
        assert_eq!(levels.len(), LEVELS as usize);
    }

    let (mut subscriber, mut mirror) = (buses.join(Join::default()), mirror());
    let told = polled(&mut subscriber, &mut mirror);
    assert!(told.starts_with("Gdbdsdb"), "{told}");
    assert_eq!(told.matches('G').count(), 1, "it ended once: {told}");
    assert!(told.ends_with('!'), "{told}");
    for index in 0..3 {
        assert_eq!(mirror.validity(Instrument(index)), Validity::Stale);
    }

    let mut gateway = buses.gateway_with(&settings, 1, 3);
    (0..3).for_each(|index| publish_book(&mut gateway.publisher, Instrument(index), LEVELS));
    while !polled(&mut subscriber, &mut mirror).is_empty() {}
    for index in 0..3 {
        assert_eq!(mirror.validity(Instrument(index)), Validity::Live);
        assert!(images.refresh().is_ok() && images.book(Instrument(index)).is_ok());
    }
    assert_eq!(mirror.inconsistent_updates(), 0);
}

/// The ring still has a whole book of the torn slot: it is handed out as stale.
#[test]
fn a_partly_written_book_is_stale_after_the_ring_is_read() {
    let (buses, mut gateway) = begun(2);
    gateway.natural();
    publish_book(&mut gateway.publisher, Instrument(0), 5);
    Stamp::of(&buses, "images", FIRST_BOOK).stop_in_a_change();
    drop(gateway);
    let (mut subscriber, mut mirror) = (buses.join(Join::default()), mirror());
    let told = polled(&mut subscriber, &mut mirror);
    assert!(told.starts_with("Gdsdb"), "{told}");
    let book = mirror.book(Instrument(0)).expect("it was in the ring");
    assert_eq!(
        book.best(Side::Bid).map(|level| level.price),
        Some(Price(0))
    );
    assert_eq!(mirror.validity(Instrument(0)), Validity::Stale, "{told}");
}

/// A change that ends is retried over several polls, and no state is lost: neither the channel's
/// state, nor a definition, nor a book.
#[test]
fn a_slot_that_is_being_changed_is_read_by_a_later_poll() {
    for (table, slot, before) in [
        ("images", CHANNEL, ""),
        ("definitions", 1, "db"),
        ("images", FIRST_BOOK + 1, "dbd"),
    ] {
        let (buses, gateway) = begun(3);
        let stamp = Stamp::of(&buses, table, slot);
        stamp.stop_in_a_change();
        let (mut subscriber, mut mirror) = (buses.join(Join::default()), mirror());
        let mut told = polled(&mut subscriber, &mut mirror);
        assert_eq!(told, before, "{table}, slot {slot}");
        assert!(subscriber.is_joining());
        stamp.go_on();
        told += &polled(&mut subscriber, &mut mirror);
        assert!(told.starts_with("dbdbdb") && told.ends_with('!'), "{told}");
        gateway.market.assert_equal(&mirror, table);
    }
}

/// A publisher stopped for longer delays one book, which arrives with its next change.
#[test]
fn a_book_of_a_stopped_publisher_arrives_with_its_next_change() {
    let (buses, mut gateway) = begun(3);
    let stamp = Stamp::of(&buses, "images", FIRST_BOOK + 1);
    stamp.stop_in_a_change();
    let (mut subscriber, mut mirror) = (buses.join(Join::default()), mirror());
    let told = join_at_length(&mut subscriber, &mut mirror);
    assert!(told.starts_with("dbdrdb") && told.ends_with('!'), "{told}");
    gateway
        .market
        .assert_one_equal(&mirror, Instrument(2), "the one behind it");
    assert_eq!(mirror.validity(Instrument(1)), Validity::Recovering);
    stamp.go_on();
    go_round(&mut gateway);
    while !polled(&mut subscriber, &mut mirror).is_empty() {}
    gateway
        .market
        .assert_equal(&mirror, "after the next change");
}

/// Without the last reset and the last loss no slot can be judged, so no book is taken from one; they are when the
/// message being written arrives.
#[test]
fn no_slot_is_used_while_the_state_of_the_channel_is_unknown() {
    for says in [Gateway::lose, Gateway::reset, say_download] {
        let (buses, mut gateway) = begun(3);
        gateway.empty_ring();
        let stamp = Stamp::of(&buses, "images", CHANNEL);
        stamp.stop_in_a_change();
        let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
        assert_eq!(images.book(Instrument(0)).err(), Some(Unseen::Torn));
        let (mut subscriber, mut mirror) = (buses.join(Join::default()), mirror());
        let told = join_at_length(&mut subscriber, &mut mirror);
        assert!(told.starts_with(".drdrdr") && !told.contains('b'), "{told}");
        stamp.go_on();
        says(&mut gateway);
        let told = polled(&mut subscriber, &mut mirror);
        assert!(told.contains("bbb"), "{told}");
        gateway.market.assert_equal(&mirror, "after the message");
        assert!(images.book(Instrument(0)).is_ok());
        go_round(&mut gateway);
        while !polled(&mut subscriber, &mut mirror).is_empty() {}
        gateway.market.assert_equal(&mirror, "in the end");
    }
}

fn say_download(gateway: &mut Gateway) {
    gateway.publish(&Update::Download(Phase::Ended));
}

/// After a loss without `resync`, each book is taken from its slot at its next change. If that slot has a change in
/// progress, it is taken at the following change.
#[test]
fn a_book_that_cannot_be_read_at_once_arrives_with_the_next_message() {
    let (buses, mut gateway) = begun(1);
    let join = Join {
        resync: false,
        ..Join::default()
    };
    let (mut subscriber, mut mirror) = (buses.join(join), mirror());
    polled(&mut subscriber, &mut mirror);
    go_round(&mut gateway);
    let stamp = Stamp::of(&buses, "images", FIRST_BOOK);
    stamp.stop_in_a_change();
    let told = polled(&mut subscriber, &mut mirror);
    assert!(!told.contains('b') && !subscriber.is_joining(), "{told}");
    assert_ne!(mirror.validity(Instrument(0)), Validity::Live);
    stamp.go_on();
    gateway.events(1);
    let told = polled(&mut subscriber, &mut mirror);
    assert!(told.contains('b'), "{told}");
    gateway.market.assert_equal(&mirror, "from its image");
}

/// A publisher without pauses: a reader that joins meanwhile and is overrun ends with its books, and every read is
/// consistent.
#[test]
fn readers_beside_a_publisher_at_full_speed_end_with_its_books() {
    let (buses, mut gateway) = begun(2);
    let is_over = AtomicBool::new(false);
    let mut readers = Vec::new();
    let mut looks = [0_u64; 2];
    let gateway = thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                (0..100).for_each(|_| gateway.event());
            }
            gateway.commit();
            gateway
        });
        let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
        for _ in 0..40 {
            let mut reader = Reader::new(buses.join(Join::default()));
            while reader.subscriber.is_joining() {
                reader.take(1_000);
            }
            readers.push(reader);
            for reader in &mut readers {
                reader.take(200);
            }
            for look in 0..500 {
                let is_seen = images.book(Instrument(look % 2)).is_ok();
                looks[usize::from(is_seen)] += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        publishing.join().expect("it publishes")
    });
    println!("{looks:?} looks in vain and not");
    assert!(looks[1] > looks[0], "hardly anything was seen");
    for reader in &mut readers {
        reader.drain();
        gateway.market.assert_equal(&reader.mirror, "in the end");
    }
}
