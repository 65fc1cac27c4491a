//! Consecutive writers, and three readers at full speed.

use super::{Memory, change, word};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchline_shm::last_value::{Found, Reader, Shape, Writer};
use touchline_shm::zeroed;

const SHAPE: Shape = Shape {
    slots: 2,
    content_words: if cfg!(miri) { 3 } else { 40 },
};

/// Positions of a generation start at this multiple of its number.
const GENERATION_BEGINS: u64 = 1 << 32;

/// Results of a reader's attempts.
#[derive(Debug, Default)]
struct Tally {
    contents: u64,
    empty: u64,
    busy: u64,
    overwritten: u64,
    /// Content or none, and a later generation after that read.
    replaced: u64,
}

/// One attempt: returned content is complete, no older than earlier content, and of the generation of the table.
fn attempt(
    reader: &Reader<Memory>,
    slot: usize,
    newest: &mut u64,
    tally: &mut Tally,
    pauses: bool,
) {
    let mut room = [0; SHAPE.content_words];
    let before = reader.generation();
    let found = reader.read_parts(slot, &mut room, 1, |_| {
        if pauses {
            thread::yield_now();
        }
        [1..2, 2..SHAPE.content_words]
    });
    let after = reader.generation();
    match found {
        Found::Busy(_) => tally.busy += 1,
        Found::Overwritten => tally.overwritten += 1,
        Found::Content { .. } | Found::Nothing if before != after || after == 0 => {
            tally.replaced += 1;
        }
        Found::Nothing => {
            tally.empty += 1;
            assert_ne!(*newest / GENERATION_BEGINS, after, "it held something");
        }
        Found::Content { position } => {
            tally.contents += 1;
            let torn = (0..room.len()).find(|index| room[*index] != word(position, *index));
            assert_eq!(torn, None, "slot {slot} at {position}");
            assert_eq!(position / GENERATION_BEGINS, after, "of another generation");
            assert!(*newest <= position, "{position} after {newest}");
            *newest = position;
        }
    }
}

fn read(memory: &Memory, pauses: bool, done: &AtomicBool) -> Tally {
    let reader = Reader::attach(memory.clone()).unwrap();
    let (mut newest, mut tally) = ([0; SHAPE.slots], Tally::default());
    while !done.load(Ordering::Acquire) {
        for (slot, newest) in newest.iter_mut().enumerate() {
            attempt(&reader, slot, newest, &mut tally, pauses);
        }
        if cfg!(miri) {
            thread::yield_now();
        }
    }
    tally
}

/// This number of changes, by eight consecutive writers.
fn write(memory: &Memory, changes: u64) {
    for generation in 1..=8 {
        let mut writer = Writer::create(memory.clone(), SHAPE).unwrap();
        writer.publish(generation);
        for number in 0..changes / 8 {
            let slot = (number % 3 == 0).into();
            change(
                &mut writer,
                slot,
                generation * GENERATION_BEGINS + 8 * number,
            );
            if cfg!(miri) && number % 2 == 0 {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn a_reader_gets_only_complete_content_of_its_generation() {
    let usual = if cfg!(miri) { 48 } else { 2_000_000 };
    let changes = std::env::var("CHANGES").map_or(usual, |text| text.parse().unwrap());
    let memory = zeroed(SHAPE.words());
    drop(Writer::create(memory.clone(), SHAPE).unwrap());
    let done = AtomicBool::new(false);
    let tallies = thread::scope(|scope| {
        let readers = [false, false, true].map(|pauses| {
            let (memory, done) = (&memory, &done);
            scope.spawn(move || read(memory, pauses, done))
        });
        write(&memory, changes);
        done.store(true, Ordering::Release);
        readers.map(|reader| reader.join().unwrap())
    });
    println!("{changes} changes: {tallies:#?}");
    let discarded: u64 = tallies
        .iter()
        .map(|tally| tally.overwritten + tally.busy)
        .sum();
    if !cfg!(miri) {
        assert!(
            discarded > 0,
            "no read met a change, so the test covered nothing"
        );
        assert!(tallies.iter().any(|tally| tally.contents > 0));
    }
}
