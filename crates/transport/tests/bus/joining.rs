//! Joining at any moment gives the books of that moment, and everything after it once.

use crate::stage::{Market, Stage, mirror};
use touchline_transport::Publish;
use touchline_transport::shm::Join;

#[test]
fn whoever_joins_at_any_moment_holds_the_publishers_books() {
    for seed in 0..8 {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 5);
        market.define(&mut publisher);
        let mut readers = Vec::new();
        for event in 0..4_000 {
            if event % 500 == 0 {
                readers.push((event, stage.join(Join::default()), mirror()));
            }
            market.event(&mut publisher);
            if event % 7 == 0 {
                for (_, subscriber, mirror) in &mut readers {
                    subscriber.drain(usize::MAX, mirror);
                }
            }
        }
        publisher.commit();
        readers.push((4_000, stage.join(Join::default()), mirror()));
        for (joined, subscriber, mirror) in &mut readers {
            while subscriber.drain(usize::MAX, mirror) > 0 {}
            market.assert_equal(mirror, &format!("seed {seed}, joined at event {joined}"));
        }
        assert_eq!(publisher.counters().images_cut, 0);
    }
}
