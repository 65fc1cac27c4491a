//! Named readers of a lossless publication that are stopped, and that die.

use super::bus::{self, CAPACITY};
use super::player::Player;
use std::time::{Duration, Instant};
use touchline_shm::broadcast::Reader;
use touchline_shm::segment::Mapping;
use touchline_testing::{Folder, PATIENCE, until};

fn position(watch: &Reader<Mapping>) -> u64 {
    watch.join_point().map_or(0, |mark| mark.position)
}

/// Waits until the writer has come so far.
fn wait_for(watch: &Reader<Mapping>, target: u64) -> Duration {
    let begun = Instant::now();
    until("progress of the writer", PATIENCE, || {
        position(watch) >= target
    });
    begun.elapsed()
}

#[test]
fn a_dead_reader_does_not_block_the_writer_and_a_live_one_loses_nothing() {
    let place = Folder::in_memory("ring");
    let writer = Player::start("writer", &place);
    let watch = bus::attach(&place);
    let mut steady = Player::start("named reader", &place);
    assert_eq!(steady.listen(), "attached");
    let mut freed = Vec::new();
    for _ in 0..5 {
        let mut stopped = Player::start("named reader that stops", &place);
        let stopped_at: u64 = stopped.listen().parse().unwrap();
        stopped.wait_for_stop();
        // The writer comes up to it from behind, and waits.
        wait_for(&watch, stopped_at + CAPACITY / 2);
        std::thread::sleep(Duration::from_millis(10));
        assert!(
            position(&watch) <= stopped_at + CAPACITY,
            "a running reader was overrun"
        );
        stopped.kill();
        freed.push(wait_for(&watch, stopped_at + CAPACITY + 1));
    }
    let longest = *freed.iter().max().unwrap();
    println!("after a reader was killed the writer continued within {longest:?}");
    assert!(longest < Duration::from_secs(20), "{freed:?}");
    writer.kill();
    bus::end(&place);
    let said = steady.listen();
    let numbers: Vec<&str> = said.split(' ').collect();
    assert!(
        numbers[1] != "0" && numbers[2] == "0",
        "it lost something: {said}"
    );
    assert!(steady.ends_well());
}
