//! Writing a message.

use super::scan::{Scan, Vectors};
use super::{Precision, SOH, write_timestamp};
use core::fmt;

/// The buffer has no room for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message does not fit")
    }
}

impl core::error::Error for Full {}

/// Bytes kept free for BodyLength, which is known at the end.
const LENGTH_DIGITS: usize = 9;

/// Writes one message into a buffer, field after field; BodyLength and CheckSum come by themselves.
///
/// If a field does not fit, [`Encoder::finish`] returns the error.
#[derive(Debug)]
pub struct Encoder<'a> {
    room: &'a mut [u8],
    /// Bytes of BeginString's field.
    begin: usize,
    /// Start of the field MsgType.
    body: usize,
    end: usize,
    full: bool,
}

impl<'a> Encoder<'a> {
    /// Begins a message of this version and type. Without a version it begins with its length, as CME's TCP
    /// replay wants it.
    pub fn new(room: &'a mut [u8], begin_string: &[u8], msg_type: &[u8]) -> Encoder<'a> {
        let mut encoder = Encoder {
            room,
            begin: 0,
            body: 0,
            end: 0,
            full: false,
        };
        if !begin_string.is_empty() {
            encoder.bytes(8, begin_string);
        }
        encoder.begin = encoder.end;
        encoder.put(b"9=");
        encoder.put(&[b'0'; LENGTH_DIGITS]);
        encoder.put(&[SOH]);
        encoder.body = encoder.end;
        encoder.bytes(35, msg_type);
        encoder
    }

    /// A field of text or received bytes. The caller guarantees that it has no separator.
    pub fn bytes(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        if let Some(room) = self.field(tag, value.len()) {
            room.copy_from_slice(value);
        }
        self
    }

    /// A field of one character.
    pub fn char(&mut self, tag: u32, value: u8) -> &mut Self {
        self.bytes(tag, &[value])
    }

    /// `Y` or `N`.
    pub fn flag(&mut self, tag: u32, value: bool) -> &mut Self {
        self.bytes(tag, if value { b"Y" } else { b"N" })
    }

    /// A number.
    pub fn unsigned(&mut self, tag: u32, value: u64) -> &mut Self {
        if let Some(room) = self.field(tag, digits_of(value)) {
            put_digits(room, value);
        }
        self
    }

    /// A number `mantissa * 10^-decimals`, with all its decimals.
    pub fn decimal(&mut self, tag: u32, mantissa: i64, decimals: u8) -> &mut Self {
        let scale = 10_u64.checked_pow(u32::from(decimals)).unwrap_or(u64::MAX);
        let magnitude = mantissa.unsigned_abs();
        let (whole, fraction) = (magnitude / scale, magnitude % scale);
        let sign = usize::from(mantissa < 0);
        let point = sign + digits_of(whole);
        let width = usize::from(decimals).min(19);
        let length = point + if width > 0 { 1 + width } else { 0 };
        if let Some(room) = self.field(tag, length) {
            room[..sign].fill(b'-');
            put_digits(&mut room[sign..point], whole);
            if width > 0 {
                room[point] = b'.';
                put_digits(&mut room[point + 1..], fraction);
            }
        }
        self
    }

    /// A UTC time stamp, nanoseconds since the Unix epoch.
    pub fn timestamp(&mut self, tag: u32, ns: u64, precision: Precision) -> &mut Self {
        let mut room = [0; 27];
        self.bytes(tag, write_timestamp(ns, precision, &mut room))
    }

    /// Writes length and checksum, and returns the message.
    ///
    /// # Errors
    /// The buffer was too small; its contents must not be used.
    pub fn finish(mut self) -> Result<&'a [u8], Full> {
        let length = (self.end - self.body) as u64;
        let digits = digits_of(length);
        if self.full || digits > LENGTH_DIGITS {
            return Err(Full);
        }
        // The digits kept free are more than it takes: the body moves up.
        let body = self.begin + 2 + digits + 1;
        self.room.copy_within(self.body..self.end, body);
        put_digits(&mut self.room[self.begin + 2..body - 1], length);
        self.room[body - 1] = SOH;
        self.end -= self.body - body;
        let sum = Vectors::sum(&self.room[..self.end]);
        let sum = [b'0' + sum / 100, b'0' + sum / 10 % 10, b'0' + sum % 10];
        self.put(b"10=");
        self.put(&sum);
        self.put(&[SOH]);
        if self.full {
            return Err(Full);
        }
        Ok(&self.room[..self.end])
    }

    /// Writes a field but its value, for which it gives the place; `None`: no room.
    #[inline]
    fn field(&mut self, tag: u32, length: usize) -> Option<&mut [u8]> {
        let digits = digits_of(u64::from(tag));
        let end = self.end + digits + length + 2;
        self.full |= end > self.room.len();
        if self.full {
            return None;
        }
        let room = &mut self.room[self.end..end];
        self.end = end;
        let (name, rest) = room.split_at_mut(digits);
        match name {
            // Most tags: no loop.
            [tens, ones] => {
                *tens = b'0' + (tag / 10) as u8;
                *ones = b'0' + (tag % 10) as u8;
            }
            name => put_digits(name, u64::from(tag)),
        }
        rest[0] = b'=';
        rest[length + 1] = SOH;
        Some(&mut rest[1..=length])
    }

    fn put(&mut self, bytes: &[u8]) {
        match self.room.get_mut(self.end..self.end + bytes.len()) {
            Some(room) if !self.full => {
                room.copy_from_slice(bytes);
                self.end += bytes.len();
            }
            _ => self.full = true,
        }
    }
}

/// Number of the digits of a value.
#[inline]
fn digits_of(value: u64) -> usize {
    match value {
        0..=9 => 1,
        10..=99 => 2,
        100..=999 => 3,
        _ => value.ilog10() as usize + 1,
    }
}

/// Writes the last digits of a value, as many as there is room for.
#[inline]
fn put_digits(room: &mut [u8], mut value: u64) {
    for byte in room.iter_mut().rev() {
        *byte = b'0' + (value % 10) as u8;
        value /= 10;
    }
}
