//! Market by price: a table of books over all instruments of a channel.

use crate::levels::Levels;
use std::cmp::Ordering;
use touchline_types::{
    BookKind, Depth, Instrument, Level, LevelAction, LevelChange, LevelEvent, Side,
};

/// Levels a side that a direct book can hold; CME's deepest is 10.
pub const DIRECT_MAX: usize = 10;
/// Levels a side that an implied book can hold; CME's are 2 deep.
pub const IMPLIED_MAX: usize = 2;
/// The most steps one event resolves to: an empty list padded to the full depth, an emptied one,
/// or four lists cleared.
pub const STEPS_MAX: usize = DIRECT_MAX + 4;

/// The price book of one instrument: direct and implied lists, never mixed.
#[derive(Clone, Copy, Debug)]
pub struct PriceBook {
    direct: [Levels<DIRECT_MAX>; 2],
    implied: [Levels<IMPLIED_MAX>; 2],
}

/// How the best bid and ask stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At least one side has no known best level.
    OneSided,
    /// Bid below ask.
    Normal,
    /// Bid equals ask.
    Locked,
    /// Bid above ask.
    Crossed,
}

impl Spread {
    /// How these two stand to each other; a level without a price is as good as none.
    #[inline]
    pub fn between(bid: Option<Level>, ask: Option<Level>) -> Spread {
        let (Some(bid), Some(ask)) = (bid, ask) else {
            return Spread::OneSided;
        };
        if bid.price.is_null() || ask.price.is_null() {
            return Spread::OneSided;
        }
        match bid.price.cmp(&ask.price) {
            Ordering::Less => Spread::Normal,
            Ordering::Equal => Spread::Locked,
            Ordering::Greater => Spread::Crossed,
        }
    }
}

impl PriceBook {
    /// An empty book of this depth.
    pub fn new(depth: Depth) -> PriceBook {
        PriceBook {
            direct: [Levels::new(depth.direct); 2],
            implied: [Levels::new(depth.implied); 2],
        }
    }

    /// One list, best first.
    #[inline]
    pub fn levels(&self, book: BookKind, side: Side) -> &[Level] {
        match book {
            BookKind::Direct => self.direct[side.index()].as_slice(),
            BookKind::Implied => self.implied[side.index()].as_slice(),
        }
    }

    /// The best direct level of a side, if there is one and it is known.
    #[inline]
    pub fn best(&self, side: Side) -> Option<Level> {
        self.direct[side.index()].best()
    }

    /// Whether the direct book is one-sided, normal, locked or crossed.
    #[inline]
    pub fn spread(&self) -> Spread {
        Spread::between(self.best(Side::Bid), self.best(Side::Ask))
    }

    /// Applies a venue's event and appends the steps it resolved to.
    #[inline]
    pub fn apply(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) {
        let LevelEvent {
            action,
            position,
            side,
            book,
            price,
            quantity,
            orders,
            ..
        } = *event;
        let level = Level {
            price,
            quantity,
            orders,
            known: true,
        };
        let mut steps = |action, index: usize, level| {
            changes.push(LevelChange {
                level,
                book,
                side,
                action,
                index: index as u8,
            });
        };
        match book {
            BookKind::Direct => {
                self.direct[side.index()].apply(action, position, level, &mut steps)
            }
            BookKind::Implied => {
                self.implied[side.index()].apply(action, position, level, &mut steps);
            }
        }
    }

    /// Empties the four lists and appends the steps.
    pub fn clear(&mut self, changes: &mut Vec<LevelChange>) {
        for side in Side::BOTH {
            if self.direct[side.index()].clear() {
                changes.push(cleared(BookKind::Direct, side));
            }
            if self.implied[side.index()].clear() {
                changes.push(cleared(BookKind::Implied, side));
            }
        }
    }

    /// Plays one resolved step, as a reader of updates does. `false` if it does not fit.
    pub fn play(&mut self, change: &LevelChange) -> bool {
        let LevelChange {
            level,
            book,
            side,
            action,
            index,
        } = *change;
        match book {
            BookKind::Direct => self.direct[side.index()].play(action, index.into(), level),
            BookKind::Implied => self.implied[side.index()].play(action, index.into(), level),
        }
    }
}

/// The price books of all instruments, indexed by [`Instrument`].
#[derive(Debug)]
pub struct PriceBooks {
    books: Vec<PriceBook>,
    default_depth: Depth,
}

impl PriceBooks {
    /// Room for `instruments_max` books, all taken now. Instruments without a definition have
    /// `default_depth`.
    pub fn new(instruments_max: usize, default_depth: Depth) -> PriceBooks {
        PriceBooks {
            books: Vec::with_capacity(instruments_max),
            default_depth,
        }
    }

    /// The book of an instrument; `None` if nothing was ever applied to it or a later one.
    #[inline]
    pub fn get(&self, instrument: Instrument) -> Option<&PriceBook> {
        self.books.get(instrument.index())
    }

    /// The book of an instrument, made on its first use.
    #[inline]
    pub fn get_mut(&mut self, instrument: Instrument) -> &mut PriceBook {
        if instrument.index() >= self.books.len() {
            self.books
                .resize(instrument.index() + 1, PriceBook::new(self.default_depth));
        }
        &mut self.books[instrument.index()]
    }

    /// Sets the depth of an instrument's book; a new depth empties it.
    pub fn define(&mut self, instrument: Instrument, depth: Depth) {
        let fresh = PriceBook::new(depth);
        let book = self.get_mut(instrument);
        let depths = |book: &PriceBook| (book.direct[0].depth(), book.implied[0].depth());
        if depths(book) != depths(&fresh) {
            *book = fresh;
        }
    }

    /// Applies a venue's event and appends the steps it resolved to.
    #[inline]
    pub fn apply(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) {
        self.get_mut(event.instrument).apply(event, changes);
    }

    /// Empties every book, keeping depths.
    pub fn clear(&mut self) {
        for book in &mut self.books {
            for side in Side::BOTH {
                book.direct[side.index()].clear();
                book.implied[side.index()].clear();
            }
        }
    }
}

fn cleared(book: BookKind, side: Side) -> LevelChange {
    LevelChange {
        level: Level::UNKNOWN,
        book,
        side,
        action: LevelAction::Clear,
        index: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Price, Quantity, UpdateAction};

    const DEPTH: Depth = Depth {
        direct: 10,
        implied: 2,
    };

    fn new(side: Side, book: BookKind, price: i64) -> LevelEvent {
        LevelEvent {
            instrument: Instrument(0),
            orders: 1,
            price: Price(price),
            quantity: Quantity(1),
            position: 1,
            action: UpdateAction::New,
            side,
            book,
        }
    }

    #[test]
    fn implied_and_direct_are_separate() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        book.apply(&new(Side::Bid, BookKind::Implied, 7), &mut changes);
        assert_eq!(book.best(Side::Bid), None);
        assert_eq!(book.levels(BookKind::Implied, Side::Bid).len(), 1);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].book, BookKind::Implied);
    }

    #[test]
    fn locked_and_crossed_are_seen() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        assert_eq!(book.spread(), Spread::OneSided);
        book.apply(&new(Side::Ask, BookKind::Direct, 10), &mut changes);
        book.apply(&new(Side::Bid, BookKind::Direct, 9), &mut changes);
        assert_eq!(book.spread(), Spread::Normal);
        book.apply(&new(Side::Bid, BookKind::Direct, 10), &mut changes);
        assert_eq!(book.spread(), Spread::Locked);
        book.apply(&new(Side::Bid, BookKind::Direct, 11), &mut changes);
        assert_eq!(book.spread(), Spread::Crossed);
    }

    #[test]
    fn clearing_says_which_lists_had_something() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        book.apply(&new(Side::Ask, BookKind::Direct, 10), &mut changes);
        book.apply(&new(Side::Bid, BookKind::Implied, 9), &mut changes);
        changes.clear();
        book.clear(&mut changes);
        let lists: Vec<_> = changes.iter().map(|c| (c.book, c.side, c.action)).collect();
        assert_eq!(
            lists,
            [
                (BookKind::Implied, Side::Bid, LevelAction::Clear),
                (BookKind::Direct, Side::Ask, LevelAction::Clear)
            ]
        );
    }

    #[test]
    fn a_new_depth_empties_the_book() {
        let mut books = PriceBooks::new(4, DEPTH);
        books.apply(&new(Side::Bid, BookKind::Direct, 1), &mut Vec::new());
        books.define(Instrument(0), DEPTH);
        assert!(
            books
                .get(Instrument(0))
                .is_some_and(|book| book.best(Side::Bid).is_some())
        );
        books.define(
            Instrument(0),
            Depth {
                direct: 5,
                implied: 2,
            },
        );
        assert!(
            books
                .get(Instrument(0))
                .is_some_and(|book| book.best(Side::Bid).is_none())
        );
    }
}
