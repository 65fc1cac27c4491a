//! The ring between processes.

use super::{Failed, PATIENCE, Role, root, say_ready, wait};
use hdrhistogram::Histogram;
use serde_json::json;
use std::hint::spin_loop;
use std::path::Path;
use std::time::Instant;
pub use touchline_shm::broadcast::{BATCH_END, Flags};
use touchline_shm::broadcast::{Cursors, Geometry, Reader, RingEvent, Writer};
use touchline_shm::clock::{Clock, ticks};
use touchline_shm::segment::{
    Access, GroupAccess, Mapping, Options, SlotGuard, SlotLocks, WriterLock,
};

const THERE: &str = "there";
const BACK: &str = "back";
const RING: &str = "ring";
const CURSORS: &str = "cursors";
const READERS_MAX: u32 = 8;
/// Ring of the round trips: large enough, and small enough for the nearest caches.
const ECHO_RING_BYTES: u64 = 64 * 1024;
/// The longest message of these benchmarks.
pub const PAYLOAD_BYTES_MAX: usize = 4096;

/// Ring that this process writes.
#[derive(Debug)]
pub struct Written {
    /// Its writer.
    pub writer: Writer<Mapping>,
    _lock: WriterLock,
}

impl Written {
    /// Ring of a stream, in a folder.
    pub fn stream(folder: &Path, ring_bytes: u64, lossless: bool) -> Result<Written, Failed> {
        let mut written = Written::new(folder, THERE, ring_bytes)?;
        if lossless {
            let lock = &written._lock;
            let bytes = Cursors::<Mapping>::words_for(READERS_MAX as usize) * 8;
            let bytes = bytes.next_multiple_of(4096);
            let cursors = Mapping::create(lock, CURSORS, bytes, &cursor_options())?.publish()?;
            SlotLocks::create(lock, READERS_MAX)?;
            written.writer = written.writer.lossless(Cursors::new(cursors));
        }
        Ok(written)
    }

    /// Ring of the messages to the other process, which creates the ring of the answers.
    pub fn there(folder: &Path) -> Result<Written, Failed> {
        Written::new(folder, THERE, ECHO_RING_BYTES)
    }

    fn new(folder: &Path, name: &str, ring_bytes: u64) -> Result<Written, Failed> {
        let lock = WriterLock::acquire(root(folder).create(name)?)?;
        let geometry = Geometry::new(ring_bytes)?;
        let bytes = geometry.words() * 8;
        let draft = Mapping::create(&lock, RING, bytes, &Options::default())?;
        let writer = Writer::create(draft.mapping(), geometry)?;
        draft.publish()?;
        Ok(Written {
            writer,
            _lock: lock,
        })
    }
}

/// Options of the file in which readers write their positions.
fn cursor_options() -> Options {
    Options {
        group_access: GroupAccess::Reports,
        ..Options::default()
    }
}

/// Message: its number in the first and, from 16 bytes on, in the last eight bytes.
#[derive(Debug)]
pub struct Payload {
    words: [u64; PAYLOAD_BYTES_MAX / 8],
    bytes: usize,
}

impl Payload {
    /// A message of `bytes` bytes, at least 8 and at most [`PAYLOAD_BYTES_MAX`].
    pub fn new(bytes: usize) -> Payload {
        Payload {
            words: [0x5A5A_5A5A_5A5A_5A5A; PAYLOAD_BYTES_MAX / 8],
            bytes: bytes.clamp(8, PAYLOAD_BYTES_MAX),
        }
    }

    /// Sets the number.
    #[inline]
    pub fn set_number(&mut self, number: u64) {
        self.words[0] = number;
        if let Some((word, shift)) = self.last() {
            // Bytes behind the message are not sent.
            self.words[word] = self.words[word] & !(u64::MAX << shift) | number << shift;
            if shift > 0 {
                self.words[word + 1] = number >> (64 - shift);
            }
        }
    }

    /// Checks both numbers: a message whose lines are of two messages has different ones.
    #[inline]
    pub fn check(&self, number: u64) -> Result<(), Failed> {
        let last = self.last().map_or(number, |(word, shift)| match shift {
            0 => self.words[word],
            _ => self.words[word] >> shift | self.words[word + 1] << (64 - shift),
        });
        if (self.words[0], last) == (number, number) {
            return Ok(());
        }
        Err(Failed(format!(
            "message {} ends as {last} in the place of {number}",
            self.words[0]
        )))
    }

    /// Word and bit at which the last eight bytes begin.
    #[inline]
    fn last(&self) -> Option<(usize, usize)> {
        let begin = self.bytes.checked_sub(8).filter(|begin| *begin >= 8)?;
        Some((begin / 8, begin % 8 * 8))
    }

    /// Sends the message. If the ring is full, waits for readers, which may share a processor.
    /// `flags` tells whether another message follows at once.
    #[inline]
    pub fn send(&self, writer: &mut Writer<Mapping>, flags: Flags, shares_cpu: bool) {
        loop {
            if let Ok(mut claim) = writer.claim(self.bytes) {
                claim.write_words(&self.words);
                claim.commit(flags);
                return;
            }
            wait(shares_cpu);
        }
    }

    /// Reads the next message completely, if there is one.
    #[inline]
    fn receive(&mut self, reader: &mut Reader<Mapping>) -> Result<bool, RingEvent> {
        let words = &mut self.words;
        Ok(reader.read(|frame| frame.copy_to(words))?.is_some())
    }

    /// Waits for the next message and reads it.
    #[inline]
    fn wait(&mut self, reader: &mut Reader<Mapping>) -> Result<(), Failed> {
        loop {
            match self.receive(reader) {
                Ok(true) => return Ok(()),
                Ok(false) => spin_loop(),
                Err(event) => return Err(unexpected(&event)),
            }
        }
    }
}

/// Measures round trips of a message: `warmup` first, then `messages` that are recorded, in
/// nanoseconds.
pub fn round_trips(
    there: &mut Written,
    folder: &Path,
    payload_bytes: usize,
    warmup: u64,
    messages: u64,
    into: &mut Histogram<u64>,
) -> Result<(), Failed> {
    let clock = Clock::calibrated();
    let mut back = open(folder, BACK)?;
    let (mut sent, mut received) = (Payload::new(payload_bytes), Payload::new(payload_bytes));
    for number in 1..=warmup + messages {
        let begin = ticks();
        sent.set_number(number);
        sent.send(&mut there.writer, BATCH_END, false);
        received.wait(&mut back)?;
        received.check(number)?;
        let end = ticks();
        if number > warmup {
            into.saturating_record(clock.between_ns(begin, end));
        }
    }
    Ok(())
}

/// Other side of the round trips.
pub fn echo(role: &Role) -> Result<(), Failed> {
    let mut back = Written::new(&role.folder, BACK, ECHO_RING_BYTES)?;
    let mut there = open(&role.folder, THERE)?;
    let mut payload = Payload::new(role.payload_bytes);
    say_ready();
    for _ in 0..role.messages {
        payload.wait(&mut there)?;
        payload.send(&mut back.writer, BATCH_END, false);
    }
    Ok(())
}

/// Other side of a stream: reads all of it, and reports its rate and the number of lost messages.
pub fn read(role: &Role, registered: bool) -> Result<(), Failed> {
    let mut reader = open(&role.folder, THERE)?;
    // Released when this process ends.
    let _slot: Option<SlotGuard>;
    if registered {
        let directory = root(&role.folder).open(THERE)?;
        let cursors = Mapping::open(&directory, CURSORS, Access::Write, &cursor_options())?;
        let slot = SlotLocks::open(&directory, READERS_MAX)?.acquire()?;
        reader = reader.registered(Cursors::new(cursors), slot.index() as usize);
        _slot = Some(slot);
    }
    let mut payload = Payload::new(role.payload_bytes);
    let (mut received, mut lost, mut laps) = (0, 0, 0);
    let mut begin = None;
    say_ready();
    let all = role.warmup.saturating_add(role.messages);
    while received + lost < all {
        match payload.receive(&mut reader) {
            Ok(false) => (0..role.gather).for_each(|_| wait(role.shares_cpu)),
            Ok(true) => {
                received += 1;
                payload.check(received + lost)?;
                if received + lost > role.warmup {
                    // Behind the warm-up.
                    begin.get_or_insert_with(|| (Instant::now(), received - 1, lost));
                }
            }
            Err(RingEvent::Overrun(overrun)) => {
                lost += overrun.messages;
                laps += 1;
            }
            Err(event) => return Err(unexpected(&event)),
        }
    }
    let (seconds, received_before, lost_before) = match begin {
        Some((begin, received, lost)) => (begin.elapsed().as_secs_f64(), received, lost),
        None => (0.0, received, 0),
    };
    println!(
        "{}",
        json!({
            "received": received - received_before, "lost": lost - lost_before, "laps": laps, "seconds": seconds,
        })
    );
    Ok(())
}

/// Opens a ring that another process creates, and waits for it.
fn open(folder: &Path, name: &str) -> Result<Reader<Mapping>, Failed> {
    let start = Instant::now();
    loop {
        let opened = root(folder).open(name).and_then(|directory| {
            Mapping::open(&directory, RING, Access::Read, &Options::default())
        });
        match opened {
            Ok(mapping) => return Ok(Reader::attach(mapping)?),
            Err(error) if start.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => std::thread::yield_now(),
        }
    }
}

fn unexpected(event: &RingEvent) -> Failed {
    Failed(format!(
        "the ring reports {event:?}, which must not happen here"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_shm::Words;

    #[test]
    fn a_message_of_two_messages_is_noticed() {
        for bytes in [16, 17, 63, 64, 70, 100, PAYLOAD_BYTES_MAX] {
            let (mut one, mut other) = (Payload::new(bytes), Payload::new(bytes));
            one.set_number(0x0102_0304_0506_0708);
            other.set_number(0x1112_1314_1516_1718);
            one.check(0x0102_0304_0506_0708).expect("it is whole");
            one.check(0x1112_1314_1516_1718).expect_err("another one");
            let (word, _) = one.last().expect("it has room for two numbers");
            one.words[word..].copy_from_slice(&other.words[word..]);
            one.check(0x0102_0304_0506_0708).expect_err("torn");
        }
        let mut short = Payload::new(8);
        short.set_number(7);
        short.check(7).expect("one number");
    }

    #[test]
    fn the_longest_message_fits_the_smallest_ring_of_the_benchmarks() {
        let geometry = Geometry::new(ECHO_RING_BYTES).expect("a power of two");
        assert!(geometry.message_max() >= PAYLOAD_BYTES_MAX);
        let memory = touchline_shm::zeroed(geometry.words());
        assert!(memory.words().len() >= geometry.words());
    }
}
