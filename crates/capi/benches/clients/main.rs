//! The clients beside each other: `cargo bench --profile dist -p touchline-capi`.
//!
//! A publisher writes packets of a top and a book change of two levels, every fifth with a trade, while the readers
//! pause; then each reader drains alone. The bare subscriber only decodes; the clients keep books and return events. In
//! Rust in this process, in C and Python in processes of their own. Then the latency from the publisher's clock to the
//! reader's at 2,000 packets/s, and what a reader in Python costs the publisher.

mod latency;
mod other;
mod packets;
mod writer;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use touchline_client::{Bus, Event, Events};
use touchline_transport::shm::{Join, Kinds, Polled, Publisher, Root, Settings, Subscriber};

const ROUNDS: usize = 9;
/// Name of the bus.
const BUS: &str = "cost";

fn main() {
    let folder = touchline_testing::Folder::new("cost");
    let root = Root::at(&folder);
    let settings = Settings {
        ring_bytes: 256 << 20,
        instruments_max: 64,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, BUS, &settings).expect("a folder of its own");
    packets::define(&mut publisher);
    rates(&folder, &root, &mut publisher);
    println!();
    latency::measure(&folder, &mut publisher);
    println!();
    writer::measure(&folder, &mut publisher);
    drop(publisher);
}

/// Drains the messages published in each pause, one reader after another.
fn rates(folder: &Path, root: &Root, publisher: &mut Publisher) {
    let joined = |kinds| {
        let join = Join {
            kinds,
            ..Join::default()
        };
        Subscriber::join(root, BUS, join).expect("it is there")
    };
    let mut bare = joined(Join::default().kinds);
    let mut bare_tops = joined(Kinds::TOPS);
    let bus = |events, keep| {
        let options = Bus::options().directory(folder).events(events);
        options.keep_books(keep).join(BUS).expect("it is there")
    };
    let mut all = bus(Events::ALL, true);
    let mut tops_and_trades = bus(Events::TOPS | Events::TRADES, true);
    let mut tops = bus(Events::TOPS, false);
    let mut others = other::start(folder);
    let mut costs = Costs::default();
    for round in 0..=ROUNDS {
        let messages = packets::publish(publisher, round as i64);
        let mut note = |name, nanoseconds: u128| {
            // The first round includes the snapshots.
            if round > 0 {
                costs.note(name, nanoseconds as f64 / messages as f64);
            }
        };
        note("bare subscriber, everything", drain(&mut bare));
        note("client, all events, books kept", read(&mut all));
        let kept = read(&mut tops_and_trades);
        note("client, tops and trades, books kept", kept);
        note("bare subscriber, tops", drain(&mut bare_tops));
        note("client, tops, no books", read(&mut tops));
        for other in &mut others {
            let (events, nanoseconds) = other.drain();
            assert!(events > 0, "{} has read nothing", other.name);
            note(other.name, nanoseconds);
        }
    }
    costs.print();
    for bus in [&all, &tops_and_trades, &tops] {
        let (stats, lag) = (bus.stats(), bus.lag());
        let lost = (stats.overruns, stats.inconsistent, lag.messages);
        assert_eq!(lost, (0, 0, 0));
    }
    println!();
    other::sizes(&mut others);
}

/// Nanoseconds a published message, by reader.
#[derive(Default)]
struct Costs {
    rows: Vec<(&'static str, Vec<f64>)>,
}

impl Costs {
    fn note(&mut self, name: &'static str, cost: f64) {
        match self.rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, costs)) => costs.push(cost),
            None => self.rows.push((name, vec![cost])),
        }
    }

    fn print(self) {
        println!(
            "{:<46} {:>8} {:>8}   ns a message published",
            "reader", "best", "median"
        );
        for (name, mut costs) in self.rows {
            costs.sort_by(f64::total_cmp);
            let median = costs[costs.len() / 2];
            println!("{name:<46} {:>8.1} {median:>8.1}", costs[0]);
        }
    }
}

fn drain(subscriber: &mut Subscriber) -> u128 {
    let start = Instant::now();
    while subscriber.poll(|item| _ = black_box(&item)) != Polled::Nothing {}
    start.elapsed().as_nanos()
}

fn read(bus: &mut Bus) -> u128 {
    let start = Instant::now();
    // Without an event in 65,536 messages, as while it joins, `poll` returns before the end.
    while bus.lag().messages > 0 {
        while let Some(event) = bus.poll() {
            match event {
                Event::Top(top) => _ = black_box(top.bid),
                event => _ = black_box(event.end_of_batch()),
            }
        }
    }
    start.elapsed().as_nanos()
}
