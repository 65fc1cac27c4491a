//! The fields of a message, in order.

use super::dictionary::DataPair;
use super::{Malformed, SOH};

/// A tag with its value, which is never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The tag.
    pub tag: u32,
    /// The value, without the separator.
    pub value: &'a [u8],
}

/// An invalid field. The fields after it can still be read, but the message must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadField<'a> {
    /// The error.
    pub why: Malformed,
    /// The tag as written.
    pub tag: &'a [u8],
}

impl From<BadField<'_>> for Malformed {
    fn from(bad: BadField<'_>) -> Malformed {
        bad.why
    }
}

/// Walks fields. Data fields are taken by the length field before them.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// The data field that must come next.
    data: Option<Awaited<'a>>,
    /// The data fields; by default those of FIX 4.4.
    pairs: Option<&'a [DataPair]>,
}

/// A data field whose length was read.
#[derive(Clone, Copy, Debug)]
struct Awaited<'a> {
    tag: u32,
    length: usize,
    /// Tag of the length, as written.
    by: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields {
            rest: bytes,
            data: None,
            pairs: None,
        }
    }

    /// The fields of these bytes, with a table of data fields.
    pub(super) fn by(bytes: &'a [u8], pairs: &'a [DataPair]) -> Fields<'a> {
        Fields {
            pairs: Some(pairs),
            ..Fields::new(bytes)
        }
    }

    /// Bytes that were not walked yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn field(&mut self) -> Result<Field<'a>, BadField<'a>> {
        let (text, from) = self.tag_text();
        let bad = |why| BadField { why, tag: text };
        let value = self.rest.get(from..).unwrap_or_default();
        let tag = tag_number(text).map_err(bad)?;
        if from == text.len() {
            return Err(bad(Malformed::Value));
        }
        let length = match self.data.take() {
            Some(data) if data.tag == tag => data.length,
            Some(_) => return Err(bad(Malformed::Data)),
            None => find(value).ok_or(bad(Malformed::Value))?,
        };
        if length == 0 {
            return Err(bad(Malformed::Value));
        }
        if value.get(length) != Some(&SOH) {
            return Err(bad(Malformed::Data));
        }
        self.rest = &value[length + 1..];
        let value = &value[..length];
        if let Some(data) = self.data_of(tag) {
            let length = self::length(value).ok_or(bad(Malformed::Data))?;
            self.data = Some(Awaited {
                tag: data,
                length,
                by: text,
            });
        }
        Ok(Field { tag, value })
    }

    /// The bytes before the equals sign, and the start of the value. Without this sign the whole field is the tag.
    fn tag_text(&self) -> (&'a [u8], usize) {
        let stop = |byte: &u8| *byte == b'=' || *byte == SOH;
        let end = self.rest.iter().position(stop).unwrap_or(self.rest.len());
        let sign = self.rest.get(end) == Some(&b'=');
        (&self.rest[..end], end + usize::from(sign))
    }

    fn data_of(&self, tag: u32) -> Option<u32> {
        let Some(pairs) = self.pairs else {
            return data_of(tag);
        };
        let row = pairs.binary_search_by_key(&tag, |pair| pair.length);
        row.ok().map(|row| pairs[row].data)
    }

    /// Behind the next separator.
    fn skip(&mut self) {
        let end = find(self.rest).map_or(self.rest.len(), |end| end + 1);
        self.rest = &self.rest[end..];
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, BadField<'a>>;

    /// The next field. An invalid one ends at the next separator.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            let missing = self.data.take()?;
            return Some(Err(BadField {
                why: Malformed::Data,
                tag: missing.by,
            }));
        }
        let before = self.rest.len();
        let field = self.field();
        if field.is_err() && self.rest.len() == before {
            self.skip();
        }
        Some(field)
    }
}

fn find(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == SOH)
}

/// A positive number of at most nine digits without a leading zero.
pub(super) fn tag_number(digits: &[u8]) -> Result<u32, Malformed> {
    if digits.is_empty() || digits.len() > 9 || digits[0] == b'0' {
        return Err(Malformed::Tag);
    }
    digits.iter().try_fold(0_u32, |number, digit| match digit {
        b'0'..=b'9' => Ok(number * 10 + u32::from(digit - b'0')),
        _ => Err(Malformed::Tag),
    })
}

/// A length: a positive number of at most nine digits, behind any zeros.
///
/// Source: FIX 4.4 volume 1, data types: an int "may contain leading zeros"; Length is one, a tag is not.
pub(super) fn length(digits: &[u8]) -> Option<usize> {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    tag_number(&digits[zeros..])
        .ok()
        .map(|length| length as usize)
}

/// The data field whose length another field states (FIX 4.4 volume 1, data types: `Length` and `data`).
pub(super) const fn data_of(tag: u32) -> Option<u32> {
    Some(match tag {
        90 => 91,
        93 => 89,
        95 => 96,
        212 => 213,
        348 => 349,
        350 => 351,
        352 => 353,
        354 => 355,
        356 => 357,
        358 => 359,
        360 => 361,
        362 => 363,
        364 => 365,
        445 => 446,
        618 => 619,
        621 => 622,
        _ => return None,
    })
}
