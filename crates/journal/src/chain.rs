//! Hash chain over the closed segments: a record that was changed or removed later is found, also if all checksums were made again.
//!
//! The hash of a segment is the SHA-256 of its frames as stored uncompressed, from `Begin` to `End`, without padding. The head of the
//! chain up to a segment is the SHA-256 of the head before it (32 zeros before the first segment of the chain) and this hash. A
//! thread of its own hashes each segment when it is closed; the next record is preceded by a note with the head:
//! `chain from=1 to=12 sha256=…`. Nothing beside the records is needed to verify it, and compression changes nothing.

use crate::closed::segment_numbers;
use crate::error::Error;
use crate::follow::Follow;
use crate::format::{SegmentHeader, kind};
use crate::tail::Tail;
use crate::walk::Frame;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use touchline_shm::segment::Mapping;

/// Interval of looks for a closed segment.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of a note: two numbers of 20 digits, 64 digits of the hash, and the words.
const NOTE_BYTES: usize = 136;

/// Head of the chain up to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// First segment of the chain.
    pub from: u64,
    /// Last segment that the head covers.
    pub to: u64,
    /// The hash.
    pub sha256: [u8; 32],
}

/// Result of a verification of the chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    /// Head over all closed segments; `None`: no segment is closed.
    pub head: Option<ChainHead>,
    /// The newest note: the records up to its last segment are those that were hashed, but for the faults.
    pub noted: Option<ChainHead>,
    /// Changed or removed records, a sentence for each place.
    pub faults: Vec<String>,
}

impl ChainHead {
    /// The head with the hash of the next segment.
    fn with(&self, to: u64, segment: &[u8; 32]) -> ChainHead {
        let mut hash = Sha256::new();
        hash.update(self.sha256);
        hash.update(segment);
        ChainHead {
            from: self.from,
            to,
            sha256: hash.finalize().into(),
        }
    }

    /// Before the first segment of a chain.
    fn before(from: u64) -> ChainHead {
        ChainHead {
            from,
            to: from.saturating_sub(1),
            sha256: [0; 32],
        }
    }

    /// Reads the text of a note; `None` if it is another note.
    pub fn of_note(note: &str) -> Option<ChainHead> {
        let mut words = note.strip_prefix("chain ")?.split(' ');
        let mut number = |key: &str| words.next()?.strip_prefix(key)?.parse().ok();
        let (from, to) = (number("from=")?, number("to=")?);
        let digits = words.next()?.strip_prefix("sha256=")?.as_bytes();
        if digits.len() != 64 || words.next().is_some() || from > to {
            return None;
        }
        let mut sha256 = [0; 32];
        for (byte, pair) in sha256.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Some(ChainHead { from, to, sha256 })
    }

    /// The note of a frame, if it is one of the chain.
    fn of_frame(frame: &Frame<'_>) -> Option<ChainHead> {
        let is_note = frame.head.kind == kind::NOTE && frame.head.stream == 0;
        std::str::from_utf8(frame.body)
            .ok()
            .filter(|_| is_note)
            .and_then(ChainHead::of_note)
    }
}

impl fmt::Display for ChainHead {
    /// The text of its note.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chain from={} to={} sha256=", self.from, self.to)?;
        self.sha256
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Verifies the chain of a journal against its notes. The writer may be running: the present segment is not in the chain. A journal of
/// a release without the chain has no note; its head is computed nevertheless.
///
/// # Errors
/// A file cannot be read, or [`Error::Damaged`]: verify the journal first.
pub fn chain(directory: &Path) -> Result<Chain, Error> {
    ChainReader::new(directory).poll()
}

/// [`chain`] of a journal that grows: each record is read once.
#[derive(Debug)]
pub struct ChainReader {
    follow: Follow,
    links: Links,
}

impl ChainReader {
    /// A reader from the first record on. The directory need not exist yet.
    pub fn new(directory: &Path) -> ChainReader {
        ChainReader {
            follow: Follow::new(directory),
            links: Links::default(),
        }
    }

    /// Verifies the records since the last call. Returns the chain of the whole journal.
    ///
    /// # Errors
    /// Those of [`chain`].
    pub fn poll(&mut self) -> Result<Chain, Error> {
        let links = &mut self.links;
        while self.follow.frames(u64::MAX, 1, |header, begin, frame| {
            links.frame(header, begin.base, frame);
        })? > 0
        {}
        Ok(self.links.chain())
    }
}

/// Hash of the frames of a segment.
#[derive(Debug, Default)]
struct SegmentHash(Sha256);

impl SegmentHash {
    fn add(&mut self, header: &SegmentHeader, frame: &Frame<'_>) {
        self.0.update(frame.head.encode(header.salt, frame.offset));
        self.0.update(frame.body);
    }

    fn finish(&mut self) -> [u8; 32] {
        self.0.finalize_reset().into()
    }
}

/// A closed segment.
#[derive(Debug, Clone, Copy)]
struct Link {
    sha256: [u8; 32],
    /// Positions of its first byte, and behind its `End`.
    from: u64,
    end: u64,
}

/// The chain while a journal is read.
#[derive(Debug, Default)]
struct Links {
    hash: SegmentHash,
    closed: BTreeMap<u64, Link>,
    chain: Chain,
}

impl Links {
    fn frame(&mut self, header: &SegmentHeader, base: u64, frame: &Frame<'_>) {
        self.hash.add(header, frame);
        if let Some(note) = ChainHead::of_frame(frame) {
            self.check(&note, header.index, base + frame.offset);
        }
        if frame.head.kind == kind::END {
            let link = Link {
                sha256: self.hash.finish(),
                from: base,
                end: base + frame.offset + u64::from(frame.head.length),
            };
            self.closed.insert(header.index, link);
        }
    }

    /// The head at a segment, from the last note that was right, or from the begin of the chain. `None`: its segments were removed.
    fn head_at(&self, from: u64, to: u64) -> Option<ChainHead> {
        let start = match self.chain.noted {
            Some(noted) => noted,
            None => ChainHead::before(from),
        };
        // A run that closed no segment notes the head of the run before again.
        if start.to >= to {
            return (start.to == to).then_some(start);
        }
        let behind = self.closed.range(start.to + 1..=to);
        let is_whole = behind.clone().count() as u64 == to.saturating_sub(start.to);
        is_whole.then(|| behind.fold(start, |head, (index, link)| head.with(*index, &link.sha256)))
    }

    fn check(&mut self, note: &ChainHead, segment: u64, position: u64) {
        if note.to >= segment {
            let to = note.to;
            self.chain.faults.push(format!(
                "segment {segment}, position {position}: the chain note is about segment {to}, which is not before it; \
                 the note was changed, compare with a copy"
            ));
            return;
        }
        let first = match self.chain.noted {
            Some(noted) if noted.to > note.to => return,
            Some(noted) => noted.to + 1,
            None => note.from,
        };
        let head = self.head_at(note.from, note.to);
        if head.is_some_and(|head| head.sha256 != note.sha256) {
            let place = |index: &u64| self.closed.get(index);
            let from = place(&first).map_or(0, |link| link.from);
            let end = place(&note.to).map_or(0, |link| link.end);
            self.chain.faults.push(format!(
                "segments {first} to {}, positions {from} to {end}: the records are not those of the chain note in segment {segment} \
                 at position {position}: records were changed, added or removed; compare with a copy",
                note.to
            ));
        }
        // What follows is judged by the note, so that each change is found at its own place.
        self.chain.noted = Some(*note);
    }

    fn chain(&self) -> Chain {
        let ends = (self.closed.first_key_value(), self.closed.last_key_value());
        let head = match ends {
            (Some((first, _)), Some((last, _))) => self.head_at(*first, *last),
            _ => None,
        };
        Chain {
            head,
            ..self.chain.clone()
        }
    }
}

/// A closed segment as read alone.
struct Alone {
    sha256: [u8; 32],
    /// Its newest note.
    note: Option<ChainHead>,
}

/// Reads a segment; `None` if it has no `End`.
fn closed_segment(directory: &Path, index: u64) -> Result<Option<Alone>, Error> {
    let (mut hash, mut note) = (SegmentHash::default(), None);
    let mut follow = Follow::from_segment(directory, index);
    while follow.segment() == index {
        let count = follow.frames(u64::MAX, 1, |header, _, frame| {
            hash.add(header, frame);
            note = ChainHead::of_frame(frame).or(note);
        })?;
        if count == 0 {
            return Ok(None);
        }
    }
    let sha256 = hash.finish();
    Ok(Some(Alone { sha256, note }))
}

/// The head over all segments below an index: the newest note, and the segments that were closed behind it. Without a note the chain
/// begins at the oldest segment.
fn head_below(directory: &Path, below: u64) -> Result<Option<ChainHead>, Error> {
    let (mut links, mut noted) = (Vec::new(), None);
    let mut indexes = segment_numbers(directory)?;
    indexes.retain(|index| *index < below);
    for index in indexes.iter().rev() {
        if noted.is_some_and(|noted: ChainHead| *index <= noted.to) {
            break;
        }
        let Some(Alone { sha256, note }) = closed_segment(directory, *index)? else {
            break;
        };
        links.push((*index, sha256));
        noted = noted.or(note);
    }
    let start = match (noted, links.last()) {
        (Some(noted), _) => noted,
        (None, Some((oldest, _))) => ChainHead::before(*oldest),
        (None, None) => return Ok(None),
    };
    let links = links.iter().rev();
    Ok(Some(links.fold(start, |head, (index, sha256)| {
        head.with(*index, sha256)
    })))
}

/// The thread that hashes closed segments, and the note that is due.
#[derive(Debug)]
pub(crate) struct Chaining {
    due: Arc<Due>,
    thread: Option<JoinHandle<()>>,
}

/// The next note.
#[derive(Debug)]
struct Due {
    is_due: AtomicBool,
    is_stopped: AtomicBool,
    note: Mutex<NoteText>,
}

/// Text of a note, in place: the hot thread takes no memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoteText {
    bytes: [u8; NOTE_BYTES],
    length: usize,
}

impl NoteText {
    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn of(head: &ChainHead) -> NoteText {
        let mut bytes = [0; NOTE_BYTES];
        let mut rest = &mut bytes[..];
        write!(rest, "{head}").expect("a note has room for its numbers");
        let length = NOTE_BYTES - rest.len();
        NoteText { bytes, length }
    }
}

impl Chaining {
    /// Starts the thread for a run whose first segment is `first`.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(directory: &Path, tail: Tail<Mapping>, first: u64) -> Result<Chaining, Error> {
        let due = Arc::new(Due {
            is_due: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            note: Mutex::new(NoteText {
                bytes: [0; NOTE_BYTES],
                length: 0,
            }),
        });
        let name = directory.display().to_string();
        let (directory, of_thread) = (directory.to_owned(), Arc::clone(&due));
        let thread = std::thread::Builder::new()
            .name("journal-chain".to_owned())
            .spawn(move || hash_closed(&directory, &tail, first, &of_thread));
        let thread = thread.map_err(Error::io("start the thread of the chain of", &name))?;
        Ok(Chaining {
            due,
            thread: Some(thread),
        })
    }

    /// Whether the next record comes behind a note.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due.is_due.load(Ordering::Acquire)
    }

    /// The note, if the thread does not write it just now; appended or not, it is not due any more.
    #[cold]
    pub fn take(&self) -> Option<NoteText> {
        let note = *self.due.note.try_lock().ok()?;
        self.due.is_due.store(false, Ordering::Relaxed);
        Some(note)
    }

    /// Asks the thread to end, without waiting for it.
    pub fn ask_to_stop(&self) {
        self.due.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the thread.
    pub fn stop(&mut self) {
        self.ask_to_stop();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Without its thread the journal has no further notes, and all its records.
            let _ = thread.join();
        }
    }
}

/// The thread: hashes each segment when it is closed. A segment that cannot be read is tried again; the next start does the same.
fn hash_closed(directory: &Path, tail: &Tail<Mapping>, first: u64, due: &Due) {
    let mut head = None;
    let mut next = first;
    let mut is_caught_up = false;
    while !due.is_stopped.load(Ordering::Relaxed) {
        let found = match is_caught_up {
            false => head_below(directory, first),
            true if next < tail.segment().0 => closed_segment(directory, next).map(|closed| {
                let before = head.unwrap_or_else(|| ChainHead::before(next));
                Some(before.with(next, &closed?.sha256))
            }),
            true => Ok(None),
        };
        if let Ok(found) = found {
            if is_caught_up && found.is_some() {
                // mutant: journal: the chain skips a segment
                next += 1;
            }
            if let Some(found) = found {
                *due.note.lock().unwrap_or_else(PoisonError::into_inner) = NoteText::of(&found);
                due.is_due.store(true, Ordering::Release);
                head = Some(found);
            }
            let was_caught_up = std::mem::replace(&mut is_caught_up, true);
            if found.is_some() || !was_caught_up {
                continue;
            }
        }
        std::thread::park_timeout(LOOK);
    }
}
