//! Price books and orders as a program reads them.

use crate::event::{Level, Quote};
use crate::registry::Slot;
use crate::values::{level_of, quote};
use crate::{Definition, Quantity, State, Times};
use touchline_book::{Consolidated, LevelList, PriceBook};
use touchline_types::{BookKind, Price, Side, Spread};

/// The price book of an instrument, borrowed from its bus. Levels are converted as they are read.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a> {
    definition: &'a Definition,
    book: Option<&'a PriceBook>,
    slot: Slot,
    state: State,
    sequence: u64,
    times: Times,
}

/// Levels of one side of the direct or the implied book, best first.
#[derive(Clone, Debug)]
pub struct Levels<'a> {
    levels: LevelList<'a>,
    slot: Slot,
}

/// Direct and implied interest at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsolidatedLevel {
    /// Price.
    pub price: Price,
    /// Direct and implied quantity together.
    pub quantity: Quantity,
    /// Direct quantity; 0 if there is none.
    pub direct: Quantity,
    /// Implied quantity; 0 if there is none.
    pub implied: Quantity,
    /// Number of direct orders; `None` if the venue does not state it, 0 if there are none.
    pub orders: Option<u32>,
}

/// An order of an order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The venue's id.
    pub order_id: u64,
    /// Price.
    pub price: Price,
    /// Visible quantity.
    pub quantity: Quantity,
    /// Rank within its price, lowest first.
    pub priority: u64,
}

impl<'a> Book<'a> {
    pub(crate) fn new(
        definition: &'a Definition,
        book: Option<&'a PriceBook>,
        slot: Slot,
        state: State,
        sequence: u64,
        times: Times,
    ) -> Book<'a> {
        Book {
            definition,
            book,
            slot,
            state,
            sequence,
            times,
        }
    }

    /// Symbol of the instrument; `?` before it is known.
    pub fn symbol(&self) -> &'a str {
        match self.definition.symbol.as_str() {
            "" => "?",
            symbol => symbol,
        }
    }

    /// Definition of the instrument.
    pub fn definition(&self) -> &'a Definition {
        self.definition
    }

    /// Validity of the book.
    pub fn state(&self) -> State {
        self.state
    }

    /// Number of the last message that the book contains; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Times of that message.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Best bid or ask, direct and implied; `None` if there is none, or if a better level may be unknown.
    pub fn best(&self, side: Side) -> Option<Quote> {
        quote(self.book?.touch(side), &self.slot)
    }

    /// Whether the book, direct and implied together, is one-sided, normal, locked or crossed.
    pub fn spread(&self) -> Spread {
        self.book.map_or(Spread::OneSided, PriceBook::spread)
    }

    /// Levels of a side, direct and implied merged by price, best first. Unknown levels are left out.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = ConsolidatedLevel> + use<'a> {
        let slot = self.slot;
        let levels = self.book.map(|book| Consolidated::new(book, side));
        levels
            .into_iter()
            .flatten()
            .map(move |level| ConsolidatedLevel {
                price: slot.price(level.price),
                quantity: slot.quantity(level.quantity),
                direct: slot.quantity(level.direct),
                implied: slot.quantity(level.implied),
                orders: u32::try_from(level.orders).ok(),
            })
    }

    /// Levels of a side of the direct book, best first.
    pub fn direct(&self, side: Side) -> Levels<'a> {
        self.list(BookKind::Direct, side)
    }

    /// Levels of a side of the implied book, best first.
    pub fn implied(&self, side: Side) -> Levels<'a> {
        self.list(BookKind::Implied, side)
    }

    /// Levels of a side of the direct or the implied book, best first.
    pub fn list(&self, kind: BookKind, side: Side) -> Levels<'a> {
        Levels {
            levels: self
                .book
                .map_or(LevelList::EMPTY, |book| book.levels(kind, side)),
            slot: self.slot,
        }
    }

    /// The worst price that an order for `quantity` meets on a side, direct and implied. `None` if the book has less
    /// quantity, or a level before that price is unknown.
    pub fn depth_price(&self, side: Side, quantity: impl Into<Quantity>) -> Option<Price> {
        let wanted = quantity
            .into()
            .in_units_of(self.definition.quantity_exponent)?;
        let mut levels = Consolidated::new(self.book?, side);
        let mut met = 0_i64;
        while let Some(level) = levels.next_known() {
            if level.quantity.is_null() {
                return None;
            }
            met = met.saturating_add(level.quantity.0);
            if met >= wanted {
                return Some(self.slot.price(level.price));
            }
        }
        None
    }
}

impl Iterator for Levels<'_> {
    type Item = Level;

    #[inline]
    fn next(&mut self) -> Option<Level> {
        let first = self.levels.first()?;
        self.levels = self.levels.rest();
        Some(level_of(first, &self.slot))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.levels.len(), Some(self.levels.len()))
    }
}

impl ExactSizeIterator for Levels<'_> {}
