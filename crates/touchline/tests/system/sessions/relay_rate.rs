//! Whole sessions over a line whose rate is below the market's: no book at B is live that is older than the limit, and none that A
//! never had.
//!
//! The line is a token bucket in simulated time with a queue without any limit, as the buffers of a network are. Sender and receiver have
//! no common clock: their times differ by an hour. A failure names its seed: `SEED=n` runs that seed alone.

use crate::sessions::path::channel;
use crate::sessions::relay::{
    BusPath, MS, arrivals, book, bus_settings, join, path, receiver_settings,
};
use crate::sessions::seeds;
use std::collections::VecDeque;
use touchline_lab::capture::Arrival;
use touchline_lab::random::Random;
use touchline_relay::link::flow::Flow;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::link::{ReceiveLink, SendLink};
use touchline_relay::{
    Epoch, HEAD_BYTES, Head, Now, Receiver, ReceiverSettings, Sender, SenderSettings, Source, Taken,
};
use touchline_testing::Folder;
use touchline_transport::Mirror;
use touchline_transport::shm::{self, Publisher, Root, Subscriber};
use touchline_types::{Instrument, Level, Validity};

/// Longest age of a live book.
const LAG_NS: u64 = 100 * MS;
/// Difference of the clocks of both hosts.
const OFFSET_NS: u64 = 3_600_000 * MS;
/// Instruments of the sessions, and more.
const INSTRUMENTS: u32 = 64;

/// Part of the harness that is broken, to see that the test finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// The receiver accepts books of any age.
    Limit,
    /// The sender answers probes while the bus has messages that it still has to read.
    Answer,
}

#[test]
fn on_a_line_below_the_rate_of_the_market_no_live_book_is_old() {
    let (mut held, mut lags, mut gaps, mut live, mut looks) = (0, 0, 0, 0, 0);
    for seed in seeds(12) {
        let mut world = World::new("rate", seed, Broken::Nothing);
        world.run();
        world.settle();
        held += world.link.held;
        lags += world.receiver.counters().relay_lags;
        gaps += world.receiver.counters().relay_gaps;
        live += world.live;
        looks += world.looks;
    }
    println!("{held} times held, {lags} lags, {gaps} gaps; {live} of {looks} books live");
    assert!(held > 0 && lags > 0 && gaps > 0, "no test");
    assert!(
        live * 50 > looks,
        "a thin line is of no use: {live} of {looks} books live"
    );
}

#[test]
#[should_panic(expected = "is live and")]
fn the_harness_finds_a_receiver_without_a_limit_of_age() {
    for seed in 0..8 {
        World::new("rate-limit", seed, Broken::Limit).run();
    }
}

#[test]
#[should_panic(expected = "is live and")]
fn the_harness_finds_a_sender_that_answers_before_it_has_read_the_bus() {
    for seed in 0..8 {
        World::new("rate-answer", seed, Broken::Answer).run();
    }
}

/// A book as its readers see it.
type Book = (Vec<Vec<Level>>, Validity);

struct World {
    seed: u64,
    broken: Broken,
    random: Random,
    _folder: Folder,
    path: BusPath,
    now_ns: u64,
    reader: Subscriber,
    sender: Sender,
    /// The sending process is stopped until then, and the receiving one.
    sender_stops_until_ns: u64,
    receiver_stops_until_ns: u64,
    link: MemoryLink,
    /// Rate of the line, bytes a second; the time at which it is free, and batches with the time of their arrival.
    rate: f64,
    free_ns: u64,
    on_the_way: VecDeque<(u64, Vec<u8>)>,
    /// Requests and probes on their way back.
    back: VecDeque<(u64, Head)>,
    receiver: Receiver,
    bus_b: Publisher,
    watch_a: (Subscriber, Mirror),
    watch_b: (Subscriber, Mirror),
    /// Books of A, each with the time since which it is that.
    history: Vec<Vec<(u64, Book)>>,
    live: u64,
    looks: u64,
}

impl World {
    fn new(name: &str, seed: u64, broken: Broken) -> World {
        let folder = Folder::new(&format!("{name}-{seed}"));
        let root = Root::at(&folder);
        let open = |bus| Publisher::open(&root, bus, &bus_settings(4 << 20)).expect("a new bus");
        let (bus_a, mut bus_b) = (open("a"), open("b"));
        let watch = |bus| {
            let reader = Subscriber::join(&root, bus, shm::Join::default());
            (reader.expect("the bus is there"), Mirror::new(256, 16_384))
        };
        let lag_ns_max = match broken {
            Broken::Limit => u64::MAX / 2,
            Broken::Nothing | Broken::Answer => LAG_NS,
        };
        let mut receiver = Receiver::new(ReceiverSettings {
            lag_ns_max,
            request_delay_ns_max: 0,
            ..receiver_settings()
        });
        receiver.begin(&mut bus_b);
        // The test needs the receiver's own limit, so the sender must not interrupt the stream before it.
        let flow = Flow::new(match broken {
            Broken::Limit => u64::MAX / 8,
            Broken::Nothing | Broken::Answer => LAG_NS,
        });
        World {
            seed,
            broken,
            random: Random::from_seed(seed ^ 0x2A7E),
            now_ns: 1_000 * MS,
            reader: Subscriber::join(&root, "a", join()).expect("the bus is there"),
            sender: Sender::new(sender_settings(), Epoch::starting_at(1_000_000 * MS)),
            sender_stops_until_ns: 0,
            receiver_stops_until_ns: 0,
            link: MemoryLink {
                flow: Some(flow),
                ..MemoryLink::default()
            },
            rate: f64::INFINITY,
            free_ns: 0,
            on_the_way: VecDeque::new(),
            back: VecDeque::new(),
            receiver,
            watch_a: watch("a"),
            watch_b: watch("b"),
            bus_b,
            history: vec![vec![(0, (vec![Vec::new(); 4], Validity::Gapped))]; INSTRUMENTS as usize],
            live: 0,
            looks: 0,
            path: path(bus_a),
            _folder: folder,
        }
    }

    fn run(&mut self) {
        let arrivals = arrivals(self.seed);
        // The market's rate, of its first tenth; then the line is slower, or slow from its first byte.
        let measured = arrivals.len() / 10;
        let share = 0.3 + self.random.below(6) as f64 / 10.0;
        if self.seed.is_multiple_of(3) {
            self.rate = 60_000.0 * share;
        }
        let began_ns = self.now_ns;
        for (place, arrival) in arrivals.iter().enumerate() {
            if place == measured {
                let sent = self.sender.counters().relay_bytes_sent as f64;
                let seconds = (self.now_ns - began_ns) as f64 / 1e9;
                self.rate = sent / seconds * share;
            }
            self.packet(arrival);
            if self.random.chance(0.002) {
                self.sender_stops_until_ns = self.now_ns + self.random.below(300) * MS;
            }
            if self.random.chance(0.002) {
                self.receiver_stops_until_ns = self.now_ns + self.random.below(300) * MS;
            }
            self.step();
        }
        self.path.finish();
    }

    fn packet(&mut self, arrival: &Arrival) {
        let channel = channel(arrival);
        self.path
            .packet(channel, &arrival.payload, arrival.time_ns, 0);
    }

    /// The market stands still, the line stays slow: every book is live and that of A in the end.
    fn settle(&mut self) {
        for _ in 0..60_000 {
            self.step();
            let is_up = self.receiver.is_up() && self.receiver.is_complete();
            if is_up && (0..INSTRUMENTS).all(|number| self.is_same(Instrument(number))) {
                return;
            }
        }
        panic!(
            "seed {}: books differ after a minute on a line of {:.0} bytes a second; up {}, complete {}, {} times held",
            self.seed,
            self.rate,
            self.receiver.is_up(),
            self.receiver.is_complete(),
            self.link.held
        );
    }

    fn is_same(&self, instrument: Instrument) -> bool {
        let [a, b] = [&self.watch_a.1, &self.watch_b.1];
        seen(a, instrument) == seen(b, instrument)
    }

    /// A millisecond.
    fn step(&mut self) {
        self.now_ns += MS;
        self.watch_a();
        if self.now_ns >= self.sender_stops_until_ns {
            self.send();
        }
        self.carry();
        if self.now_ns >= self.receiver_stops_until_ns {
            self.receive();
            // A reader of a stopped publisher takes no book for live, so it does not look.
            self.look();
        }
    }

    /// Stores each state of the books of A, message by message.
    fn watch_a(&mut self) {
        let (reader, mirror) = &mut self.watch_a;
        while reader.drain(1, mirror) > 0 {
            for (number, history) in self.history.iter_mut().enumerate() {
                let book = seen(mirror, Instrument(number as u32));
                if history.last().is_none_or(|(_, last)| *last != book) {
                    history.push((self.now_ns, book));
                }
            }
        }
    }

    fn send(&mut self) {
        let now = Now {
            mono_ns: self.now_ns + OFFSET_NS,
            wall_ns: self.now_ns,
        };
        let link = &mut self.link;
        let due = self
            .back
            .partition_point(|(at_ns, _)| *at_ns <= self.now_ns);
        for (_, head) in self.back.drain(..due) {
            let mut bytes = [0; HEAD_BYTES];
            head.write(&mut bytes);
            match head.flags == touchline_relay::HeadFlags::PROBE {
                true => link.probe(&bytes),
                false => link.request(&bytes),
            }
        }
        link.work(now.mono_ns);
        // A sender that is slower than the bus, at times.
        let limit = self.random.below(40);
        let mut is_at_end = self.broken == Broken::Answer;
        for _ in 0..limit {
            let sender = &mut self.sender;
            let polled = self.reader.poll(|item| sender.item(&item, now, link));
            if polled.given().is_none() {
                is_at_end = true;
                break;
            }
        }
        self.sender.flush(now, link);
        if is_at_end {
            self.sender.answer(now, link);
        }
        self.sender.tick(now, link);
    }

    fn carry(&mut self) {
        while let Some(batch) = self.link.batches.pop_front() {
            let takes_ns = (batch.len() as f64 / self.rate * 1e9) as u64;
            self.free_ns = self.free_ns.max(self.now_ns) + takes_ns;
            self.on_the_way.push_back((self.free_ns, batch));
        }
    }

    fn receive(&mut self) {
        let now = Now {
            mono_ns: self.now_ns,
            wall_ns: self.now_ns,
        };
        self.receiver.judge(now, &mut self.bus_b);
        while let Some((_, batch)) = self
            .on_the_way
            .pop_front_if(|(at_ns, _)| *at_ns <= self.now_ns)
        {
            let taken = self.receiver.take(&batch, now, 1, &mut self.bus_b);
            assert_eq!(taken, Taken::Done, "seed {}", self.seed);
        }
        let request = self.receiver.tick(now, &mut self.bus_b);
        let probe = self.receiver.probe(now);
        for head in request.into_iter().chain(probe) {
            self.back.push_back((self.now_ns + MS, head));
        }
    }

    /// Each live book of B was that of A within the limit.
    fn look(&mut self) {
        let (reader, mirror) = &mut self.watch_b;
        while reader.drain(usize::MAX, mirror) > 0 {}
        let oldest_ns = self.now_ns.saturating_sub(LAG_NS);
        for (number, history) in self.history.iter().enumerate() {
            let book = seen(mirror, Instrument(number as u32));
            if history.len() == 1 {
                continue;
            }
            self.looks += 1;
            if book.1 != Validity::Live {
                continue;
            }
            self.live += 1;
            // The time of a state ends with the next one.
            let at = (0..history.len()).rev().find(|at| history[*at].1 == book);
            let until_ns = at.map(|at| history.get(at + 1).map_or(u64::MAX, |next| next.0));
            let what = match until_ns {
                None => "A never had it".to_owned(),
                Some(until_ns) if until_ns < oldest_ns => {
                    format!("{} ms old", (self.now_ns - until_ns) / MS)
                }
                Some(_) => continue,
            };
            panic!(
                "seed {}: instrument {number} at B is live and {what}",
                self.seed
            );
        }
    }
}

fn seen(mirror: &Mirror, instrument: Instrument) -> Book {
    (book(mirror, instrument), mirror.validity(instrument))
}

fn sender_settings() -> SenderSettings {
    SenderSettings {
        source: Source::named("a").expect("a name"),
        hops: 0,
        instruments_max: 256,
        orders_max: 16_384,
        batch_bytes_max: 1_344,
        heartbeat_ns: 20 * MS,
        cyclic: None,
    }
}
