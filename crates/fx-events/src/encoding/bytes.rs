//! Little-endian numbers and short texts.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::codes::Coded;
use touchline_types::Id;

/// A place for a value that there may be none of: the null value of the type, as in SBE.
pub(super) const NO_U8: u8 = u8::MAX;
pub(super) const NO_U16: u16 = u16::MAX;
pub(super) const NO_U32: u32 = u32::MAX;
pub(super) const NO_U64: u64 = u64::MAX;
pub(super) const NO_I64: i64 = i64::MIN;
pub(super) const NO_I128: i128 = i128::MIN;
/// Length of an absent text: an identifier is shorter.
const NO_TEXT: u8 = u8::MAX;
/// Limit of a long text, bytes: texts for people are shorter.
const LONG_TEXT_BYTES: usize = 8 << 10;

/// Appends values.
pub(super) trait Put {
    fn put<const N: usize>(&mut self, bytes: [u8; N]);

    fn u8(&mut self, value: u8) {
        self.put([value]);
    }

    fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.put(value.to_le_bytes());
    }

    fn i128(&mut self, value: i128) {
        self.put(value.to_le_bytes());
    }

    /// A text of at most 254 bytes behind its length; a longer one is cut.
    fn text(&mut self, text: &str);

    /// Writes an identifier, or its absence.
    fn id(&mut self, id: Option<&Id>) {
        match id {
            Some(id) => self.text(id.as_str()),
            None => self.u8(NO_TEXT),
        }
    }

    /// Writes a long text, or its absence.
    fn long_text(&mut self, text: Option<&str>);
}

impl Put for Vec<u8> {
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }

    fn text(&mut self, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(usize::from(NO_TEXT) - 1)];
        self.push(bytes.len() as u8);
        self.extend_from_slice(bytes);
    }

    fn long_text(&mut self, text: Option<&str>) {
        let length = text.map_or(NO_U16, |text| text.len().min(LONG_TEXT_BYTES) as u16);
        self.u16(length);
        let bytes = text.unwrap_or_default().as_bytes();
        self.extend_from_slice(&bytes[..bytes.len().min(LONG_TEXT_BYTES)]);
    }
}

/// The unread bytes of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.array()?))
    }

    pub fn i128(&mut self) -> Option<i128> {
        Some(i128::from_le_bytes(self.array()?))
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::from(self.u8()?);
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub fn long_text(&mut self) -> Option<Option<&'a str>> {
        match self.u16()? {
            NO_U16 => Some(None),
            length => Some(Some(
                std::str::from_utf8(self.take(usize::from(length))?).ok()?,
            )),
        }
    }

    /// An identifier.
    pub fn id(&mut self) -> Option<Id> {
        Id::new(self.text()?.as_bytes())
    }

    /// An identifier, if there is one.
    pub fn optional_id(&mut self) -> Option<Option<Id>> {
        match *self.0.first()? {
            NO_TEXT => {
                self.take(1)?;
                Some(None)
            }
            _ => Some(Some(self.id()?)),
        }
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn word<T: Coded>(&mut self) -> Option<T> {
        T::of_code(self.u8()?)
    }
}
