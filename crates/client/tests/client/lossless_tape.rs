//! Lossless readers with a tape.

use crate::random::Market;
use crate::tape::record;
use crate::world::{World, small};
use std::time::Duration;
use touchline_client::{Events, TapePlace};
use touchline_testing::PATIENCE;
use touchline_transport::Publish;
use touchline_transport::shm::{Lossless, Settings};

/// A lossless publisher does not wait for a reader that waits for its tape: neither for a recorder that was killed, nor for a slow one.
#[test]
fn a_publisher_does_not_wait_for_a_reader_on_its_tape() {
    for is_killed in [true, false] {
        let world = World::new();
        let settings = Settings {
            lossless: Some(Lossless {
                readers_max: 2,
                wait_max: Duration::from_millis(50),
            }),
            ..small()
        };
        let mut publisher = world.publisher_with("test", &settings);
        let mut market = Market::new(44);
        market.begin(&mut publisher);
        let mut recording = world.recording();
        for _ in 0..1_000 {
            market.step(&mut publisher);
            publisher.commit();
            record(&mut recording);
        }
        let recording = (!is_killed).then_some(recording);
        // The reader cannot leave the tape before it has these messages, too.
        (0..100).for_each(|_| market.step(&mut publisher));
        publisher.commit();
        let options = world.options().events(Events::ALL).lossless();
        let options = options.tape(world.tape()).tape_wait(PATIENCE);
        let mut reader = world.join(options.tape_from(TapePlace::Time(0)));
        let end = publisher.counters().bytes_published + 3 * small().ring_bytes;
        while publisher.counters().bytes_published < end {
            market.step(&mut publisher);
            publisher.commit();
            while reader.poll().is_some() {}
        }
        let stats = reader.stats();
        assert!(reader.is_on_tape() && stats.tape_messages > 0, "{stats:?}");
        let counters = publisher.counters();
        let waits = (counters.waits, counters.readers_left_behind);
        assert_eq!(waits, (0, 0), "killed: {is_killed}");
        drop(recording);
    }
}
