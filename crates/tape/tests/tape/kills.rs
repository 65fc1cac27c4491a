//! A recorder that is killed at random instants while a publisher does not pause.
//!
//! After each kill the tape is clean or cut by a crash, never damaged, and has everything up to the durable position that the recorder
//! had reported. Every third tape is repaired before the next recorder starts, and clean then. `SEED` repeats a run; `KILLS` sets the number of kills.

use crate::process::{Over, Pace, counter, publish, start};
use crate::world::{World, assert_equal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use touchline_journal::{Verdict, repair, verify};
use touchline_testing::random::{Random, amount};
use touchline_transport::clock::wall_ns;

/// A million messages a second.
const PACE: Pace = Pace {
    interval: Duration::from_millis(1),
    events: 40,
    trades: 940,
};

/// Repairs a tape: it is clean then, with everything up to the durable position.
fn repaired(tape: &Path, durable: u64) {
    repair(tape, false, wall_ns()).expect("a cut journal");
    let report = verify(tape).expect("a journal");
    let is_clean = report.verdict == Verdict::Clean && report.position >= durable;
    assert!(is_clean, "{durable} was durable: {report:?}");
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
    let mut last = None;
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            publish(
                &mut publisher,
                &mut market,
                PACE,
                &is_over,
                &AtomicU64::default(),
            )
        });
        for kill in 0..kills {
            let mut process = start(&folder, &[], &[]);
            std::thread::sleep(Duration::from_micros(random.below(150_000)));
            let durable = counter(&folder, "record_durable");
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
            if kill % 3 == 0 {
                repaired(&folder.join("tape"), durable);
            }
        }
        last = Some(start(&folder, &[], &[]));
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
