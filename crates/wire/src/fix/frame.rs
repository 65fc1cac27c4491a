//! Framing: finds one message in a stream of bytes.

use super::dictionary::Dictionary;
use super::fields::length;
use super::scan::{Scan, Vectors};
use super::tokens::{TRAILER, Tokens};
use super::{Fields, Malformed, SOH, number};

/// Content at the beginning of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A verified message; the next message begins behind [`Message::len`] bytes.
    Whole(Message<'a>),
    /// The beginning of a message: the message has at least this number of bytes.
    Incomplete(usize),
}

/// A message whose length and checksum were verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// Start of the field MsgType.
    body: usize,
    /// Behind MsgType's value.
    msg_type_end: usize,
    /// Separators of the message's last 64 bytes, one bit for each byte; the highest bit is the last byte.
    tail: u64,
}

impl<'a> Message<'a> {
    /// All bytes, from `8=` to the last separator, included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Always false: a message has at least its first three fields.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The version, such as `FIX.4.4`.
    #[inline]
    pub fn begin_string(&self) -> &'a [u8] {
        if self.bytes.starts_with(b"8=FIX.4.4\x01") {
            return &self.bytes[2..9];
        }
        let end = self.bytes.iter().position(|byte| *byte == SOH);
        self.bytes.get(2..end.unwrap_or(2)).unwrap_or_default()
    }

    /// MsgType, such as `W`.
    pub fn msg_type(&self) -> &'a [u8] {
        self.bytes
            .get(self.body + 3..self.msg_type_end)
            .unwrap_or_default()
    }

    /// The fields behind MsgType and before the checksum.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.between())
    }

    /// The fields of the message, with the data fields of a dictionary.
    pub fn fields_by<'b>(&self, dictionary: &Dictionary<'b>) -> Fields<'b>
    where
        'a: 'b,
    {
        Fields::by(self.between(), dictionary.data)
    }

    /// The fields behind MsgType as positions in the message, for readers of many fields.
    #[inline]
    pub(super) fn tokens<S: Scan>(&self) -> Tokens<'a, S> {
        self.tokens_from(0)
    }

    /// The fields as positions, from this number of bytes behind MsgType on.
    #[inline(always)]
    pub(super) fn tokens_from<S: Scan>(&self, bytes: usize) -> Tokens<'a, S> {
        let place = self.msg_type_end + 1 + bytes;
        Tokens::new(self.bytes.get(place..).unwrap_or_default(), self.tail)
    }

    /// Bytes behind MsgType and before the checksum.
    pub(super) fn between(&self) -> &'a [u8] {
        let end = self.bytes.len() - TRAILER;
        self.bytes
            .get(self.msg_type_end + 1..end)
            .unwrap_or_default()
    }
}

/// First bytes of every version.
pub(super) const BEGIN: &[u8] = b"8=FIX";
/// Bytes in which the first two fields must end.
const HEAD_MAX: usize = 32;

/// Finds one message at the beginning of `bytes`, of at most `limit` bytes.
///
/// # Errors
/// The bytes cannot become a message by further input. [`resync`](super::resync) finds where to continue.
#[inline]
pub fn frame(bytes: &[u8], limit: usize) -> Result<Frame<'_>, Malformed> {
    frame_with::<Vectors>(bytes, limit)
}

/// [`frame`] with the function that sums bytes as a parameter, so that tests compare such functions.
///
/// # Errors
/// Those of [`frame`].
pub fn frame_with<S: Scan>(bytes: &[u8], limit: usize) -> Result<Frame<'_>, Malformed> {
    match head(bytes)? {
        Head::Incomplete(least) => Ok(Frame::Incomplete(least)),
        Head::Whole { end, .. } if end > limit => Err(Malformed::TooLong),
        Head::Whole { end, .. } if bytes.len() < end => Ok(Frame::Incomplete(end)),
        Head::Whole { body, end } => whole::<S>(&bytes[..end], body),
    }
}

/// Length and MsgType that the first three fields at the beginning of `bytes` state. MsgType has at most four bytes, and is
/// empty if the third field is another one. `None`: bytes are missing or are not a message.
pub fn stated(bytes: &[u8]) -> Option<(usize, &[u8])> {
    const MSG_TYPE_BYTES_MAX: usize = 4;
    let Ok(Head::Whole { body, end }) = head(bytes) else {
        return None;
    };
    let rest = bytes.get(body..)?;
    let field = &rest[..rest.len().min(3 + MSG_TYPE_BYTES_MAX)];
    match field.iter().position(|byte| *byte == SOH) {
        None if field.len() < 3 + MSG_TYPE_BYTES_MAX => None,
        found => {
            let field = &field[..found.unwrap_or(field.len())];
            Some((end, field.strip_prefix(b"35=").unwrap_or_default()))
        }
    }
}

/// The first two fields.
pub(super) enum Head {
    /// Bytes are missing: the two fields need at least this number of bytes.
    Incomplete(usize),
    /// Both fields are valid, and give the start of the body and the end of the message.
    Whole {
        /// Start of the field MsgType.
        body: usize,
        /// Behind the last separator.
        end: usize,
    },
}

pub(super) fn head(bytes: &[u8]) -> Result<Head, Malformed> {
    if let Some(head) = usual_head(bytes) {
        return Ok(head);
    }
    let head = &bytes[..bytes.len().min(HEAD_MAX)];
    for (place, wanted) in BEGIN.iter().enumerate() {
        match head.get(place) {
            Some(byte) if byte == wanted => {}
            Some(_) => return Err(Malformed::BeginString),
            None => return Ok(Head::Incomplete(place + 1)),
        }
    }
    let Some(first) = find(head, 2) else {
        return short(head, Malformed::BeginString);
    };
    let length = &head[first + 1..];
    let begins = length
        .iter()
        .zip(b"9=")
        .all(|(byte, wanted)| byte == wanted);
    if !begins {
        return Err(Malformed::BodyLength);
    }
    let Some(second) = find(head, first + 1) else {
        return short(head, Malformed::BodyLength);
    };
    let body = second + 1;
    let length = body_length(&head[first + 1..second])?;
    let end = length.saturating_add(body + TRAILER);
    Ok(Head::Whole { body, end })
}

/// Reads the head of FIX 4.4 if its length has one to seven digits, leading zeros included; [`head`] reads every other one.
#[inline]
fn usual_head(bytes: &[u8]) -> Option<Head> {
    const USUAL: &[u8; 12] = b"8=FIX.4.4\x019=";
    let (head, rest) = bytes.split_first_chunk::<12>()?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let digits = number::byte_of(word, SOH);
    if head != USUAL || digits > 7 {
        return None;
    }
    let length = usize::try_from(number::digits(word, digits)?).ok()?;
    if length == 0 {
        return None;
    }
    let body = USUAL.len() + digits + 1;
    Some(Head::Whole {
        body,
        end: body + length + TRAILER,
    })
}

fn short(head: &[u8], why: Malformed) -> Result<Head, Malformed> {
    if head.len() < HEAD_MAX {
        return Ok(Head::Incomplete(head.len() + 1));
    }
    Err(why)
}

fn whole<S: Scan>(bytes: &[u8], body: usize) -> Result<Frame<'_>, Malformed> {
    let Some((fields, trailer)) = bytes.split_last_chunk::<{ TRAILER }>() else {
        return Err(Malformed::Trailer);
    };
    let (stated, is_ended) = (check_sum(*trailer), fields.last() == Some(&SOH));
    let Some(stated) = stated.filter(|_| is_ended) else {
        return Err(Malformed::Trailer);
    };
    // mutant: fix: a wrong checksum is taken
    if stated != u32::from(S::sum(fields)) {
        return Err(Malformed::CheckSum);
    }
    // MsgType mostly has one character.
    let msg_type_end = match fields.get(body..) {
        Some([b'3', b'5', b'=', kind, SOH, ..]) if *kind != SOH => body + 4,
        Some([b'3', b'5', b'=', first, ..]) if *first != SOH => {
            find(bytes, body + 3).ok_or(Malformed::MsgType)?
        }
        _ => return Err(Malformed::MsgType),
    };
    Ok(Frame::Whole(Message {
        bytes,
        body,
        msg_type_end,
        tail: tail::<S>(bytes),
    }))
}

/// The separators of the last 64 bytes, one bit for each byte; bits before the start of a shorter message are 0.
#[inline(always)]
fn tail<S: Scan>(bytes: &[u8]) -> u64 {
    if let Some(block) = bytes.last_chunk() {
        return S::separators(block);
    }
    let mut block = [0; 64];
    block[64 - bytes.len()..].copy_from_slice(bytes);
    S::separators(&block)
}

/// The number in `10=123` and its separator.
#[inline(always)]
fn check_sum([a, b, c, d, e, f, g]: [u8; TRAILER]) -> Option<u32> {
    let word = u64::from_le_bytes([a, b, c, d, e, f, g, 0]) ^ u64::from_le_bytes(*b"10=000\x01\0");
    let more = word.wrapping_add(0x0000_0606_0600_0000);
    let is_one = (word | more) & 0x00ff_f0f0_f0ff_ffff == 0;
    let digit = |place: u32| (word >> (8 * place) & 0xff) as u32;
    is_one.then(|| digit(3) * 100 + digit(4) * 10 + digit(5))
}

fn body_length(field: &[u8]) -> Result<usize, Malformed> {
    let Some(digits) = field.strip_prefix(b"9=") else {
        return Err(Malformed::BodyLength);
    };
    // The head ends within `HEAD_MAX` bytes, so the zeros before the number are few.
    length(digits).ok_or(Malformed::BodyLength)
}

fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter()
        .position(|byte| *byte == SOH)
        .map(|place| from + place)
}
