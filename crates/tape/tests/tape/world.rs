//! A bus with a market, the recorder of a tape, and what readers of both have.

use std::path::{Path, PathBuf};
use std::process::Command;
use touchline_journal::format::kind;
use touchline_journal::{Journal, Options, Record, Verdict, WriterLock, verify};
use touchline_lab::market::values::{INSTRUMENTS, Market, seen};
use touchline_tape::{
    LastRun, Messages, Now, Publication, ReadOptions, Reader, Recorder, RecorderCounters, Settings,
    TapePlace, Taped,
};
use touchline_testing::{Folder, PATIENCE, until};
use touchline_transport::market::Item;
use touchline_transport::shm::{Activity, Join, Lock, Polled, Publisher, Root, Subscriber};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent, boot_ns};
use touchline_types::native::Message;
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, Price, Quantity, Side,
    Timestamps, Update, Validity,
};

pub const BUS: &str = "market";
/// A small segment, so that a test has several.
const SEGMENT_BYTES: u64 = 256 << 10;

/// Publisher and recorder, each while it runs.
pub struct World {
    folder: Folder,
    seed: u64,
    market: Market,
    pub segment_bytes: u64,
    pub publisher: Option<Publisher>,
    pub recorder: Option<Recording>,
    pub clock_ns: u64,
}

/// A recorder with its subscription.
pub struct Recording {
    pub recorder: Recorder,
    pub subscriber: Subscriber,
    bus: usize,
    /// Whether each message is handed over alone.
    pub is_flushed: bool,
    _lock: WriterLock,
}

/// What a reader of a tape has after it.
pub struct Played {
    pub books: Mirror,
    /// Numbers of the messages in order.
    pub sequences: Vec<u64>,
    /// Their receive times.
    pub received_ns: Vec<u64>,
    /// Whether each ends a batch.
    pub is_end: Vec<bool>,
    pub events: Vec<SubscriptionEvent>,
    pub lost: u64,
}

impl World {
    /// A publisher, and a recorder that has joined.
    pub fn recording(seed: u64) -> World {
        let mut world = World::new(seed);
        world.publish();
        world.record();
        world
    }

    pub fn new(seed: u64) -> World {
        println!("SEED={seed}");
        World {
            folder: Folder::in_memory("tape"),
            seed,
            market: Market::new(seed),
            segment_bytes: SEGMENT_BYTES,
            publisher: None,
            recorder: None,
            clock_ns: 1_700_000_000_000_000_000,
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The market, for another thread.
    pub fn market(&mut self) -> Market {
        std::mem::replace(&mut self.market, Market::new(0))
    }

    /// Only the first instruments, this many, change from now on.
    pub fn narrow(&mut self, instruments: u32) {
        self.market.narrow(instruments);
    }

    /// Events of the market, recorded after each hundred.
    pub fn record_hundreds(&mut self, count: usize) {
        for _ in 0..count {
            self.events(100);
            self.take_all();
        }
    }

    pub fn root(&self) -> Root {
        Root::at(&self.folder)
    }

    pub fn tape(&self) -> PathBuf {
        self.folder.join("tape")
    }

    pub fn publish(&mut self) {
        let settings = touchline_transport::shm::Settings {
            ring_bytes: 256 * 1024,
            instruments_max: 64,
            image_levels_max: 12,
            orders_max: 1_024,
            lock: Lock::No,
            ..touchline_transport::shm::Settings::default()
        };
        let mut publisher = Publisher::open(&self.root(), BUS, &settings).expect("a bus");
        publisher.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 3_600_000_000_000,
        });
        // Another publisher has other books.
        self.seed += 1_000;
        self.market = Market::new(self.seed);
        self.market.received_at(self.clock_ns);
        self.market.define(&mut publisher);
        self.publisher = Some(publisher);
    }

    /// Events of the market.
    pub fn events(&mut self, count: usize) {
        let publisher = self.publisher.as_mut().expect("it publishes");
        self.market.events(count, publisher);
    }

    /// Publishes a whole order book.
    pub fn whole_order_book(&mut self, round: u64) {
        let orders = whole_order_book(round);
        let update = Update::OrdersSnapshot(snapshot(&orders));
        let publisher = self.publisher.as_mut().expect("it publishes");
        publisher.publish(&update, &Timestamps::default());
        publisher.commit();
    }

    pub fn record(&mut self) {
        self.record_with(Settings::default());
    }

    pub fn record_with(&mut self, settings: Settings) {
        let (mut recorder, last, lock) = self.recorder_of_no_bus(settings);
        let now = self.now();
        let subscriber = Subscriber::join(&self.root(), BUS, join()).expect("the bus is there");
        let publication = Publication::read_by(&subscriber);
        let bus = recorder.add(publication, subscriber.next_sequence(), &last, now);
        self.recorder = Some(Recording {
            recorder,
            subscriber,
            bus,
            is_flushed: false,
            _lock: lock,
        });
        self.take_all();
    }

    /// A run whose bus does not exist.
    pub fn record_nothing(&mut self) {
        let (mut recorder, ..) = self.recorder_of_no_bus(Settings::default());
        let now = self.now();
        recorder.tick(now).expect("a journal");
        recorder.close(now, PATIENCE).expect("a journal");
    }

    fn recorder_of_no_bus(&mut self, settings: Settings) -> (Recorder, LastRun, WriterLock) {
        let (journal, last, lock) = self.opened();
        let now = self.now();
        let recorder = Recorder::new(journal, settings, &last, now);
        (recorder, last, lock)
    }

    /// A further segment with these records alone.
    pub fn segment_of(&mut self, records: &[(u16, u16, Vec<u8>)]) {
        let (mut journal, _, _lock) = self.opened();
        let time_ns = self.now().wall_ns;
        for (stream, kind, body) in records {
            let record = Record {
                stream: *stream,
                kind: *kind,
                time_ns,
                body,
            };
            journal.append(&record).expect("a journal");
        }
        journal.close(time_ns).expect("a journal");
    }

    /// What the runs have recorded.
    pub fn last_run(&mut self) -> LastRun {
        self.opened().1
    }

    /// The journal, and what the runs before have recorded.
    fn opened(&mut self) -> (Journal, LastRun, WriterLock) {
        let lock = WriterLock::acquire(self.root().create("recorder").expect("a folder"));
        let lock = lock.expect("no other recorder");
        let options = Options {
            segment_bytes: self.segment_bytes,
            ring_bytes: 1 << 20,
            ..Options::recording("tape")
        };
        let (tape, now) = (self.tape(), self.now());
        let journal = Journal::open(&tape, &lock, &options, now.wall_ns).expect("a journal");
        let last = LastRun::read(&tape).expect("a tape");
        (journal, last, lock)
    }

    /// Waits until the disk has all records.
    pub fn until_on_disk(&self) {
        if let Some(Recording { recorder, .. }) = &self.recorder {
            until("the disk has all", PATIENCE, || {
                let journal = recorder.journal().expect("it is open");
                journal.durable() == journal.position()
            });
        }
    }

    /// Copies the tape of the disk.
    pub fn copy_to(&mut self, copy: &Path) {
        self.until_on_disk();
        copy_directory(&self.tape(), copy);
    }

    /// The journal fails; disk and shared memory have lost the records behind the copy.
    pub fn lose_since(&mut self, copy: &Path) {
        let (tape, now) = (self.tape(), self.now());
        let mut recording = self.recorder.take().expect("it records");
        recording.recorder.leave_journal(now);
        // Its lock is given back with the ring.
        let Recording {
            mut recorder,
            subscriber,
            bus,
            is_flushed,
            _lock: lock,
        } = recording;
        drop(lock);
        std::fs::remove_dir_all(&tape).expect("our folder");
        copy_directory(copy, &tape);
        std::fs::remove_dir_all(self.folder.join("recorder")).expect("our folder");
        let (journal, last, lock) = self.opened();
        recorder.reopened(journal, &last, now);
        recorder.flush(now).expect("a journal");
        self.recorder = Some(Recording {
            recorder,
            subscriber,
            bus,
            is_flushed,
            _lock: lock,
        });
    }

    /// Another publisher starts while the journal is left and messages of the one before wait.
    pub fn restart_without_journal(&mut self) {
        while self.subscriber().lag().0 > 0 {
            self.take_some(1);
        }
        let now = self.now();
        self.recorder().leave_journal(now);
        self.publisher = None;
        self.publish();
        let recording = self.recorder.as_mut().expect("it records");
        let Recording {
            recorder,
            subscriber,
            bus,
            ..
        } = recording;
        let mut is_restarted = false;
        until("the restart", PATIENCE, || {
            subscriber.poll(|item| {
                let event = SubscriptionEvent::Restarted { generation: 2 };
                is_restarted |= matches!(item, Item::SubscriptionEvent(of) if of == event);
            });
            is_restarted
        });
        let restarted = recorder.restarted(*bus, subscriber, now);
        restarted.expect("records wait");
    }

    pub fn now(&mut self) -> Now {
        self.clock_ns += 1_000;
        Now {
            wall_ns: self.clock_ns,
            ticks: self.clock_ns / 2,
        }
    }

    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder.as_mut().expect("it records").recorder
    }

    pub fn subscriber(&mut self) -> &mut Subscriber {
        &mut self.recorder.as_mut().expect("it records").subscriber
    }

    /// Records an item that the bus does not have.
    pub fn item(&mut self, item: &Item<'_>) {
        let now = self.now();
        let recording = self.recorder.as_mut().expect("it records");
        let recorded = recording.recorder.item(recording.bus, item, now);
        recorded.expect("a journal");
    }

    /// Hands the open records over.
    pub fn flush(&mut self) {
        let now = self.now();
        self.recorder().flush(now).expect("a journal");
    }

    /// Numbers of the messages on the tape, without those of the recorder.
    pub fn recorded(&self) -> Vec<u64> {
        let mut sequences = Vec::new();
        touchline_journal::read(&self.tape(), false, |entry| {
            if entry.head.kind == kind::MESSAGES {
                let parsed =
                    Messages::of(entry.body).filter_map(|bytes| Message::parse(bytes).ok());
                sequences.extend(
                    parsed
                        .map(|message| message.sequence())
                        .filter(|of| *of > 0),
                );
            }
        })
        .expect("a tape");
        sequences
    }

    /// Records what the bus has.
    pub fn take_all(&mut self) {
        loop {
            let now = self.now();
            let recording = self.recorder.as_mut().expect("it records");
            if !recording.step(now) {
                break;
            }
        }
    }

    /// Records this number of items; the bus has more.
    pub fn take_some(&mut self, items: usize) {
        for _ in 0..items {
            let now = self.now();
            let recording = self.recorder.as_mut().expect("it records");
            assert!(recording.step(now), "the bus is idle");
        }
    }

    /// Ends the recorder.
    pub fn close(&mut self) -> RecorderCounters {
        self.take_all();
        let now = self.now();
        let recording = self.recorder.take().expect("it records");
        recording
            .recorder
            .close(now, PATIENCE)
            .expect("it was not failed")
    }

    /// Ends the recorder as a kill does: records that wait for the journal are gone.
    pub fn kill(&mut self) {
        self.recorder = None;
    }

    /// State of a reader that joins the bus now.
    pub fn joined(&self) -> Mirror {
        let mut reader = Subscriber::join(&self.root(), BUS, Join::default()).expect("the bus");
        let mut mirror = Mirror::new(64, 4_096);
        while reader.drain(usize::MAX, &mut mirror) > 0 {}
        mirror
    }

    pub fn segments(&self) -> u64 {
        let report = verify(&self.tape()).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
        let mut used = report.segments.iter().filter(|segment| segment.frames > 0);
        used.next_back().expect("a segment").index
    }

    /// Reads the tape from its first segment on.
    pub fn played(&self) -> Played {
        played(Reader::open(&self.tape(), Some(BUS)).expect("a tape"))
    }

    /// Reads the tape with these options.
    pub fn played_with(&self, from: Option<TapePlace>, to: Option<TapePlace>) -> Played {
        let options = ReadOptions {
            from,
            to,
            ..ReadOptions::default()
        };
        played(Reader::open_with(&self.tape(), options).expect("a tape"))
    }

    /// A reader that begins at this place.
    pub fn reader_from(&self, place: TapePlace) -> Reader {
        let options = ReadOptions {
            from: Some(place),
            ..ReadOptions::default()
        };
        Reader::open_with(&self.tape(), options).expect("a tape")
    }

    pub fn played_from(&self, segment: u64) -> Played {
        played(Reader::open_at(&self.tape(), None, segment).expect("a tape"))
    }
}

impl Recording {
    /// Records one item: false if there is none.
    fn step(&mut self, now: Now) -> bool {
        let Recording {
            recorder,
            subscriber,
            bus,
            is_flushed,
            ..
        } = self;
        if recorder.is_blocked() {
            std::thread::sleep(std::time::Duration::from_micros(50));
            recorder.flush(now).expect("a journal");
            return true;
        }
        let (mut is_restarted, mut is_caught_up) = (false, false);
        let polled = subscriber.poll(|item| {
            is_caught_up |= matches!(item, Item::SubscriptionEvent(SubscriptionEvent::CaughtUp));
            is_restarted |= matches!(
                item,
                Item::SubscriptionEvent(SubscriptionEvent::Restarted { .. })
            );
            recorder.item(*bus, &item, now).expect("a journal");
        });
        if is_restarted {
            recorder
                .restarted(*bus, subscriber, now)
                .expect("a journal");
        }
        // As the running recorder does now and then.
        if is_caught_up || subscriber.has_caught_up() {
            let next = subscriber.next_sequence();
            recorder.caught_up(*bus, next, now).expect("a journal");
        }
        // As its timer does, after any message.
        if polled == Polled::Nothing || *is_flushed {
            recorder.flush(now).expect("a journal");
        }
        polled != Polled::Nothing || recorder.is_blocked()
    }
}

fn copy_directory(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("the command").success());
}

fn join() -> Join {
    Join {
        last_values: true,
        undecoded: true,
        ..Join::default()
    }
}

pub fn played(mut reader: Reader) -> Played {
    let mut played = Played {
        books: Mirror::new(64, 4_096),
        sequences: Vec::new(),
        received_ns: Vec::new(),
        is_end: Vec::new(),
        events: Vec::new(),
        lost: 0,
    };
    loop {
        let taken = reader.poll(|item| match item {
            Item::Update(received) => {
                played.books.update(&Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
                    update: &received.update,
                });
                if !received.is_image {
                    played.sequences.push(received.sequence);
                    let received_ns = received.timestamps.packet.receive_ns;
                    played.received_ns.push(received_ns);
                    played.is_end.push(received.batch_end);
                }
            }
            Item::Top {
                sequence,
                timestamps,
                ..
            } => {
                played.sequences.push(sequence);
                played.received_ns.push(timestamps.packet.receive_ns);
                played.is_end.push(false);
            }
            Item::Undecoded(_) | Item::BatchEnd => {}
            Item::SubscriptionEvent(event) => {
                played.books.event(&event);
                played.events.push(event);
            }
        });
        match taken.expect("a tape") {
            Taped::Given(()) | Taped::Passed => {}
            Taped::Nothing | Taped::End => break,
        }
    }
    played.lost = reader.gaps().1;
    played
}

/// A whole order book, too long for one message.
pub fn whole_order_book(round: u64) -> Vec<OrderChange> {
    let order = |index: u32| OrderChange {
        order_id: round * 10_000 + u64::from(index) + 1,
        priority: u64::from(index),
        price: Price(i64::from(index % 50)),
        quantity: Quantity(1),
        side: Side::BOTH[(index % 2) as usize],
        action: OrderAction::New,
        row: OrderRow {
            index,
            number: round * 10_000 + u64::from(index) + 1,
        },
    };
    (0..1_000).map(order).collect()
}

pub fn snapshot(orders: &[OrderChange]) -> OrdersSnapshot<'_> {
    OrdersSnapshot {
        instrument: Instrument(3),
        validity: Validity::Live,
        orders,
    }
}

/// Books of two readers are equal.
#[track_caller]
pub fn assert_equal(one: &Mirror, other: &Mirror, context: &str) {
    for index in 0..INSTRUMENTS {
        let instrument = Instrument(index);
        assert_eq!(
            seen(one, instrument),
            seen(other, instrument),
            "{context}, instrument {index}"
        );
    }
}

/// Whether any book is live.
pub fn is_live(books: &Mirror) -> bool {
    (0..INSTRUMENTS).any(|index| books.validity(Instrument(index)) == Validity::Live)
}
