//! Whole books: after recovery and with a definition.

use super::MarketBooks;
use touchline_transport::Publish;
use touchline_types::{
    BookKind, BookSnapshot, Instrument, Level, OrdersSnapshot, Side, Update, Validity,
};

impl MarketBooks {
    pub(super) fn publish_book(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        out: &mut impl Publish,
    ) {
        self.counters.book_snapshots += 1;
        self.trace_applied();
        let book = self.prices.get_mut(instrument);
        out.publish(
            &Update::BookSnapshot(snapshot(instrument, validity, book, &mut self.whole_sides)),
            &self.timestamps,
        );
    }

    pub(super) fn publish_orders(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        out: &mut impl Publish,
    ) {
        self.counters.order_snapshots += 1;
        self.trace_applied();
        self.orders.gather(instrument, &mut self.whole_book);
        let validity = match self.overflowed.contains(&instrument) {
            true => self.rules.missing,
            false => validity,
        };
        out.publish(
            &Update::OrdersSnapshot(OrdersSnapshot {
                instrument,
                validity,
                orders: &self.whole_book,
            }),
            &self.timestamps,
        );
    }
}

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
}

pub(super) fn snapshot<'a>(
    instrument: Instrument,
    validity: Validity,
    book: &'a touchline_book::PriceBook,
    room: &'a mut WholeSides,
) -> BookSnapshot<'a> {
    BookSnapshot {
        instrument,
        validity,
        bids: book
            .levels(BookKind::Direct, Side::Bid)
            .slice(&mut room.bids),
        asks: book
            .levels(BookKind::Direct, Side::Ask)
            .slice(&mut room.asks),
        implied_bids: book.implied(Side::Bid),
        implied_asks: book.implied(Side::Ask),
    }
}
