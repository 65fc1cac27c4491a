//! Whole sessions over a relay whose link loses, doubles, delays and reorders batches: the books at B are the books at A.
//!
//! Sender and receiver have no clock: time is what the test says. A failure names its seed: `SEED=n` runs that seed alone.

use crate::sessions::path::{agrees, channel, settings};
use crate::sessions::seeds;
use touchline_feed::cme::Join;
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::capture::Arrival;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::random::Random;
use touchline_relay::link::ReceiveLink;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::{
    Cyclic, Epoch, HEAD_BYTES, Now, Receiver, ReceiverSettings, Sender, SenderSettings, Source,
    Taken,
};
use touchline_testing::Folder;
use touchline_transport::Mirror;
use touchline_transport::shm::{self, Kinds, Lock, Publisher, Root, Subscriber};
use touchline_types::{BookKind, Instrument, Level, Price, Quantity, Side};

/// Faults of the link, which affect batches.
#[derive(Clone, Copy, Debug)]
struct Faults {
    loss: f64,
    duplicates: f64,
    /// Longest delay of a batch, milliseconds: batches overtake each other.
    delay_ms_max: u64,
    /// Chance of a restart of either side, behind each packet.
    restarts: f64,
}

const CLEAN: Faults = Faults {
    loss: 0.0,
    duplicates: 0.0,
    delay_ms_max: 0,
    restarts: 0.0,
};

#[test]
fn without_faults_every_book_is_the_same_and_nothing_is_refreshed() {
    for seed in seeds(8) {
        let mut world = World::new("clean", seed, CLEAN, true);
        world.run();
        world.settle();
        let counters = *world.receiver.counters();
        assert_eq!(
            (
                counters.relay_gaps,
                counters.relay_withheld,
                counters.relay_malformed
            ),
            (0, 0, 0),
            "seed {seed}"
        );
        world.agrees();
    }
}

#[test]
fn with_loss_doubles_delays_and_restarts_every_book_is_the_same_in_the_end() {
    let (mut gaps, mut refreshes, mut restarts) = (0, 0, 0);
    for seed in seeds(24) {
        let faults = Faults {
            loss: [0.01, 0.05, 0.10][seed as usize % 3],
            duplicates: 0.03,
            delay_ms_max: seed % 4,
            restarts: if seed % 2 == 0 { 0.001 } else { 0.0 },
        };
        let mut world = World::new("faults", seed, faults, seed % 3 > 0);
        world.run();
        world.settle();
        world.agrees();
        let counters = world.receiver.counters();
        gaps += counters.relay_gaps;
        refreshes += counters.relay_refreshes_taken;
        restarts += counters.relay_restarts;
    }
    assert!(
        gaps > 0 && refreshes > 0 && restarts > 0,
        "{gaps} gaps, {refreshes} refreshes, {restarts} restarts: no test"
    );
    println!("{gaps} gaps, {refreshes} refreshes taken, {restarts} restarts");
}

/// A receiver that comes in the middle has everything within one round of refreshes, at a hundred moments; without a way
/// for requests it waits for the next round first.
#[test]
fn a_receiver_that_joins_in_the_middle_has_every_book() {
    for seed in seeds(4) {
        let mut world = World::new("joins", seed, CLEAN, false);
        let arrivals = std::mem::take(&mut world.arrivals);
        let mut moments: Vec<usize> = (0..25)
            .map(|_| world.random.index(arrivals.len()))
            .collect();
        moments.sort_unstable();
        for (place, arrival) in arrivals.iter().enumerate() {
            world.packet(arrival);
            if moments.contains(&place) {
                world.restart_receiver();
                world.loses_requests = place % 2 == 0;
                let rounds = 1 + u64::from(world.loses_requests);
                world.is_complete_within(rounds * CYCLIC.round_ns_max);
                world.settle();
                world.both_sides_agree();
            }
            world.step();
        }
        world.settle();
        world.agrees();
    }
}

/// The harness detects a wrong receiver: one that does not learn of a gap.
#[test]
#[should_panic(expected = "seed")]
fn a_receiver_that_does_not_see_a_loss_fails_the_comparison() {
    for seed in 0..8 {
        let mut world = World::new("broken", seed, CLEAN, false);
        world.forges_numbers = true;
        world.run();
        world.settle();
        world.agrees();
    }
}

pub type BusPath = CmePipeline<Publisher>;

const INSTRUMENTS_MAX: usize = 256;
const ORDERS_MAX: usize = 16_384;
pub const MS: u64 = 1_000_000;

/// A gateway with its bus, a sender, a link, a receiver with its bus, and a reader of that.
struct World {
    seed: u64,
    random: Random,
    faults: Faults,
    folder: Folder,
    path: BusPath,
    arrivals: Vec<Arrival>,
    reader_a: Subscriber,
    sender: Sender,
    link: MemoryLink,
    /// Batches on their way, with the time of their arrival.
    on_the_way: Vec<(u64, Vec<u8>)>,
    receiver: Receiver,
    bus_b: Option<Publisher>,
    now: Now,
    is_quiet: bool,
    /// Requests for a refresh do not reach the sender.
    loses_requests: bool,
    /// The link drops a batch and renumbers those behind it: a receiver that ignores numbers would see the same.
    forges_numbers: bool,
    forged: u64,
}

impl World {
    fn new(name: &str, seed: u64, faults: Faults, is_there_first: bool) -> World {
        let folder = Folder::new(&format!("{name}-{seed}"));
        let root = Root::at(&folder);
        let bus_a = Publisher::open(&root, "a", &bus_settings(4 * 1024 * 1024)).expect("a new bus");
        let reader_a = Subscriber::join(&root, "a", join()).expect("the bus is there");
        let mut world = World {
            seed,
            random: Random::from_seed(seed ^ 0x5E1A),
            faults,
            path: path(bus_a),
            arrivals: arrivals(seed),
            reader_a,
            sender: Sender::new(sender_settings(), Epoch::starting_at(1_000_000_000_000)),
            link: MemoryLink::default(),
            on_the_way: Vec::new(),
            receiver: Receiver::new(receiver_settings()),
            bus_b: Some(
                Publisher::open(&root, "b", &bus_settings(4 * 1024 * 1024)).expect("a new bus"),
            ),
            now: Now {
                mono_ns: 1_000 * MS,
                wall_ns: 1_000_000 * MS,
            },
            is_quiet: false,
            loses_requests: false,
            forges_numbers: false,
            forged: 0,
            folder,
        };
        if let Some(bus) = &mut world.bus_b {
            world.receiver.begin(bus);
        }
        if !is_there_first {
            // The first batches are gone before the receiver is there.
            world.faults.loss = 1.0;
            world.step();
            world.faults.loss = faults.loss;
        }
        world
    }

    fn run(&mut self) {
        for arrival in std::mem::take(&mut self.arrivals) {
            self.packet(&arrival);
            if self.random.chance(self.faults.restarts) {
                match self.random.below(3) {
                    0 => self.restart_receiver(),
                    1 => self.restart_sender(),
                    _ => self.restart_sender_late(),
                }
            }
            self.step();
        }
        self.path.finish();
    }

    fn packet(&mut self, arrival: &Arrival) {
        self.path
            .packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
    }

    /// Half a millisecond: the sender reads some of the bus, the link carries, the receiver takes.
    fn step(&mut self) {
        self.now.mono_ns += MS / 2;
        self.now.wall_ns += MS / 2;
        let (now, limit) = (self.now, self.random.below(64));
        let mut is_at_end = false;
        for _ in 0..limit {
            let (sender, link) = (&mut self.sender, &mut self.link);
            let polled = self.reader_a.poll(|item| sender.item(&item, now, link));
            if polled.given().is_none() {
                is_at_end = true;
                break;
            }
        }
        self.sender.flush(now, &mut self.link);
        self.sender.tick(now, &mut self.link);
        if is_at_end {
            self.sender.answer(now, &mut self.link);
        }
        self.carry();
        self.deliver();
    }

    fn carry(&mut self) {
        while let Some(mut batch) = self.link.batches.pop_front() {
            if self.forges_numbers && !self.forge(&mut batch) {
                continue;
            }
            if !self.is_quiet && self.random.chance(self.faults.loss) {
                continue;
            }
            let copies = 1 + usize::from(self.random.chance(self.faults.duplicates));
            for _ in 0..copies {
                let delay_ms = match self.is_quiet {
                    true => 0,
                    false => self.random.below(self.faults.delay_ms_max + 1),
                };
                self.on_the_way
                    .push((self.now.mono_ns + delay_ms * MS, batch.clone()));
            }
        }
    }

    /// Drops one batch with messages in twenty, and takes its numbers out of those behind it.
    fn forge(&mut self, batch: &mut [u8]) -> bool {
        let count = u64::from(u16::from_le_bytes([batch[28], batch[29]]));
        let is_refresh = batch[31] & 1 != 0;
        if !is_refresh && count > 0 && self.random.chance(0.05) {
            self.forged += count;
            return false;
        }
        let first: [u8; 8] = batch[20..28].try_into().expect("8 bytes");
        let first = u64::from_le_bytes(first) - self.forged;
        batch[20..28].copy_from_slice(&first.to_le_bytes());
        true
    }

    fn deliver(&mut self) {
        let bus = self
            .bus_b
            .as_mut()
            .expect("it is there between two batches");
        self.receiver.judge(self.now, bus);
        // By time of arrival: a message that was sent later may come first.
        self.on_the_way.sort_by_key(|(at, _)| *at);
        let due = self
            .on_the_way
            .partition_point(|(at, _)| *at <= self.now.mono_ns);
        for (_, batch) in self.on_the_way.drain(..due).collect::<Vec<_>>() {
            self.take(&batch);
        }
        let bus = self
            .bus_b
            .as_mut()
            .expect("it is there between two batches");
        if let Some(request) = self.receiver.tick(self.now, bus) {
            let mut bytes = [0; HEAD_BYTES];
            request.write(&mut bytes);
            self.link.requests += u32::from(!self.loses_requests);
        }
        if let Some(probe) = self.receiver.probe(self.now) {
            let mut bytes = [0; HEAD_BYTES];
            probe.write(&mut bytes);
            self.link.probe(&bytes);
        }
    }

    fn take(&mut self, batch: &[u8]) {
        for _ in 0..2 {
            let bus = self
                .bus_b
                .as_mut()
                .expect("it is there between two batches");
            match self.receiver.take(batch, self.now, 1, bus) {
                Taken::Done => return,
                Taken::Restart => {
                    self.bus_b = None;
                    let root = Root::at(&self.folder);
                    let bus = self.bus_b.insert(
                        Publisher::open(&root, "b", &bus_settings(4 * 1024 * 1024))
                            .expect("it was ours"),
                    );
                    self.receiver.restart(bus);
                }
                Taken::Malformed(bad) => panic!("seed {}: {bad}", self.seed),
            }
        }
        panic!("seed {}: restarted twice for one batch", self.seed);
    }

    /// The receiving relay starts again: on the same bus, without its former state.
    fn restart_receiver(&mut self) {
        self.bus_b = None;
        let root = Root::at(&self.folder);
        let mut bus =
            Publisher::open(&root, "b", &bus_settings(4 * 1024 * 1024)).expect("it was ours");
        let counters = *self.receiver.counters();
        self.receiver = Receiver::new(receiver_settings());
        *self.receiver.counters() = counters;
        self.receiver.begin(&mut bus);
        self.bus_b = Some(bus);
    }

    /// The sending relay starts again at once: another run of the same source.
    fn restart_sender(&mut self) {
        self.sender = Sender::new(sender_settings(), Epoch::starting_at(self.now.wall_ns));
        let root = Root::at(&self.folder);
        self.reader_a = Subscriber::join(&root, "a", join()).expect("the bus is there");
    }

    /// The same after the receiver has seen that the link is silent.
    fn restart_sender_late(&mut self) {
        // Messages on their way arrive first.
        for _ in 0..6 {
            self.now.mono_ns += 100 * MS;
            self.now.wall_ns += 100 * MS;
            self.deliver();
        }
        assert!(
            !self.receiver.is_up(),
            "seed {}: up after 500 ms of silence",
            self.seed
        );
        self.restart_sender();
    }

    /// Steps until nothing waits for a refresh, at most for this time.
    fn is_complete_within(&mut self, limit_ns: u64) {
        let end_ns = self.now.mono_ns + limit_ns;
        while !self.receiver.is_complete() {
            self.step();
            assert!(
                self.now.mono_ns <= end_ns,
                "seed {}: not complete after {limit_ns} ns",
                self.seed
            );
        }
    }

    /// Faults end: every sent message arrives, and missing state is refreshed.
    fn settle(&mut self) {
        self.is_quiet = true;
        for step in 0.. {
            self.step();
            let is_read = self.reader_a.lag_bytes() == 0 && self.on_the_way.is_empty();
            if step > 1_000 && is_read && self.receiver.is_complete() && self.receiver.is_up() {
                break;
            }
            assert!(
                step < 100_000,
                "seed {}: not complete after 50 s",
                self.seed
            );
        }
        self.is_quiet = false;
    }

    /// Checks that a reader that joins the bus at B now has the gateway's books.
    fn agrees(&mut self) {
        self.both_sides_agree();
        agrees(
            &self.path,
            &self.joined("b"),
            &format!("seed {}", self.seed),
        );
    }

    /// Checks that a reader that joins at B now has the same as one that joins at A, also in the middle of an event of the venue.
    fn both_sides_agree(&self) {
        let (a, b) = (self.joined("a"), self.joined("b"));
        assert_eq!(a.channel(), b.channel(), "seed {}", self.seed);
        for index in 0..INSTRUMENTS_MAX as u32 {
            let instrument = Instrument(index);
            let what = format!("seed {}: instrument {index}", self.seed);
            assert_eq!(book(&a, instrument), book(&b, instrument), "{what}");
            assert_eq!(orders(&a, instrument), orders(&b, instrument), "{what}");
            assert_eq!(a.validity(instrument), b.validity(instrument), "{what}");
            let orders_validity = |mirror: &Mirror| mirror.orders_validity(instrument);
            assert_eq!(orders_validity(&a), orders_validity(&b), "{what}");
        }
    }

    fn joined(&self, bus: &str) -> Mirror {
        let root = Root::at(&self.folder);
        let mut reader =
            Subscriber::join(&root, bus, shm::Join::default()).expect("the bus is there");
        let mut mirror = Mirror::new(INSTRUMENTS_MAX, ORDERS_MAX);
        while reader.drain(usize::MAX, &mut mirror) > 0 {}
        mirror
    }
}

pub fn book(mirror: &Mirror, instrument: Instrument) -> Vec<Vec<Level>> {
    let mut lists = Vec::new();
    for kind in [BookKind::Direct, BookKind::Implied] {
        for side in Side::BOTH {
            let levels = mirror
                .book(instrument)
                .map(|book| book.levels(kind, side).iter().copied().collect());
            lists.push(levels.unwrap_or_default());
        }
    }
    lists
}

pub fn orders(mirror: &Mirror, instrument: Instrument) -> Vec<(u64, Price, Quantity, u64)> {
    let mut all = Vec::new();
    for side in Side::BOTH {
        mirror.orders().visit(instrument, side, |order| {
            all.push((order.order_id, order.price, order.quantity, order.priority));
        });
    }
    all
}

pub fn join() -> shm::Join {
    shm::Join {
        last_values: true,
        undecoded: true,
        kinds: Kinds::BOOKS | Kinds::ORDERS | Kinds::TRADES | Kinds::STATISTICS | Kinds::STATUS,
        ..shm::Join::default()
    }
}

pub fn bus_settings(ring_bytes: u64) -> shm::Settings {
    shm::Settings {
        ring_bytes,
        instruments_max: INSTRUMENTS_MAX,
        orders_max: ORDERS_MAX,
        lock: Lock::No,
        ..shm::Settings::default()
    }
}

pub fn path(publisher: Publisher) -> BusPath {
    let settings = settings(Join::Snapshot);
    let limits = Limits {
        instruments_max: settings.instruments_max,
        orders_max: ORDERS_MAX,
        event_changes_max: 4096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    build(settings, limits, Symbols::default(), publisher)
}

fn sender_settings() -> SenderSettings {
    SenderSettings {
        source: Source::named("a").expect("a name"),
        hops: 0,
        instruments_max: INSTRUMENTS_MAX,
        orders_max: ORDERS_MAX,
        batch_bytes_max: 1_344,
        heartbeat_ns: 100 * MS,
        cyclic: Some(CYCLIC),
    }
}

/// Cyclic refreshes as by default.
const CYCLIC: Cyclic = Cyclic {
    share: 0.05,
    round_ns_max: 2_000 * MS,
};

pub fn receiver_settings() -> ReceiverSettings {
    ReceiverSettings {
        sources: Vec::new(),
        own: vec![Source::named("b").expect("a name")],
        instruments_max: INSTRUMENTS_MAX,
        orders_max: ORDERS_MAX,
        entries_max: 16_384,
        link_timeout_ns: 350 * MS,
        lag_ns_max: 500_000_000,
        request_delay_ns_max: 20 * MS,
    }
}

/// A session with every kind of recovery in it.
pub fn arrivals(seed: u64) -> Vec<Arrival> {
    let options = Options {
        events: 1200,
        ..Options::varied(seed)
    };
    let plan = FaultPlan::all_feeds([
        Fault::Drop { share: 0.03 },
        Fault::DropOnAllLines {
            share: 0.01,
            packets_max: 10,
        },
    ]);
    deliver(&generate(&options, seed), &plan, seed).arrivals
}
