//! Fields as places in a message: the fast walk, which [`Header`](super::Header) and market data share.
//!
//! A tag is not made a number unless it has to be: the bytes `270=` are as good a name for it, and are there already.

use super::fields::{data_of, tag_number};
use super::scan::{Scan, Vectors};
use super::{Field, Malformed, SOH};
use core::marker::PhantomData;

/// The bytes of a tag of two or three digits and its equals sign, as a word.
pub(super) const fn key(tag: u32) -> u32 {
    let (hundreds, tens, ones) = (tag / 100 % 10, tag / 10 % 10, tag % 10);
    if tag < 100 {
        u32::from_le_bytes(*b"00=\0") + (tens | ones << 8)
    } else {
        u32::from_le_bytes(*b"000=") + (hundreds | tens << 8 | ones << 16)
    }
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    /// What [`key`] gives for its tag, if the tag has two or three digits; anything else otherwise.
    pub key: u32,
    /// Where the field begins.
    pub begin: usize,
    /// Where the value begins, if the key is one.
    pub start: usize,
    /// Where the value ends.
    pub end: usize,
}

impl Token {
    /// The same field, its tag and equals sign being so many bytes.
    #[inline(always)]
    pub(super) fn behind(self, bytes: usize) -> Token {
        Token {
            start: self.begin + bytes,
            ..self
        }
    }
}

/// Walks the fields behind MsgType and before the checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a, S> {
    pub bytes: &'a [u8],
    /// Where the next field begins.
    pub at: usize,
    /// Where the checksum begins.
    end: usize,
    /// Where the block begins, and the separators of it that were not reached.
    block: usize,
    mask: u64,
    scan: PhantomData<S>,
}

impl<'a, S: Scan> Tokens<'a, S> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], at: usize, end: usize) -> Tokens<'a, S> {
        Tokens {
            bytes,
            at,
            end,
            block: at,
            mask: block::<S>(bytes, at),
            scan: PhantomData,
        }
    }

    /// The value of a field whose key is one.
    #[inline(always)]
    pub(super) fn value(&self, token: &Token) -> &'a [u8] {
        self.bytes.get(token.start..token.end).unwrap_or_default()
    }

    /// The value of a field whose key is one, a single character.
    #[inline(always)]
    pub(super) fn character(&self, token: &Token) -> Result<u8, Malformed> {
        match self.bytes.get(token.start) {
            Some(character) if token.start + 1 == token.end => Ok(*character),
            _ => Err(Malformed::Value),
        }
    }

    /// Whether a field begins with these bytes, and has a value behind them.
    #[inline(always)]
    pub(super) fn begins_with<const N: usize>(&self, token: &Token, wanted: &[u8; N]) -> bool {
        let bytes = self.bytes.get(token.begin..).and_then(<[u8]>::first_chunk);
        bytes == Some(wanted) && token.begin + N < token.end
    }

    /// The next field. What is no field has no key that anybody knows, and [`Tokens::tag`] says what is wrong with it.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Token> {
        let begin = self.at;
        if begin >= self.end {
            return None;
        }
        let end = self.separator();
        self.at = end + 1;
        let word = self.bytes.get(begin..).and_then(<[u8]>::first_chunk);
        let word = word.map_or(0, |word| u32::from_le_bytes(*word));
        let (mut key, start) = match word >> 24 {
            0x3d => (word, begin + 4),
            _ => (word & 0x00ff_ffff, begin + 3),
        };
        if start >= end {
            key = 0;
        }
        Some(Token {
            key,
            begin,
            start,
            end,
        })
    }

    /// The tag of a field, and where its value begins. Data behind a length is skipped: nobody here reads it.
    #[inline]
    pub(super) fn tag(&mut self, token: &mut Token) -> Result<u32, Malformed> {
        let tag = self.number(token)?;
        if tag < 640 && LENGTHS[(tag / 64) as usize] >> (tag % 64) & 1 == 1 {
            self.data(tag, token)?;
        }
        Ok(tag)
    }

    /// The same without a look at data.
    #[inline]
    pub(super) fn number(&self, token: &mut Token) -> Result<u32, Malformed> {
        if let Some(tag) = short_tag(token.key) {
            return Ok(tag);
        }
        let (tag, start) = long_tag(self.bytes, token.begin, token.end)?;
        token.start = start;
        Ok(tag)
    }

    #[cold]
    fn data(&mut self, tag: u32, length: &Token) -> Result<(), Malformed> {
        let wanted = data_of(tag).ok_or(Malformed::Data)?;
        let bytes = tag_number(self.value(length)).map_err(|_| Malformed::Data)? as usize;
        let begin = self.at;
        if begin >= self.end {
            return Err(Malformed::Data);
        }
        let first = self.separator();
        let (tag, start) = match long_tag(self.bytes, begin, first) {
            Err(Malformed::Value) => return Err(Malformed::Value),
            other => other?,
        };
        if tag != wanted {
            return Err(Malformed::Data);
        }
        let end = start.saturating_add(bytes);
        if end >= self.end || self.bytes.get(end) != Some(&SOH) {
            return Err(Malformed::Data);
        }
        self.at = end + 1;
        self.block = self.at;
        self.mask = block::<S>(self.bytes, self.at);
        Ok(())
    }

    /// Where the field that begins here ends. The last byte before the checksum is a separator, so there is one.
    #[inline(always)]
    fn separator(&mut self) -> usize {
        while self.mask == 0 {
            self.block += 64;
            if self.block >= self.end {
                return self.end;
            }
            self.mask = block::<S>(self.bytes, self.block);
        }
        let place = self.block + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        place
    }
}

/// The fields of a message by the fast walk, for who looks at tags more than at values. Data is passed over with the
/// length that says how much there is of it. After an error there is nothing to be believed: [`Message::fields`](super::Message::fields) names the
/// field that is to blame.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    tokens: Tokens<'a, Vectors>,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(tokens: Tokens<'a, Vectors>) -> Walk<'a> {
        Walk { tokens }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Field<'a>, Malformed>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let mut token = self.tokens.next()?;
        Some(self.tokens.tag(&mut token).map(|tag| Field {
            tag,
            value: self.tokens.value(&token),
        }))
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

/// The tag of a key of two or three digits.
#[inline(always)]
pub(super) fn short_tag(key: u32) -> Option<u32> {
    let three = key ^ u32::from_le_bytes(*b"000=");
    if (three | three.wrapping_add(0x0006_0606)) & 0xfff0_f0f0 == 0 && three & 0xff != 0 {
        return Some((three & 0xff) * 100 + (three >> 8 & 0xff) * 10 + (three >> 16 & 0xff));
    }
    let two = key ^ u32::from_le_bytes(*b"00=\0");
    if (two | two.wrapping_add(0x0606)) & 0xffff_f0f0 == 0 && two & 0xff != 0 {
        return Some((two & 0xff) * 10 + (two >> 8 & 0xff));
    }
    None
}

/// Any tag, and where its value begins.
fn long_tag(bytes: &[u8], begin: usize, end: usize) -> Result<(u32, usize), Malformed> {
    let field = bytes.get(begin..end).unwrap_or_default();
    let sign = field.iter().position(|byte| *byte == b'=');
    let tag = tag_number(&field[..sign.unwrap_or(field.len())])?;
    match sign {
        Some(sign) if begin + sign + 1 < end => Ok((tag, begin + sign + 1)),
        _ => Err(Malformed::Value),
    }
}

/// A bit for each tag that is a length of data.
const LENGTHS: [u64; 10] = {
    let mut bits = [0; 10];
    let mut tag = 0;
    while tag < 640 {
        if data_of(tag).is_some() {
            bits[(tag / 64) as usize] |= 1 << (tag % 64);
        }
        tag += 1;
    }
    bits
};
