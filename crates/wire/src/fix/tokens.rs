//! Fields as places in a message: the fast walk, which [`Header`](super::Header) and market data share.
//!
//! A tag is not made a number unless it has to be: the bytes `270=` are as good a name for it, and are there already.
//!
//! All is kept relative to the field that comes next, and shrinks with every step: a slice that is known to be long enough
//! needs no other check, and the separators are those of its first bytes.

use super::fields::{self, data_of, tag_number};
use super::names::{self, Name};
use super::scan::Scan;
use super::{Decimal, Malformed, SOH, number};
use core::marker::PhantomData;

/// Bytes of `10=123` and its separator.
pub(super) const TRAILER: usize = 7;

/// A field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    /// All of it, without the separator.
    pub bytes: &'a [u8],
    /// The first eight bytes; bytes after the field's end belong to the next field.
    head: u64,
}

/// The tag of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub number: u32,
    /// Bytes of it and its equals sign.
    pub width: usize,
}

impl<'a> Field<'a> {
    /// The tag, if it is one of the venues' own from 100000 to 100999 and has a value: it is of the body, and no length of
    /// data.
    #[inline(always)]
    pub(super) fn own_tag(&self) -> Option<Tag> {
        let tag = (self.head ^ u64::from_le_bytes(*b"100000=\0")) & (u64::MAX >> 8);
        let more = tag.wrapping_add(0x0000_0606_0600_0000);
        if (tag | more) & 0x00ff_f0f0_f0ff_ffff != 0 || self.bytes.len() < 8 {
            return None;
        }
        let digit = |place: u32| (tag >> (8 * place)) as u32 & 0xff;
        let number = 100_000 + digit(3) * 100 + digit(4) * 10 + digit(5);
        Some(Tag { number, width: 7 })
    }

    /// Whether the field has this tag, with the equals sign, and a value.
    #[inline(always)]
    pub(super) fn has_tag(&self, tag: [u8; 7]) -> bool {
        let [a, b, c, d, e, f, g] = tag;
        let tag = u64::from_le_bytes([a, b, c, d, e, f, g, 0]);
        (self.head ^ tag) << 8 == 0 && self.bytes.len() >= 8
    }

    /// The value behind a tag and equals sign of this length.
    #[inline(always)]
    pub(super) fn value(&self, width: usize) -> Result<&'a [u8], Malformed> {
        self.bytes.get(width..).ok_or(Malformed::Value)
    }

    /// The value as a single character. The tag has two or three digits.
    #[inline(always)]
    pub(super) fn character(&self, width: usize) -> Result<u8, Malformed> {
        if self.bytes.len() != width + 1 {
            return Err(Malformed::Value);
        }
        Ok((self.head >> (8 * width)) as u8)
    }

    /// The value as an unsigned number.
    #[inline(always)]
    pub(super) fn unsigned(&self, width: usize) -> Result<u64, Malformed> {
        number::unsigned_of(self.bytes, self.head, width)
    }

    /// The value as a decimal number.
    #[inline(always)]
    pub(super) fn decimal(&self, width: usize) -> Result<Decimal, Malformed> {
        number::decimal_of(self.bytes, self.head, width)
    }
}

/// Walks the fields behind MsgType and before the checksum.
///
/// Small, copied and passed by value: never borrowed, so it stays in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a, S> {
    /// Bytes from the next field to the end of the message.
    rest: &'a [u8],
    /// The separators that are known of it, the lowest bit for its first byte. None: they were not looked for.
    mask: u64,
    /// The separators of the last 64 bytes of the message.
    tail: u64,
    scan: PhantomData<S>,
}

impl<'a, S: Scan> Tokens<'a, S> {
    /// Reads to the end of a message; `tail` has the separators of its last 64 bytes.
    #[inline(always)]
    pub(super) fn new(rest: &'a [u8], tail: u64) -> Tokens<'a, S> {
        Tokens {
            rest,
            mask: 0,
            tail,
            scan: PhantomData,
        }
    }

    /// The rest of the message.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes from the beginning of `from` up to the next field.
    #[inline(always)]
    pub(super) fn since(&self, from: &'a [u8]) -> &'a [u8] {
        let length = from.len().wrapping_sub(self.rest.len());
        from.get(..length).unwrap_or_default()
    }

    /// The bytes from `from` up to the field that was taken last, without that field.
    #[inline(always)]
    pub(super) fn since_before(&self, from: &'a [u8], taken: Field<'a>) -> &'a [u8] {
        let left = self.rest.len() + taken.bytes.len() + 1;
        from.get(..from.len().wrapping_sub(left))
            .unwrap_or_default()
    }

    /// The next field. An invalid field has no name, and [`Tokens::tag`] returns its error.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Name, Field<'a>)> {
        let rest = self.rest;
        // While more bytes than the checksum are left, there is a field, and a separator after it.
        let head: &[u8; TRAILER + 1] = rest.first_chunk()?;
        let head = u64::from_le_bytes(*head);
        let mut mask = self.mask;
        if mask == 0 {
            mask = match rest.first_chunk() {
                Some(block) => S::separators(block),
                None => self.tail >> (64 - rest.len()),
            };
        }
        // 32 bits, so that no sum of lengths overflows.
        let length = match mask {
            0 => long(rest),
            mask => mask.trailing_zeros(),
        };
        self.mask = mask >> (length % 64) >> 1;
        let length = length as usize;
        self.rest = rest.get(length + 1..)?;
        let name = names::name(head as u32, length);
        let bytes = rest.get(..length)?;
        Some((name, Field { bytes, head }))
    }

    /// The next field that has no [plain](Name::Plain) name.
    #[inline(always)]
    pub(super) fn next_read(&mut self) -> Option<(Name, Field<'a>)> {
        loop {
            let (name, field) = self.next()?;
            if name != Name::Plain {
                return Some((name, field));
            }
        }
    }

    /// The tag of the last field. Data behind a length is skipped.
    #[inline(always)]
    pub(super) fn tag(&mut self, field: Field<'a>) -> Result<Tag, Malformed> {
        let tag = tag_of(field)?;
        // mutant: fix: market data finds entries inside of data
        if data_of(tag.number).is_some() {
            self.rest = behind_data(self.rest, tag, field)?;
            self.mask = 0;
        }
        Ok(tag)
    }
}

/// The length of a field of 64 bytes or more.
#[cold]
#[inline(never)]
fn long(rest: &[u8]) -> u32 {
    let separator = rest.iter().position(|byte| *byte == SOH);
    separator.unwrap_or(rest.len() - TRAILER) as u32
}

/// Bytes after the data at the start of `rest`, whose length a field states.
#[cold]
#[inline(never)]
fn behind_data<'a>(rest: &'a [u8], length: Tag, field: Field<'a>) -> Result<&'a [u8], Malformed> {
    let bytes = fields::length(field.value(length.width)?).ok_or(Malformed::Data)?;
    let Some((body @ [_, ..], _)) = rest.split_last_chunk::<TRAILER>() else {
        return Err(Malformed::Data);
    };
    let data = any_tag(body)?;
    if Some(data.number) != data_of(length.number) {
        return Err(Malformed::Data);
    }
    let end = data.width.saturating_add(bytes);
    match body.get(end) {
        Some(&SOH) => Ok(&rest[end + 1..]),
        _ => Err(Malformed::Data),
    }
}

/// The tag of a field that has a value.
#[inline(never)]
fn tag_of(field: Field<'_>) -> Result<Tag, Malformed> {
    let tag = usual_tag(field).map_or_else(|| any_tag(field.bytes), Ok)?;
    if tag.width == field.bytes.len() {
        return Err(Malformed::Value);
    }
    Ok(tag)
}

/// A tag of up to seven digits.
#[inline(always)]
fn usual_tag(field: Field<'_>) -> Option<Tag> {
    let head = field.head;
    let sign = number::byte_of(head, b'=');
    if sign >= field.bytes.len().min(8) || head & 0xff == u64::from(b'0') {
        return None;
    }
    let number = number::digits(head, sign)? as u32;
    let width = sign + 1;
    Some(Tag { number, width })
}

/// Any tag, byte by byte.
fn any_tag(field: &[u8]) -> Result<Tag, Malformed> {
    let stop = |byte: &u8| *byte == b'=' || *byte == SOH;
    let (digits, rest) = field.split_at(field.iter().position(stop).unwrap_or(field.len()));
    let number = tag_number(digits)?;
    match rest.first() {
        Some(b'=') => Ok(Tag {
            number,
            width: digits.len() + 1,
        }),
        _ => Err(Malformed::Value),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    fn field(bytes: &[u8]) -> Field<'_> {
        let mut head = [SOH; 8];
        let length = bytes.len().min(8);
        head[..length].copy_from_slice(&bytes[..length]);
        let head = u64::from_le_bytes(head);
        Field { bytes, head }
    }

    /// The short check of a venue's own tag gives the same result as the long one.
    #[test]
    fn own_tags_are_those_from_100000_to_100999_with_a_value() {
        for number in (0..2_000)
            .chain(99_000..103_000)
            .chain(1_000_000..1_001_000)
        {
            for value in ["", "7", "=", "some text"] {
                let text = format!("{number}={value}");
                let tag = field(text.as_bytes()).own_tag();
                let is_own = (100_000..101_000).contains(&number) && !value.is_empty();
                assert_eq!(
                    tag.map(|tag| tag.number),
                    is_own.then_some(number),
                    "{text}"
                );
                assert!(tag.is_none_or(|tag| tag.width == 7));
            }
        }
        for place in 0..7 {
            for byte in 0..=255 {
                let mut text = *b"100009=7";
                text[place] = byte;
                let tag = tag_of(field(&text)).ok();
                let own = tag.filter(|tag| (100_000..101_000).contains(&tag.number));
                let found = field(&text).own_tag();
                assert_eq!(
                    found.map(|tag| tag.number),
                    own.map(|tag| tag.number),
                    "{text:?}"
                );
            }
        }
    }
}
