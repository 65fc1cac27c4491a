//! States of live books, one line each, in the format of expected states.

use crate::output::{Failure, Output};
use touchline_client::{Book, BookKind, Bus, Instrument, Level, Side};
use touchline_types::book_state::{self, BookState};

/// Output of states.
#[derive(Debug)]
pub struct States {
    output: Output,
    /// The first write error.
    failed: Option<Failure>,
}

const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

impl States {
    /// Writes to an output.
    pub fn of(output: Output) -> States {
        States {
            output,
            failed: None,
        }
    }

    /// Writes the state of a price book after a packet: a hash of its four lists.
    pub fn note_book(&mut self, packet: u64, book: &Book<'_>) {
        let lists = LISTS.map(|(kind, side)| book.list(kind, side).map(|level| numbers(&level)));
        self.note(BookState {
            sequence: packet,
            security_id: book.definition().security_id as i32,
            hash: book_state::hash(lists),
        });
    }

    /// Writes the state of an order book after a packet: a hash of its orders.
    pub fn note_orders(&mut self, packet: u64, bus: &Bus, instrument: Instrument) {
        let sides = Side::BOTH.map(|side| {
            let mut served = Vec::new();
            // The handle is of this bus; a bus without orders gives none.
            let _ = bus.orders(instrument, side, |order| {
                served.push((order.price.0, order.quantity.mantissa(), order.order_id));
            });
            served
        });
        let definition = bus.definition(instrument);
        self.note(BookState {
            sequence: packet,
            security_id: definition.map_or(0, |definition| definition.security_id) as i32,
            hash: book_state::hash_of_orders(sides),
        });
    }

    fn note(&mut self, state: BookState) {
        if self.failed.is_none() {
            self.failed = self.output.line(&state.to_string()).err();
        }
    }

    /// Closes the output.
    pub fn finish(mut self) -> Result<(), Failure> {
        match self.failed {
            Some(failed) => Err(failed),
            None => self.output.flush().and_then(|()| self.output.finish()),
        }
    }
}

/// A level in the format of expected states.
fn numbers(level: &Level) -> (i64, i64, i64) {
    let orders = level.orders.map_or(-1, i64::from);
    (level.price.0, level.quantity.mantissa(), orders)
}
