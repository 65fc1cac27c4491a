//! What a reader of the messages knows: definitions, books, texts.

use crate::column::{NULL, Texts};
use crate::message::Message;
use touchline_book::PriceBook;
use touchline_transport::market::EVENT_ORDERS_MAX;
use touchline_transport::{Mirror, Subscribe, SubscriptionEvent};
use touchline_types::{Instrument, InstrumentDefinition};

/// State of the publication after the messages so far.
#[derive(Debug)]
pub struct State {
    books: Mirror,
    known: Vec<Option<Known>>,
    /// Cell of the venue of all instruments; absent if there are several.
    venue: Option<i64>,
    instruments_max: u32,
    has_orders: bool,
    /// Texts of cells.
    pub texts: Texts,
}

/// An instrument that was defined.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The definition.
    pub definition: InstrumentDefinition,
    /// Cell of its venue.
    pub venue: i64,
    /// Cell of its symbol.
    pub symbol: i64,
}

impl State {
    /// Before the first publication.
    pub fn new() -> State {
        State {
            books: Mirror::new(0, 0),
            known: Vec::new(),
            venue: None,
            instruments_max: 0,
            has_orders: false,
            texts: Texts::default(),
        }
    }

    /// A publication begins, with room for these.
    pub fn begin(&mut self, instruments_max: usize, orders_max: usize) {
        self.known.clear();
        self.instruments_max = u32::try_from(instruments_max).unwrap_or(u32::MAX);
        self.has_orders = orders_max > 0;
        self.books = Mirror::new(instruments_max, orders_max + EVENT_ORDERS_MAX);
    }

    /// The books.
    pub fn books(&self) -> &Mirror {
        &self.books
    }

    /// All instruments that the publication has room for.
    pub fn instruments(&self) -> impl Iterator<Item = Instrument> + use<> {
        (0..self.instruments_max).map(Instrument)
    }

    /// Whether the publication has order books.
    pub fn has_orders(&self) -> bool {
        self.has_orders
    }

    /// Whether an instrument may have an implied book.
    pub fn has_implied(&self, instrument: Instrument) -> bool {
        let known = self.known(instrument);
        known.is_none_or(|known| known.definition.depth.implied > 0)
    }

    /// The price book of an instrument, if an update named it.
    pub fn book(&self, instrument: Instrument) -> Option<&PriceBook> {
        self.books.book(instrument)
    }

    /// An instrument that was defined.
    pub fn known(&self, instrument: Instrument) -> Option<&Known> {
        self.known.get(instrument.index())?.as_ref()
    }

    /// All instruments that were defined.
    pub fn all_known(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().flatten()
    }

    /// Cells of venue and symbol, and the venue's id; of a message without an instrument the venue alone.
    pub fn names(&self, instrument: Option<Instrument>) -> [i64; 3] {
        match instrument.and_then(|instrument| self.known(instrument)) {
            Some(known) => [known.venue, known.symbol, known.definition.security_id],
            None => [self.venue.unwrap_or(NULL), NULL, NULL],
        }
    }

    /// The next definitions say the venue of messages without an instrument.
    pub fn forget_venue(&mut self) {
        self.venue = None;
    }

    /// Applies a message.
    pub fn apply(&mut self, message: &Message<'_>) {
        self.books.update(&message.envelope());
    }

    /// An event of the subscription.
    pub fn event(&mut self, event: &SubscriptionEvent) {
        self.books.event(event);
    }

    /// Keeps a definition.
    pub fn define(&mut self, definition: &InstrumentDefinition) {
        let index = definition.instrument.index();
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        let known = Known {
            definition: *definition,
            venue: self.texts.cell(definition.reference.venue.as_str()),
            symbol: self.texts.cell(definition.symbol.as_str()),
        };
        self.known[index] = Some(known);
        self.venue = match self.venue {
            None => Some(known.venue),
            Some(venue) if venue == known.venue => Some(venue),
            Some(_) => Some(NULL),
        };
    }
}
