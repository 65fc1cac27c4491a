//! A writer that dies after any of its stores, and its successor, who may die as well.

use super::{Cursors, Flags, Geometry, Lapped, Mark, Notice, Reader, Refused, Writer};
use crate::mortal;
use crate::zeroed;

#[path = "../../../lab/src/letter.rs"]
mod letter;

type Memory = std::sync::Arc<[crate::atomic::AtomicU64]>;

/// What is published in one life at most: more than a lap of the smallest rings.
const LETTERS: u64 = if cfg!(miri) { 6 } else { 24 };

/// Where a ring begins: positions and sequences also run over their ends.
const FIRST: [Mark; 3] = [
    Mark {
        position: 0,
        sequence: 1,
    },
    Mark {
        position: 0u64.wrapping_sub(104),
        sequence: 0u64.wrapping_sub(7),
    },
    Mark {
        position: (1 << 32) - 104,
        sequence: (1 << 32) - 7,
    },
];

/// A reader that counts, and compares what it gets with what must have been sent.
struct Judge {
    reader: Reader<Memory>,
    expected: u64,
    epochs: u64,
}

impl Judge {
    fn attach(memory: &Memory) -> Judge {
        let reader = Reader::attach(memory.clone()).expect("a ring that was begun has a mark");
        Judge {
            expected: reader.next().sequence,
            reader,
            epochs: 0,
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
                    assert_eq!(length, letter::length(sequence, length_max), "{sequence}");
                    let sent = (0..words.len()).map(|i| letter::word(sequence, length, i));
                    assert!(sent.eq(words), "message {sequence} is not what was sent");
                    self.expected = self.expected.wrapping_add(1);
                }
                Err(Notice::Epoch(_)) => self.epochs += 1,
                Err(Notice::Lapped(Lapped { messages, .. })) => {
                    self.expected = self.expected.wrapping_add(messages);
                }
                Err(Notice::Corrupt { position }) => panic!("corrupt at {position}"),
            }
        }
        assert_eq!(self.expected, self.reader.next().sequence);
    }
}

/// Publishes letters, and says how many of them were whole before death. A claim that is dropped leaves
/// its bytes in the way of the next.
fn publish(writer: &mut Writer<Memory>, count: u64, mut after_each: impl FnMut()) -> u64 {
    let (mut bytes, mut published) = (Vec::new(), 0);
    let length_max = writer.geometry().message_max();
    let dropped = vec![0xff; length_max];
    for _ in 0..count {
        writer.claim(length_max).unwrap().write(&dropped);
        let sequence = writer.next().sequence;
        letter::write(sequence, letter::length(sequence, length_max), &mut bytes);
        writer.publish(&bytes, Flags::default()).unwrap();
        published += u64::from(mortal::lives());
        after_each();
    }
    published
}

/// A writer begins a ring, publishes, and dies after `first_life` stores; its successor dies after
/// `second_life` stores; the one after that lives. Says which of the two lives were long enough.
fn two_deaths(geometry: Geometry, first: Mark, first_life: u64, second_life: u64) -> (bool, bool) {
    let memory = zeroed(geometry.words());
    let (mut awake, mut asleep) = (None, None);
    let mut published = 0;

    mortal::live_for(first_life);
    let mut writer = Writer::create_at(memory.clone(), geometry, first).unwrap();
    let first_lived = if mortal::lives() {
        asleep = Some(Judge::attach(&memory));
        let awake = awake.insert(Judge::attach(&memory));
        published += publish(&mut writer, LETTERS, || awake.read_all());
        mortal::lives()
    } else {
        // Nothing was begun, and nobody can have attached: the next one begins from nothing.
        let refused = Writer::resume(memory.clone()).map(drop);
        assert_eq!(refused, Err(Refused::Foreign));
        memory
            .iter()
            .for_each(|word| word.store(0, mortal::Ordering::Relaxed));
        mortal::live();
        Writer::create_at(memory.clone(), geometry, first).unwrap();
        false
    };

    mortal::live_for(second_life);
    let mut writer = Writer::resume(memory.clone()).unwrap();
    published += publish(&mut writer, 3, || ());
    let second_lived = mortal::lives();

    mortal::live();
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
        last.epochs <= 1,
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
fn a_writer_may_die_between_any_two_stores_and_so_may_the_next() {
    // Miri is slow, and is after orderings: some of the deaths will do.
    let (capacities, firsts, step): (&[u64], _, _) = if cfg!(miri) {
        (&[64], &FIRST[1..2], 61)
    } else {
        (&[64, 128, 512], &FIRST[..], 1)
    };
    let mut deaths = 0;
    for (&capacity, first) in capacities
        .iter()
        .flat_map(|c| firsts.iter().map(move |first| (c, *first)))
    {
        let geometry = Geometry::new(capacity).unwrap();
        for first_life in (0..).step_by(step) {
            let mut first_lived = false;
            for second_life in (0..).step_by(step) {
                let lived = two_deaths(geometry, first, first_life, second_life);
                first_lived = lived.0;
                deaths += 2 - u64::from(lived.0) - u64::from(lived.1);
                if lived.1 {
                    break;
                }
            }
            if first_lived {
                break;
            }
        }
    }
    println!("{deaths} deaths");
}

/// A new writer never overtakes a named reader either, however often writers die.
#[test]
fn a_lossless_publication_stays_lossless_when_writers_die() {
    let geometry = Geometry::new(256).unwrap();
    let (memory, cursors) = (
        zeroed(geometry.words()),
        zeroed(Cursors::<Memory>::words_for(1)),
    );
    let named = || Cursors::new(cursors.clone());
    let mut writer = Writer::create(memory.clone(), geometry)
        .unwrap()
        .lossless(named());
    let mut reader = Reader::attach(memory.clone()).unwrap().named(named(), 0);
    let mut published = 0;
    while writer
        .publish(&[published as u8; 9], Flags::default())
        .is_ok()
    {
        published += 1;
    }
    for _ in 0..10 {
        match Writer::resume_lossless(memory.clone(), named()) {
            Ok(_) => {}
            Err(refused) => assert_eq!(refused, Refused::Full { slot: 0 }),
        }
    }
    let mut received = 0;
    loop {
        match reader.read(|frame| frame.word(0) as u8) {
            Ok(Some(byte)) if byte == received as u8 => received += 1,
            Err(Notice::Epoch(_)) => {}
            Ok(None) => break,
            other => panic!("after {received} of {published}: {other:?}"),
        }
    }
    assert_eq!(received, published);
    Writer::resume_lossless(memory, named()).expect("its reader has made room");
}
