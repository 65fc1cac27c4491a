//! Messages between a journal and its copy on another host.
//!
//! The copy begins with a [`hello`], then acknowledges positions, 8 bytes each. The source sends messages: kind u8, length
//! u32, and as many bytes. All numbers are little-endian.

use super::{FRAME_BYTES_MAX, ReplicaEnd};
use crate::format::HEAD_BYTES;

/// First bytes of a copy: magic and version.
const HELLO: [u8; 8] = *b"TLJCOPY1";
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
    /// Position behind everything that the source has read: it is alive.
    Position(u64),
    /// The source does not send anything, and why.
    Refusal(&'a str),
}

/// Bytes that are no messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

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
/// The other side is no copy of this version.
pub fn read_hello(bytes: &[u8]) -> Result<Option<ReplicaEnd>, Malformed> {
    let rest = bytes.strip_prefix(&HELLO).ok_or(Malformed)?;
    match rest.split_first() {
        Some((0, _)) => Ok(None),
        Some((1, end)) => Ok(Some(ReplicaEnd::decode(end).ok_or(Malformed)?)),
        _ => Err(Malformed),
    }
}

/// Appends a message.
pub fn put(out: &mut Vec<u8>, message: Message<'_>) {
    match message {
        Message::Segment(bytes) => put_parts(out, b'S', &[bytes]),
        Message::Frame(bytes) => put_parts(out, b'F', &[bytes]),
        Message::Position(position) => put_parts(out, b'P', &[&position.to_le_bytes()]),
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
        b'P' => Message::Position(u64::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?)),
        _ => Message::Refusal(std::str::from_utf8(bytes).map_err(|_| Malformed)?),
    };
    Ok(Some((message, PREFIX_BYTES + length)))
}
