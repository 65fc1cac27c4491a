//! Buses in a temporary folder, a gateway that publishes a random market, and a reader that keeps its books.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
pub use touchline_lab::market::{Market, definition};
use touchline_lab::random::Random;
use touchline_testing::{Folder, PATIENCE, until};
use touchline_transport::shm::{
    Activity, Join, Publisher, PublisherCounters, Root, Settings, Subscriber,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent, boot_ns};
use touchline_types::native::TopOfBook;
use touchline_types::{Instrument, Timestamps, Update, Validity};

/// A folder with buses; the one of most tests is `test`.
pub struct Buses(Folder);

impl Buses {
    pub fn new() -> Buses {
        // The rights of the directory of buses keep other users out.
        Buses(Folder::new("bus").for_every_user())
    }

    /// Directory of the buses, which the first publisher makes.
    pub fn root(&self) -> Root {
        Root::at(self.0.join("buses"))
    }

    /// Path of a file of bus `test`.
    pub fn path(&self, file: &str) -> PathBuf {
        self.root().path().join("test").join(file)
    }

    /// Overwrites a file of a bus with zeros or noise, sometimes with its control words.
    pub fn overwrite(&self, file: &str, random: &mut Random, is_zero: bool) {
        use std::os::unix::fs::FileExt;
        let path = self.root().path().join(file);
        let file = std::fs::File::options().write(true).open(path);
        let file = file.expect("our file");
        let length = file.metadata().expect("our file").len();
        // The words of the layout come first: a file of another layout is another error.
        let begin = if random.chance(0.5) { 4_096 } else { 64 };
        let mut noise = vec![0_u8; (length - begin) as usize];
        if !is_zero {
            noise.fill_with(|| random.below(256) as u8);
        }
        file.write_all_at(&noise, begin).expect("our file");
    }

    /// Makes the bus and its tops those of a publisher of another schema.
    pub fn make_older(&self, schema: u8) {
        let path = self.path("ring");
        let mut ring = std::fs::read(&path).expect("our file");
        // The word of the format, and the headers of tops.
        ring[4 * 8] = schema;
        let top = [64, 0, 22, 0, b'T', b'L', 3, 0];
        for at in 0..ring.len() - top.len() {
            if ring[at..at + top.len()] == top {
                ring[at + 6] = schema;
            }
        }
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::options().write(true).open(path);
        let file = file.expect("our file");
        file.write_all_at(&ring, 0).expect("our file");
    }

    pub fn publisher(&self) -> Publisher {
        self.publisher_with(&small())
    }

    pub fn publisher_with(&self, settings: &Settings) -> Publisher {
        Publisher::open(&self.root(), "test", settings).expect("no other process writes it")
    }

    /// A gateway that has defined its instruments.
    pub fn gateway(&self, seed: u64, instruments: u32) -> Gateway {
        self.gateway_with(&small(), seed, instruments)
    }

    pub fn gateway_with(&self, settings: &Settings, seed: u64, instruments: u32) -> Gateway {
        Gateway::begin(
            self.publisher_with(settings),
            Market::new(seed, instruments),
        )
    }

    /// A gateway that continues the market of another one.
    pub fn next_gateway(&self, market: Market) -> Gateway {
        Gateway::begin(self.publisher(), market)
    }

    /// A reader that has all there is.
    pub fn reader(&self) -> Reader {
        self.reader_with(Join::default())
    }

    /// [`Buses::reader`] where a change in progress delays the join.
    pub fn settled(&self, join: Join) -> Reader {
        let mut reader = Reader::new(self.join(join));
        reader.settle();
        reader
    }

    pub fn reader_with(&self, join: Join) -> Reader {
        let mut reader = Reader::new(self.join(join));
        reader.drain();
        reader
    }

    pub fn join(&self, join: Join) -> Subscriber {
        Subscriber::join(&self.root(), "test", join).expect("the bus is there")
    }
}

/// A publisher of bus `test` with its market.
pub struct Gateway {
    pub publisher: Publisher,
    pub market: Market,
}

impl Gateway {
    fn begin(mut publisher: Publisher, mut market: Market) -> Gateway {
        market.define(&mut publisher);
        Gateway { publisher, market }
    }

    /// Publishes this number of events.
    pub fn events(&mut self, count: u64) {
        (0..count).for_each(|_| self.event());
        self.commit();
    }

    /// One event, which may stay in an open batch.
    pub fn event(&mut self) {
        self.market.event(&mut self.publisher);
    }

    pub fn commit(&mut self) {
        self.publisher.commit();
    }

    /// Ends the publisher, and returns the market that it published, for comparisons.
    pub fn end(self) -> Market {
        self.market
    }

    /// Publishes an update in a batch of its own.
    pub fn publish(&mut self, update: &Update<'_>) {
        self.publisher.publish(update, &Timestamps::default());
        self.commit();
    }

    pub fn lose(&mut self) {
        self.market.lose(&mut self.publisher);
        self.commit();
    }

    pub fn reset(&mut self) {
        self.market.reset(&mut self.publisher);
        self.commit();
    }

    pub fn natural(&mut self) {
        self.market.natural(&mut self.publisher);
        self.commit();
    }

    pub fn state_channel(&mut self) {
        self.market.state_channel(&mut self.publisher);
        self.commit();
    }

    /// The publisher states its activity, and is not stalled.
    pub fn state(&mut self) {
        state(&mut self.publisher, 0);
    }

    pub fn stall(&mut self) {
        stall(&mut self.publisher);
    }

    pub fn counts(&self) -> PublisherCounters {
        counts(&self.publisher)
    }

    /// From here on only the tables have the books: a join point is after every message of them.
    pub fn empty_ring(&mut self) {
        empty_ring(&mut self.publisher);
    }
}

/// State of a subscriber: its books and its events. No book may be live while the publisher is stalled.
pub struct Seen {
    pub mirror: Mirror,
    pub events: Vec<SubscriptionEvent>,
    is_stalled: bool,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen {
            mirror: mirror(),
            events: Vec::new(),
            is_stalled: false,
        }
    }
}

impl Subscribe for Seen {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.mirror.update(envelope);
        let validity = match envelope.update {
            Update::Book(update) => update.validity,
            Update::BookSnapshot(snapshot) => snapshot.validity,
            Update::Orders(update) => update.validity,
            Update::OrdersSnapshot(snapshot) => snapshot.validity,
            Update::State(state) => state.validity,
            _ => return,
        };
        let is_live = validity == Validity::Live;
        assert!(!(self.is_stalled && is_live), "{:?}", envelope.update);
    }

    fn top(&mut self, sequence: u64, top: &TopOfBook) {
        self.mirror.top(sequence, top);
        let is_live = top.validity == Validity::Live;
        assert!(!(self.is_stalled && is_live), "{top:?}");
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.mirror.event(event);
        self.is_stalled |= *event == SubscriptionEvent::PublisherStalled;
        self.is_stalled &= !matches!(
            event,
            SubscriptionEvent::PublisherResumed | SubscriptionEvent::Restarted { .. }
        );
        self.events.push(*event);
    }
}

/// A subscriber and what it has.
pub struct Reader {
    pub subscriber: Subscriber,
    pub seen: Seen,
}

impl Deref for Reader {
    type Target = Seen;

    fn deref(&self) -> &Seen {
        &self.seen
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Seen {
        &mut self.seen
    }
}

impl Reader {
    pub fn new(subscriber: Subscriber) -> Reader {
        Reader {
            subscriber,
            seen: Seen::default(),
        }
    }

    /// Reads at most this number of items, and returns the number of items that were read.
    pub fn take(&mut self, items: usize) -> usize {
        self.subscriber.drain(items, &mut self.seen)
    }

    /// Reads all there is.
    pub fn drain(&mut self) {
        while self.take(usize::MAX) > 0 {}
    }

    /// Reads all there is, also where a change in progress delays the join.
    pub fn settle(&mut self) {
        until("the end of the join", PATIENCE, || {
            self.drain();
            !self.subscriber.is_joining()
        });
    }

    /// Checks the publisher, and reads all there is.
    pub fn look(&mut self) {
        self.subscriber.look_again();
        self.drain();
    }

    /// Reads until it has this event.
    #[track_caller]
    pub fn wait_for(&mut self, event: SubscriptionEvent) {
        until(&format!("{event:?}"), PATIENCE, || {
            self.take(1_000);
            match self.events.contains(&event) {
                true => Ok(()),
                false => Err(self.events.clone()),
            }
        });
    }

    pub fn count(&self, event: SubscriptionEvent) -> usize {
        self.events.iter().filter(|told| **told == event).count()
    }

    /// Validity of a price book.
    pub fn validity(&self, instrument: u32) -> Validity {
        self.mirror.validity(Instrument(instrument))
    }
}

/// Fills the ring with heartbeats.
pub fn empty_ring(publisher: &mut Publisher) {
    (0..5_000).for_each(|_| publisher.heartbeat(&Timestamps::default()));
}

/// Small enough that rings wrap many times in a test.
pub fn small() -> Settings {
    Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        ..Settings::default()
    }
}

/// A mirror kept by a subscriber.
pub fn mirror() -> Mirror {
    Mirror::new(64, 64)
}

pub fn counts(publisher: &Publisher) -> PublisherCounters {
    *publisher.counters()
}

const TIMEOUT_NS: u64 = 3_600_000_000_000;

/// States the publisher's activity, with this age.
pub fn state(publisher: &mut Publisher, ago_ns: u64) {
    publisher.state_activity(Activity {
        at_ns: boot_ns() - ago_ns,
        timeout_ns: TIMEOUT_NS,
    });
}

pub fn stall(publisher: &mut Publisher) {
    // A timeout that is over at once; the host has been up for longer than that.
    publisher.state_activity(Activity {
        at_ns: boot_ns() - 2,
        timeout_ns: 1,
    });
}
