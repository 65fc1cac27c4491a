//! Silence of any subset of groups and lines: no book is live beyond the bounds of `docs/venues/cme.md`, and every book
//! recovers.

use crate::sessions::path::{Path, channel, path, picture, settings};
use crate::sessions::{same_books, seeds};
use touchline_feed::cme::{Join, Settings};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Delivery, Fault, FaultPlan, Rule, deliver};
use touchline_lab::random::Random;
use touchline_transport::Subscribe;
use touchline_types::Validity;

const MILLISECOND_NS: u64 = 1_000_000;
/// Limits of the path: sessions last for half a second.
const SILENCE_NS: u64 = 30 * MILLISECOND_NS;
const STALE_NS: u64 = 150 * MILLISECOND_NS;
/// Interval of the checks, of the path and here.
const CHECK_NS: u64 = MILLISECOND_NS;
/// Twice the longest interval of repeating groups is their limit, if that is longer.
const INTERVALS: u64 = 2;

#[test]
fn no_book_is_live_beyond_the_bound_of_a_silence() {
    let mut seen = Seen::default();
    for seed in seeds(64) {
        // Snapshots of an epoch whose beginning is in doubt are refused, and show nothing: `hostile` has resets.
        let options = Options {
            channel_resets: 0,
            weekly_resets: 0,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let (plan, what) = plan(seed);
        let delivery = deliver(&session, &plan, seed);
        let mut watch = Watch::new(&delivery, format!("seed {seed}: {what}"));
        watch.run();
        let picture = picture(&watch.path, Vec::new());
        same_books(&picture, &session.expected, &watch.what);
        let counters = watch.path.feed().counters();
        seen.silences += counters.channel_silences;
        seen.timeouts += counters.feed_timeouts;
        seen.behind += watch.seen.behind;
        seen.all += watch.seen.all;
        seen.incremental += watch.seen.incremental;
        seen.live += watch.seen.live;
    }
    println!("{seen:?}");
    let is_whole = seeds(64).count() < 64
        || seen.all > 100 && seen.incremental > 100 && seen.behind > 100 && seen.live > 10_000;
    assert!(is_whole, "too few checks: {seen:?}");
}

/// Numbers of silences, and of checks within each bound.
#[derive(Debug, Default)]
struct Seen {
    silences: u64,
    timeouts: u64,
    /// Checks after each bound.
    all: u64,
    incremental: u64,
    behind: u64,
    /// Checks with a live book.
    live: u64,
}

/// One to three silences, each of some feeds on some lines, and in every second session losses.
fn plan(seed: u64) -> (FaultPlan, String) {
    let mut random = Random::from_seed(seed ^ 0x7369_6c65_6e63_6521);
    let mut plan = FaultPlan::default();
    for _ in 0..random.between(1, 3) {
        // Every second one is of both lines, and every third one of all groups.
        let lines = match random.chance(0.5) {
            true => Line::BOTH.to_vec(),
            false => vec![*random.pick(&Line::BOTH)],
        };
        let is_all = random.chance(0.3);
        let mut feeds = Feed::ALL.to_vec();
        feeds.retain(|_| is_all || random.chance(0.5));
        plan.rules.push(Rule {
            fault: Fault::Silence {
                duration_ns: random.between(20, 300) as u64 * MILLISECOND_NS,
            },
            feeds,
            lines,
        });
    }
    let what = format!("{:?}", plan.rules);
    match seed.is_multiple_of(2) {
        true => (plan, what),
        false => {
            let drops = [
                Fault::Drop { share: 0.05 },
                Fault::Duplicate { share: 0.05 },
            ];
            (plan.then(FaultPlan::incremental(drops)), what)
        }
    }
}

/// Place of LastMsgSeqNumProcessed in the first message of a packet of snapshots: behind the heads of packet and message.
const SNAPSHOT_SEQUENCE: usize = 22;

fn number(payload: &[u8], at: usize) -> u32 {
    let bytes = payload[at..].first_chunk().expect("a whole packet");
    u32::from_le_bytes(*bytes)
}

struct Nobody;

impl Subscribe for Nobody {
    fn update(&mut self, _: &touchline_transport::Envelope<'_>) {}
}

/// A session on its way through a path, with a clock that goes on between packets.
struct Watch<'a> {
    what: String,
    delivery: &'a Delivery,
    path: Path<Nobody>,
    seen: Seen,
    /// Last packet of any feed, of the incremental feed, and of those that repeat.
    any_ns: u64,
    incremental_ns: u64,
    repeated_ns: u64,
    /// Longest interval between two packets of the repeating feeds.
    longest_ns: u64,
    /// Number of the last packet of the incremental feed.
    newest: u32,
    /// First arrival of a snapshot that contains a later packet than that.
    ahead_ns: Option<u64>,
}

impl<'a> Watch<'a> {
    fn new(delivery: &'a Delivery, what: String) -> Watch<'a> {
        let settings = Settings {
            silence_ns: SILENCE_NS,
            stale_ns: STALE_NS,
            ..settings(Join::Snapshot)
        };
        Watch {
            what,
            delivery,
            path: path(settings, Nobody),
            seen: Seen::default(),
            any_ns: 0,
            incremental_ns: 0,
            repeated_ns: 0,
            longest_ns: 0,
            newest: 0,
            ahead_ns: None,
        }
    }

    fn run(&mut self) {
        let mut now_ns = self.delivery.arrivals[0].time_ns;
        for arrival in &self.delivery.arrivals {
            while now_ns + CHECK_NS < arrival.time_ns {
                now_ns += CHECK_NS;
                self.path.advance(now_ns);
                self.check(now_ns);
            }
            now_ns = arrival.time_ns;
            self.path
                .packet(channel(arrival), &arrival.payload, now_ns, 0);
            self.note(arrival);
        }
        self.path.finish();
    }

    fn note(&mut self, arrival: &Arrival) {
        let now_ns = arrival.time_ns;
        self.any_ns = now_ns;
        match arrival.feed {
            Feed::Incremental => {
                self.incremental_ns = now_ns;
                // A copy shows nothing.
                let number = number(&arrival.payload, 0);
                if number > self.newest {
                    self.newest = number;
                    self.ahead_ns = None;
                }
            }
            feed => {
                if self.repeated_ns > 0 {
                    self.longest_ns = self.longest_ns.max(now_ns - self.repeated_ns);
                }
                self.repeated_ns = now_ns;
                let is_snapshot = feed != Feed::Definitions;
                if is_snapshot && number(&arrival.payload, SNAPSHOT_SEQUENCE) > self.newest {
                    self.ahead_ns.get_or_insert(now_ns);
                }
            }
        }
    }

    fn check(&mut self, now_ns: u64) {
        let limit_ms = self.path.feed().counters().silence_limit_ms;
        let limit_ns = limit_ms * MILLISECOND_NS;
        let limit_ns_max = SILENCE_NS.max(INTERVALS * self.longest_ns);
        assert!(
            limit_ns <= limit_ns_max,
            "{}: limit {limit_ms} ms",
            self.what
        );
        let is_live = self.is_live();
        self.seen.live += u64::from(is_live);
        let passed = |since_ns: u64, limit_ns: u64| {
            now_ns >= since_ns + limit_ns + MILLISECOND_NS + CHECK_NS
        };
        let is_silent = limit_ms > 0
            && passed(self.any_ns, limit_ns)
            && self.incremental_ns < self.repeated_ns + limit_ns;
        let is_timed_out = self.incremental_ns > 0 && passed(self.incremental_ns, STALE_NS);
        let is_behind = limit_ms > 0
            && self
                .ahead_ns
                .is_some_and(|ahead_ns| passed(ahead_ns, limit_ns));
        for (bound, is_passed, count) in [
            ("every group is silent", is_silent, &mut self.seen.all),
            (
                "the incremental feed is silent",
                is_timed_out,
                &mut self.seen.incremental,
            ),
            ("snapshots are ahead", is_behind, &mut self.seen.behind),
        ] {
            *count += u64::from(is_passed);
            assert!(
                !(is_passed && is_live),
                "{}: {bound}, and a book is live at {now_ns}",
                self.what
            );
        }
    }

    fn is_live(&self) -> bool {
        let mirror = &self.path.publisher().inner().subscriber.0;
        let mut instruments = self.path.instruments().iter();
        instruments.any(|instrument| mirror.validity(instrument) == Validity::Live)
    }
}
