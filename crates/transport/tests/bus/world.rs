//! Buses in a temporary folder, a gateway that publishes a random market, and a reader that keeps its books.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use touchline_book::{PriceBook, PriceBooks};
use touchline_lab::random::Random;
use touchline_testing::{Folder, PATIENCE, until};
use touchline_transport::shm::{
    Activity, Join, Publisher, PublisherCounters, Root, Settings, Subscriber,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent, boot_ns};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Depth, Gap, Instrument, InstrumentDefinition,
    LevelEvent, Place, Price, Quantity, ReferenceData, Side, Symbol, Timestamps, Update,
    UpdateAction, Validity,
};

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
    }

    pub fn reset(&mut self) {
        self.market.reset(&mut self.publisher);
    }

    pub fn natural(&mut self) {
        self.market.natural(&mut self.publisher);
    }

    pub fn state_channel(&mut self) {
        self.market.state_channel(&mut self.publisher);
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

/// Random order books of several instruments, and their publications.
pub struct Market {
    pub random: Random,
    books: PriceBooks,
    validity: Vec<Validity>,
    channel: ChannelState,
    pub instruments: u32,
}

impl Market {
    pub fn new(seed: u64, instruments: u32) -> Market {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        Market {
            random: Random::from_seed(seed),
            books: PriceBooks::new(instruments as usize, depth, 0),
            validity: vec![Validity::Gapped; instruments as usize],
            channel: ChannelState::LIVE,
            instruments,
        }
    }

    /// Changes the validity of the channel; every other time it becomes live.
    pub fn state_channel(&mut self, out: &mut impl Publish) {
        let doubtful = [Validity::Gapped, Validity::Stale];
        let price = match self.random.below(2) {
            0 => Validity::Live,
            _ => doubtful[self.random.below(2) as usize],
        };
        self.channel = ChannelState {
            price,
            orders: price,
            sequence: self.random.below(1_000),
        };
        out.publish(&Update::Channel(&self.channel), &Timestamps::default());
        out.commit();
    }

    /// Last published state of the channel.
    pub fn channel(&self) -> &ChannelState {
        &self.channel
    }

    /// Published validity of a price book: the worse of its own and the channel's.
    fn seen(&self, instrument: Instrument) -> Validity {
        self.channel.price_of(self.validity[instrument.index()])
    }

    /// Defines every instrument.
    pub fn define(&mut self, out: &mut impl Publish) {
        for index in 0..self.instruments {
            let definition = definition(index);
            out.publish(&Update::Definition(&definition), &Timestamps::default());
        }
        out.commit();
    }

    /// One event: a few changes of one instrument's book.
    pub fn event(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let event = self.level(instrument);
            let _ = self.books.apply(&event, &mut changes);
        }
        self.validity[instrument.index()] = Validity::Live;
        let book = self.books.get(instrument).expect("it was changed");
        let update = BookUpdate {
            instrument,
            security_id: i64::from(instrument.0) + 1000,
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: book.levels(BookKind::Direct, Side::Bid).first().copied(),
            best_ask: book.levels(BookKind::Direct, Side::Ask).first().copied(),
        };
        out.publish(&Update::Book(update), &Timestamps::default());
        if self.random.below(2) == 0 {
            out.commit();
        }
    }

    fn level(&mut self, instrument: Instrument) -> LevelEvent {
        let actions = [
            UpdateAction::New,
            UpdateAction::New,
            UpdateAction::Change,
            UpdateAction::Delete,
        ];
        let book = if self.random.below(5) == 0 {
            BookKind::Implied
        } else {
            BookKind::Direct
        };
        let depth = if book == BookKind::Implied { 2 } else { 10 };
        LevelEvent {
            instrument,
            orders: self.random.below(9) as i32,
            price: Price(self.random.below(1_000) as i64),
            quantity: Quantity(self.random.below(100) as i64),
            place: Place::Position(1 + self.random.below(depth) as u8),
            action: actions[self.random.below(4) as usize],
            side: Side::BOTH[self.random.below(2) as usize],
            book,
        }
    }

    /// A loss on the channel: every live book is gapped until it is confirmed.
    pub fn lose(&mut self, out: &mut impl Publish) {
        let gap = Gap {
            first: 5,
            last: 6,
            orders: Validity::Recovering,
        };
        self.validity.fill(Validity::Gapped);
        out.publish(&Update::Gap(gap), &Timestamps::default());
        out.commit();
    }

    /// A reset of the channel: every book is empty and live.
    pub fn reset(&mut self, out: &mut impl Publish) {
        self.books.clear();
        self.validity.fill(Validity::Live);
        out.publish(&Update::Reset, &Timestamps::default());
        out.commit();
    }

    /// Natural refresh: the instrument's book is emptied and refilled from updates; the book is correct and incomplete.
    pub fn natural(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        self.books.get_mut(instrument).clear(&mut Vec::new());
        self.validity[instrument.index()] = Validity::Natural;
        let snapshot = BookSnapshot {
            instrument,
            validity: Validity::Natural,
            bids: &[],
            asks: &[],
            implied_bids: &[],
            implied_asks: &[],
        };
        out.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
        out.commit();
    }

    /// The whole book of an instrument, which is live.
    pub fn whole(&mut self, instrument: Instrument, out: &mut impl Publish) {
        self.validity[instrument.index()] = Validity::Live;
        let levels = |kind, side| {
            let book = self.books.get(instrument);
            book.map_or(Vec::new(), |book| {
                book.levels(kind, side).iter().copied().collect()
            })
        };
        let snapshot = BookSnapshot {
            instrument,
            validity: Validity::Live,
            bids: &levels(BookKind::Direct, Side::Bid),
            asks: &levels(BookKind::Direct, Side::Ask),
            implied_bids: &levels(BookKind::Implied, Side::Bid),
            implied_asks: &levels(BookKind::Implied, Side::Ask),
        };
        out.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
    }

    /// Every book and its validity equal those of the mirror, and the mirror missed no message.
    pub fn assert_equal(&self, mirror: &Mirror, context: &str) {
        assert_eq!(mirror.inconsistent_updates(), 0, "{context}");
        for instrument in (0..self.instruments).map(Instrument) {
            let validity = self.seen(instrument);
            assert_eq!(
                mirror.validity(instrument),
                validity,
                "{context}: {instrument:?}"
            );
            self.assert_one_equal(mirror, instrument, context);
        }
    }

    /// Live books equal those of the mirror, which has no other live book.
    pub fn assert_live_equal(&self, mirror: &Mirror, context: &str) {
        assert_eq!(mirror.inconsistent_updates(), 0, "{context}");
        for instrument in (0..self.instruments).map(Instrument) {
            let is_live = self.seen(instrument) == Validity::Live;
            let seen = mirror.validity(instrument);
            assert_eq!(
                seen == Validity::Live,
                is_live,
                "{context}: {instrument:?} is {seen:?}"
            );
            if is_live {
                self.assert_one_equal(mirror, instrument, context);
            }
        }
    }

    /// The mirror's live books equal the market's, and the mirror missed no message.
    pub fn assert_what_is_live(&self, mirror: &Mirror, context: &str) {
        assert_eq!(mirror.inconsistent_updates(), 0, "{context}");
        for instrument in (0..self.instruments).map(Instrument) {
            if mirror.validity(instrument) == Validity::Live {
                self.assert_one_equal(mirror, instrument, context);
            }
        }
    }

    /// One book equals that of the mirror.
    pub fn assert_one_equal(&self, mirror: &Mirror, instrument: Instrument, context: &str) {
        for kind in [BookKind::Direct, BookKind::Implied] {
            for side in Side::BOTH {
                let levels = |book: Option<&PriceBook>| {
                    book.map_or(Vec::new(), |book| {
                        book.levels(kind, side).iter().copied().collect()
                    })
                };
                let (ours, theirs) = (
                    levels(self.books.get(instrument)),
                    levels(mirror.book(instrument)),
                );
                assert_eq!(ours, theirs, "{context}: {instrument:?} {kind:?} {side:?}");
            }
        }
    }

    fn instrument(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(self.instruments)) as u32)
    }
}

/// A mirror kept by a subscriber.
pub fn mirror() -> Mirror {
    Mirror::new(64, 64)
}

pub fn definition(index: u32) -> InstrumentDefinition {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    InstrumentDefinition {
        symbol: Symbol::new(format!("SYM{index}").as_bytes()),
        defined: true,
        reference: ReferenceData::NULL,
        ..InstrumentDefinition::unknown(Instrument(index), i64::from(index) + 1000, depth)
    }
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
