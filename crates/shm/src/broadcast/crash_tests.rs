//! A writer that dies after any of its stores, and a successor that may die as well.

use super::{Cursors, Flags, Geometry, JoinPoint, Overrun, Reader, Refused, RingEvent, Writer};
use crate::crash_injection;
use crate::zeroed;
use touchline_testing::payload;

type Memory = std::sync::Arc<[crate::atomic::AtomicU64]>;

/// Messages per life of a writer: more than a lap of the smallest rings.
const LETTERS: u64 = if cfg!(miri) { 6 } else { 24 };

/// Start of a ring: positions and sequences that wrap during the test.
const FIRST: [JoinPoint; 3] = [
    JoinPoint {
        position: 0,
        sequence: 1,
    },
    JoinPoint {
        position: 0u64.wrapping_sub(104),
        sequence: 0u64.wrapping_sub(7),
    },
    JoinPoint {
        position: (1 << 32) - 104,
        sequence: (1 << 32) - 7,
    },
];

/// A reader that compares received messages with the sent ones.
struct Judge {
    reader: Reader<Memory>,
    expected: u64,
    generations: u64,
}

impl Judge {
    fn attach(memory: &Memory) -> Judge {
        let reader = Reader::attach(memory.clone()).expect("a ring that was begun has a mark");
        Judge {
            expected: reader.next().sequence,
            reader,
            generations: 0,
        }
    }

    /// Reads to the end.
    fn read_all(&mut self) {
        let length_max = self.reader.geometry().message_max();
        loop {
            let taken = self.reader.read(|frame| {
                let mut room = vec![0; frame.len().div_ceil(8)];
                frame.copy_to(&mut room);
                (frame.sequence, frame.len(), room)
            });
            match taken {
                Ok(None) => break,
                Ok(Some((sequence, length, words))) => {
                    assert_eq!(sequence, self.expected);
                    assert_eq!(length, payload::length(sequence, length_max), "{sequence}");
                    let sent = (0..words.len()).map(|i| payload::word(sequence, length, i));
                    assert!(sent.eq(words), "message {sequence} is not what was sent");
                    self.expected = self.expected.wrapping_add(1);
                }
                Err(RingEvent::Generation(_)) => self.generations += 1,
                Err(RingEvent::Overrun(Overrun { messages, .. })) => {
                    self.expected = self.expected.wrapping_add(messages);
                }
                Err(RingEvent::Corrupt { position }) => panic!("corrupt at {position}"),
            }
        }
        assert_eq!(self.expected, self.reader.next().sequence);
    }
}

/// Publishes messages and returns the number completed before the crash. A dropped claim leaves its bytes in the way of
/// the next one.
fn publish(writer: &mut Writer<Memory>, count: u64, mut after_each: impl FnMut()) -> u64 {
    let (mut bytes, mut published) = (Vec::new(), 0);
    let length_max = writer.geometry().message_max();
    let dropped = vec![0xff; length_max];
    for _ in 0..count {
        writer.claim(length_max).unwrap().write(&dropped);
        let sequence = writer.next().sequence;
        payload::write(sequence, payload::length(sequence, length_max), &mut bytes);
        match sequence % 2 {
            0 => publish_staged(writer, &bytes),
            _ => writer.publish(&bytes, Flags::default()).map(drop).unwrap(),
        }
        published += u64::from(crash_injection::lives());
        after_each();
    }
    published
}

/// Stages a message and commits it after a store elsewhere, as a publisher does.
fn publish_staged(writer: &mut Writer<Memory>, bytes: &[u8]) {
    writer.stage(bytes.len()).unwrap();
    let words = writer.staged_words();
    for (word, chunk) in words.iter().zip(bytes.chunks(8)) {
        let mut value = [0; 8];
        value[..chunk.len()].copy_from_slice(chunk);
        word.store(
            u64::from_ne_bytes(value),
            crash_injection::Ordering::Relaxed,
        );
    }
    let staged = writer.staged().unwrap();
    assert_eq!(staged.length, bytes.len());
    writer.state_activity(super::Activity::default());
    assert_eq!(writer.commit_staged(Flags::default()), staged.end);
}

/// A writer starts a ring, publishes, and dies after `first_life` stores; its successor dies after
/// `second_life` stores; the third one lives. Returns whether each of the two lives ended without a
/// crash.
fn two_crashes(
    geometry: Geometry,
    first: JoinPoint,
    first_life: u64,
    second_life: u64,
) -> (bool, bool) {
    let memory = zeroed(geometry.words());
    let (mut awake, mut asleep) = (None, None);
    let mut published = 0;

    crash_injection::live_for(first_life);
    let mut writer = Writer::create_at(memory.clone(), geometry, first).unwrap();
    let first_lived = if crash_injection::lives() {
        asleep = Some(Judge::attach(&memory));
        let awake = awake.insert(Judge::attach(&memory));
        published += publish(&mut writer, LETTERS, || awake.read_all());
        crash_injection::lives()
    } else {
        // The writer died before it created the ring, so no reader can have attached: the next writer starts from zero.
        let refused = Writer::resume(memory.clone()).map(drop);
        assert_eq!(refused, Err(Refused::Foreign));
        memory
            .iter()
            .for_each(|word| word.store(0, crash_injection::Ordering::Relaxed));
        crash_injection::live();
        Writer::create_at(memory.clone(), geometry, first).unwrap();
        false
    };

    crash_injection::live_for(second_life);
    let mut writer = Writer::resume(memory.clone()).unwrap();
    published += publish(&mut writer, 3, || ());
    let second_lived = crash_injection::lives();

    crash_injection::live();
    let mut fresh = Judge::attach(&memory);
    let mut writer = Writer::resume(memory.clone()).unwrap();
    let expected = first.sequence.wrapping_add(published);
    assert_eq!(
        writer.next().sequence,
        expected,
        "{published} were published"
    );
    let mut last = Judge::attach(&memory);
    for readers in [&mut awake, &mut asleep] {
        readers.as_mut().map(Judge::read_all);
    }
    fresh.read_all();
    publish(&mut writer, LETTERS, || last.read_all());
    assert!(
        last.generations <= 1,
        "a mark lies behind the frame that says who begins"
    );
    let end = writer.next();
    for mut judge in [awake, asleep, Some(fresh), Some(last)]
        .into_iter()
        .flatten()
    {
        judge.read_all();
        assert_eq!(judge.reader.next(), end);
    }
    (first_lived, second_lived)
}

/// At each instant the ring is a chain of committed frames that ends in a zero head.
#[test]
fn the_ring_is_consistent_after_two_crashes_between_any_stores() {
    // Miri is slow, and its task here is orderings: a sample of the crashes suffices.
    let (capacities, firsts, step): (&[u64], _, _) = if cfg!(miri) {
        (&[64], &FIRST[1..2], 61)
    } else {
        (&[64, 128, 512], &FIRST[..], 1)
    };
    let mut crashes = 0;
    for (&capacity, first) in capacities
        .iter()
        .flat_map(|c| firsts.iter().map(move |first| (c, *first)))
    {
        let geometry = Geometry::new(capacity).unwrap();
        for first_life in (0..).step_by(step) {
            let mut first_lived = false;
            for second_life in (0..).step_by(step) {
                let lived = two_crashes(geometry, first, first_life, second_life);
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
    }
    println!("{crashes} deaths");
}

/// A new writer never overruns a registered reader, however often writers die.
#[test]
fn a_lossless_publication_stays_lossless_after_crashes_of_writers() {
    let geometry = Geometry::new(256).unwrap();
    let (memory, cursors) = (
        zeroed(geometry.words()),
        zeroed(Cursors::<Memory>::words_for(1)),
    );
    let registered = || Cursors::new(cursors.clone());
    let mut writer = Writer::create(memory.clone(), geometry)
        .unwrap()
        .lossless(registered());
    let mut reader = Reader::attach(memory.clone())
        .unwrap()
        .registered(registered(), 0);
    let mut published = 0;
    while writer
        .publish(&[published as u8; 9], Flags::default())
        .is_ok()
    {
        published += 1;
    }
    for _ in 0..10 {
        match Writer::resume_lossless(memory.clone(), registered()) {
            Ok(_) => {}
            Err(refused) => assert_eq!(refused, Refused::Full { slot: 0 }),
        }
    }
    let mut received = 0;
    loop {
        match reader.read(|frame| frame.word(0) as u8) {
            Ok(Some(byte)) if byte == received as u8 => received += 1,
            Err(RingEvent::Generation(_)) => {}
            Ok(None) => break,
            other => panic!("after {received} of {published}: {other:?}"),
        }
    }
    assert_eq!(received, published);
    Writer::resume_lossless(memory, registered()).expect("its reader has made room");
}
