//! Instruments.

use crate::{Decimal, Price, Quantity, ReferenceData};
use core::fmt;

/// An instrument of this gateway: a dense index from 0, in order of appearance.
///
/// The venue's own identifier is in [`InstrumentDefinition::security_id`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Instrument(pub u32);

impl Instrument {
    /// Index into tables with one row an instrument.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Number of its row, from 1: stands in place of the venue's identifier where the venue has none.
    #[inline]
    pub const fn row_number(self) -> i64 {
        self.0 as i64 + 1
    }
}

/// A venue's symbol: up to 32 bytes of printable ASCII, stored in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    bytes: [u8; 32],
    len: u8,
}

impl Symbol {
    /// No symbol.
    pub const EMPTY: Symbol = Symbol {
        bytes: [0; 32],
        len: 0,
    };

    /// A symbol from venue text. Bytes that are not printable ASCII become `?`; text beyond 32
    /// bytes is truncated. Neither occurs in a well-formed feed, but a name must not break a
    /// screen.
    pub fn new(text: &[u8]) -> Symbol {
        let mut symbol = Symbol::EMPTY;
        for (place, byte) in symbol.bytes.iter_mut().zip(text) {
            *place = if byte.is_ascii_graphic() || *byte == b' ' {
                *byte
            } else {
                b'?'
            };
        }
        symbol.len = text.len().min(32) as u8;
        symbol
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }

    /// Whether the symbol is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Depth of an instrument's books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Levels a side of the direct book; [`Depth::ALL`] if the venue keeps every level.
    pub direct: u16,
    /// Levels a side of the implied book.
    pub implied: u8,
}

impl Depth {
    /// Every level of the venue: its changes name prices, not positions.
    pub const ALL: u16 = u16::MAX;

    /// Whether the venue keeps every level of the direct book.
    pub const fn is_all(self) -> bool {
        self.direct == Depth::ALL
    }
}

/// Definition of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstrumentDefinition {
    /// Our index.
    pub instrument: Instrument,
    /// The venue's identifier (CME: SecurityID); of a venue without one [`Instrument::row_number`].
    pub security_id: i64,
    /// The venue's symbol; empty before a definition.
    pub symbol: Symbol,
    /// The product group (CME: SecurityGroup).
    pub group: Symbol,
    /// The product (CME: Asset).
    pub asset: Symbol,
    /// Book depths.
    pub depth: Depth,
    /// Price increment, [`Price::NULL`] if not stated.
    pub tick: Price,
    /// Exponent of ten of one unit of [`Quantity`] (CME: 0).
    pub quantity_exponent: i8,
    /// Whether a definition was received; without one only `instrument` and `security_id` are
    /// known.
    pub defined: bool,
    /// Further reference data.
    pub reference: ReferenceData,
}

impl InstrumentDefinition {
    /// An instrument with only its identifier known.
    pub const fn unknown(instrument: Instrument, security_id: i64, depth: Depth) -> Self {
        InstrumentDefinition {
            instrument,
            security_id,
            symbol: Symbol::EMPTY,
            group: Symbol::EMPTY,
            asset: Symbol::EMPTY,
            depth,
            tick: Price::NULL,
            quantity_exponent: 0,
            defined: false,
            reference: ReferenceData::NULL,
        }
    }

    /// Whether only the symbol identifies the instrument in other publications: the venue has no identifier, and the number
    /// of the row in its place is another instrument's there.
    pub const fn is_known_by_symbol(&self) -> bool {
        self.security_id == self.instrument.row_number() && !self.symbol.is_empty()
    }

    /// A quantity as a number, for screens and text; `None` if not stated.
    pub const fn decimal(&self, quantity: Quantity) -> Option<Decimal> {
        if quantity.is_null() {
            return None;
        }
        Some(Decimal {
            mantissa: quantity.0,
            exponent: self.quantity_exponent,
        })
    }
}
