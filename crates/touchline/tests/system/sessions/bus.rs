//! R12 with whole sessions: a subscriber of a bus has the gateway's books.
//!
//! The ring is the smallest useful one, so that it is overrun often: a reader that the publisher waits for must lose
//! no message, another one must be correct again after each loss.

use crate::sessions::path::{agrees, channel, settings};
use crate::sessions::seeds;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use touchline_feed::cme::Join;
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::capture::Arrival;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::random::Random;
use touchline_testing::Folder;
use touchline_transport::shm::{self, Lock, Lossless, Publisher, Root, Subscriber};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};

/// A reader that the publisher waits for loses no message, however slow it is.
#[test]
fn a_named_reader_has_every_book_and_every_order() {
    let mut waits = 0;
    for seed in seeds(12) {
        let place = Place::new("named", seed);
        let mut path = place.path(Some(PATIENCE));
        let join = shm::Join {
            registered: true,
            ..shm::Join::default()
        };
        let mut reader = place.join(join);
        // Every other reader reads only when the ring is full, independent of the scheduler.
        let is_sleepy = seed % 2 == 0;
        let done = AtomicBool::new(false);
        let mut kept = (mirror(), Seen::default());
        // Joins before the first publication: data from before a join is delivered from the last-value tables, not as
        // messages.
        while reader.drain(64, &mut kept) > 0 {}
        let (mirror, seen) = thread::scope(|scope| {
            let reading = scope.spawn(|| {
                loop {
                    let is_last = done.load(Ordering::Acquire);
                    if is_sleepy && !is_last {
                        until_it_stands(&reader, &done);
                    }
                    if reader.drain(64, &mut kept) == 0 && is_last {
                        return kept;
                    }
                    thread::yield_now();
                }
            });
            run(&mut path, &arrivals(seed), |_| {});
            done.store(true, Ordering::Release);
            reading.join().expect("the reader does not panic")
        });
        assert_eq!((seen.laps, seen.others), (0, 0), "seed {seed}");
        agrees(&path, &mirror, &format!("seed {seed}"));
        let counters = path.publisher().counters().expect("a publisher counts");
        assert_eq!(seen.messages, counters.messages_published, "seed {seed}");
        waits += counters.waits;
    }
    assert!(waits > 0, "the ring was never full: no test");
    println!("the publisher waited {waits} times");
}

/// Waits until more than half of the ring is unread and the publisher adds nothing, or has ended.
fn until_it_stands(reader: &Subscriber, done: &AtomicBool) {
    let mut lag = 0;
    while !done.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(2));
        let before = std::mem::replace(&mut lag, reader.lag_bytes());
        if lag == before && lag > RING_BYTES / 2 {
            return;
        }
    }
}

/// A reader that joins in the middle, sleeps, and is overrun has the correct books at the end.
#[test]
fn an_overrun_reader_has_correct_books_in_the_end() {
    let (mut laps, mut lost) = (0, 0);
    for seed in seeds(24) {
        let place = Place::new("overruns", seed);
        let mut path = place.path(None);
        let mut random = Random::from_seed(seed);
        let mut reader = None;
        let mut kept = (mirror(), Seen::default());
        run(&mut path, &arrivals(seed), |_| {
            if reader.is_none() && random.chance(0.01) {
                reader = Some(place.join(shm::Join::default()));
            }
            if let Some(reader) = &mut reader
                && random.chance(0.02)
            {
                reader.drain(random.below(400) as usize, &mut kept);
            }
        });
        let mut reader = reader.unwrap_or_else(|| place.join(shm::Join::default()));
        while reader.drain(usize::MAX, &mut kept) > 0 {}
        let (mirror, seen) = kept;
        assert!(seen.is_caught_up, "seed {seed}");
        assert_eq!(seen.others, 0, "seed {seed}");
        // Order books too: after a loss they come from the order tables, like price books.
        agrees(&path, &mirror, &format!("seed {seed}"));
        laps += seen.laps;
        lost += seen.lost;
    }
    assert!(laps > 0 && lost > 0, "{laps} overruns: no test");
    println!("{laps} overruns, {lost} messages lost");
}

type BusPath = CmePipeline<Publisher>;

const INSTRUMENTS_MAX: usize = 256;
const ORDERS_MAX: usize = 16_384;
const RING_BYTES: u64 = 64 * 1024;

/// Longer than a loaded host suspends a thread.
const PATIENCE: Lossless = Lossless {
    readers_max: 2,
    wait_max: Duration::from_secs(120),
};

/// A directory of buses.
struct Place {
    folder: Folder,
}

impl Place {
    fn new(name: &str, seed: u64) -> Place {
        Place {
            folder: Folder::new(&format!("{name}-{seed}")),
        }
    }

    fn path(&self, lossless: Option<Lossless>) -> BusPath {
        let settings = settings(Join::Snapshot);
        let limits = Limits {
            instruments_max: settings.instruments_max,
            orders_max: ORDERS_MAX,
            event_changes_max: 4096,
            default_depth: settings.default_depth,
            levels_max: 0,
        };
        let bus = shm::Settings {
            ring_bytes: RING_BYTES,
            instruments_max: INSTRUMENTS_MAX,
            lossless,
            lock: Lock::No,
            ..shm::Settings::default()
        };
        let publisher = Publisher::open(&Root::at(&self.folder), "bus", &bus).expect("a new bus");
        build(settings, limits, Symbols::default(), publisher)
    }

    fn join(&self, join: shm::Join) -> Subscriber {
        Subscriber::join(&Root::at(&self.folder), "bus", join).expect("the bus is there")
    }
}

/// Events of a subscriber besides the books.
#[derive(Debug, Default)]
struct Seen {
    messages: u64,
    laps: u64,
    lost: u64,
    others: u64,
    is_caught_up: bool,
}

impl Subscribe for Seen {
    fn update(&mut self, _: &Envelope<'_>) {
        self.messages += 1;
    }

    fn top(&mut self, _: u64, _: &touchline_types::native::TopOfBook) {
        self.messages += 1;
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        match event {
            SubscriptionEvent::CaughtUp => self.is_caught_up = true,
            SubscriptionEvent::Overrun { messages, .. } => {
                self.laps += 1;
                self.lost += messages;
                self.is_caught_up = false;
            }
            _ => self.others += 1,
        }
    }
}

fn mirror() -> Mirror {
    Mirror::new(INSTRUMENTS_MAX, ORDERS_MAX)
}

/// A session with every kind of recovery.
fn arrivals(seed: u64) -> Vec<Arrival> {
    let options = Options {
        events: 1200,
        ..Options::varied(seed)
    };
    let plan = FaultPlan::all_feeds([
        Fault::Drop { share: 0.03 },
        Fault::Duplicate { share: 0.05 },
        Fault::DropOnAllLines {
            share: 0.01,
            packets_max: 10,
        },
        Fault::Reorder {
            share: 0.05,
            by_max: 8,
        },
    ]);
    deliver(&generate(&options, seed), &plan, seed).arrivals
}

/// Runs arrivals to their end; calls `after` after each.
fn run(path: &mut BusPath, arrivals: &[Arrival], mut after: impl FnMut(&mut BusPath)) {
    for arrival in arrivals {
        path.packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
        after(path);
    }
    path.finish();
}
