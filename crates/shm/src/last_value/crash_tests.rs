//! A writer that dies after any of its stores, and its successor, which may die as well.

use super::{Found, Reader, Shape, Writer};
use crate::crash_injection::{self, Ordering};
use crate::{atomic::AtomicU64, zeroed};
use std::sync::Arc;

type Memory = Arc<[AtomicU64]>;

const SHAPE: Shape = Shape {
    slots: 4,
    content_words: 3,
};

/// Slots that a writer changes, in this order: the highest slot but one is used first, so that slots before it are
/// counted without a change.
const FIRST_LIFE: [usize; 6] = [1, 0, 1, 3, 0, 3];
const SECOND_LIFE: [usize; 3] = [2, 0, 2];

/// The word of a content that belongs to a position.
fn word(position: u64, index: usize) -> u64 {
    (position + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Writes the content that belongs to a position.
fn change(writer: &mut Writer<Memory>, slot: usize, position: u64) {
    let written = writer.change(slot, position, |content| {
        for (index, at) in content.iter().enumerate() {
            at.store(word(position, index), Ordering::Relaxed);
        }
    });
    assert_eq!(written, Some(()));
}

/// Expected content of the slots after a life.
#[derive(Clone, Copy, Default)]
struct Expected {
    /// Position of the last change that was finished, by slot.
    finished: [Option<u64>; SHAPE.slots],
    /// The slot that the writer died in.
    open: Option<usize>,
}

/// Changes slots until all are done or the writer dies.
fn live_through(writer: &mut Writer<Memory>, slots: &[usize], first: u64) -> Expected {
    let mut expected = Expected::default();
    for (slot, position) in slots.iter().zip((first..).step_by(8)) {
        change(writer, *slot, position);
        if !crash_injection::lives() {
            expected.open = Some(*slot);
            break;
        }
        expected.finished[*slot] = Some(position);
    }
    expected
}

/// Checks that every slot has its last finished content or none; only the slot in which the writer
/// died may be busy, and no word of a busy slot is copied.
fn check(memory: &Memory, expected: &Expected) {
    const UNTOUCHED: u64 = 77;
    let reader = Reader::attach(memory.clone()).expect("the table was started");
    for slot in 0..SHAPE.slots {
        let mut room = [UNTOUCHED; SHAPE.content_words];
        match reader.read(slot, &mut room) {
            Found::Busy(change) => {
                assert_eq!(Some(slot), expected.open, "busy");
                assert_eq!(room, [UNTOUCHED; SHAPE.content_words]);
                assert!(reader.is_in_progress(change));
            }
            Found::Nothing => assert_eq!(expected.finished[slot], None, "slot {slot}"),
            Found::Content { position } => {
                assert_eq!(expected.finished[slot], Some(position), "slot {slot}");
                assert_eq!(room, std::array::from_fn(|index| word(position, index)));
                assert!(slot < reader.used(), "slot {slot} is not counted");
            }
            Found::Overwritten => panic!("nobody writes"),
        }
    }
}

/// A writer dies after `first_life` stores, its successor after `second_life` stores; the third one
/// lives. Returns whether each of the two lives ended without a crash.
fn two_crashes(first_life: u64, second_life: u64) -> (bool, bool) {
    let memory = zeroed(SHAPE.words());
    let generation = || Reader::attach(memory.clone()).map_or(0, |reader| reader.generation());

    crash_injection::live_for(first_life);
    let mut writer = Writer::create(memory.clone(), SHAPE).unwrap();
    writer.publish(1);
    let first = live_through(&mut writer, &FIRST_LIFE, 1_000);
    let first_lived = crash_injection::lives();
    if generation() == 1 {
        check(&memory, &first);
    }

    crash_injection::live_for(second_life);
    let mut writer = Writer::create(memory.clone(), SHAPE).unwrap();
    writer.publish(2);
    let second = live_through(&mut writer, &SECOND_LIFE, 2_000);
    let second_lived = crash_injection::lives();
    match generation() {
        // The writer died before it touched the first writer's data, or no table existed.
        1 => check(&memory, &first),
        2 => check(&memory, &second),
        other => assert_eq!(other, 0),
    }

    crash_injection::live();
    let mut writer = Writer::create(memory.clone(), SHAPE).unwrap();
    let reader = Reader::attach(memory.clone()).unwrap();
    assert_eq!((reader.generation(), reader.used()), (0, 0));
    check(&memory, &Expected::default());
    writer.publish(3);
    let third = live_through(&mut writer, &[SHAPE.slots - 1], 3_000);
    assert_eq!((reader.generation(), reader.used()), (3, SHAPE.slots));
    check(&memory, &third);
    (first_lived, second_lived)
}

/// At each instant a slot holds the last finished change, or nothing, or is busy.
#[test]
fn a_slot_is_complete_or_busy_after_a_crash_at_any_store() {
    // Miri is slow, and its task here is orderings: a sample of the crashes suffices.
    let step = if cfg!(miri) { 7 } else { 1 };
    let mut crashes = 0;
    for first_life in (0..).step_by(step) {
        let mut first_lived = false;
        for second_life in (0..).step_by(step) {
            let lived = two_crashes(first_life, second_life);
            first_lived = lived.0;
            crashes += 2 - u64::from(lived.0) - u64::from(lived.1);
            if lived.1 {
                break;
            }
        }
        if first_lived {
            break;
        }
    }
    println!("{crashes} deaths");
    assert!(crashes > 20, "nobody died");
}

/// A writer starts a change in the middle of a reader's copy and dies after any of its stores: the copy
/// is handed out only if no store of the change was made.
#[test]
fn a_copy_is_discarded_if_the_writer_crashes_during_it() {
    for life in 0.. {
        let memory = zeroed(SHAPE.words());
        crash_injection::live();
        let mut writer = Writer::create(memory.clone(), SHAPE).unwrap();
        change(&mut writer, 0, 8);
        let reader = Reader::attach(memory.clone()).unwrap();
        let mut room = [0; SHAPE.content_words];
        let found = reader.read_parts(0, &mut room, 1, |_| {
            crash_injection::live_for(life);
            change(&mut writer, 0, 16);
            [1..2, 2..SHAPE.content_words]
        });
        if life == 0 {
            assert_eq!(found, Found::Content { position: 8 });
            assert_eq!(room, std::array::from_fn(|index| word(8, index)));
        } else {
            assert_eq!(found, Found::Overwritten, "{life} stores");
        }
        if crash_injection::lives() {
            crash_injection::live();
            return assert!(life > 4, "a change has more stores than that");
        }
    }
}
