//! The broadcast ring under loom: every order in which stores and loads may be seen, within a bound on
//! preemptions.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p touchline-shm --test loom --release
//! ```
//!
//! The bound is `LOOM_MAX_PREEMPTIONS`, 2 unless set. Rings are as small as they get: 64 bytes, and
//! frames of 16. What comes before the race is done before the threads begin, so that loom spends its
//! time on what is at issue.

#![cfg(loom)]

use loom::thread;
use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::broadcast::{Cursors, Flags, Geometry, NoRoom, Notice, Reader, Writer};
use touchline_shm::zeroed;

type Memory = Arc<[AtomicU64]>;

fn check(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    // loom knows of no other way to count.
    let executions = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = executions.clone();
    builder.check(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    println!("{name}: {executions} executions");
    assert!(executions > 10, "that was no race");
}

fn ring() -> (Memory, Writer<Memory>) {
    let geometry = Geometry::new(64).unwrap();
    let memory = zeroed(geometry.words());
    let writer = Writer::create(memory.clone(), geometry).unwrap();
    (memory, writer)
}

/// The one word of a message.
fn content(sequence: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn publish(writer: &mut Writer<Memory>, messages: u64) {
    for _ in 0..messages {
        let word = content(writer.next().sequence);
        writer
            .publish(&word.to_ne_bytes(), Flags::default())
            .unwrap();
    }
}

/// A reader that holds what it gets against what was sent.
struct Judge {
    reader: Reader<Memory>,
    expected: u64,
    lost: u64,
}

impl Judge {
    fn new(reader: Reader<Memory>) -> Judge {
        let expected = reader.next().sequence;
        Judge {
            reader,
            expected,
            lost: 0,
        }
    }

    fn attach(memory: &Memory) -> Judge {
        Judge::new(Reader::attach(memory.clone()).unwrap())
    }

    /// Whether there was something.
    fn poll(&mut self) -> bool {
        match self
            .reader
            .read(|frame| (frame.sequence, frame.len(), frame.word(0)))
        {
            Ok(None) => return false,
            Ok(Some(message)) => {
                assert_eq!(message, (self.expected, 8, content(self.expected)));
                self.expected += 1;
            }
            Err(Notice::Lapped(lapped)) => {
                self.expected += lapped.messages;
                self.lost += lapped.messages;
            }
            Err(Notice::Epoch(epoch)) => assert_eq!(epoch, 2),
            Err(Notice::Corrupt { position }) => panic!("corrupt at {position}"),
        }
        assert_eq!(self.expected, self.reader.next().sequence);
        true
    }

    fn polls(&mut self, count: usize) {
        for _ in 0..count {
            self.poll();
        }
    }

    fn finish_without_loss(mut self, published: u64) {
        while self.poll() {}
        assert_eq!((self.expected, self.lost), (published + 1, 0));
    }

    /// When nobody writes any more, everything adds up.
    fn finish(mut self, published: u64) {
        while self.poll() {}
        assert_eq!(self.expected, published + 1);
    }
}

/// Torn, repeated, reordered, invented: the writer comes around while the reader is at the oldest.
#[test]
fn one_reader_a_lap_behind() {
    check("one reader a lap behind", || {
        let (memory, mut writer) = ring();
        let mut judge = Judge::attach(&memory);
        publish(&mut writer, 3);
        let thread = thread::spawn(move || publish(&mut writer, 2));
        judge.polls(2);
        thread.join().unwrap();
        judge.finish(5);
    });
}

/// The payload is there as soon as the head is.
#[test]
fn one_reader_at_the_end() {
    check("one reader at the end", || {
        let (memory, mut writer) = ring();
        let mut judge = Judge::attach(&memory);
        let thread = thread::spawn(move || publish(&mut writer, 3));
        judge.polls(3);
        thread.join().unwrap();
        judge.finish(3);
    });
}

#[test]
fn two_readers() {
    check("two readers", || {
        let (memory, mut writer) = ring();
        let mut behind = Judge::attach(&memory);
        publish(&mut writer, 3);
        let mut ahead = Judge::attach(&memory);
        let writing = thread::spawn(move || publish(&mut writer, 2));
        let reading = thread::spawn(move || {
            ahead.polls(2);
            ahead
        });
        behind.polls(1);
        writing.join().unwrap();
        reading.join().unwrap().finish(5);
        behind.finish(5);
    });
}

/// Whoever attaches finds a whole mark, and frames behind it.
#[test]
fn attaching_while_the_writer_makes_marks() {
    check("attaching while the writer makes marks", || {
        let (memory, mut writer) = ring();
        let thread = thread::spawn(move || publish(&mut writer, 3));
        let mut judge = Judge::attach(&memory);
        judge.polls(1);
        thread.join().unwrap();
        judge.finish(3);
    });
}

/// A writer has announced, and half written, what laps the reader, and dies; its successor overwrites
/// on the strength of that announcement.
#[test]
fn a_successor_overwrites_what_a_dead_writer_announced() {
    check(
        "a successor overwrites what a dead writer announced",
        || {
            let (memory, mut writer) = ring();
            let mut judge = Judge::attach(&memory);
            publish(&mut writer, 3);
            let thread = thread::spawn(move || {
                let mut claim = writer.claim(8).unwrap();
                claim.write(&[0xff; 4]);
                drop(writer);
            });
            let successor = memory.clone();
            let thread = thread::spawn(move || {
                thread.join().unwrap();
                publish(&mut Writer::resume(successor).unwrap(), 1);
            });
            judge.polls(1);
            thread.join().unwrap();
            judge.finish(4);
        },
    );
}

/// A reader takes its slot while the writer looks whether there is any: one of them sees the other.
#[test]
fn joining_a_lossless_publication() {
    check("joining a lossless publication", || {
        let (memory, writer) = ring();
        let cursors = zeroed(Cursors::<Memory>::words_for(1));
        let mut writer = writer.lossless(Cursors::new(cursors.clone()));
        publish(&mut writer, 2);
        let reader = Reader::attach(memory).unwrap();
        let thread = thread::spawn(move || {
            let mut published = 2;
            for _ in 0..4 {
                let word = content(published + 1);
                let done = writer.publish(&word.to_ne_bytes(), Flags::default());
                published += u64::from(done.is_ok());
            }
            published
        });
        let mut judge = Judge::new(reader.named(Cursors::new(cursors), 0));
        judge.polls(1);
        let published = thread.join().unwrap();
        judge.finish_without_loss(published);
    });
}

/// Nothing is overwritten that a named reader has not read, and what it has read may be.
#[test]
fn a_lossless_publication() {
    check("a lossless publication", || {
        let (memory, writer) = ring();
        let cursors = zeroed(Cursors::<Memory>::words_for(1));
        let mut writer = writer.lossless(Cursors::new(cursors.clone()));
        let reader = Reader::attach(memory)
            .unwrap()
            .named(Cursors::new(cursors), 0);
        let mut judge = Judge::new(reader);
        publish(&mut writer, 2);
        let thread = thread::spawn(move || {
            let mut published = 2;
            for _ in 0..4 {
                let word = content(published + 1);
                match writer.publish(&word.to_ne_bytes(), Flags::default()) {
                    Ok(_) => published += 1,
                    Err(no_room) => assert_eq!(no_room, NoRoom::Full { slot: 0 }),
                }
            }
            published
        });
        judge.polls(3);
        let published = thread.join().unwrap();
        judge.finish_without_loss(published);
    });
}
