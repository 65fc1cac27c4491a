//! The tail: a ring in shared memory that has the frames before the file has them.
//!
//! The hot thread stores frames at their position modulo the size of the ring, the length last, with release. The
//! journal thread copies them to the file and clears durable frames, half a ring behind the end of the file, so that
//! the place of the next length is zero and followers find half a ring of history. The tail survives the process, but
//! not the host.

use crate::format::{Alignment, HEAD_BYTES};
use touchline_shm::Words;
use touchline_shm::atomic::{AtomicU64, Ordering};

/// Words of the page before the ring; words of the two writing threads are on separate cache lines.
mod place {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 1;
    pub const JOURNAL: usize = 2;
    pub const BOOT: usize = 4;
    pub const EPOCH: usize = 6;
    pub const RING_BYTES: usize = 7;
    pub const ALIGNMENT: usize = 8;
    pub const INDEX: usize = 9;
    pub const BASE: usize = 10;
    pub const SALT: usize = 11;
    pub const COMMITTED: usize = 64;
    pub const WRITTEN: usize = 80;
    pub const DURABLE: usize = 96;
    pub const STATE: usize = 112;
    pub const ERRNO: usize = 113;
    pub const ALARM: usize = 114;
    pub const FAILURE_OPEN: usize = 115;
    pub const PREPARED_INDEX: usize = 128;
    pub const PREPARED_SALT: usize = 129;
    pub const CLEARED: usize = 144;
    pub const STOP: usize = 160;
}

const MAGIC: u64 = u64::from_le_bytes(*b"TLtail01");
/// Version of the page and the ring.
pub(crate) const VERSION: u64 = 1;
/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;
const PAGE_WORDS: usize = PAGE_BYTES / 8;
/// Smallest ring, in bytes.
pub const RING_BYTES_MIN: u64 = 64 << 10;

/// State of the journal thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The thread copies and syncs.
    Running,
    /// A write or a sync failed; nothing more becomes durable in this run.
    Failed,
    /// Closed in order.
    Closed,
}

/// Version of a tail that this program cannot read; `None` if it can, or if the memory is not a tail.
pub(crate) fn unknown_version(memory: &impl Words) -> Option<u64> {
    let words = memory.words();
    let word = |at: usize| words.get(at).map(|word| word.load(Ordering::Acquire));
    let version = word(place::VERSION).filter(|_| word(place::MAGIC) == Some(MAGIC));
    version.filter(|version| *version != VERSION)
}

/// Identity of a tail: the journal and the run to which it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Id of the journal.
    pub journal: [u8; 16],
    /// Id of the boot of the host.
    pub boot: [u8; 16],
    /// Epoch of the run.
    pub epoch: u64,
}

/// A tail in memory `W`: a mapping, or plain memory of this process.
#[derive(Debug, Clone)]
pub struct Tail<W> {
    memory: W,
    ring_words: u64,
}

impl<W: Words> Tail<W> {
    /// Bytes of memory for a ring of that many bytes.
    pub fn memory_bytes(ring_bytes: u64) -> usize {
        PAGE_BYTES + ring_bytes as usize
    }

    /// Initializes zeroed memory for a run that starts at `position`.
    ///
    /// # Panics
    /// The memory has no room for the page and a ring.
    pub fn create(memory: W, identity: &Identity, alignment: Alignment, position: u64) -> Self {
        let words = memory.words().len();
        assert!(words > PAGE_WORDS, "a tail has a page and a ring");
        let ring_words = (words - PAGE_WORDS) as u64;
        let tail = Self { memory, ring_words };
        let half = |id: &[u8; 16], at: usize| crate::format::u64_at(id, at);
        tail.put(place::VERSION, VERSION);
        tail.put(place::JOURNAL, half(&identity.journal, 0));
        tail.put(place::JOURNAL + 1, half(&identity.journal, 8));
        tail.put(place::BOOT, half(&identity.boot, 0));
        tail.put(place::BOOT + 1, half(&identity.boot, 8));
        tail.put(place::EPOCH, identity.epoch);
        tail.put(place::RING_BYTES, ring_words * 8);
        tail.put(place::ALIGNMENT, alignment.bytes());
        for at in [
            place::COMMITTED,
            place::WRITTEN,
            place::DURABLE,
            place::CLEARED,
        ] {
            tail.put(at, position);
        }
        tail.word(place::MAGIC).store(MAGIC, Ordering::Release);
        tail
    }

    /// Opens the tail of an earlier run, or of a running one; `None` if the memory is not a tail.
    pub fn open(memory: W) -> Option<Self> {
        let words = memory.words();
        let ring_words = words
            .len()
            .checked_sub(PAGE_WORDS)
            .filter(|count| *count > 0)? as u64;
        let is_tail = words[place::MAGIC].load(Ordering::Acquire) == MAGIC
            && words[place::VERSION].load(Ordering::Relaxed) == VERSION
            && words[place::RING_BYTES].load(Ordering::Relaxed) == ring_words * 8;
        is_tail.then_some(Self { memory, ring_words })
    }

    /// Identity of the tail.
    pub fn identity(&self) -> Identity {
        let id = |at: usize| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&self.get(at).to_le_bytes());
            id[8..].copy_from_slice(&self.get(at + 1).to_le_bytes());
            id
        };
        Identity {
            journal: id(place::JOURNAL),
            boot: id(place::BOOT),
            epoch: self.get(place::EPOCH),
        }
    }

    /// Bytes of the ring.
    pub fn ring_bytes(&self) -> u64 {
        self.ring_words * 8
    }

    /// Position behind the last committed frame.
    #[inline]
    pub fn committed(&self) -> u64 {
        self.word(place::COMMITTED).load(Ordering::Acquire)
    }

    /// Position behind the last frame that was written to the file.
    pub fn written(&self) -> u64 {
        self.word(place::WRITTEN).load(Ordering::Acquire)
    }

    /// All bytes below are on the disk, and so are the names of their files.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.word(place::DURABLE).load(Ordering::Acquire)
    }

    /// Positions below have been cleared: a frame may end one ring above.
    #[inline]
    pub fn cleared(&self) -> u64 {
        self.word(place::CLEARED).load(Ordering::Acquire)
    }

    /// State of the journal thread, with the error number of a failure.
    pub fn state(&self) -> (State, u64) {
        let state = match self.word(place::STATE).load(Ordering::Acquire) {
            0 => State::Running,
            2 => State::Closed,
            _ => State::Failed,
        };
        (state, self.get(place::ERRNO))
    }

    /// Whether an earlier run failed and no run since has recorded the consequence.
    pub fn is_failure_open(&self) -> bool {
        self.word(place::FAILURE_OPEN).load(Ordering::Acquire) != 0
    }

    pub(crate) fn set_failure_open(&self, is_open: bool) {
        self.word(place::FAILURE_OPEN)
            .store(u64::from(is_open), Ordering::Release);
    }

    /// Error number of the last attempt to prepare a segment; 0: the next segment is ready. Any other number is an
    /// alarm: the journal ends when the present segment is full.
    pub fn alarm(&self) -> u64 {
        self.get(place::ALARM)
    }

    pub(crate) fn set_alarm(&self, errno: u64) {
        self.put(place::ALARM, errno);
    }

    /// Index and salt of the prepared segment; index 0 if no segment is prepared.
    #[inline]
    pub fn prepared(&self) -> (u64, u64) {
        let index = self.word(place::PREPARED_INDEX).load(Ordering::Acquire);
        (index, self.get(place::PREPARED_SALT))
    }

    /// Segment of the hot thread, for followers: index, base, salt.
    pub fn segment(&self) -> (u64, u64, u64) {
        (
            self.get(place::INDEX),
            self.get(place::BASE),
            self.get(place::SALT),
        )
    }

    /// Copies bytes of the ring; `position` and the length of `buffer` are multiples of 8.
    pub fn read(&self, position: u64, buffer: &mut [u8]) {
        for (number, bytes) in buffer.chunks_exact_mut(8).enumerate() {
            let word = self
                .ring(position + number as u64 * 8)
                .load(Ordering::Relaxed);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Length of the frame at a position, 0 if there is no frame; with acquire.
    #[inline]
    pub fn length_at(&self, position: u64) -> u32 {
        self.ring(position).load(Ordering::Acquire) as u32
    }

    /// Kind of the frame at a position.
    pub fn kind_at(&self, position: u64) -> u16 {
        (self.ring(position + 24).load(Ordering::Relaxed) >> 48) as u16
    }

    /// Stores a frame: body, head, then its first word with the length, with release.
    #[inline]
    pub(crate) fn put_frame(&self, position: u64, head: &[u8; HEAD_BYTES], body: &[u8]) {
        let mut at = position + HEAD_BYTES as u64;
        let mut words = body.chunks_exact(8);
        for bytes in &mut words {
            let word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            self.ring(at).store(word, Ordering::Relaxed);
            at += 8;
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            self.ring(at)
                .store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        for number in [1, 2, 3, 0] {
            let word = crate::format::u64_at(head, number * 8);
            let order = if number == 0 {
                Ordering::Release
            } else {
                Ordering::Relaxed
            };
            self.ring(position + number as u64 * 8).store(word, order);
        }
    }

    /// Zeros the ring between two positions and lets the hot thread have it.
    pub(crate) fn clear(&self, from: u64, to: u64) {
        for position in (from..to).step_by(8) {
            self.ring(position).store(0, Ordering::Relaxed);
        }
        self.word(place::CLEARED).store(to, Ordering::Release);
    }

    #[inline]
    pub(crate) fn set_committed(&self, position: u64) {
        self.word(place::COMMITTED)
            .store(position, Ordering::Release);
    }

    pub(crate) fn set_written(&self, position: u64) {
        assert!(
            (self.written()..=self.committed()).contains(&position),
            "what is written was committed, and the file grows"
        );
        self.word(place::WRITTEN).store(position, Ordering::Release);
    }

    pub(crate) fn set_durable(&self, position: u64) {
        assert!(
            (self.durable()..=self.written()).contains(&position),
            "what is durable was written, and stays so"
        );
        self.word(place::DURABLE).store(position, Ordering::Release);
    }

    pub(crate) fn set_state(&self, state: State, errno: u64) {
        self.put(place::ERRNO, errno);
        let state = match state {
            State::Running => 0,
            State::Failed => 1,
            State::Closed => 2,
        };
        self.word(place::STATE).store(state, Ordering::Release);
    }

    pub(crate) fn set_prepared(&self, index: u64, salt: u64) {
        self.put(place::PREPARED_SALT, salt);
        self.word(place::PREPARED_INDEX)
            .store(index, Ordering::Release);
    }

    pub(crate) fn set_segment(&self, index: u64, base: u64, salt: u64) {
        self.put(place::INDEX, index);
        self.put(place::BASE, base);
        self.put(place::SALT, salt);
    }

    /// Asks the journal thread to end once everything is durable.
    pub(crate) fn ask_to_stop(&self) {
        self.word(place::STOP).store(1, Ordering::Release);
    }

    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.word(place::STOP).load(Ordering::Acquire) != 0
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU64 {
        &self.memory.words()[at]
    }

    #[inline]
    fn ring(&self, position: u64) -> &AtomicU64 {
        let word = (position / 8) % self.ring_words;
        &self.memory.words()[PAGE_WORDS + word as usize]
    }

    fn get(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Relaxed)
    }

    fn put(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Relaxed);
    }
}
