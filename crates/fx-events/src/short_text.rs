//! A short text without memory of its own: identifiers and values of messages on the path of an order.

use crate::ticks;
use std::fmt;
use touchline_types::Id;

/// Bytes of the longest one: prefix, parent and number of a ClOrdID are shorter, and so is every decimal.
const BYTES: usize = 96;

/// A text of printable ASCII. Bytes beyond its capacity are cut off, as in an [`Id`].
#[derive(Clone, Copy)]
pub struct ShortText {
    bytes: [u8; BYTES],
    length: usize,
}

impl ShortText {
    /// An empty text.
    pub fn new() -> ShortText {
        ShortText {
            bytes: [0; BYTES],
            length: 0,
        }
    }

    /// A whole number.
    pub fn unsigned(value: u64) -> ShortText {
        let mut text = ShortText::new();
        text.push_unsigned(value);
        text
    }

    /// `value * 10^-decimals`, as [`ticks::write`].
    pub fn decimal(value: i128, decimals: u32) -> ShortText {
        let mut text = ShortText::new();
        ticks::write(&mut text, value, decimals);
        text
    }

    /// Appends a text.
    pub fn push(&mut self, text: &str) {
        let length = text.len().min(BYTES - self.length);
        self.bytes[self.length..self.length + length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
    }

    /// Appends a whole number.
    pub fn push_unsigned(&mut self, value: u64) {
        let mut room = [0; ticks::DIGITS_MAX];
        self.push(ticks::digits(value, &mut room));
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // A cut text ends within a character if it is not ASCII.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The text as an identifier.
    pub fn id(&self) -> Id {
        Id::lossy(&self.bytes[..self.length])
    }
}

impl Default for ShortText {
    fn default() -> ShortText {
        ShortText::new()
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts follow each other; bytes beyond the capacity are cut off.
    #[test]
    fn parts_follow_each_other_and_what_does_not_fit_is_cut() {
        let mut text = ShortText::new();
        text.push("Te3-");
        text.push_unsigned(u64::MAX);
        assert_eq!(text.as_str(), "Te3-18446744073709551615");
        assert_eq!(text.id(), Id::lossy(b"Te3-18446744073709551615"));
        assert_eq!(ShortText::decimal(-201, 5).as_str(), "-0.00201");
        assert_eq!(ShortText::unsigned(0).as_str(), "0");
        text.push(&"x".repeat(BYTES));
        assert_eq!(text.as_str().len(), BYTES);
    }
}
