//! A wait for readers of other users ends, with any position that they state.

use super::*;
use crate::bus::places::{OWN, PlaceFile};
use crate::bus::{Directory, Lossless};
use std::time::Duration;
use touchline_shm::segment::{Guests, SlotLocks};
use touchline_testing::Folder;

const WAIT_MAX: Duration = Duration::from_millis(20);
const RING_BYTES: u64 = 1 << 20;

/// A temporary bus that is shared with a group of this process.
struct Shared {
    root: Root,
    publication: Publication,
    bus: Directory,
    folder: Folder,
}

fn layout(wait_max: Duration) -> Layout<0> {
    Layout {
        ring_bytes: RING_BYTES,
        message_bytes_min: 64,
        schema: 1,
        tables: [],
        lossless: Some(Lossless {
            readers_max: 2,
            wait_max,
        }),
        huge_pages: false,
        lock: touchline_shm::segment::Lock::No,
    }
}

impl Shared {
    fn new(name: &str) -> Shared {
        let folder = Folder::new(name);
        let group = rustix::process::getegid().as_raw().to_string();
        let root = Root::at(&folder)
            .shared_with(Some(&group))
            .expect("a group");
        let (publication, []) = Publication::open(&root, "test", &layout(WAIT_MAX)).expect("a bus");
        Shared {
            bus: root.open("test").expect("it is there"),
            publication,
            root,
            folder,
        }
    }

    /// A reader with a file, as if it were of another user, which the publisher has seen.
    fn join(&mut self) -> (PlaceFile, broadcast::Reader<Mapping>) {
        let places = Guests::places(&self.bus).unwrap().expect("it is shared");
        let ring = broadcast::Reader::attach(self.publication.ring.memory().clone()).unwrap();
        let place = PlaceFile::create(&self.bus, places, ring.memory());
        let (file, cursors) = place.expect("a place");
        let joined = (file, ring.registered(cursors, OWN));
        self.publication.check().expect("the bus is there");
        joined
    }

    fn left_behind(&self) -> u64 {
        self.publication.flow.readers_left_behind
    }
}

#[test]
fn a_reader_that_creeps_is_waited_for_no_longer_than_one_that_stops() {
    let mut shared = Shared::new("creeps");
    let (_place, reader) = shared.join();
    (0..1_000).for_each(|_| {
        shared.publication.stage(64, |_| ());
        shared.publication.release(Flags::default());
    });
    let stated = reader.cursors().expect("it is registered");
    let begin = stated.position(0).expect("it has a place");
    let mut waits = 0;
    while shared.left_behind() == 0 {
        waits += 1;
        assert!(waits < 1_000, "a byte a look is enough for ever");
        stated.advance(0, begin + waits);
        std::thread::sleep(Duration::from_millis(1));
        shared.publication.wait(NoRoom::Full { slot: 0 });
    }
}

#[test]
fn readers_that_take_turns_are_waited_for_as_one() {
    let mut shared = Shared::new("turns");
    let _readers = [shared.join(), shared.join()];
    for turn in 0.. {
        if shared.left_behind() > 0 {
            break;
        }
        assert!(turn < 1_000, "a wait of each turn begins again");
        std::thread::sleep(Duration::from_millis(1));
        shared.publication.wait(NoRoom::Full { slot: turn % 2 });
    }
}

/// A position that a reader states ahead of the stream moves no slot, and does not make the publisher overrun the reader.
#[test]
fn a_position_ahead_of_the_stream_is_none() {
    let mut shared = Shared::new("ahead");
    let (_place, reader) = shared.join();
    let next = shared.publication.ring.next().position;
    let stated = reader.cursors().expect("it is registered");
    let held = |shared: &Shared| {
        let cursors = shared.publication.ring.registered().expect("lossless");
        cursors.position(0)
    };
    let begin = held(&shared).expect("it has a place");
    for position in [next + 8, next + (1 << 40), begin.wrapping_sub(8)] {
        stated.advance(0, position);
        shared.publication.wait(NoRoom::Full { slot: 0 });
        assert_eq!(held(&shared), Some(begin), "{position}");
    }
    stated.advance(0, next);
    shared.publication.wait(NoRoom::Full { slot: 0 });
    assert_eq!(held(&shared), Some(next));
}

/// A reader that moved just before the end of a wait has room for the message then, even if another reader used up the time. One that seems
/// not to have moved may have done so while the publisher was stopped, behind its last look.
#[test]
fn after_a_wait_each_reader_is_tried_once_more() {
    for (name, moves) in [("moves", true), ("stays", false)] {
        let mut shared = Shared::new(name);
        let (_place, reader) = shared.join();
        shared.publication.stage(64, |_| ());
        shared.publication.release(Flags::default());
        let stated = reader.cursors().expect("it is registered");
        let begin = stated.position(0).expect("it has a place");
        shared.publication.wait(NoRoom::Full { slot: 0 });
        std::thread::sleep(WAIT_MAX);
        if moves {
            stated.advance(0, begin + 8);
        }
        shared.publication.wait(NoRoom::Full { slot: 0 });
        assert_eq!(shared.left_behind(), 0, "{name}");
        shared.publication.wait(NoRoom::Full { slot: 0 });
        assert_eq!(shared.left_behind(), 1, "{name}");
    }
}

/// A reader that went on before anything was overwritten notices nothing, and is waited for again; one that was overrun takes its place
/// again itself.
#[test]
fn a_reader_that_was_left_behind_without_a_loss_has_its_slot_again() {
    let mut shared = Shared::new("went-on");
    let (_place, reader) = shared.join();
    let publish = |shared: &mut Shared, count: u64| {
        for _ in 0..count {
            shared.publication.stage(1_000, |_| ());
            shared.publication.release(Flags::default());
        }
    };
    let leave_behind = |shared: &mut Shared| {
        let before = shared.left_behind();
        while shared.left_behind() == before {
            shared.publication.wait(NoRoom::Full { slot: 0 });
        }
    };
    let held = |shared: &Shared| {
        let cursors = shared.publication.ring.registered().expect("lossless");
        cursors.position(0)
    };
    publish(&mut shared, 10);
    leave_behind(&mut shared);
    assert_eq!(held(&shared), None);
    let next = shared.publication.ring.next().position;
    reader.cursors().expect("registered").advance(0, next);
    shared.publication.check().expect("the bus is there");
    assert_eq!(held(&shared), Some(next));

    leave_behind(&mut shared);
    publish(&mut shared, 2 * RING_BYTES / 1_000);
    shared.publication.check().expect("the bus is there");
    assert_eq!(held(&shared), None);
}

/// The time that a start waited is not counted to its first message.
#[test]
fn a_wait_of_the_start_ends_with_it() {
    // Longer than the host stops the thread of the reader.
    const LONG: Duration = Duration::from_secs(2);
    let mut shared = Shared::new("start");
    let block = RING_BYTES / 32;
    // The next frame begins a block.
    while shared.publication.ring.next().position % block != block - 16 {
        shared.publication.stage(8, |_| ());
        shared.publication.release(Flags::default());
    }
    let end = shared.publication.ring.next().position + 16;
    let cursors = shared.publication.ring.registered().expect("lossless");
    let cursors = Cursors::new(cursors.memory().clone());
    let locks = SlotLocks::open(&shared.bus, cursors.slots() as u32).unwrap();
    let guard = locks.acquire().expect("a slot");
    let slot = guard.index() as usize;
    cursors.take(slot, end.wrapping_sub(RING_BYTES));
    let Shared {
        folder: _folder,
        root,
        publication,
        ..
    } = shared;
    drop(publication);
    let opened = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(WAIT_MAX);
            cursors.advance(slot, end);
        });
        Publication::open(&root, "test", &layout(LONG))
    });
    let (mut publication, []) = opened.expect("its reader makes room");
    assert_eq!(publication.generation(), 2);
    std::thread::sleep(LONG);
    publication.wait(NoRoom::Full { slot });
    assert_eq!(publication.flow.readers_left_behind, 0);
}
