//! One writer and three readers at full speed, one of them deliberately too slow.

use super::{BEGINNING, Memory, number, publish, ring, verifier};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use touchline_shm::broadcast::{JoinPoint, Writer};
use touchline_testing::stream_verifier::Tally;

/// Longest payload in bytes; with headers, messages are a third of a cache line to five lines long.
const LENGTH_MAX: usize = if cfg!(miri) { 64 } else { 256 };

/// Polls between two sleeps of the slow reader, and the length of a sleep. Miri's clock counts 5 µs for a few
/// instructions.
const NAP_EVERY: u64 = if cfg!(miri) { 8 } else { 1000 };
const NAP: Duration = Duration::from_micros(if cfg!(miri) { 500_000 } else { 500 });

/// How a reader behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// Polls without a pause.
    Busy,
    /// Yields its processor in the middle of every 64th message.
    Interrupted,
    /// Sleeps regularly.
    Slow,
}

/// Reads until the writer has ended and everything was read.
fn read(memory: &Memory, pace: Pace, done: &AtomicBool) -> (Tally, JoinPoint) {
    let mut reader = verifier(memory, LENGTH_MAX);
    for polls in 1u64.. {
        // Before the poll: messages published before the end can still be polled.
        let last = done.load(Ordering::Acquire);
        let more = reader.poll_while(|| {
            if pace == Pace::Interrupted && polls % 64 == 0 {
                thread::yield_now();
            }
        });
        match more {
            Ok(true) => {}
            Ok(false) if last => break,
            Ok(false) => std::hint::spin_loop(),
            Err(violation) => panic!("{pace:?} reader after {}: {violation}", reader.tally()),
        }
        if pace == Pace::Slow && polls % NAP_EVERY == 0 {
            thread::sleep(NAP);
        }
        if cfg!(miri) {
            thread::yield_now();
        }
    }
    (reader.tally(), reader.reader().next())
}

/// Publishes this number of payloads, by eight consecutive writers.
fn write(memory: &Memory, mut writer: Writer<Memory>, messages: u64) -> JoinPoint {
    let mut bytes = Vec::new();
    for sequence in 1..=messages {
        publish(&mut writer, LENGTH_MAX, &mut bytes);
        if sequence % (messages / 8).max(1) == 0 {
            drop(writer);
            writer = Writer::resume(memory.clone()).unwrap();
        }
        if cfg!(miri) && sequence % 4 == 0 {
            thread::yield_now();
        }
    }
    writer.next()
}

#[test]
fn a_reader_gets_the_next_message_or_the_number_of_lost_ones() {
    let messages = number("MESSAGES", if cfg!(miri) { 40 } else { 10_000_000 });
    let capacity = if cfg!(miri) { 512 } else { 1 << 16 };
    let (memory, writer) = ring(capacity, BEGINNING);
    let done = AtomicBool::new(false);
    let paces = [Pace::Busy, Pace::Interrupted, Pace::Slow];
    let readers = thread::scope(|scope| {
        let readers = paces.map(|pace| {
            let (memory, done) = (&memory, &done);
            scope.spawn(move || read(memory, pace, done))
        });
        let end = write(&memory, writer, messages);
        done.store(true, Ordering::Release);
        readers.map(|reader| {
            let (tally, next) = reader.join().unwrap();
            assert_eq!(next, end, "{tally}");
            tally
        })
    });
    for (pace, tally) in paces.iter().zip(&readers) {
        println!("{messages} messages, {pace:?} reader: {tally}");
        assert_eq!(tally.first + tally.received + tally.lost, messages + 1);
        assert!(tally.received > 0);
    }
    let laps: u64 = readers.iter().map(|tally| tally.laps).sum();
    assert!(
        laps > 0,
        "no reader was overrun, so the test covered nothing"
    );
}
