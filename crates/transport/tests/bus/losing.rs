//! An overrun reader is notified of the exact loss, and recovers.

use crate::stage::{Market, Stage, mirror};
use touchline_transport::shm::Join;
use touchline_transport::{Publish, Subscribe, SubscriptionEvent};
use touchline_types::Validity;

/// Counts received and lost messages.
#[derive(Default)]
struct Tally {
    lost_messages: u64,
    lost_bytes: u64,
    laps: u64,
}

impl Subscribe for Tally {
    fn update(&mut self, _: &touchline_transport::Envelope<'_>) {}

    fn event(&mut self, event: &SubscriptionEvent) {
        if let SubscriptionEvent::Overrun { messages, bytes } = event {
            self.lost_messages += messages;
            self.lost_bytes += bytes;
            self.laps += 1;
        }
    }
}

#[test]
fn an_overrun_reader_recovers_from_snapshot_slots() {
    for seed in touchline_lab::random::seeds(8) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 6);
        market.define(&mut publisher);
        let mut subscriber = stage.join(Join::default());
        let mut reader = (Tally::default(), mirror());
        for _ in 0..20 {
            // Three to four rings long.
            (0..1_500).for_each(|_| market.event(&mut publisher));
            publisher.commit();
            while subscriber.drain(usize::MAX, &mut reader) > 0 {}
            market.assert_equal(&reader.1, &format!("SEED={seed}"));
        }
        assert!(
            reader.0.laps >= 20,
            "SEED={seed}: {} laps tested nothing",
            reader.0.laps
        );
    }
}

#[test]
fn without_resynchronisation_a_book_recovers_at_its_next_change() {
    for seed in touchline_lab::random::seeds(8) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 40);
        market.define(&mut publisher);
        let mut subscriber = stage.join(Join {
            resync: false,
            ..Join::default()
        });
        let mut reader = (Tally::default(), mirror());
        (0..50).for_each(|_| market.event(&mut publisher));
        while subscriber.drain(usize::MAX, &mut reader) > 0 {}
        (0..4_000).for_each(|_| market.event(&mut publisher));
        // The loss is reported first, and no book is live at it.
        while reader.0.laps == 0 {
            assert!(subscriber.drain(1, &mut reader) > 0, "it was overrun");
        }
        for instrument in (0..40).map(touchline_types::Instrument) {
            assert_ne!(reader.1.validity(instrument), Validity::Live);
        }
        assert!(reader.0.lost_bytes > reader.0.lost_messages * 70);
        // Live books are right from then on.
        for _ in 0..60 {
            market.event(&mut publisher);
            publisher.commit();
            while subscriber.drain(usize::MAX, &mut reader) > 0 {}
            market.assert_what_is_live(&reader.1, &format!("SEED={seed}"));
        }
    }
}
