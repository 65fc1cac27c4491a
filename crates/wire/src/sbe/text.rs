//! Text of fixed length, filled up with zero bytes.

use core::fmt::{self, Write};

/// A fixed-length character field, without the zero bytes that fill it up.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text<'a> {
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// The text in `field`: everything before the first zero byte.
    #[inline]
    pub fn new(field: &'a [u8]) -> Self {
        let length = field
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(field.len());
        Self {
            bytes: &field[..length],
        }
    }

    /// The bytes as they were sent; they need not be ASCII.
    #[inline]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The text, if it is valid UTF-8 (as ASCII always is).
    #[inline]
    pub fn as_str(&self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes).ok()
    }
}

/// Prints printable ASCII unchanged, and every other byte as `\xNN`, so that no field can disturb a terminal or a line
/// format.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes.iter().try_for_each(|&byte| write_byte(f, byte))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Writes one character of a field.
pub(crate) fn write_byte(f: &mut fmt::Formatter<'_>, byte: u8) -> fmt::Result {
    match byte {
        b' '..=b'~' if byte != b'\\' => f.write_char(char::from(byte)),
        _ => write!(f, "\\x{byte:02x}"),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Text;
    use std::{format, string::ToString};

    #[test]
    fn text_ends_at_the_first_zero() {
        assert_eq!(Text::new(b"ES\0X\0\0").as_bytes(), b"ES");
        assert_eq!(Text::new(b"ESU4").as_str(), Some("ESU4"));
        assert_eq!(Text::new(b"\0\0").as_str(), Some(""));
        assert_eq!(Text::new(b"\xff").as_str(), None);
    }

    #[test]
    fn control_characters_of_a_field_are_escaped() {
        let text = Text::new(b"a\x1b[2J\\ \x7f\xff\n");
        assert_eq!(text.to_string(), r"a\x1b[2J\x5c \x7f\xff\x0a");
        assert_eq!(format!("{text:?}"), format!("\"{text}\""));
    }
}
