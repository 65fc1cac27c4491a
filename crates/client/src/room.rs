//! Room of a reader: rows that it reserves, and their memory.

use crate::{Events, Options};
use touchline_transport::market::EVENT_ORDERS_MAX;

/// Reserved steps of one event and levels of one book; a larger book is read from its snapshot slot.
pub const CHANGES_MAX: usize = 16_384;
/// Maximum number of quotes in one message.
const QUOTES_MAX: usize = 4_096;

/// Bytes that a reader allocates at join, measured and rounded up: for any bus, for each instrument, and for each order.
const READER_BYTES: usize = 8 << 20;
const INSTRUMENT_BYTES: usize = 1_792;
const ORDER_BYTES: usize = 320;
/// Bytes for each order of a book that is sorted: a pointer, while its list grows.
pub const SORTED_BYTES: usize = 3 * size_of::<usize>();

/// Reserved rows of a bus.
pub struct Room {
    pub instruments_max: usize,
    pub orders_max: usize,
    /// Instruments and orders of the books.
    pub books: (usize, usize),
    pub quotes_max: usize,
}

/// Most instruments and orders of a program; `None`: those of its bus.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    instruments_max: Option<usize>,
    orders_max: Option<usize>,
}

impl Limits {
    pub fn of(options: &Options) -> Limits {
        let has_orders = options.events.has(Events::ORDERS);
        Limits {
            instruments_max: options.instruments_max,
            orders_max: if has_orders {
                options.orders_max
            } else {
                Some(0)
            },
        }
    }

    /// At most the numbers of the bus, for which memory was looked for, even if a program gives larger ones.
    pub fn within(&self, instruments_max: usize, orders_max: usize) -> (usize, usize) {
        let at_most = |most: usize, wanted: Option<usize>| wanted.map_or(most, |n| n.min(most));
        (
            at_most(instruments_max, self.instruments_max),
            at_most(orders_max, self.orders_max),
        )
    }

    /// [`Self::within`] for books: those of a bus need more orders during an event.
    pub fn of_books(&self, instruments_max: usize, of_bus: usize) -> (usize, usize) {
        let (instruments_max, orders_max) = self.within(instruments_max, of_bus);
        let is_of_bus = orders_max == of_bus && of_bus > 0;
        // mutant: client: books have room for the orders of the bus, and not for those of an event
        let event_orders = if is_of_bus { EVENT_ORDERS_MAX } else { 0 };
        (instruments_max, orders_max + event_orders)
    }
}

impl Room {
    pub fn new(options: &Options, instruments_max: usize, orders_max: usize) -> Room {
        let limits = Limits::of(options);
        let books = limits.of_books(instruments_max, orders_max);
        let (instruments_max, orders_max) = limits.within(instruments_max, orders_max);
        Room {
            instruments_max,
            orders_max,
            books,
            quotes_max: quotes_max(options.events),
        }
    }
}

/// Quotes of one message.
pub fn quotes_max(events: Events) -> usize {
    match events.has(Events::QUOTES) {
        true => QUOTES_MAX,
        false => 0,
    }
}

/// Bytes of a reader.
pub fn memory_of(instruments: usize, orders: usize) -> usize {
    let event_orders = if orders > 0 { EVENT_ORDERS_MAX } else { 0 };
    let orders = orders + event_orders;
    READER_BYTES + instruments * INSTRUMENT_BYTES + orders * ORDER_BYTES
}
