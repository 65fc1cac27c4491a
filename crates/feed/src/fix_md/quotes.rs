//! Named quotes: entries with an id, as banks and aggregators send them, stored one by one and published as levels.

use touchline_types::{
    BookKind, Event, Instrument, LevelEvent, Place, Price, Quantity, Side, UpdateAction, Validity,
};

/// Longest id of a quote, bytes: a UUID has 36.
const ID_BYTES_MAX: usize = 47;
/// Most quotes of size zero of an instrument. Their ids stay known, since the venue may change or delete them.
const EMPTY_MAX: usize = 32;

/// The id of a quote, as the venue wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    bytes: [u8; ID_BYTES_MAX],
    length: u8,
}

impl Id {
    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// `None` if it is too long.
    pub fn new(text: &[u8]) -> Option<Id> {
        let mut bytes = [0; ID_BYTES_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Id {
            bytes,
            length: text.len() as u8,
        })
    }
}

/// One side of a quote.
#[derive(Clone, Copy, Debug)]
struct Quote {
    id: Id,
    side: Side,
    price: Price,
    quantity: Quantity,
}

impl Quote {
    /// Whether the quote is part of a level.
    fn is_shown(&self) -> bool {
        self.quantity.0 != 0
    }
}

/// The quotes of one instrument. The quotes of one price form a level.
#[derive(Clone, Debug)]
pub struct Quotes {
    quotes: Vec<Quote>,
    max: usize,
}

/// More quotes than the limit, or the sum of their quantities is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Quotes {
    /// No quotes; memory for `max` sides of quotes is allocated with the first.
    pub fn new(max: usize) -> Quotes {
        Quotes {
            quotes: Vec::new(),
            max,
        }
    }

    /// Removes all quotes.
    pub fn clear(&mut self) {
        self.quotes.clear();
    }

    /// Sets a side of a quote: `None` leaves a field unchanged, a price of zero removes the side, a quantity of zero leaves it without
    /// a level. If the quote is of the other side alone and `moves`, it is not there any more. Returns the changes of levels.
    ///
    /// # Errors
    /// The table is full.
    pub fn set(
        &mut self,
        (id, side): (Id, Side),
        mut price: Option<Price>,
        mut quantity: Option<Quantity>,
        moves: impl FnOnce() -> bool,
        mut change: impl FnMut(Level),
    ) -> Result<(), TooMany> {
        let place = self.place(id, side);
        if place.is_none()
            && moves()
            && let Some((old_price, old_quantity)) = self.take(id, &mut change)
        {
            price = price.or(Some(old_price));
            quantity = quantity.or(Some(old_quantity));
        }
        let old = place.map(|place| self.quotes[place]);
        let price = price.or(old.map(|old| old.price));
        let quantity = quantity.or(old.map(|old| old.quantity));
        let new = match (price, quantity) {
            (Some(price), Some(quantity)) if price.0 != 0 => Some(Quote {
                id,
                side,
                price,
                quantity,
            }),
            _ => None,
        };
        let becomes_empty =
            new.is_some_and(|new| !new.is_shown()) && old.is_none_or(|old| old.is_shown());
        if becomes_empty {
            self.forget_empty(EMPTY_MAX);
        }
        if place.is_none() && self.quotes.len() >= self.max {
            self.forget_empty(1);
        }
        // Another quote may have moved to its place.
        let place = match becomes_empty {
            true => self.place(id, side),
            false => place,
        };
        match (place, new) {
            (Some(place), Some(new)) => self.quotes[place] = new,
            (Some(place), None) => {
                self.quotes.swap_remove(place);
            }
            (None, Some(new)) if self.quotes.len() < self.max => {
                if self.quotes.capacity() == 0 {
                    self.quotes.reserve_exact(self.max);
                }
                self.quotes.push(new);
            }
            (None, Some(new)) if new.is_shown() => return Err(TooMany),
            (None, Some(_)) => return Ok(()),
            (None, None) => return Ok(()),
        }
        let (old, new) = (old.filter(Quote::is_shown), new.filter(Quote::is_shown));
        if let Some(old) = old.filter(|old| new.is_none_or(|new| new.price != old.price)) {
            change(self.level(side, old.price).ok_or(TooMany)?);
        }
        if let Some(new) = new {
            change(self.level(side, new.price).ok_or(TooMany)?);
        }
        Ok(())
    }

    /// Removes a quote that has one side. Returns its price and quantity.
    fn take(&mut self, id: Id, change: impl FnMut(Level)) -> Option<(Price, Quantity)> {
        let old = *self.quotes.iter().find(|quote| quote.id == id)?;
        self.remove(id, change);
        Some((old.price, old.quantity))
    }

    /// Removes both sides of a quote.
    pub fn remove(&mut self, id: Id, mut change: impl FnMut(Level)) {
        for side in Side::BOTH {
            if let Some(place) = self.place(id, side) {
                let old = self.quotes.swap_remove(place);
                if old.is_shown()
                    && let Some(level) = self.level(side, old.price)
                {
                    change(level);
                }
            }
        }
    }

    /// Each level once.
    ///
    /// # Errors
    /// A sum of quantities is out of range.
    pub fn levels(&self, mut each: impl FnMut(Level)) -> Result<(), TooMany> {
        for (index, quote) in self.quotes.iter().enumerate() {
            let is_same = |other: &Quote| {
                other.is_shown() && other.side == quote.side && other.price == quote.price
            };
            if quote.is_shown() && !self.quotes[..index].iter().any(is_same) {
                each(self.level(quote.side, quote.price).ok_or(TooMany)?);
            }
        }
        Ok(())
    }

    /// The side of a quote, if it has one; of a quote with two the one that is part of a level.
    pub fn side(&self, id: Id) -> Option<Side> {
        let quotes = || self.quotes.iter().filter(|quote| quote.id == id);
        let is_any_shown = quotes().any(Quote::is_shown);
        let mut sides = quotes().filter(|quote| quote.is_shown() || !is_any_shown);
        let side = sides.next()?.side;
        sides.next().is_none().then_some(side)
    }

    /// Forgets a quote of size zero, if there are as many as `max`.
    #[cold]
    fn forget_empty(&mut self, max: usize) {
        let mut empty = (0..self.quotes.len()).filter(|place| !self.quotes[*place].is_shown());
        let first = empty.next();
        if let Some(first) = first
            && 1 + empty.count() >= max
        {
            self.quotes.swap_remove(first);
        }
    }

    fn place(&self, id: Id, side: Side) -> Option<usize> {
        let is_it = |quote: &Quote| quote.id == id && quote.side == side;
        self.quotes.iter().position(is_it)
    }

    /// Total quantity at a price; `None` if it is out of range.
    fn level(&self, side: Side, price: Price) -> Option<Level> {
        let mut level = Level {
            side,
            price,
            quantity: Quantity(0),
            quotes: 0,
        };
        let same = |quote: &&Quote| quote.is_shown() && quote.side == side && quote.price == price;
        for quote in self.quotes.iter().filter(same) {
            level.quantity.0 = level.quantity.0.checked_add(quote.quantity.0)?;
            level.quotes += 1;
        }
        Some(level)
    }
}

/// All quotes of one side and price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Side.
    pub side: Side,
    /// Price.
    pub price: Price,
    /// Total quantity.
    pub quantity: Quantity,
    /// Number of quotes; 0 if none is left.
    pub quotes: i32,
}

impl Level {
    /// As an event of a book, whether or not the book has the level already.
    fn event(self, instrument: Instrument) -> LevelEvent {
        LevelEvent {
            instrument,
            orders: self.quotes,
            price: self.price,
            quantity: self.quantity,
            place: Place::Price,
            action: match self.quotes {
                0 => UpdateAction::Delete,
                _ => UpdateAction::Overlay,
            },
            side: self.side,
            book: BookKind::Direct,
        }
    }

    /// As a change of a live book.
    pub fn changed(self, instrument: Instrument) -> Event {
        Event::Level(self.event(instrument), Validity::Live)
    }

    /// As a level of a new book.
    pub fn rebuilt(self, instrument: Instrument) -> Event {
        Event::RebuildLevel(LevelEvent {
            action: UpdateAction::New,
            ..self.event(instrument)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        Id::new(text.as_bytes()).expect("a short id")
    }

    #[test]
    fn quotes_of_one_price_are_one_level() {
        let mut quotes = Quotes::new(8);
        let mut levels = Vec::new();
        let mut set = |name: &str, price: Option<i64>, quantity: Option<i64>| {
            levels.clear();
            quotes
                .set(
                    (id(name), Side::Bid),
                    price.map(Price),
                    quantity.map(Quantity),
                    || false,
                    |level| levels.push((level.price.0, level.quantity.0, level.quotes)),
                )
                .expect("there is room");
            levels.clone()
        };
        assert_eq!(set("0", Some(100), Some(5)), [(100, 5, 1)]);
        assert_eq!(set("1", Some(100), Some(7)), [(100, 12, 2)]);
        assert_eq!(
            set("1", Some(101), None),
            [(100, 5, 1), (101, 7, 1)],
            "its quantity stays"
        );
        assert_eq!(set("1", None, Some(9)), [(101, 9, 1)], "its price stays");
        assert_eq!(
            set("2", Some(99), None),
            [],
            "a quote without a quantity makes no level"
        );
        assert_eq!(set("0", Some(0), None), [(100, 0, 0)]);
        assert_eq!(set("1", None, Some(0)), [(101, 0, 0)]);
        assert_eq!(set("1", Some(102), None), [], "no level had it");
        assert_eq!(set("1", None, Some(4)), [(102, 4, 1)], "its price stays");
        assert_eq!(set("1", None, Some(0)), [(102, 0, 0)]);
        assert_eq!(set("1", None, Some(0)), []);
        quotes.remove(id("1"), |level| panic!("no level had it: {level:?}"));
        assert!(quotes.quotes.is_empty());
    }

    /// Quotes of size zero take no place from others, however many they are.
    #[test]
    fn quotes_of_size_zero_are_bounded() {
        let mut quotes = Quotes::new(EMPTY_MAX + 8);
        let one = Some(Price(1));
        let zero = Some(Quantity(0));
        for number in 0..100 {
            let name = id(&number.to_string());
            assert_eq!(
                quotes.set((name, Side::Bid), one, zero, || false, |_| {}),
                Ok(())
            );
        }
        assert_eq!(quotes.quotes.len(), EMPTY_MAX);
        assert_eq!(quotes.side(id("99")), Some(Side::Bid));
        for number in 0..EMPTY_MAX + 8 {
            let name = id(&format!("x{number}"));
            assert_eq!(
                quotes.set((name, Side::Ask), one, Some(Quantity(1)), || false, |_| {}),
                Ok(())
            );
        }
        let name = id("99");
        assert_eq!(
            quotes.set((name, Side::Bid), one, zero, || false, |_| {}),
            Ok(()),
            "no room"
        );
        assert_eq!(quotes.side(name), None);
        quotes
            .levels(|level| assert_eq!(level.side, Side::Ask))
            .expect("levels");
    }

    /// A change without a side means the side that is part of a level.
    #[test]
    fn a_quote_with_one_empty_side_has_one_side() {
        let mut quotes = Quotes::new(8);
        for (side, quantity) in [(Side::Bid, 0), (Side::Ask, 3)] {
            let (one, quantity) = (Some(Price(1)), Some(Quantity(quantity)));
            quotes
                .set((id("a"), side), one, quantity, || false, |_| {})
                .expect("room");
        }
        assert_eq!(quotes.side(id("a")), Some(Side::Ask));
    }

    #[test]
    fn more_than_fit_are_refused_and_a_removal_takes_both_sides() {
        let mut quotes = Quotes::new(2);
        let one = Some(Price(1));
        let some = Some(Quantity(1));
        for side in Side::BOTH {
            assert_eq!(
                quotes.set((id("a"), side), one, some, || false, |_| {}),
                Ok(())
            );
        }
        assert_eq!(
            quotes.set((id("b"), Side::Bid), one, some, || false, |_| {}),
            Err(TooMany)
        );
        let mut gone = 0;
        quotes.remove(id("a"), |level| gone += i32::from(level.quotes == 0));
        assert_eq!(gone, 2);
        assert!(Id::new(&[b'x'; 47]).is_some() && Id::new(&[b'x'; 48]).is_none());
    }
}
