//! A poll makes one attempt to read a slot with a change in progress, and returns.

use super::super::{Item, Join, Step, Subscriber};
use super::busy;
use crate::Publish;
use crate::shm::{Publisher, Root, Settings};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use touchline_testing::Folder;
use touchline_types::{
    Depth, Instrument, InstrumentDefinition, ReferenceData, State, Timestamps, Update, Validity,
};

/// A bus with one instrument, in a temporary folder.
struct Bus {
    folder: Folder,
    /// Keeps the bus published; it publishes nothing.
    _publisher: Publisher,
}

impl Bus {
    fn new(name: &str) -> Bus {
        let folder = Folder::new(name);
        let settings = Settings {
            ring_bytes: 1 << 16,
            instruments_max: 4,
            ..Settings::default()
        };
        let root = Root::at(&folder);
        let mut publisher = Publisher::open(&root, "test", &settings).expect("nobody else has it");
        let depth = Depth {
            direct: 10,
            implied: 0,
        };
        let instrument = Instrument(0);
        let definition = InstrumentDefinition {
            defined: true,
            reference: ReferenceData::NULL,
            ..InstrumentDefinition::unknown(instrument, 1, depth)
        };
        let state = State {
            instrument,
            validity: Validity::Live,
        };
        for update in [Update::Definition(&definition), Update::State(state)] {
            publisher.publish(&update, &Timestamps::default());
            publisher.commit();
        }
        // Gives the channel a nonempty slot, too.
        publisher.publish(&Update::Reset, &Timestamps::default());
        publisher.commit();
        Bus {
            folder,
            _publisher: publisher,
        }
    }

    fn join(&self) -> Subscriber {
        Subscriber::join(&Root::at(&self.folder), "test", Join::default()).expect("a bus")
    }

    /// Increments the stamp of a slot, as a writer does at the start and at the end of a change.
    fn stamp(&self, table: &str, slot: u64) {
        let path = self.folder.join("test").join(table);
        let file = File::options().read(true).write(true).open(path);
        let file = file.expect("our file");
        let word = |at: u64| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, at).expect("a whole table");
            u64::from_le_bytes(bytes)
        };
        let at = (512 + slot * (2 + word(16)).next_multiple_of(8)) * 8;
        let stamp = word(at) + 1;
        file.write_all_at(&stamp.to_le_bytes(), at)
            .expect("our file");
    }
}

/// Steps until one hands out an item (`true`) or finds none (`false`).
fn step(subscriber: &mut Subscriber) -> bool {
    loop {
        match subscriber.step(&mut |_: Item<'_>| ()) {
            Step::Given(()) => return true,
            Step::Nothing => return false,
            Step::Passed => {}
        }
    }
}

/// Table, slot, and number of items that are handed out before it.
const TURNS: [(&str, u64, usize); 3] = [("images", 0, 0), ("definitions", 0, 0), ("images", 1, 1)];

#[test]
fn a_poll_makes_one_attempt_and_the_next_one_another() {
    let bus = Bus::new("attempt");
    for (table, slot, before) in TURNS {
        bus.stamp(table, slot);
        let mut subscriber = bus.join();
        assert!((0..before).all(|_| step(&mut subscriber)));
        // At most one step reaches the slot. Each later step ends its poll there.
        let mut ends_poll = || {
            // Restarts the time limit, so that a pause of this thread does not exceed it.
            let joining = subscriber.joining.as_mut();
            joining.expect("it is not done").busy = busy::Busy::default();
            matches!(subscriber.step(&mut |_: Item<'_>| ()), Step::Nothing)
        };
        ends_poll();
        assert!((0..5).all(|_| ends_poll()), "{table}, slot {slot}");
        bus.stamp(table, slot);
        assert!(step(&mut subscriber), "{table}, slot {slot}");
    }
}

/// Polls retry a busy slot until the time limit; then joining continues. If the
/// publisher is known to have ended, a slot is not retried.
#[test]
fn joining_continues_without_a_busy_slot_after_the_time_limit() {
    let bus = Bus::new("a-while");
    for (table, slot, before) in TURNS {
        bus.stamp(table, slot);
        let mut subscriber = bus.join();
        assert!((0..before).all(|_| step(&mut subscriber)));
        let start = Instant::now();
        while !step(&mut subscriber) {
            assert!(start.elapsed() < Duration::from_secs(20));
        }
        assert!(start.elapsed() >= busy::MAX, "{table}, slot {slot}");

        let mut subscriber = bus.join();
        assert!((0..before).all(|_| step(&mut subscriber)));
        subscriber.watch.is_gone = true;
        assert!(step(&mut subscriber), "{table}, slot {slot}, gone");
        bus.stamp(table, slot);
    }
}
