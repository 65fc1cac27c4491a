//! One row for each instrument: what it is, and how far its book has come.

use super::quotes::Quotes;
use crate::index::Index;
use touchline_types::{Depth, Instrument, InstrumentDefinition, Symbol, Validity};

/// How far the book of an instrument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Book {
    /// Not asked for on this connection.
    Unasked,
    /// Asked for.
    Awaited,
    /// A snapshot came, and every change since.
    Live,
    /// The venue does not give it.
    Rejected,
    /// It is wrong, and is to be asked for anew.
    Inconsistent,
}

/// An instrument.
#[derive(Clone, Debug)]
pub struct Row {
    /// What subscribers are told of it.
    pub definition: InstrumentDefinition,
    /// Its name, whole.
    pub name: Box<str>,
    /// What one contract is, in 1e-9, if the venue says it.
    pub multiplier: Option<i64>,
    /// How far its book is.
    pub book: Book,
    /// Whether subscribers were ever shown a book of it as live.
    pub was_published: bool,
    /// The request that asked for it last.
    pub request: u64,
    /// Whether the venue's list of this connection has it.
    pub is_listed: bool,
    /// Whether it is to be asked for by itself.
    pub is_alone: bool,
    /// When it was asked for anew last.
    pub resubscribed_ns: u64,
    /// Its quotes, where they have names.
    pub quotes: Quotes,
}

/// All instruments, by number and by name.
#[derive(Debug)]
pub struct Instruments {
    rows: Vec<Row>,
    by_name: Index<Box<[u8]>, NAME_WORDS>,
    max: usize,
}

/// Sides of quotes with names that are kept of one instrument.
const QUOTES_MAX: usize = 1_024;

/// Longest name of an instrument, bytes: what subscribers can be told.
const NAME_BYTES_MAX: usize = 32;

/// A name as words: its bytes, and how many.
const NAME_WORDS: usize = NAME_BYTES_MAX / 8 + 1;

/// Quantities are counted in 1e-8: the smallest part of a coin.
pub const QUANTITY_DECIMALS: u8 = 8;

impl Instruments {
    /// Room for `max` of them.
    pub fn new(max: usize) -> Instruments {
        Instruments {
            rows: Vec::with_capacity(max),
            by_name: Index::new(max),
            max,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of an instrument.
    pub fn row(&self, instrument: Instrument) -> &Row {
        &self.rows[instrument.index()]
    }

    /// The row of an instrument.
    pub fn row_mut(&mut self, instrument: Instrument) -> &mut Row {
        &mut self.rows[instrument.index()]
    }

    /// The instrument that this request asked for, if it asked for one alone.
    pub fn asked_by(&self, request: u64) -> Option<Instrument> {
        let is_asked = |row: &&Row| row.request == request;
        let mut rows = self.rows.iter().filter(is_asked);
        let row = rows.next().filter(|_| rows.next().is_none())?;
        let is_taken = matches!(row.book, Book::Awaited | Book::Live);
        is_taken.then_some(row.definition.instrument)
    }

    /// All rows.
    pub fn rows_mut(&mut self) -> &mut [Row] {
        &mut self.rows
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a name as it came.
    #[inline]
    pub fn named(&mut self, name: &[u8]) -> Option<&mut Row> {
        let index = self.by_name.find(words(name)?, |other| **other == *name)?;
        self.rows.get_mut(index as usize)
    }

    /// The row of a name, made if it is new. `None`: there is no room, or the name is too long to be told.
    pub fn add(&mut self, name: &str, depth: Depth) -> Option<&mut Row> {
        let (bytes, words) = (name.as_bytes(), words(name.as_bytes())?);
        if let Some(index) = self.by_name.find(words, |other| **other == *bytes) {
            return self.rows.get_mut(index as usize);
        }
        if self.rows.len() >= self.max || name.is_empty() {
            return None;
        }
        self.by_name.push(words, bytes.into()).ok()?;
        let index = self.rows.len() as u32;
        // The venue has no number for it: ours stands in its place.
        let mut definition =
            InstrumentDefinition::unknown(Instrument(index), i64::from(index) + 1, depth);
        definition.symbol = Symbol::new(name.as_bytes());
        definition.quantity_exponent = -(QUANTITY_DECIMALS as i8);
        self.rows.push(Row {
            definition,
            name: name.into(),
            multiplier: None,
            book: Book::Unasked,
            was_published: false,
            request: 0,
            is_listed: false,
            is_alone: false,
            resubscribed_ns: 0,
            quotes: Quotes::new(QUOTES_MAX),
        });
        self.rows.last_mut()
    }
}

/// A name as words; `None` if it is too long.
fn words(name: &[u8]) -> Option<[u64; NAME_WORDS]> {
    let mut bytes = [0; NAME_WORDS * 8];
    bytes[..NAME_BYTES_MAX]
        .get_mut(..name.len())?
        .copy_from_slice(name);
    bytes[NAME_BYTES_MAX] = name.len() as u8;
    let (chunks, _) = bytes.as_chunks::<8>();
    Some(std::array::from_fn(|word| u64::from_le_bytes(chunks[word])))
}

impl Row {
    /// What its book is, on a connection that stands.
    pub fn validity(&self) -> Validity {
        match self.book {
            Book::Live => Validity::Live,
            Book::Rejected => Validity::Closed,
            Book::Inconsistent => Validity::Recovering,
            // Contents of an earlier connection.
            Book::Unasked | Book::Awaited if self.was_published => Validity::Stale,
            Book::Unasked | Book::Awaited => Validity::Recovering,
        }
    }
}
