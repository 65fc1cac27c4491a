//! Format of a bus, in the header of its ring: read before anything else.
//!
//! These words lie at their places in every layout, so that any program can say of any bus what it is.

use super::geometry::{CONTROL_WORDS, MAGIC, place};
use crate::atomic::{AtomicU64, Ordering};

/// Layout that this program writes and reads: of the ring, of the tables beside it, and of what lies in their slots.
///
/// 1 had no images of order books, 2 no last values.
pub const LAYOUT: u64 = 3;

/// Bytes of the text that says who wrote it.
pub const WRITER_BYTES: usize = 24;

/// What a bus is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Number of its layout: with another one nothing else of it can be read.
    pub layout: u64,
    /// Version of the schema of its messages; what a newer one adds is passed over.
    pub schema: u64,
    /// Version of the program that wrote it last, zeros behind it; empty if that did not say.
    pub writer: [u8; WRITER_BYTES],
}

impl Format {
    /// Reads it from the header of a ring; `None` if the memory holds no ring of any layout.
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
        })
    }

    /// States in the header of a ring of this layout which program writes it from here on.
    pub fn state(words: &[AtomicU64], schema: u64, writer: &str) {
        let mut text = [0; WRITER_BYTES];
        for (byte, from) in text.iter_mut().zip(writer.bytes()) {
            *byte = from;
        }
        words[place::SCHEMA].store(schema, Ordering::Relaxed);
        for (bytes, place) in text.chunks_exact(8).zip(place::WRITER) {
            let bytes = bytes.try_into().expect("a chunk is a word");
            words[place].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Whether this program can read it.
    pub fn is_readable(&self) -> bool {
        self.layout == LAYOUT
    }

    /// Version of the program that wrote it, if it said so and that is text.
    pub fn writer(&self) -> Option<&str> {
        let end = self.writer.iter().position(|byte| *byte == 0);
        let text = std::str::from_utf8(&self.writer[..end.unwrap_or(WRITER_BYTES)]).ok()?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && !text.is_empty()).then_some(text)
    }
}
