//! The table: definitions by [`Instrument`], and one index over the venue's names.

use crate::index::Index;
use touchline_types::{Code, Depth, Instrument, InstrumentDefinition, Symbol};

/// Longest symbol, bytes: the size of a [`Symbol`].
const SYMBOL_BYTES_MAX: usize = 32;

/// A symbol as words: its bytes, and its length.
const SYMBOL_WORDS: usize = SYMBOL_BYTES_MAX / 8 + 1;

/// The venue's names of its instruments.
#[derive(Debug)]
enum Names {
    /// Numbers.
    SecurityIds(Index<i64, 1>),
    /// Texts.
    Symbols(Index<Box<[u8]>, SYMBOL_WORDS>),
}

/// All instruments of one venue connection: definitions by [`Instrument`], which is dense from 0 in order of
/// appearance. An instrument is never removed and never changes its index.
#[derive(Debug)]
pub struct Instruments {
    definitions: Vec<InstrumentDefinition>,
    venue: Code,
    names: Names,
    max: usize,
    /// The security id of the last look-up, and its row; most entries of one message belong to one instrument.
    recent: (i64, u32),
}

impl Instruments {
    /// A table of a venue's instruments with security ids, for up to `instruments_max`. Venue and security id identify
    /// an instrument on every bus and after every restart.
    #[must_use]
    pub fn by_security_id(venue: Code, instruments_max: usize) -> Instruments {
        Instruments::new(
            venue,
            instruments_max,
            Names::SecurityIds(Index::new(instruments_max)),
        )
    }

    /// A table of a venue's instruments with symbols only, for up to `instruments_max`. [`Instrument::row_number`]
    /// replaces the security id.
    #[must_use]
    pub fn by_symbol(venue: Code, instruments_max: usize) -> Instruments {
        Instruments::new(
            venue,
            instruments_max,
            Names::Symbols(Index::new(instruments_max)),
        )
    }

    fn new(venue: Code, max: usize, names: Names) -> Instruments {
        Instruments {
            definitions: Vec::with_capacity(max),
            venue,
            names,
            max,
            recent: (0, u32::MAX),
        }
    }

    /// The instrument with this security id, if it is known.
    #[inline]
    pub fn find_security(&mut self, security_id: i64) -> Option<Instrument> {
        if self.recent.0 == security_id && self.recent.1 != u32::MAX {
            return Some(Instrument(self.recent.1));
        }
        let Names::SecurityIds(index) = &self.names else {
            return None;
        };
        let row = index.find([security_id as u64], |id| *id == security_id)?;
        self.recent = (security_id, row);
        Some(Instrument(row))
    }

    /// The instrument with this symbol, as the venue writes it, if it is known.
    #[inline]
    #[must_use]
    pub fn find_symbol(&self, symbol: &[u8]) -> Option<Instrument> {
        let Names::Symbols(index) = &self.names else {
            return None;
        };
        let row = index.find(words(symbol)?, |other| **other == *symbol)?;
        Some(Instrument(row))
    }

    /// Adds the instrument with this security id. `None` when the table, or its chain of the index, is full.
    pub fn add_security(&mut self, security_id: i64, depth: Depth) -> Option<Instrument> {
        if self.definitions.len() == self.max {
            return None;
        }
        let Names::SecurityIds(index) = &mut self.names else {
            unreachable!("a table of symbols is asked for symbols only");
        };
        index.push([security_id as u64], security_id).ok()?;
        Some(self.push(security_id, depth))
    }

    /// The instrument with this symbol, added if it is new. `None` when the table, or its chain of the index, is
    /// full, or the symbol is empty or longer than 32 bytes.
    pub fn add_symbol(&mut self, symbol: &[u8], depth: Depth) -> Option<Instrument> {
        if let Some(known) = self.find_symbol(symbol) {
            return Some(known);
        }
        let words = words(symbol).filter(|_| !symbol.is_empty())?;
        if self.definitions.len() == self.max {
            return None;
        }
        let Names::Symbols(index) = &mut self.names else {
            unreachable!("a table of security ids is asked for security ids only");
        };
        index.push(words, symbol.into()).ok()?;
        let row = Instrument(self.definitions.len() as u32);
        let instrument = self.push(row.row_number(), depth);
        self.definition_mut(instrument).symbol = Symbol::new(symbol);
        Some(instrument)
    }

    fn push(&mut self, security_id: i64, depth: Depth) -> Instrument {
        let instrument = Instrument(self.definitions.len() as u32);
        let mut definition = InstrumentDefinition::unknown(instrument, security_id, depth);
        definition.reference.venue = self.venue;
        self.definitions.push(definition);
        instrument
    }

    /// Number of instruments; their [`Instrument`]s are 0 up to this.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// All instruments, in order of appearance.
    pub fn iter(&self) -> impl Iterator<Item = Instrument> + use<> {
        (0..self.definitions.len() as u32).map(Instrument)
    }

    /// Definition of an instrument of this table.
    #[inline]
    #[must_use]
    pub fn definition(&self, instrument: Instrument) -> &InstrumentDefinition {
        &self.definitions[instrument.index()]
    }

    /// Definition of an instrument of this table, for changes by its feed.
    #[inline]
    pub fn definition_mut(&mut self, instrument: Instrument) -> &mut InstrumentDefinition {
        &mut self.definitions[instrument.index()]
    }
}

/// A symbol as words; `None` if it is too long.
fn words(symbol: &[u8]) -> Option<[u64; SYMBOL_WORDS]> {
    let mut bytes = [0; SYMBOL_WORDS * 8];
    bytes[..SYMBOL_BYTES_MAX]
        .get_mut(..symbol.len())?
        .copy_from_slice(symbol);
    bytes[SYMBOL_BYTES_MAX] = symbol.len() as u8;
    let (chunks, _) = bytes.as_chunks::<8>();
    Some(std::array::from_fn(|word| u64::from_le_bytes(chunks[word])))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: Depth = Depth {
        direct: 10,
        implied: 2,
    };

    #[test]
    fn instruments_are_found_by_their_security_id_and_limited() {
        let mut instruments = Instruments::by_security_id(Code::lossy(b"venue"), 2);
        assert_eq!(
            instruments.find_security(0),
            None,
            "nothing is cached at start"
        );
        let first = instruments.add_security(7, DEPTH).unwrap();
        let second = instruments.add_security(-7, DEPTH).unwrap();
        assert_eq!(instruments.add_security(8, DEPTH), None);
        assert_eq!(instruments.find_security(7), Some(first));
        assert_eq!(instruments.find_security(-7), Some(second));
        assert_eq!(instruments.find_security(7), Some(first));
        assert_eq!(instruments.find_security(8), None);
        assert_eq!(instruments.find_symbol(b"7"), None);
        assert_eq!(instruments.definition(second).security_id, -7);
        assert_eq!(instruments.iter().collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn symbols_are_found_by_every_byte_of_theirs() {
        let longest = [b'x'; SYMBOL_BYTES_MAX];
        let mut instruments = Instruments::by_symbol(Code::lossy(b"venue"), 3);
        let first = instruments.add_symbol(b"EUR/USD", DEPTH).unwrap();
        let second = instruments.add_symbol(&longest, DEPTH).unwrap();
        assert_eq!(instruments.add_symbol(b"EUR/USD", DEPTH), Some(first));
        assert_eq!(instruments.find_symbol(&longest), Some(second));
        assert_eq!(instruments.find_symbol(&longest[1..]), None);
        assert_eq!(instruments.find_symbol(b"EUR/USD\0"), None);
        assert_eq!(instruments.find_security(1), None, "it is ours");
        assert_eq!(instruments.add_symbol(b"", DEPTH), None);
        assert_eq!(instruments.add_symbol(&[b'x'; 33], DEPTH), None);
        assert!(instruments.add_symbol(b"GBP/USD", DEPTH).is_some());
        assert_eq!(instruments.add_symbol(b"USD/JPY", DEPTH), None, "full");
        assert_eq!(instruments.definition(first).symbol.as_str(), "EUR/USD");
        assert_eq!(instruments.definition(second).security_id, 2);
    }
}
