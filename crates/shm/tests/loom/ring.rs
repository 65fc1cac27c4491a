//! The broadcast ring, as small as possible: 64 bytes, and frames of 16. Everything before the race runs before the
//! threads start, so that loom explores only the race.

use super::{Memory, check};
use loom::thread;
use touchline_shm::broadcast::{Cursors, Flags, Geometry, NoRoom, Reader, RingEvent, Writer};
use touchline_shm::zeroed;

fn ring() -> (Memory, Writer<Memory>) {
    ring_of(64)
}

fn ring_of(capacity: u64) -> (Memory, Writer<Memory>) {
    let geometry = Geometry::new(capacity).unwrap();
    let memory = zeroed(geometry.words());
    let writer = Writer::create(memory.clone(), geometry).unwrap();
    (memory, writer)
}

/// The words of a message, which may be truncated.
fn content(sequence: u64, length: usize) -> [u64; 2] {
    let word = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut words = [word, !word];
    words[length / 8..].fill(0);
    words
}

/// Publishes a message of the maximum length.
fn try_publish(writer: &mut Writer<Memory>) -> Result<(), NoRoom> {
    let length = writer.geometry().message_max();
    let words = content(writer.next().sequence, length).map(u64::to_ne_bytes);
    writer.publish(&words.as_flattened()[..length], Flags::default())?;
    Ok(())
}

fn publish(writer: &mut Writer<Memory>, messages: u64) {
    for _ in 0..messages {
        try_publish(writer).unwrap();
    }
}

/// A reader that verifies received messages against the sent ones.
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

    /// Whether a message was received.
    fn poll(&mut self) -> bool {
        let taken = self.reader.read(|frame| {
            let words = [frame.word(0), frame.word(1)];
            (frame.sequence, words, content(self.expected, frame.len()))
        });
        match taken {
            Ok(None) => return false,
            Ok(Some((sequence, words, sent))) => {
                assert_eq!((sequence, words), (self.expected, sent));
                self.expected += 1;
            }
            Err(RingEvent::Overrun(overrun)) => {
                self.expected += overrun.messages;
                self.lost += overrun.messages;
            }
            Err(RingEvent::Generation(generation)) => assert_eq!(generation, 2),
            Err(RingEvent::Corrupt { position }) => panic!("corrupt at {position}"),
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

    /// After the writer has ended, all counts add up.
    fn finish(mut self, published: u64) {
        while self.poll() {}
        assert_eq!(self.expected, published + 1);
    }
}

/// Torn, repeated, reordered or invented messages: the writer wraps while the reader is at the oldest one.
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

/// The frame that causes the overrun is announced before it is written: padding ends the data, and the next frame
/// overwrites the reader's.
#[test]
fn one_frame_that_laps() {
    check("one frame that laps", || {
        let (memory, mut writer) = ring_of(128);
        let mut judge = Judge::attach(&memory);
        publish(&mut writer, 4);
        let thread = thread::spawn(move || publish(&mut writer, 1));
        judge.polls(1);
        thread.join().unwrap();
        judge.finish(5);
    });
}

/// A staged message is announced before its payload is written, and visible with its header.
#[test]
fn one_staged_message_that_laps() {
    check("one staged message that laps", || {
        let (memory, mut writer) = ring();
        let mut judge = Judge::attach(&memory);
        publish(&mut writer, 3);
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let length = writer.geometry().message_max();
                let words = content(writer.next().sequence, length);
                writer.stage(length).unwrap();
                for (word, value) in writer.staged_words().iter().zip(words) {
                    word.store(value, touchline_shm::atomic::Ordering::Relaxed);
                }
                writer.commit_staged(Flags::default());
            }
        });
        judge.polls(2);
        thread.join().unwrap();
        judge.finish(5);
    });
}

/// The payload is visible with its header.
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

/// A joining reader finds a complete join point, and frames after it.
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

/// A writer announces a frame that overruns the reader, and dies before it writes it. Its successor writes the frame
/// under that announcement. An empty message puts its first frame over the reader's payload.
#[test]
fn the_next_writer_overwrites_the_announcement_of_a_dead_one() {
    check("a successor of the dead", || {
        let (memory, mut writer) = ring();
        let mut judge = Judge::attach(&memory);
        publish(&mut writer, 3);
        writer.publish(&[], Flags::default()).unwrap();
        let successor = memory.clone();
        let dead = thread::spawn(move || drop(writer.claim(8).unwrap()));
        let thread = thread::spawn(move || {
            dead.join().unwrap();
            publish(&mut Writer::resume(successor).unwrap(), 1);
        });
        judge.polls(1);
        thread.join().unwrap();
        judge.finish(5);
    });
}

/// A reader takes its slot while the writer checks for readers: one of them sees the other.
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
                published += u64::from(try_publish(&mut writer).is_ok());
            }
            published
        });
        let mut judge = Judge::new(reader.registered(Cursors::new(cursors), 0));
        judge.polls(1);
        let published = thread.join().unwrap();
        judge.finish_without_loss(published);
    });
}

/// Data that a registered reader still needs is never overwritten; data that it has read may be.
#[test]
fn a_lossless_publication() {
    check("a lossless publication", || {
        let (memory, writer) = ring();
        let cursors = zeroed(Cursors::<Memory>::words_for(1));
        let mut writer = writer.lossless(Cursors::new(cursors.clone()));
        let reader = Reader::attach(memory)
            .unwrap()
            .registered(Cursors::new(cursors), 0);
        let mut judge = Judge::new(reader);
        publish(&mut writer, 2);
        let thread = thread::spawn(move || {
            let mut published = 2;
            for _ in 0..4 {
                match try_publish(&mut writer) {
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

/// The writer gives up a reader that goes on: either it is overrun and told so, or it has its slot again.
#[test]
fn a_lossless_publication_that_gives_up_its_reader() {
    check("a reader that is given up", || {
        let (memory, writer) = ring();
        let cursors = zeroed(Cursors::<Memory>::words_for(1));
        let mut writer = writer.lossless(Cursors::new(cursors.clone()));
        let reader = Reader::attach(memory)
            .unwrap()
            .registered(Cursors::new(cursors), 0);
        let mut judge = Judge::new(reader);
        publish(&mut writer, 2);
        let thread = thread::spawn(move || {
            let mut published = 2;
            for _ in 0..3 {
                if try_publish(&mut writer).is_err() {
                    let cursors = writer.registered().unwrap();
                    if let Some(lease) = cursors.lease(0) {
                        cursors.free(0, lease);
                    }
                    continue;
                }
                published += 1;
            }
            published
        });
        judge.polls(2);
        let published = thread.join().unwrap();
        judge.finish(published);
    });
}
