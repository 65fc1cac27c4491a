//! Field values without their Rust types, for code that treats all messages alike: printers and tests.

use super::calendar::{write_date, write_time};
use super::decimal::write_decimal;
use super::text::write_byte;
use super::{Decimal, Text};
use core::fmt;

/// Walks through a message in the order of its schema. Each view has a method `visit` that calls this.
pub trait Visitor {
    /// A field of the root, or of the entry that was announced last. Composites come member by member, as `field.member`.
    ///
    /// # Errors
    /// An error that the visitor returns to stop.
    fn field(&mut self, name: &'static str, value: Value<'_>) -> fmt::Result;

    /// An entry of `group` begins, the first with `index` 0.
    ///
    /// # Errors
    /// An error that the visitor returns to stop.
    fn entry(&mut self, group: &'static str, index: usize) -> fmt::Result;
}

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value: the null value was sent, or the field is not in this message.
    Null,
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A number with a constant exponent.
    Decimal {
        /// Counts units of 10^`exponent`.
        mantissa: i64,
        /// The power of ten.
        exponent: i8,
    },
    /// A single character.
    Char(u8),
    /// Fixed-length text.
    Text(Text<'a>),
    /// A moment, in nanoseconds since 1970-01-01 UTC.
    TimeNs(u64),
    /// A date, in days since 1970-01-01.
    Days(u16),
    /// A value of an enumeration, with its name if the schema names it.
    Enum {
        /// Value as sent; for a character its code.
        raw: u8,
        /// The schema's word for it.
        name: Option<&'static str>,
    },
    /// Any of a set of bits.
    Set {
        /// Bits as sent.
        raw: u64,
        /// Bit number and name of each choice that the schema has.
        choices: &'static [(u8, &'static str)],
    },
}

impl<'a> Value<'a> {
    /// A value that cannot be negative: an integer, a character or choice by its code, a time or date. `None`
    /// otherwise.
    pub fn unsigned(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(number) | Self::TimeNs(number) | Self::Set { raw: number, .. } => {
                Some(number)
            }
            Self::Char(code) | Self::Enum { raw: code, .. } => Some(code.into()),
            Self::Days(days) => Some(days.into()),
            _ => None,
        }
    }

    /// A signed integer. `None` otherwise.
    pub const fn signed(&self) -> Option<i64> {
        match *self {
            Self::Signed(number) => Some(number),
            _ => None,
        }
    }

    /// The text; empty if the value is not a text.
    pub fn text(&self) -> Text<'a> {
        match *self {
            Self::Text(text) => text,
            _ => Text::default(),
        }
    }
}

/// Text for people: null is `-`, an enum its name, a set its choices joined by `|` and `0` without any.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Null => f.write_str("-"),
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Decimal { mantissa, exponent } => write_decimal(f, mantissa, exponent),
            Self::Char(byte) => write_byte(f, byte),
            Self::Text(text) => write!(f, "{text}"),
            Self::TimeNs(time_ns) => write_time(f, time_ns),
            Self::Days(days) => write_date(f, u64::from(days)),
            Self::Enum {
                name: Some(name), ..
            } => f.write_str(name),
            Self::Enum { raw, name: None } => write!(f, "{raw}"),
            Self::Set { raw, choices } => write_set(f, raw, choices),
        }
    }
}

/// Writes the fields one after the other, and each entry with its number, counted from 1, behind `entry_begins`.
pub(crate) struct Lines<'f, 'b> {
    pub(crate) f: &'f mut fmt::Formatter<'b>,
    pub(crate) entry_begins: &'static str,
}

impl<'f, 'b> Lines<'f, 'b> {
    /// Everything on one line, as `Debug` wants it.
    pub(crate) fn on_one(f: &'f mut fmt::Formatter<'b>) -> Self {
        Self {
            f,
            entry_begins: " ",
        }
    }
}

impl Visitor for Lines<'_, '_> {
    fn field(&mut self, name: &'static str, value: Value<'_>) -> fmt::Result {
        write!(self.f, " {name}={value}")
    }

    fn entry(&mut self, group: &'static str, index: usize) -> fmt::Result {
        write!(self.f, "{}{group}[{}]", self.entry_begins, index + 1)
    }
}

fn write_set(f: &mut fmt::Formatter<'_>, raw: u64, choices: &[(u8, &str)]) -> fmt::Result {
    let mut unnamed = raw;
    let mut separator = "";
    for &(bit, name) in choices {
        if raw >> bit & 1 == 1 {
            write!(f, "{separator}{name}")?;
            separator = "|";
            unnamed &= !(1 << bit);
        }
    }
    match (raw, unnamed) {
        (0, _) => f.write_str("0"),
        (_, 0) => Ok(()),
        _ => write!(f, "{separator}{unnamed:#x}"),
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a> From<Text<'a>> for Value<'a> {
    fn from(text: Text<'a>) -> Self {
        Self::Text(text)
    }
}

impl<const EXPONENT: i8> From<Decimal<EXPONENT>> for Value<'_> {
    fn from(decimal: Decimal<EXPONENT>) -> Self {
        Self::Decimal {
            mantissa: decimal.mantissa,
            exponent: EXPONENT,
        }
    }
}

macro_rules! from_integer {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Self::$variant(number.into())
            }
        }
    )*};
}

from_integer!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned);
from_integer!(i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Value;
    use std::string::ToString;

    #[test]
    fn values_print_as_text_numbers_and_dates() {
        let choices: &[(u8, &str)] = &[(0, "A"), (7, "B")];
        for (value, expected) in [
            (Value::Null, "-"),
            (Value::from(None::<u8>), "-"),
            (Value::from(Some(-3i32)), "-3"),
            (Value::Char(b'8'), "8"),
            (Value::Char(0), r"\x00"),
            (Value::Days(19_205), "2022-08-01"),
            (
                Value::Enum {
                    raw: 1,
                    name: Some("Buy"),
                },
                "Buy",
            ),
            (
                Value::Enum {
                    raw: 77,
                    name: None,
                },
                "77",
            ),
            (Value::Set { raw: 0, choices }, "0"),
            (Value::Set { raw: 0x81, choices }, "A|B"),
            (Value::Set { raw: 0x83, choices }, "A|B|0x2"),
            (
                Value::Set {
                    raw: 1 << 63,
                    choices,
                },
                "0x8000000000000000",
            ),
        ] {
            assert_eq!(value.to_string(), expected);
        }
    }
}
