//! One row for each instrument: how far its book has come.

use super::quotes::Quotes;
use touchline_instruments::Instruments;
use touchline_types::{Depth, Instrument, Validity};

/// How far the book of an instrument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Book {
    /// Not requested on this connection.
    Unasked,
    /// Asked for.
    Awaited,
    /// A snapshot came, and every change since.
    Live,
    /// The venue does not give it.
    Rejected,
    /// It is inconsistent, and to be requested again.
    Inconsistent,
}

/// An instrument.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub instrument: Instrument,
    /// Its name, whole.
    pub name: Box<str>,
    /// What one contract is, in 1e-9, if the venue says it.
    pub multiplier: Option<i64>,
    /// How far its book is.
    pub book: Book,
    /// Whether subscribers were ever shown a book of it as live.
    pub was_published: bool,
    /// Its last request.
    pub request: u64,
    /// Whether the venue's list of this connection has it.
    pub is_listed: bool,
    /// Whether it is to be requested by itself.
    pub is_alone: bool,
    /// Time of the last repeated request.
    pub resubscribed_ns: u64,
    /// Its quotes, where they have names.
    pub quotes: Quotes,
}

/// Rows by [`Instrument`], one for each of the table of instruments.
#[derive(Debug)]
pub struct Rows(Vec<Row>);

/// Sides of quotes with names that are kept of one instrument.
pub const QUOTES_MAX: usize = 1_024;

/// Quantities are counted in 1e-8: the smallest part of a coin.
pub const QUANTITY_DECIMALS: u8 = 8;

/// Levels are identified by their price, for any requested depth.
const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

impl Rows {
    /// Room for `max` of them.
    pub fn new(max: usize) -> Rows {
        Rows(Vec::with_capacity(max))
    }

    /// The row of an instrument.
    #[inline]
    pub fn row(&self, instrument: Instrument) -> &Row {
        &self.0[instrument.index()]
    }

    /// The row of an instrument.
    #[inline]
    pub fn row_mut(&mut self, instrument: Instrument) -> &mut Row {
        &mut self.0[instrument.index()]
    }

    /// The instrument of this request, if it has only one.
    pub fn asked_by(&self, request: u64) -> Option<Instrument> {
        let is_asked = |row: &&Row| row.request == request;
        let mut rows = self.0.iter().filter(is_asked);
        let row = rows.next().filter(|_| rows.next().is_none())?;
        let is_taken = matches!(row.book, Book::Awaited | Book::Live);
        is_taken.then_some(row.instrument)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Row> {
        self.0.iter()
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Row> {
        self.0.iter_mut()
    }

    /// The instrument of a name, with its row, added to the table if it is new. `None`: there is no room, or the name
    /// is too long for the bus.
    pub fn add(&mut self, name: &str, instruments: &mut Instruments) -> Option<Instrument> {
        let instrument = instruments.add_symbol(name.as_bytes(), DEPTH)?;
        if instrument.index() < self.0.len() {
            return Some(instrument);
        }
        instruments.definition_mut(instrument).quantity_exponent = -(QUANTITY_DECIMALS as i8);
        self.add_row(name, instrument);
        Some(instrument)
    }

    /// Adds the row of the instrument that was added to the table last.
    pub fn add_row(&mut self, name: &str, instrument: Instrument) {
        assert_eq!(self.0.len(), instrument.index(), "one-row-an-instrument");
        self.0.push(Row {
            instrument,
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
    }
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
