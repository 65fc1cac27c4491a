//! Messages between a journal and its copy on another host.
//!
//! The copy begins with a [`hello`], then acknowledges the position up to which it is on the disk, 8 bytes each. The source sends
//! messages: kind u8, length u32, and as many bytes. All numbers are little-endian.
//!
//! A frame is sent behind a [`Message::Position`] that covers it: a copy that reads a batch knows how much of the journal it lacks.

use super::{FRAME_BYTES_MAX, ReplicaEnd};
use crate::format::{HEAD_BYTES, u64_at};

/// First bytes of a copy: magic and version. In version 1 a position followed its frames, and had no time.
const HELLO: [u8; 8] = *b"TLJCOPY2";
/// Bytes of the magic.
const MAGIC_BYTES: usize = 7;
/// Bytes of a hello.
pub const HELLO_BYTES: usize = HELLO.len() + 1 + ReplicaEnd::BYTES;
/// Bytes before those of a message.
const PREFIX_BYTES: usize = 5;

/// A message of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Header of the next segment.
    Segment(&'a [u8]),
    /// The next frame, head and body.
    Frame(&'a [u8]),
    /// The end of the source's journal, ahead of the frames up to there, and at an interval: the source is alive.
    Position {
        /// Position behind the last record.
        position: u64,
        /// Time of this message by the source's clock, nanoseconds since 1970: it may have waited on its way.
        time_ns: u64,
    },
    /// The source does not send anything, and why.
    Refusal(&'a str),
}

/// Bytes that are not messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Why a hello is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// The other side is not a copy.
    NoCopy,
    /// A copy whose messages are of another version.
    Version,
}

/// The first bytes of a copy.
pub fn hello(end: Option<&ReplicaEnd>) -> Vec<u8> {
    let mut bytes = HELLO.to_vec();
    bytes.push(u8::from(end.is_some()));
    bytes.extend(end.map_or_else(Vec::new, ReplicaEnd::encode));
    bytes.resize(HELLO_BYTES, 0);
    bytes
}

/// Reads a hello of [`HELLO_BYTES`].
///
/// # Errors
/// The other side is not a copy of this version.
pub fn read_hello(bytes: &[u8]) -> Result<Option<ReplicaEnd>, Foreign> {
    if !bytes.starts_with(&HELLO[..MAGIC_BYTES]) {
        return Err(Foreign::NoCopy);
    }
    let rest = bytes.strip_prefix(&HELLO).ok_or(Foreign::Version)?;
    match rest.split_first() {
        Some((0, _)) => Ok(None),
        Some((1, end)) => Ok(Some(ReplicaEnd::decode(end).ok_or(Foreign::NoCopy)?)),
        _ => Err(Foreign::NoCopy),
    }
}

/// Appends a message.
pub fn put(out: &mut Vec<u8>, message: Message<'_>) {
    match message {
        Message::Segment(bytes) => put_parts(out, b'S', &[bytes]),
        Message::Frame(bytes) => put_parts(out, b'F', &[bytes]),
        Message::Position { position, time_ns } => {
            let numbers = [position, time_ns].map(u64::to_le_bytes);
            put_parts(out, b'P', &[&numbers[0], &numbers[1]]);
        }
        Message::Refusal(text) => put_parts(out, b'R', &[text.as_bytes()]),
    }
}

pub(super) fn put_frame(out: &mut Vec<u8>, head: &[u8; HEAD_BYTES], body: &[u8]) {
    put_parts(out, b'F', &[head, body]);
}

fn put_parts(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.push(kind);
    out.extend((length as u32).to_le_bytes());
    parts.iter().for_each(|part| out.extend(*part));
}

/// The first message of `bytes` and its length; `None` if it is not complete.
///
/// # Errors
/// An unknown kind, or a length that no message has.
pub fn take(bytes: &[u8]) -> Result<Option<(Message<'_>, usize)>, Malformed> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else {
        return Ok(None);
    };
    let [kind, a, b, c, d] = *prefix;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > FRAME_BYTES_MAX || !b"SFPR".contains(&kind) {
        return Err(Malformed);
    }
    let Some(bytes) = rest.get(..length) else {
        return Ok(None);
    };
    let message = match kind {
        b'S' => Message::Segment(bytes),
        b'F' => Message::Frame(bytes),
        b'P' if bytes.len() == 16 => Message::Position {
            position: u64_at(bytes, 0),
            time_ns: u64_at(bytes, 8),
        },
        b'P' => return Err(Malformed),
        _ => Message::Refusal(std::str::from_utf8(bytes).map_err(|_| Malformed)?),
    };
    Ok(Some((message, PREFIX_BYTES + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies and sources of different releases talk to each other: bytes of a version do not change.
    #[test]
    fn messages_have_the_bytes_of_version_2() {
        let hello = hello(None);
        assert_eq!(hello.len(), HELLO_BYTES);
        assert_eq!(hello[..9], *b"TLJCOPY2\0");
        let mut bytes = Vec::new();
        let position = Message::Position {
            position: 0x0102,
            time_ns: 3,
        };
        put(&mut bytes, position);
        let expected = *b"P\x10\0\0\0\x02\x01\0\0\0\0\0\0\x03\0\0\0\0\0\0\0";
        assert_eq!(bytes, expected);
        assert_eq!(take(&bytes), Ok(Some((position, bytes.len()))));
        assert_eq!(take(&bytes[..bytes.len() - 1]), Ok(None));
        // A position of version 1.
        let old = *b"P\x08\0\0\0\x02\x01\0\0\0\0\0\0";
        assert_eq!(take(&old), Err(Malformed));
    }

    #[test]
    fn a_copy_of_another_version_is_recognised() {
        let mut other = hello(None);
        assert_eq!(read_hello(&other), Ok(None));
        other[MAGIC_BYTES] = b'1';
        assert_eq!(read_hello(&other), Err(Foreign::Version));
        other[0] = b'G';
        assert_eq!(read_hello(&other), Err(Foreign::NoCopy));
    }
}
