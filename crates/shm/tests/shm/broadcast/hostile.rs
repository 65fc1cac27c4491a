//! Memory that another process overwrites: data may be wrong, but there is no panic, no endless loop, and no access
//! outside the ring.

use super::{BEGINNING, Memory, number, publish, ring, seeds};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use touchline_shm::broadcast::{Flags, Geometry, Reader, RingEvent, Writer};
use touchline_testing::random::Random;

/// Positions of the meaningful words of the control page.
const CONTROL: [usize; 11] = [0, 1, 2, 3, 16, 17, 32, 33, 34, 35, 36];

/// Values that break arithmetic on positions and lengths.
const EDGES: [u64; 10] = [
    0,
    1,
    7,
    8,
    64,
    0x80ff_ffff,
    1 << 31,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Changes one word: a bit of it, or all.
fn scribble(memory: &Memory, random: &mut Random) {
    let index = match random.below(4) {
        0 => *random.pick(&CONTROL),
        _ => 512 + random.index(memory.len() - 512),
    };
    let word = &memory[index];
    let value = match random.below(4) {
        0 | 1 => word.load(Ordering::Relaxed) ^ 1 << random.below(64),
        2 => *random.pick(&EDGES),
        // A word of the ring at a wrong place, such as a header.
        _ => memory[random.index(memory.len())].load(Ordering::Relaxed),
    };
    word.store(value, Ordering::Relaxed);
}

/// Reads all available messages for a while.
fn read_some(reader: &mut Reader<Memory>, steps: usize) -> u64 {
    let mut corrupt = 0;
    for _ in 0..steps {
        let length_max = reader.geometry().message_max();
        let taken = reader.read(|frame| {
            let mut room = vec![0; frame.len().div_ceil(8)];
            frame.copy_to(&mut room);
            assert!(frame.len() <= length_max, "longer than a message");
            room.iter()
                .fold(0, |sum: u64, word| sum.wrapping_add(*word))
        });
        match taken {
            Ok(Some(_)) | Err(RingEvent::Generation(_) | RingEvent::Overrun(_)) => {}
            Ok(None) => break,
            Err(RingEvent::Corrupt { .. }) => corrupt += 1,
        }
    }
    corrupt
}

/// Prints the seed if a test ends early.
struct NamedWhenItFails(u64);

impl Drop for NamedWhenItFails {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("failed with seed {}", self.0);
        }
    }
}

fn session(seed: u64, flips: u64) -> (u64, u64) {
    let mut random = Random::from_seed(seed);
    let (memory, mut writer) = ring(64 << random.below(7), BEGINNING);
    let mut readers = [0; 3].map(|_| Reader::attach(memory.clone()).unwrap());
    let (mut bytes, mut corrupt, mut refused) = (Vec::new(), 0, 0);
    for _ in 0..flips {
        scribble(&memory, &mut random);
        match random.below(16) {
            0 => match Reader::attach(memory.clone()) {
                Ok(reader) => readers[random.index(3)] = reader,
                Err(_) => refused += 1,
            },
            1 => match Writer::resume(memory.clone()) {
                Ok(successor) => writer = successor,
                Err(_) => {
                    refused += 1;
                    memory
                        .iter()
                        .for_each(|word| word.store(0, Ordering::Relaxed));
                    let geometry: Geometry = writer.geometry();
                    writer = Writer::create(memory.clone(), geometry).unwrap();
                }
            },
            2..8 => {
                let length_max = writer.geometry().message_max();
                publish(&mut writer, length_max, &mut bytes);
            }
            _ => corrupt += read_some(&mut readers[random.index(3)], 40),
        }
    }
    (corrupt, refused)
}

/// Readers have room for the longest message of the ring.
#[test]
fn a_header_with_the_length_of_no_message_is_corrupt() {
    let (memory, mut writer) = ring(1 << 12, BEGINNING);
    let mut reader = Reader::attach(memory.clone()).unwrap();
    let message_max = writer.geometry().message_max();
    writer
        .publish(&vec![1; message_max], Flags::default())
        .unwrap();
    let position = reader.next().position;
    let head = &memory[512 + position as usize / 8];
    let longer = head.load(Ordering::Relaxed) + 1;
    head.store(longer, Ordering::Relaxed);
    assert_eq!(
        reader.read(|frame| frame.len()),
        Err(RingEvent::Corrupt { position })
    );
    head.store(longer - 1, Ordering::Relaxed);
    assert_eq!(reader.read(|frame| frame.len()), Ok(Some(message_max)));
}

#[test]
fn overwritten_words_are_reported_without_a_panic() {
    let (usual, flips) = if cfg!(miri) { (1, 100) } else { (500, 2_000) };
    let (mut corrupt, mut refused) = (0, 0);
    for seed in seeds(usual) {
        let registered = NamedWhenItFails(seed);
        let (found, not_attached) = session(registered.0, flips);
        (corrupt, refused) = (corrupt + found, refused + not_attached);
    }
    println!("{corrupt} times found corrupt, {refused} times refused");
    assert!(corrupt > 0 && refused > 0);
}

/// The same during concurrent reads and writes, so that words change between two loads of one read.
#[test]
fn words_overwritten_in_the_middle_of_a_read_cause_no_panic() {
    let flips = number("FLIPS", if cfg!(miri) { 60 } else { 1_000_000 });
    let (memory, mut writer) = ring(1 << 12, BEGINNING);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = [0; 2].map(|_| {
            let mut reader = Reader::attach(memory.clone()).unwrap();
            let done = &done;
            scope.spawn(move || {
                let mut corrupt = 0;
                while !done.load(Ordering::Relaxed) {
                    corrupt += read_some(&mut reader, 100);
                    let attached = Reader::attach(reader.memory().clone());
                    reader = attached.unwrap_or(reader);
                    thread::yield_now();
                }
                corrupt
            })
        });
        let mut random = Random::from_seed(1);
        for flip in 0..flips {
            scribble(&memory, &mut random);
            writer
                .publish(&flip.to_ne_bytes(), Flags::default())
                .unwrap();
            if flip % 64 == 0 {
                writer = Writer::resume(memory.clone())
                    .unwrap_or_else(|_| Writer::create(memory.clone(), writer.geometry()).unwrap());
                if cfg!(miri) {
                    thread::yield_now();
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            println!("{} times found corrupt", reader.join().unwrap());
        }
    });
}
