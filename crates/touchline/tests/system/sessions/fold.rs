//! Books that a program folds from its events equal the product's books.
//!
//! Goal: a program that keeps books of its own, from the steps of its events alone, never calls a wrong one live, and
//! misses no change of a state. Method: faulty sessions, whole and ended anywhere, in both ways of joining; after each
//! packet the folded books are compared with those that the client keeps, and at the end those with the path's.

#[path = "../../../../client/tests/client/fold.rs"]
pub mod program;

use crate::sessions::path::{Path, channel, mirror_agrees, path, settings, subscriber};
use crate::sessions::recovery::everything_at_once;
use crate::sessions::seeds;
use program::Fold;
use touchline_client::{Bus, Events};
use touchline_feed::cme::Join;
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{FaultPlan, deliver};
use touchline_lab::random::Random;
use touchline_transport::{Envelope, Subscribe};

/// A program in the process of its publisher.
pub struct Program {
    bus: Bus,
    pub fold: Fold,
}

impl Program {
    pub fn new(instruments_max: usize, orders_max: usize) -> Program {
        let options = Bus::options().events(Events::BOOKS | Events::ORDERS);
        Program {
            bus: Bus::local(&options, "fold", instruments_max, orders_max),
            fold: Fold::default(),
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.bus.poll() {
            self.fold.event(&self.bus, &event);
        }
    }
}

impl Subscribe for Program {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.bus.take(envelope);
        self.take_events();
    }

    fn batch_end(&mut self) {
        self.bus.end_batch();
        self.take_events();
        self.fold.check(&self.bus, "after a packet");
    }
}

fn run(arrivals: &[Arrival], join: Join) -> Path<Program> {
    let mut path = path(settings(join), Program::new(256, 16_384));
    for arrival in arrivals {
        path.packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
    }
    path.finish();
    path
}

/// Whole sessions, and sessions that end anywhere, most of them early.
#[test]
fn folded_books_are_the_products() {
    let (mut checked, mut cleared) = (0, 0);
    for seed in seeds(40) {
        let options = Options {
            events: 150,
            channel_resets: 1 + seed as usize % 3,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let arrivals = everything_at_once(&session, seed).arrivals;
        let mut random = Random::from_seed(seed);
        for join in [Join::Snapshot, Join::Natural] {
            let any = random.index(arrivals.len());
            let early = random.index(60).min(arrivals.len());
            for end in [arrivals.len(), any, early] {
                let path = run(&arrivals[..end], join);
                mirror_agrees(&path, &format!("seed {seed}, {join:?}, {end} arrivals"));
                checked += subscriber(&path).fold.checked;
                cleared += subscriber(&path).fold.cleared;
            }
        }
    }
    assert!(checked > 50_000, "{checked} books compared");
    assert!(cleared > 1_000, "{cleared} lists and sides emptied");
}

/// Captures that begin with snapshots of two instruments and end after two packets, often within an event: subscribers
/// have the path's books at the end.
#[test]
fn what_waits_at_the_end_of_the_input_is_published() {
    let mut open = 0;
    for seed in seeds(40) {
        let options = Options {
            instruments: 2,
            events: 60,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let arrivals = deliver(&session, &FaultPlan::default(), seed).arrivals;
        let arrivals: Vec<_> = arrivals
            .into_iter()
            .filter(|arrival| arrival.line == Line::A)
            .collect();
        let of_feed = |feeds: &[Feed], from: usize, count| {
            let behind = arrivals[from..].iter();
            let chosen = behind.filter(|arrival| feeds.contains(&arrival.feed));
            chosen.take(count).cloned().collect::<Vec<_>>()
        };
        for from in 0..arrivals.len() {
            let snapshots = [Feed::Snapshot, Feed::OrderSnapshot];
            let mut short = of_feed(&snapshots, from, 4);
            short.extend(of_feed(&[Feed::Incremental], from, 2));
            for join in [Join::Snapshot, Join::Natural] {
                let path = run(&short, join);
                mirror_agrees(
                    &path,
                    &format!("seed {seed}, {join:?}, from arrival {from}"),
                );
                open += path.counters().events_cut;
            }
        }
    }
    assert!(open > 100, "{open} events were open at the end");
}
