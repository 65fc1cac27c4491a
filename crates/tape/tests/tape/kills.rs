//! A recorder that is killed at random instants while a publisher does not pause.
//!
//! After each kill the tape is clean or cut by a crash, never damaged, and has everything up to the durable position that the recorder
//! had reported. `SEED` repeats a run; `KILLS` sets the number of kills.

use crate::world::{BUS, World, assert_equal};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use touchline_journal::{Options, Verdict, verify};
use touchline_lab::market::values::Market;
use touchline_tape::run::{Recording, RunEvent, RunSettings};
use touchline_tape::{Retention, Settings};
use touchline_testing::random::{Random, amount};
use touchline_testing::{Process, with_role};
use touchline_transport::shm::{CountersView, Publisher, Root};

const READY: &str = "the recorder has joined";
/// Events of the market at once, and the pause after them.
const BURST: usize = 500;
const PAUSE: Duration = Duration::from_micros(200);

fn settings(folder: &Path) -> RunSettings {
    RunSettings {
        root: Root::at(folder),
        buses: vec![BUS.to_owned()],
        lossless: false,
        name: "recorder".to_owned(),
        directory: folder.join("tape"),
        journal: Options {
            segment_bytes: 2 << 20,
            ring_bytes: 4 << 20,
            ..Options::recording("tape")
        },
        recorder: Settings::default(),
        // Many kills leave much; the proof is of each end.
        retention: Retention {
            bytes_max: Some(24 << 20),
            age_ns_max: None,
        },
    }
}

/// The recorder, until its standard input ends.
#[test]
fn role() {
    let Some((_, folder)) = touchline_testing::role() else {
        return;
    };
    let mut recording = Recording::open(settings(&folder)).expect("a tape");
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ended.store(true, Ordering::Relaxed);
        });
        let mut idle = 0;
        // What the bus has when the input ends is recorded.
        while !ended.load(Ordering::Relaxed) || idle < 100 {
            let work = recording.work().expect("the disk is writable");
            while let Some(event) = recording.event() {
                if matches!(event, RunEvent::Recording { .. }) {
                    println!("{READY}");
                }
            }
            idle = if work == 0 { idle + 1 } else { 0 };
            if work == 0 {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    });
    recording.close().expect("the disk is writable");
}

fn start(folder: &Path) -> Process {
    let mut command = with_role(&[], "kills::role", "recorder", folder);
    let mut process = Process::start(command.stdin(Stdio::piped()));
    process.wait_for_line(READY);
    process
}

/// The durable position that the recorder has reported last.
fn reported(folder: &Path) -> u64 {
    let processes = Root::at(folder.join(".processes"));
    let view = CountersView::open(&processes, "recorder").expect("the counters of the recorder");
    let view = view.expect("it has counters");
    view.counter("record_durable")
        .expect("a counter of the recorder")
}

#[test]
fn a_killed_recorder_loses_nothing_that_it_called_durable() {
    let kills = amount("KILLS", 8);
    let seed = amount("SEED", u64::from(std::process::id()));
    let mut random = Random::from_seed(seed);
    let mut world = World::new(seed);
    world.publish();
    let folder = world.folder().to_owned();
    let mut publisher = world.publisher.take().expect("it publishes");
    let mut market = world.market();
    let is_over = AtomicBool::new(false);
    let publish = |publisher: &mut Publisher, market: &mut Market| {
        while !is_over.load(Ordering::Relaxed) {
            market.events(BURST, publisher);
            std::thread::sleep(PAUSE);
        }
    };
    let mut last = None;
    std::thread::scope(|scope| {
        scope.spawn(|| publish(&mut publisher, &mut market));
        for kill in 0..kills {
            let mut process = start(&folder);
            std::thread::sleep(Duration::from_micros(random.below(150_000)));
            let durable = reported(&folder);
            process.kill();
            let report = verify(&folder.join("tape")).expect("a journal");
            assert_ne!(
                report.verdict,
                Verdict::Damaged,
                "kill {kill}: {}",
                report.damage
            );
            assert!(
                report.position >= durable,
                "kill {kill}: {} records to {}, and {durable} was durable",
                report.position,
                report.position
            );
        }
        last = Some(start(&folder));
        std::thread::sleep(Duration::from_millis(50));
        is_over.store(true, Ordering::Relaxed);
    });
    let mut last = last.expect("it was started");
    last.close();
    assert!(last.wait().success(), "{}", last.err());
    world.publisher = Some(publisher);
    world.segments();
    let played = world.played();
    assert_equal(&played.books, &world.joined(), "after all kills");
    let wrong = played.sequences.windows(2).find(|pair| pair[1] <= pair[0]);
    assert_eq!(wrong, None);
    println!("{} messages, {} lost", played.sequences.len(), played.lost);
}
