//! Whole books by price.

use touchline_book::PriceBook;
use touchline_types::{BookKind, BookSnapshot, Instrument, Level, Side, Validity};

/// Buffer for the sides of a book that is not stored best first.
#[derive(Debug, Default)]
pub struct WholeSides {
    bids: Vec<Level>,
    asks: Vec<Level>,
}

impl WholeSides {
    /// Allocates room for sides with this many levels.
    pub fn with_room(levels_max: usize) -> WholeSides {
        WholeSides {
            bids: Vec::with_capacity(levels_max),
            asks: Vec::with_capacity(levels_max),
        }
    }

    /// A whole book; a side that is not stored best first is copied here.
    pub fn snapshot<'a>(
        &'a mut self,
        instrument: Instrument,
        validity: Validity,
        book: &'a PriceBook,
    ) -> BookSnapshot<'a> {
        BookSnapshot {
            instrument,
            validity,
            bids: book
                .levels(BookKind::Direct, Side::Bid)
                .slice(&mut self.bids),
            asks: book
                .levels(BookKind::Direct, Side::Ask)
                .slice(&mut self.asks),
            implied_bids: book.implied(Side::Bid),
            implied_asks: book.implied(Side::Ask),
        }
    }
}
