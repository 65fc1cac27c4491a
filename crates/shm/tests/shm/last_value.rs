//! The last-value table over plain memory: the result of a read at any step of its writer.

mod threads;

use std::sync::Arc;
use touchline_shm::atomic::{AtomicU64, Ordering};
use touchline_shm::last_value::{Found, Reader, Refused, Shape, Writer};
use touchline_shm::zeroed;

type Memory = Arc<[AtomicU64]>;

/// The word of the content at a position.
fn word(position: u64, index: usize) -> u64 {
    (position + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Writes the content of a position.
fn change(writer: &mut Writer<Memory>, slot: usize, position: u64) {
    let changed = writer.change(slot, position, |content| {
        for (index, at) in content.iter().enumerate() {
            at.store(word(position, index), Ordering::Relaxed);
        }
    });
    assert_eq!(changed, Some(()));
}

fn table(shape: Shape) -> (Writer<Memory>, Reader<Memory>) {
    let memory = zeroed(shape.words());
    let mut writer = Writer::create(memory.clone(), shape).unwrap();
    writer.publish(1);
    let reader = Reader::attach(memory).unwrap();
    (writer, reader)
}

const UNTOUCHED: u64 = 77;

/// The slot of a book of 8,192 levels a side, whose writer died in a change: one read of the stamp, and no word is
/// copied.
#[test]
fn a_slot_in_a_change_is_not_copied_whatever_its_length() {
    let content_words = 5 + 2 * 3 * (8_192 + 16);
    let shape = Shape {
        slots: 2,
        content_words,
    };
    let (mut writer, reader) = table(shape);
    change(&mut writer, 1, 8);
    let stamp = &writer.memory()[shape.words_through(0)];
    stamp.store(stamp.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    let mut room = vec![UNTOUCHED; content_words];
    let mut copies = 0;
    let found = reader.read_parts(1, &mut room, 5, |_| {
        copies += 1;
        [5..6, 6..content_words]
    });
    let Found::Busy(change) = found else {
        panic!("{found:?}");
    };
    assert!(reader.is_in_progress(change));
    assert_eq!(reader.read(1, &mut room), found);
    assert_eq!(copies, 0);
    assert!(room.iter().all(|word| *word == UNTOUCHED));
    stamp.store(stamp.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    assert!(!reader.is_in_progress(change));
    assert_eq!(reader.read(1, &mut room), Found::Content { position: 8 });
}

/// A change that starts or ends in the middle of a copy, and a change that is made twice.
#[test]
fn a_change_in_the_middle_of_a_read_is_discarded_and_repeated() {
    let shape = Shape {
        slots: 1,
        content_words: 4,
    };
    for changes in [1, 2, 7] {
        let (mut writer, reader) = table(shape);
        change(&mut writer, 0, 8);
        let (mut room, mut copies) = ([0; 4], 0);
        let found = reader.read_parts(0, &mut room, 1, |first| {
            assert_eq!(first, [word(8, 0)]);
            copies += 1;
            (1..=changes).for_each(|number| change(&mut writer, 0, 8 + 8 * number));
            [1..2, 2..4]
        });
        assert_eq!((found, copies), (Found::Overwritten, 1));
        let position = 8 + 8 * changes;
        assert_eq!(reader.read(0, &mut room), Found::Content { position });
        assert_eq!(room, std::array::from_fn(|index| word(position, index)));
    }
}

/// Words beyond the slot or the reader's buffer are not copied.
#[test]
fn only_words_of_the_slot_and_the_buffer_are_copied() {
    let shape = Shape {
        slots: 3,
        content_words: 4,
    };
    let (mut writer, reader) = table(shape);
    change(&mut writer, 1, 8);
    assert_eq!(reader.used(), 2);
    let content = Found::Content { position: 8 };
    let mut short = [UNTOUCHED; 2];
    assert_eq!(reader.read(1, &mut short), content);
    assert_eq!(short, [word(8, 0), word(8, 1)]);
    let mut long = [UNTOUCHED; 6];
    let (behind, before) = (9, 2);
    let parts = |_: &[u64]| [3..usize::MAX, behind..before, usize::MAX..usize::MAX];
    assert_eq!(reader.read_parts(1, &mut long, 1, parts), content);
    let [first, _, _, last, ..] = long;
    assert_eq!((first, last), (word(8, 0), word(8, 3)));
    assert_eq!([long[1], long[2], long[4], long[5]], [UNTOUCHED; 4]);
    for nothing in [0, 2, 3, usize::MAX] {
        assert_eq!(reader.read(nothing, &mut long), Found::Nothing);
    }
    assert_eq!(writer.change(3, 16, |_| ()), None);
    assert_eq!(reader.used(), 2, "there is no such slot");
}

#[test]
fn memory_without_a_valid_table_is_rejected() {
    let shape = Shape {
        slots: 2,
        content_words: 4,
    };
    let attach = |memory: &Memory| Reader::attach(memory.clone()).map(drop);
    assert_eq!(attach(&zeroed(8)), Err(Refused::Foreign));
    assert_eq!(attach(&zeroed(1024)), Err(Refused::Foreign));
    let small = zeroed(shape.words() - 1);
    let refused = Writer::create(small, shape).map(drop);
    assert_eq!(refused, Err(Refused::Corrupt));
    let (writer, _) = table(shape);
    for (place, value) in [(1, 3), (1, u64::MAX), (2, 1 << 40), (2, u64::MAX)] {
        let memory: Memory = writer
            .memory()
            .iter()
            .map(|word| AtomicU64::new(word.load(Ordering::Relaxed)))
            .collect();
        assert_eq!(attach(&memory), Ok(()));
        memory[place].store(value, Ordering::Relaxed);
        assert_eq!(attach(&memory), Err(Refused::Corrupt), "{place}: {value}");
        // Without slots no memory bounds the content, for which a reader has room.
        memory[1].store(0, Ordering::Relaxed);
        let is_bounded = place == 1;
        assert_eq!(attach(&memory).is_ok(), is_bounded, "{place}: {value}");
    }
}
