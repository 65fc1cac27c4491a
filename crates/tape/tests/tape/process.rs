//! A recorder in a process of its own, and a publisher that does not pause for it.

use crate::world::BUS;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use touchline_journal::Options;
use touchline_lab::market::values::{Market, times};
use touchline_tape::run::{Recording, RunEvent, RunSettings};
use touchline_tape::{Retention, Settings};
use touchline_testing::{Process, with_role};
use touchline_transport::Publish;
use touchline_transport::shm::{CountersView, Publisher, Root};
use touchline_types::{Instrument, Price, Quantity, Trade, Update, UpdateAction};

const READY: &str = "the recorder has joined";

/// Role of a recorder.
pub const RECORDER: &str = "recorder";
/// Role of one with small segments, which it compresses and removes soon.
pub const COMPRESSES: &str = "compresses";

fn settings(role: &str, folder: &Path) -> RunSettings {
    let compress = role == COMPRESSES;
    let (segment_bytes, bytes_max) = match compress {
        true => (256 << 10, 1 << 20),
        // Many kills leave much; the proof is of each end.
        false => (2 << 20, 24 << 20),
    };
    RunSettings {
        root: Root::at(folder),
        buses: vec![BUS.to_owned()],
        lossless: false,
        name: "recorder".to_owned(),
        directory: folder.join("tape"),
        journal: Options {
            segment_bytes,
            ring_bytes: 4 << 20,
            ..Options::recording("tape")
        },
        recorder: Settings::default(),
        retention: Retention {
            bytes_max: Some(bytes_max),
            ..Retention::default()
        },
        compress,
    }
}

/// The recorder, until its standard input ends: prints its events, and how it ended.
#[test]
fn role() {
    let Some((role, folder)) = touchline_testing::role() else {
        return;
    };
    let mut recording = Recording::open(settings(&role, &folder)).expect("a tape");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ended.store(true, Ordering::Relaxed);
        });
        let mut idle = 0;
        // What the bus has when the input ends is recorded.
        while !ended.load(Ordering::Relaxed) || idle < 100 {
            let work = recording.work().expect("a tape");
            while let Some(event) = recording.event() {
                match event {
                    RunEvent::Recording { .. } => println!("{READY}"),
                    event => println!("{event:?}"),
                }
            }
            idle = if work == 0 { idle + 1 } else { 0 };
            if work == 0 {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    });
    let ending = Instant::now();
    let closed = recording.close();
    println!("closed after {} ms", ending.elapsed().as_millis());
    match closed {
        Ok(counters) => println!(
            "gaps={} lost={}",
            counters.record_gaps, counters.record_lost
        ),
        Err(error) => println!("error: {error}"),
    }
    let _ = std::io::stdout().flush();
    // As a command does: threads that wait for the disk are not waited for.
    std::process::exit(0);
}

/// Starts a recorder that has joined; words before it run the program, and variables are of its environment.
pub fn start(folder: &Path, before: &[&str], environment: &[(&str, &Path)]) -> Process {
    start_as(RECORDER, folder, before, environment)
}

/// [`start`] of another role.
pub fn start_as(
    role: &str,
    folder: &Path,
    before: &[&str],
    environment: &[(&str, &Path)],
) -> Process {
    let mut command = with_role(before, "process::role", role, folder);
    command.envs(environment.iter().copied());
    let mut process = Process::start(command.stdin(Stdio::piped()));
    process.wait_for_line(READY);
    process
}

/// A counter as the recorder has shown it last.
pub fn counter(folder: &Path, name: &str) -> u64 {
    let processes = Root::at(folder.join(".processes"));
    let view = CountersView::open(&processes, "recorder").expect("the counters of the recorder");
    let view = view.expect("it has counters");
    view.counter(name).expect("a counter of the recorder")
}

/// Messages of a publisher.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Time from one burst to the next.
    pub interval: Duration,
    /// Random events of a market.
    pub events: usize,
    /// Trades after them.
    pub trades: u64,
}

/// Publishes at an even rate until it is over, and counts its bursts.
pub fn publish(
    publisher: &mut Publisher,
    market: &mut Market,
    pace: Pace,
    is_over: &AtomicBool,
    bursts: &AtomicU64,
) {
    let begun = Instant::now();
    let (mut intervals, mut trades) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        market.events(pace.events, publisher);
        for _ in 0..pace.trades {
            trades += 1;
            let trade = Trade {
                instrument: Instrument(0),
                orders: 1,
                price: Price(trades as i64),
                quantity: Quantity(1),
                aggressor: None,
                action: UpdateAction::New,
                trade_id: trades,
            };
            publisher.publish(&Update::Trade(&trade), &times());
            if trades.is_multiple_of(4) {
                publisher.commit();
            }
        }
        publisher.commit();
        intervals += 1;
        bursts.fetch_add(1, Ordering::Relaxed);
        let due = begun + pace.interval * intervals;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let per_second = f64::from(intervals) / begun.elapsed().as_secs_f64();
    let (events, trades) = (pace.events as f64, pace.trades as f64);
    println!(
        "{:.0} events and {:.0} trades a second",
        events * per_second,
        trades * per_second
    );
}

/// Says that it is over when it is dropped: also after a failure, or a publisher would go on.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
