//! Format of a bus, in the header of its ring; read before everything else.
//!
//! These words have the same places in every layout, so that any program can identify any bus.

use super::geometry::{CONTROL_WORDS, MAGIC, place};
use crate::atomic::{AtomicU64, Ordering};

/// Layout that this program writes and reads: of the ring, the tables beside it, and their slots.
///
/// Layout 1 had no snapshots of order books, layout 2 no last values.
pub const LAYOUT: u64 = 3;

/// Size of the writer's version text, bytes.
pub const WRITER_BYTES: usize = 24;

/// Format of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Layout number: a bus with another layout cannot be read.
    pub layout: u64,
    /// Schema version of its messages; additions of newer versions are skipped.
    pub schema: u64,
    /// Version of the last writing program, padded with zeros; empty if not stated.
    pub writer: [u8; WRITER_BYTES],
    /// Words of the cursors of registered readers, in a file of their own; 0 on a lossy bus, or of an earlier program.
    pub cursors_words: u64,
}

impl Format {
    /// Reads the format from the header of a ring; `None` if the memory contains no ring of any
    /// layout.
    pub fn read(words: &[AtomicU64]) -> Option<Format> {
        if words.len() < CONTROL_WORDS || words[place::MAGIC].load(Ordering::Acquire) != MAGIC {
            return None;
        }
        let word = |place: usize| words[place].load(Ordering::Relaxed);
        let mut writer = [0; WRITER_BYTES];
        for (bytes, place) in writer.chunks_exact_mut(8).zip(place::WRITER) {
            bytes.copy_from_slice(&word(place).to_le_bytes());
        }
        Some(Format {
            layout: word(place::VERSION),
            schema: word(place::SCHEMA),
            writer,
            cursors_words: word(place::CURSORS),
        })
    }

    /// Writes the program's version, and the size of the cursors beside the ring, to the header of a ring of this layout.
    pub fn state(words: &[AtomicU64], schema: u64, writer: &str, cursors_words: usize) {
        let mut text = [0; WRITER_BYTES];
        for (byte, from) in text.iter_mut().zip(writer.bytes()) {
            *byte = from;
        }
        words[place::SCHEMA].store(schema, Ordering::Relaxed);
        words[place::CURSORS].store(cursors_words as u64, Ordering::Relaxed);
        for (bytes, place) in text.chunks_exact(8).zip(place::WRITER) {
            let bytes = bytes.try_into().expect("a chunk is a word");
            words[place].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Whether this program can read it.
    pub fn is_readable(&self) -> bool {
        self.layout == LAYOUT
    }

    /// Version of the writing program, if stated as text.
    pub fn writer(&self) -> Option<&str> {
        let end = self.writer.iter().position(|byte| *byte == 0);
        let text = std::str::from_utf8(&self.writer[..end.unwrap_or(WRITER_BYTES)]).ok()?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && !text.is_empty()).then_some(text)
    }
}
