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
        self.number(u64::from(tag));
        self.put(b"=");
        self.put(value);
        self.put(&[SOH]);
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
        self.number(u64::from(tag));
        self.put(b"=");
        self.number(value);
        self.put(&[SOH]);
        self
    }

    /// A number `mantissa * 10^-decimals`, with all its decimals.
    pub fn decimal(&mut self, tag: u32, mantissa: i64, decimals: u8) -> &mut Self {
        self.number(u64::from(tag));
        self.put(b"=");
        if mantissa < 0 {
            self.put(b"-");
        }
        let scale = 10_u64.checked_pow(u32::from(decimals)).unwrap_or(u64::MAX);
        let magnitude = mantissa.unsigned_abs();
        self.number(magnitude / scale);
        if decimals > 0 {
            self.put(b".");
            let mut digits = [b'0'; 19];
            let mut fraction = magnitude % scale;
            let width = usize::from(decimals).min(19);
            for digit in digits[..width].iter_mut().rev() {
                *digit = b'0' + (fraction % 10) as u8;
                fraction /= 10;
            }
            self.put(&digits[..width]);
        }
        self.put(&[SOH]);
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
        let mut digits = [0; 20];
        let length = decimal_digits((self.end - self.body) as u64, &mut digits);
        if self.full || length.len() > LENGTH_DIGITS {
            return Err(Full);
        }
        // The digits kept free are more than it takes: the body moves up.
        let body = self.begin + 2 + length.len() + 1;
        self.room.copy_within(self.body..self.end, body);
        self.room[self.begin + 2..body - 1].copy_from_slice(length);
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

    fn number(&mut self, value: u64) {
        let mut digits = [0; 20];
        self.put(decimal_digits(value, &mut digits));
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

fn decimal_digits(mut value: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut begin = room.len();
    loop {
        begin -= 1;
        room[begin] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &room[begin..];
        }
    }
}
