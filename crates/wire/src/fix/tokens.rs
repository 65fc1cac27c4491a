//! Fields as places in a message: the fast walk, which [`Header`](super::Header) and market data share.
//!
//! A tag is not made a number unless it has to be: the bytes `270=` are as good a name for it, and are there already.

use super::fields::{data_of, tag_number};
use super::frame::TRAILER;
use super::names::{self, Name};
use super::scan::Scan;
use super::{Decimal, Malformed, SOH, number};
use core::marker::PhantomData;

/// A field: where it begins, and where its separator is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub begin: usize,
    pub end: usize,
}

/// The tag of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub number: u32,
    /// Bytes of it and its equals sign.
    pub width: usize,
}

/// Walks the fields behind MsgType and before the checksum.
///
/// Small, copied and handed on by value: lent to nobody, it stays in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a, S> {
    /// All of the message.
    bytes: &'a [u8],
    /// Where the next field begins.
    pub at: usize,
    /// Where the block begins, and the separators of it that were not reached.
    block: usize,
    mask: u64,
    scan: PhantomData<S>,
}

impl<'a, S: Scan> Tokens<'a, S> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Tokens<'a, S> {
        Tokens {
            bytes,
            at,
            block: at,
            mask: block::<S>(bytes, at),
            scan: PhantomData,
        }
    }

    /// The bytes between two places.
    #[inline(always)]
    pub(super) fn between(&self, begin: usize, end: usize) -> &'a [u8] {
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// The value of a field whose tag and equals sign are so many bytes.
    #[inline(always)]
    pub(super) fn value(&self, field: Span, width: usize) -> &'a [u8] {
        self.between(field.begin + width, field.end)
    }

    /// The same, a single character.
    #[inline(always)]
    pub(super) fn character(&self, field: Span, width: usize) -> Result<u8, Malformed> {
        let start = field.begin + width;
        match self.bytes.get(start) {
            Some(character) if start + 1 == field.end => Ok(*character),
            _ => Err(Malformed::Value),
        }
    }

    /// The same, a number that cannot be negative.
    #[inline(always)]
    pub(super) fn unsigned(&self, field: Span, width: usize) -> Result<u64, Malformed> {
        number::unsigned_at(self.bytes, field.begin + width, field.end)
    }

    /// The same, a decimal number.
    #[inline(always)]
    pub(super) fn decimal(&self, field: Span, width: usize) -> Result<Decimal, Malformed> {
        number::decimal_at(self.bytes, field.begin + width, field.end)
    }

    /// The next field. What is no field has no name, and [`Tokens::tag`] says what is wrong with it.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Name, Span)> {
        let begin = self.at;
        // As long as there is more than the checksum, there is a field.
        let head: &[u8; TRAILER + 1] = self.bytes.get(begin..)?.first_chunk()?;
        let word = u64::from_le_bytes(*head) as u32;
        let end = self.separator();
        self.at = end + 1;
        let name = names::name(word, end - begin);
        Some((name, Span { begin, end }))
    }

    /// The tag of the field that was taken last. Data behind a length is skipped: nobody here reads it.
    #[inline(always)]
    pub(super) fn tag(&mut self, field: Span) -> Result<Tag, Malformed> {
        let tag = tag_of(self.bytes, field)?;
        if data_of(tag.number).is_some() {
            let behind = self.behind_data(tag, field)?;
            *self = Tokens::new(self.bytes, behind);
        }
        Ok(tag)
    }

    /// Where the field begins that is behind the data whose length a field states.
    #[cold]
    #[inline(never)]
    fn behind_data(self, length: Tag, field: Span) -> Result<usize, Malformed> {
        let length_bytes = self.value(field, length.width);
        let bytes = tag_number(length_bytes).map_err(|_| Malformed::Data)? as usize;
        let last = self.bytes.len() - TRAILER;
        if self.at >= last {
            return Err(Malformed::Data);
        }
        let data = any_tag(self.between(self.at, last))?;
        if Some(data.number) != data_of(length.number) {
            return Err(Malformed::Data);
        }
        let end = (self.at + data.width).saturating_add(bytes);
        if end >= last || self.bytes.get(end) != Some(&SOH) {
            return Err(Malformed::Data);
        }
        Ok(end + 1)
    }

    /// Where the field that begins here ends. The last byte before the checksum is a separator, so there is one.
    #[inline(always)]
    fn separator(&mut self) -> usize {
        while self.mask == 0 {
            self.block += 64;
            if self.block >= self.bytes.len() {
                return self.bytes.len() - TRAILER;
            }
            self.mask = block::<S>(self.bytes, self.block);
        }
        let place = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        place
    }
}

/// The separators of 64 bytes from here, or of as many as there are.
#[inline(always)]
fn block<S: Scan>(bytes: &[u8], at: usize) -> u64 {
    if let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        return S::separators(block);
    }
    last_block::<S>(bytes, at)
}

/// The end of a message: its last 64 bytes, without those before.
#[inline]
fn last_block<S: Scan>(bytes: &[u8], at: usize) -> u64 {
    match bytes.last_chunk() {
        Some(block) => {
            let before = at + 64 - bytes.len();
            S::separators(block).checked_shr(before as u32).unwrap_or(0)
        }
        None => {
            let mut block = [0; 64];
            let rest = bytes.get(at..).unwrap_or_default();
            block[..rest.len()].copy_from_slice(rest);
            S::separators(&block)
        }
    }
}

/// The tag of a field that has a value.
#[inline(never)]
fn tag_of(bytes: &[u8], field: Span) -> Result<Tag, Malformed> {
    let field = bytes.get(field.begin..field.end).unwrap_or_default();
    let tag = usual_tag(field).map_or_else(|| any_tag(field), Ok)?;
    if tag.width == field.len() {
        return Err(Malformed::Value);
    }
    Ok(tag)
}

/// A tag of up to seven digits, where there are eight bytes to be looked at.
#[inline(always)]
fn usual_tag(field: &[u8]) -> Option<Tag> {
    let head = u64::from_le_bytes(*field.first_chunk()?);
    let sign = number::byte_of(head, b'=');
    if sign == 8 || head & 0xff == u64::from(b'0') {
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
