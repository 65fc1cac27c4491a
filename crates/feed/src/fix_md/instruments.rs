//! Per-instrument state: the progress of its book.

use super::empty_levels::EmptyLevels;
use super::legs::MissingLegs;
use super::quotes::Quotes;
use touchline_instruments::Instruments;
use touchline_session::Failures;
use touchline_types::{Depth, Instrument, Validity};

/// State of an instrument's book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Book {
    /// Not requested on this connection.
    Unasked,
    /// Requested.
    Awaited,
    /// A snapshot arrived, and every change since.
    Live,
    /// The venue rejected the request.
    Rejected,
    /// The book is inconsistent, and will be requested again.
    Inconsistent,
}

impl Book {
    /// Whether the venue's books of it are taken.
    #[inline]
    pub fn is_asked(self) -> bool {
        matches!(self, Book::Awaited | Book::Live)
    }

    /// Whether the venue sends its changes and trades: an inconsistent book is unsubscribed only when it is requested again.
    #[inline]
    pub fn is_subscribed(self) -> bool {
        // mutant: fix market data: trades are dropped while a book waits to be requested again
        self.is_asked() || self == Book::Inconsistent
    }
}

/// An instrument.
#[derive(Debug)]
pub struct Row {
    /// Instrument number.
    pub instrument: Instrument,
    /// Complete name.
    pub name: Box<str>,
    /// Contract size in 1e-9, if the venue states it.
    pub multiplier: Option<i64>,
    /// Legs of the combination whose instruments are not listed yet.
    pub missing_legs: MissingLegs,
    /// State of its book.
    pub book: Book,
    /// Whether a live book of it was ever published.
    pub was_published: bool,
    /// Its last request.
    pub request: u64,
    /// Whether the venue's list of this connection has it.
    pub is_listed: bool,
    /// Whether the instrument must be requested in a request of its own.
    pub is_alone: bool,
    /// Time of the last repeated request.
    pub resubscribed_ns: u64,
    /// Failures of its book.
    failures: Failures,
    /// Failures that followed another one within two minutes.
    repeats: u32,
    /// Time of the last one.
    failed_ns: u64,
    /// Its quotes, for entries with an id.
    pub quotes: Quotes,
    /// Its levels of size zero, for entries without an id.
    pub empty_levels: EmptyLevels,
}

/// Rows by [`Instrument`], one for each entry of the instrument table.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    /// The last one that was found by its name: most messages are of the same one.
    last: usize,
}

/// Most sides of named quotes stored for one instrument.
pub const QUOTES_MAX: usize = 1_024;

/// Quantities are counts of 1e-8: the smallest part of a coin.
pub const QUANTITY_DECIMALS: u8 = 8;

/// Levels are identified by their price, for any requested depth.
const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

impl Rows {
    /// Allocates memory for `max` rows.
    pub fn new(max: usize) -> Rows {
        Rows {
            rows: Vec::with_capacity(max),
            last: 0,
        }
    }

    /// The row of an instrument.
    #[inline]
    pub fn row(&self, instrument: Instrument) -> &Row {
        &self.rows[instrument.index()]
    }

    /// The row of an instrument.
    #[inline]
    pub fn row_mut(&mut self, instrument: Instrument) -> &mut Row {
        &mut self.rows[instrument.index()]
    }

    /// The row of a name.
    #[inline]
    pub fn named(&mut self, name: &[u8], instruments: &Instruments) -> Option<&Row> {
        let is_last = |row: &Row| row.name.as_bytes() == name;
        // mutant: fix market data: a message is of the instrument of the last one
        if !self.rows.get(self.last).is_some_and(is_last) {
            self.last = instruments.find_symbol(name)?.index();
        }
        self.rows.get(self.last)
    }

    /// Instrument of this request, if the request has only one, in one of these states.
    pub fn asked_by(&self, request: u64, is_taken: fn(Book) -> bool) -> Option<Instrument> {
        let is_asked = |row: &&Row| row.request == request;
        let mut rows = self.rows.iter().filter(is_asked);
        let row = rows.next().filter(|_| rows.next().is_none())?;
        is_taken(row.book).then_some(row.instrument)
    }

    /// All rows.
    pub fn iter(&self) -> std::slice::Iter<'_, Row> {
        self.rows.iter()
    }

    /// All rows.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Row> {
        self.rows.iter_mut()
    }

    /// Instrument of a name, with its row, added to the table if it is new. `None`: the table is full, or the name is
    /// too long for the bus.
    pub fn add(&mut self, name: &str, instruments: &mut Instruments) -> Option<Instrument> {
        let instrument = instruments.add_symbol(name.as_bytes(), DEPTH)?;
        if instrument.index() < self.rows.len() {
            return Some(instrument);
        }
        instruments.definition_mut(instrument).quantity_exponent = -(QUANTITY_DECIMALS as i8);
        self.add_row(name, instrument);
        Some(instrument)
    }

    /// Adds the row of the instrument that was added to the table last.
    fn add_row(&mut self, name: &str, instrument: Instrument) {
        assert_eq!(
            self.rows.len(),
            instrument.index(),
            "an instrument has one row, in the order of its index"
        );
        self.rows.push(Row {
            instrument,
            name: name.into(),
            multiplier: None,
            missing_legs: MissingLegs::default(),
            book: Book::Unasked,
            was_published: false,
            request: 0,
            is_listed: false,
            is_alone: false,
            resubscribed_ns: 0,
            failures: Failures::default(),
            repeats: 0,
            failed_ns: 0,
            quotes: Quotes::new(QUOTES_MAX),
            empty_levels: EmptyLevels::default(),
        });
    }
}

/// Pause before a book that is inconsistent again is requested again; doubled up to 16 seconds while it fails again and again.
/// It is shorter than the timeout of an answer.
const RESUBSCRIBE_NS: u64 = 1_000_000_000;
/// A book that was consistent for as long does not fail again and again.
const CONSISTENT_NS: u64 = 120_000_000_000;

impl Row {
    /// Adds a failure of the book. Returns its number in a row of equal ones if it must be logged.
    pub fn fails(&mut self, now_ns: u64, reason: &str) -> Option<u32> {
        let lasted_ns = now_ns.saturating_sub(self.failed_ns);
        self.failed_ns = now_ns;
        self.repeats = match lasted_ns < CONSISTENT_NS {
            true => self.repeats + 1,
            false => 0,
        };
        self.failures.add(reason, lasted_ns)
    }

    /// Earliest time of the next repeated request.
    pub fn resubscribe_at_ns(&self) -> u64 {
        let pause_ns = RESUBSCRIBE_NS << self.repeats.saturating_sub(1).min(4);
        self.resubscribed_ns.saturating_add(pause_ns)
    }

    /// Validity of its book while the connection is up.
    pub fn validity(&self) -> Validity {
        match self.book {
            Book::Live => Validity::Live,
            Book::Rejected => Validity::Closed,
            Book::Inconsistent => Validity::Recovering,
            // The contents are of an earlier connection.
            Book::Unasked | Book::Awaited if self.was_published => Validity::Stale,
            Book::Unasked | Book::Awaited => Validity::Recovering,
        }
    }
}
