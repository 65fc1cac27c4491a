//! The last-value table: one slot of two words, or two slots.

use super::{Memory, check};
use loom::thread;
use touchline_shm::atomic::{Ordering, fence};
use touchline_shm::last_value::{Found, Reader, Shape, Writer};
use touchline_shm::zeroed;

const SHAPE: Shape = Shape {
    slots: 1,
    content_words: 2,
};

fn table(shape: Shape) -> (Writer<Memory>, Reader<Memory>) {
    let memory = zeroed(shape.words());
    let mut writer = Writer::create(memory.clone(), shape).unwrap();
    writer.publish(1);
    let reader = Reader::attach(memory).unwrap();
    (writer, reader)
}

/// The words of the content at a position.
fn content(position: u64) -> [u64; 2] {
    let word = position.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [word, !word]
}

/// Writes the content of a position.
fn change(writer: &mut Writer<Memory>, slot: usize, position: u64) {
    let words = content(position);
    let changed = writer.change(slot, position, |content| {
        content[0].store(words[0], Ordering::Relaxed);
        content[1].store(words[1], Ordering::Relaxed);
    });
    assert_eq!(changed, Some(()));
}

/// One attempt. Returned content is complete; returns its position.
fn read(reader: &Reader<Memory>, slot: usize) -> Option<u64> {
    let mut room = [0; 2];
    match reader.read(slot, &mut room) {
        Found::Content { position } => {
            assert_eq!(room, content(position), "of position {position}");
            Some(position)
        }
        Found::Nothing => Some(0),
        Found::Busy(_) | Found::Overwritten => None,
    }
}

/// Torn or older than an earlier read: the writer changes the slot during the copy.
#[test]
fn a_reader_during_two_changes_gets_complete_content() {
    check("one reader during two changes", || {
        let (mut writer, reader) = table(SHAPE);
        change(&mut writer, 0, 8);
        let thread = thread::spawn(move || {
            change(&mut writer, 0, 16);
            change(&mut writer, 0, 24);
        });
        let first = read(&reader, 0).unwrap_or(8);
        let second = read(&reader, 0).unwrap_or(first);
        assert!(8 <= first && first <= second, "{first}, then {second}");
        thread.join().unwrap();
        assert_eq!(read(&reader, 0), Some(24));
    });
}

/// No word is copied during a change, and words of two changes are never returned together.
#[test]
fn two_readers_get_complete_content() {
    check("two readers of an image", || {
        let (mut writer, reader) = table(SHAPE);
        let other = Reader::attach(reader.memory().clone()).unwrap();
        let writing = thread::spawn(move || change(&mut writer, 0, 8));
        let reading = thread::spawn(move || read(&other, 0));
        assert!(matches!(read(&reader, 0), None | Some(0 | 8)));
        assert!(matches!(reading.join().unwrap(), None | Some(0 | 8)));
        writing.join().unwrap();
        assert_eq!(read(&reader, 0), Some(8));
    });
}

/// A reader that counts a slot as used reads it; a reader that does not has all changes from the ring.
#[test]
fn the_first_change_of_a_slot() {
    const TWO: Shape = Shape { slots: 2, ..SHAPE };
    check("the first change of a slot", || {
        let (mut writer, reader) = table(TWO);
        let thread = thread::spawn(move || {
            change(&mut writer, 1, 8);
            writer
        });
        let found = read(&reader, 1);
        assert!(matches!(found, None | Some(0 | 8)));
        if found == Some(8) {
            assert_eq!(reader.used(), 2, "a used slot is counted");
        }
        let mut writer = thread.join().unwrap();
        change(&mut writer, 0, 16);
        assert_eq!((read(&reader, 0), reader.used()), (Some(16), 2));
    });
}

/// A successor empties the slots that a dead writer left in a change. No reader treats one as a book, and a reader of
/// an emptied slot sees another generation of the table.
#[test]
fn the_next_writer_empties_slots_left_in_a_change() {
    check("a successor of a writer that died in a change", || {
        let (mut writer, reader) = table(SHAPE);
        change(&mut writer, 0, 8);
        let memory = reader.memory().clone();
        let dead = thread::spawn(move || {
            let slot = &memory[SHAPE.words() - 8..];
            let stamp = slot[0].load(Ordering::Relaxed);
            slot[0].store(stamp + 1, Ordering::Relaxed);
            fence(Ordering::Release);
            slot[2].store(7, Ordering::Relaxed);
            memory
        });
        let successor = thread::spawn(move || {
            let mut writer = Writer::create(dead.join().unwrap(), SHAPE).unwrap();
            writer.publish(2);
            change(&mut writer, 0, 16);
        });
        let before = reader.generation();
        let found = read(&reader, 0);
        let after = reader.generation();
        if reader.used() == 0 {
            assert_ne!(reader.generation(), 1, "unused in that generation no more");
        }
        match found {
            Some(8) => assert_ne!(before, 2, "left by the one before"),
            Some(0) => assert_ne!(after, 1, "emptied by the successor"),
            Some(16) => assert_eq!(after, 2),
            None => {}
            Some(other) => panic!("nobody wrote {other}"),
        }
        successor.join().unwrap();
        assert_eq!((read(&reader, 0), reader.generation()), (Some(16), 2));
    });
}

/// A reader that sees the generation of the tables also sees the earlier stores of its writer: the join point in the
/// ring.
#[test]
fn a_generation_is_visible_after_its_join_point() {
    check("a generation begins", || {
        let (mut writer, reader) = table(SHAPE);
        let join_point = zeroed(1);
        let join_point_too = join_point.clone();
        let thread = thread::spawn(move || {
            join_point_too[0].store(7, Ordering::Relaxed);
            writer.publish(2);
            join_point_too[0].store(8, Ordering::Relaxed);
            writer.publish(3);
        });
        for _ in 0..2 {
            let generation = reader.generation();
            let join_point = join_point[0].load(Ordering::Relaxed);
            assert!(
                generation == 1 || join_point >= 5 + generation,
                "{join_point} in generation {generation}"
            );
        }
        thread.join().unwrap();
        assert_eq!(reader.generation(), 3);
    });
}
