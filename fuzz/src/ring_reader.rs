//! The memory of a broadcast ring, with any contents.

use crate::Target;
use std::sync::{Arc, atomic::Ordering};
use touchline_shm::{
    atomic::AtomicU64,
    broadcast::{Flags, Geometry, NoRoom, Reader, RingEvent, Writer},
    zeroed,
};

pub(crate) const TARGET: Target = Target {
    name: "ring_reader",
    about: "any memory is read to an end or refused, and what resumes it can be read",
    run,
    seeds,
};

/// The words of the control page that mean something: sizes, watermark and epoch, marks.
const CONTROL: [usize; 11] = [0, 1, 2, 3, 16, 17, 32, 33, 34, 35, 36];

/// Words of the control page.
const CONTROL_WORDS: usize = 512;

type Memory = Arc<[AtomicU64]>;

/// The input is those words of the control page and then the data; the rest of the page is zeros, which would only
/// make inputs long.
fn run(bytes: &[u8]) {
    let words: Vec<u64> = (bytes.as_chunks().0.iter())
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    let (control, data) = words.split_at(words.len().min(CONTROL.len()));
    let memory = zeroed(CONTROL_WORDS + data.len());
    for (place, word) in CONTROL.iter().zip(control) {
        memory[*place].store(*word, Ordering::Relaxed);
    }
    for (place, word) in memory[CONTROL_WORDS..].iter().zip(data) {
        place.store(*word, Ordering::Relaxed);
    }
    read(&memory);
    resume(&memory);
}

/// A reader comes to an end, or to a lasting error, within the number of words.
fn read(memory: &Memory) {
    let Ok(mut reader) = Reader::attach(memory.clone()) else {
        return;
    };
    let mut messages = 0;
    loop {
        let before = reader.next();
        let length = reader.read(|frame| {
            let mut room = vec![0; frame.len().div_ceil(8)];
            frame.copy_to(&mut room);
            frame.len()
        });
        match length {
            Ok(None) => break,
            Ok(Some(length)) => assert!(length / 8 < memory.len(), "a message from outside"),
            Err(RingEvent::Generation(_)) => {}
            Err(RingEvent::Overrun(_) | RingEvent::Corrupt { .. }) if reader.next() == before => {
                break;
            }
            Err(_) => {}
        }
        messages += 1;
        assert!(messages <= 2 * memory.len(), "more messages than words");
    }
}

/// A ring that can be resumed can be written, and its new messages can be read.
fn resume(memory: &Memory) {
    let can_resume = Writer::can_resume(memory);
    let writer = Writer::resume(memory.clone());
    assert_eq!(can_resume, writer.is_ok());
    let Ok(mut writer) = writer else {
        return;
    };
    let mut reader = Reader::attach(memory.clone()).expect("what was just resumed is whole");
    let message_max = writer.geometry().message_max();
    assert_eq!(
        writer.publish(&vec![0; message_max + 1], Flags::default()),
        Err(NoRoom::TooLong { message_max })
    );
    for length in [0, 1, 8, message_max, message_max / 2, message_max] {
        writer
            .publish(&vec![0xaa; length], Flags::default())
            .expect("nobody is waited for");
        let read = reader.read(|frame| (frame.sequence, frame.len(), frame.word(0)));
        let word = u64::from_ne_bytes(std::array::from_fn(|i| if i < length { 0xaa } else { 0 }));
        let sequence = writer.next().sequence.wrapping_sub(1);
        assert_eq!(read, Ok(Some((sequence, length, word))));
    }
}

/// Rings after a few messages, after a lap, and with their writer's second beginning.
fn seeds() -> Vec<Vec<u8>> {
    [(64, 0), (64, 9), (128, 5), (1024, 3), (1024, 80)]
        .map(|(capacity, messages)| {
            let geometry = Geometry::new(capacity).expect("a power of two");
            let memory = zeroed(geometry.words());
            let begin = Writer::create(memory.clone(), geometry);
            let mut writer = begin.expect("the memory is large enough");
            for length in 0..messages {
                let message = vec![length as u8; length % (geometry.message_max() + 1)];
                let _ = writer.publish(&message, Flags::default());
            }
            drop(writer);
            let _ = Writer::resume(memory.clone());
            let control = CONTROL.iter().map(|place| &memory[*place]);
            control
                .chain(&memory[CONTROL_WORDS..])
                .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
                .collect()
        })
        .to_vec()
}
