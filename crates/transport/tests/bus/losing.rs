//! An overrun reader is notified of the exact loss, and recovers.

use crate::world::{Buses, Reader};
use touchline_transport::SubscriptionEvent;
use touchline_transport::shm::Join;
use touchline_types::Validity;

/// Number of overruns, and the messages and bytes that they lost.
fn losses(reader: &Reader) -> (u64, u64, u64) {
    let mut all = (0, 0, 0);
    for event in &reader.events {
        if let SubscriptionEvent::Overrun { messages, bytes } = event {
            all = (all.0 + 1, all.1 + messages, all.2 + bytes);
        }
    }
    all
}

#[test]
fn an_overrun_reader_recovers_from_snapshot_slots() {
    for seed in touchline_lab::random::seeds(8) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        let mut reader = Reader::new(buses.join(Join::default()));
        for _ in 0..20 {
            // Three to four rings long.
            gateway.events(1_500);
            reader.drain();
            gateway
                .market
                .assert_equal(&reader.mirror, &format!("SEED={seed}"));
        }
        let (laps, ..) = losses(&reader);
        assert!(laps >= 20, "SEED={seed}: {laps} laps tested nothing");
    }
}

#[test]
fn without_resynchronisation_a_book_recovers_at_its_next_change() {
    for seed in touchline_lab::random::seeds(8) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 40);
        let mut reader = Reader::new(buses.join(Join {
            resync: false,
            ..Join::default()
        }));
        (0..50).for_each(|_| gateway.event());
        reader.drain();
        (0..4_000).for_each(|_| gateway.event());
        // The loss is reported first, and no book is live at it.
        while losses(&reader).0 == 0 {
            assert!(reader.take(1) > 0, "it was overrun");
        }
        for instrument in 0..40 {
            assert_ne!(reader.validity(instrument), Validity::Live);
        }
        let (_, lost_messages, lost_bytes) = losses(&reader);
        assert!(lost_bytes > lost_messages * 70);
        // Live books are right from then on.
        for _ in 0..60 {
            gateway.events(1);
            reader.drain();
            gateway
                .market
                .assert_what_is_live(&reader.mirror, &format!("SEED={seed}"));
        }
    }
}
