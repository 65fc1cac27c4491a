//! One message out of a stream of bytes.

use super::dictionary::Dictionary;
use super::scan::{Scan, Vectors};
use super::tokens::Tokens;
use super::{Fields, Header, Malformed, SOH, number};

/// What lies at the beginning of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message, verified; the next one begins behind [`Message::len`] bytes.
    Whole(Message<'a>),
    /// The beginning of a message. At least so many bytes are needed in all.
    Incomplete(usize),
}

/// A message whose length and checksum were verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    bytes: &'a [u8],
    /// Where MsgType's field begins.
    body: usize,
    /// Behind MsgType's value.
    msg_type_end: usize,
}

impl<'a> Message<'a> {
    /// All bytes, from `8=` to behind the last separator.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: a message has at least its first three fields.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The version, as `FIX.4.4`.
    pub fn begin_string(&self) -> &'a [u8] {
        let end = self.bytes.iter().position(|byte| *byte == SOH);
        self.bytes.get(2..end.unwrap_or(2)).unwrap_or_default()
    }

    /// MsgType, as `W`.
    pub fn msg_type(&self) -> &'a [u8] {
        self.bytes
            .get(self.body + 3..self.msg_type_end)
            .unwrap_or_default()
    }

    /// The fields behind MsgType and before the checksum.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.between())
    }

    /// The same, with data fields as a dictionary has them.
    pub fn fields_by<'b>(&self, dictionary: &Dictionary<'b>) -> Fields<'b>
    where
        'a: 'b,
    {
        Fields::by(self.between(), dictionary.data)
    }

    /// The fields behind the header, as places.
    #[inline(always)]
    pub(super) fn body_tokens<S: Scan>(&self, header: &Header<'_>) -> Tokens<'a, S> {
        Tokens::new(self.bytes, self.msg_type_end + 1 + header.bytes.len())
    }

    /// The fields behind MsgType as places, for those who read many.
    #[inline]
    pub(super) fn tokens<S: Scan>(&self) -> Tokens<'a, S> {
        Tokens::new(self.bytes, self.msg_type_end + 1)
    }

    /// What is behind MsgType and before the checksum.
    pub(super) fn between(&self) -> &'a [u8] {
        let end = self.bytes.len() - TRAILER;
        self.bytes
            .get(self.msg_type_end + 1..end)
            .unwrap_or_default()
    }
}

/// How every version begins.
pub(super) const BEGIN: &[u8] = b"8=FIX";
/// Bytes of `10=123` and its separator.
pub(super) const TRAILER: usize = 7;
/// Bytes in which the first two fields end, or it is no message.
const HEAD_MAX: usize = 32;

/// Finds one message at the beginning of `bytes`, of at most `limit` bytes.
///
/// # Errors
/// What is there cannot become a message, however many bytes follow. [`resync`](super::resync) says how to go on.
#[inline]
pub fn frame(bytes: &[u8], limit: usize) -> Result<Frame<'_>, Malformed> {
    frame_with::<Vectors>(bytes, limit)
}

/// The same with a way to add bytes, for comparisons.
///
/// # Errors
/// As of [`frame`].
pub fn frame_with<S: Scan>(bytes: &[u8], limit: usize) -> Result<Frame<'_>, Malformed> {
    match head(bytes)? {
        Head::Incomplete(least) => Ok(Frame::Incomplete(least)),
        Head::Whole { end, .. } if end > limit => Err(Malformed::TooLong),
        Head::Whole { end, .. } if bytes.len() < end => Ok(Frame::Incomplete(end)),
        Head::Whole { body, end } => whole::<S>(&bytes[..end], body),
    }
}

/// The first two fields.
pub(super) enum Head {
    /// They are not all there. At least so many bytes are needed in all.
    Incomplete(usize),
    /// They are, and say where the body begins and the message ends.
    Whole {
        /// Where MsgType's field begins.
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

/// The head of FIX 4.4 with a length of one to seven digits; whatever else is there is for [`head`].
#[inline]
fn usual_head(bytes: &[u8]) -> Option<Head> {
    const USUAL: &[u8; 12] = b"8=FIX.4.4\x019=";
    let (head, rest) = bytes.split_first_chunk::<12>()?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let digits = number::byte_of(word, SOH);
    if head != USUAL || digits > 7 || word & 0xff == u64::from(b'0') {
        return None;
    }
    let length = usize::try_from(number::digits(word, digits)?).ok()?;
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
    let trailer = bytes.len() - TRAILER;
    let [b'1', b'0', b'=', a, b, c, SOH] = bytes[trailer..] else {
        return Err(Malformed::Trailer);
    };
    if bytes[trailer - 1] != SOH {
        return Err(Malformed::Trailer);
    }
    let digits = [a, b, c];
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Trailer);
    }
    let stated = digits
        .iter()
        .fold(0_u32, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let sum = S::sum(&bytes[..trailer]);
    if stated != u32::from(sum) {
        return Err(Malformed::CheckSum);
    }
    if !bytes[body..].starts_with(b"35=") {
        return Err(Malformed::MsgType);
    }
    match find(bytes, body + 3) {
        Some(msg_type_end) if msg_type_end > body + 3 => Ok(Frame::Whole(Message {
            bytes,
            body,
            msg_type_end,
        })),
        _ => Err(Malformed::MsgType),
    }
}

fn body_length(field: &[u8]) -> Result<usize, Malformed> {
    let Some(digits) = field.strip_prefix(b"9=") else {
        return Err(Malformed::BodyLength);
    };
    if digits.is_empty() || digits.len() > 9 || digits[0] == b'0' {
        return Err(Malformed::BodyLength);
    }
    digits
        .iter()
        .try_fold(0_usize, |length, digit| match digit {
            b'0'..=b'9' => Ok(length * 10 + usize::from(digit - b'0')),
            _ => Err(Malformed::BodyLength),
        })
}

fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter()
        .position(|byte| *byte == SOH)
        .map(|place| from + place)
}
