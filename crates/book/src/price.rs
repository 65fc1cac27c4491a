//! Market by price: a table of books over all instruments of a channel.

use crate::deep::{ApplyResult, DeepLevels};
use crate::levels::{LevelList, Levels};
use std::hint::black_box;
use touchline_types::{
    BookKind, Depth, Instrument, Level, LevelAction, LevelChange, LevelEvent, Place, Price, Side,
    Spread, Touch, UpdateAction,
};

/// Maximum levels a side of a direct book by position; CME's deepest is 10.
pub const DIRECT_MAX: usize = 10;
/// Maximum levels a side of an implied book; CME's have 2.
pub const IMPLIED_MAX: usize = 2;
/// Maximum number of steps of one event: an empty list padded to the full depth, an emptied one, or
/// four lists cleared.
pub const STEPS_MAX: usize = DIRECT_MAX + 4;

/// Deep books whose memory is reserved at start: a venue with deep books has few traded instruments, and reserving
/// address space for every possible one would exceed some hosts.
pub const SPARE_MAX: usize = 64;

/// The price book of one instrument: direct and implied lists, never mixed. Either of few levels,
/// kept by position, or deep, kept by price and without implied lists.
#[derive(Clone, Debug)]
pub struct PriceBook(Stored);

#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "books of few levels lie in the table itself, one read away"
)]
enum Stored {
    ByPosition(Few),
    ByPrice(Box<[DeepLevels; 2]>),
}

#[derive(Clone, Copy, Debug)]
struct Few {
    direct: [Levels<DIRECT_MAX>; 2],
    implied: ImpliedLists,
}

/// The implied lists of one instrument.
#[derive(Clone, Copy, Debug)]
pub struct ImpliedLists([Levels<IMPLIED_MAX>; 2]);

impl ImpliedLists {
    /// Empty lists for this many levels.
    pub fn new(depth: u8) -> ImpliedLists {
        ImpliedLists([Levels::new(depth.into()); 2])
    }

    /// One list, best first.
    #[inline]
    pub fn levels(&self, side: Side) -> &[Level] {
        self.0[side.index()].as_slice()
    }

    /// Applies the steps of an update that are of the implied book; the others change nothing here.
    #[inline]
    pub fn apply(&mut self, changes: &[LevelChange]) {
        let implied = |change: &&LevelChange| change.book == BookKind::Implied;
        for change in changes.iter().filter(implied) {
            self.apply_delta(change);
        }
    }

    /// Replaces the lists.
    pub fn replace(&mut self, [bids, asks]: [&[Level]; 2]) {
        for (list, levels) in self.0.iter_mut().zip([bids, asks]) {
            list.clear();
            for (index, level) in levels.iter().enumerate() {
                list.apply_delta(LevelAction::Insert, index, *level);
            }
        }
    }

    /// Best bid and offer with these first levels of the direct lists.
    #[inline]
    pub fn touches(&self, direct: [Option<Level>; 2]) -> [Option<Touch>; 2] {
        let touch = |side: Side| {
            Touch::of(
                side,
                direct[side.index()],
                self.levels(side).first().copied(),
            )
        };
        Side::BOTH.map(touch)
    }

    fn apply_delta(&mut self, change: &LevelChange) -> bool {
        let list = &mut self.0[change.side.index()];
        list.apply_delta(change.action, change.index.into(), change.level)
    }
}

impl PriceBook {
    /// An empty book by position.
    pub fn new(depth: Depth) -> PriceBook {
        PriceBook(Stored::ByPosition(Few {
            direct: [Levels::new(depth.direct); 2],
            implied: ImpliedLists::new(depth.implied),
        }))
    }

    /// An empty deep book with `levels_max` levels a side; its memory is reserved now and touched as levels arrive.
    pub fn deep(levels_max: usize) -> PriceBook {
        let sides = Side::BOTH.map(|side| DeepLevels::with_room(side, levels_max));
        PriceBook(Stored::ByPrice(Box::new(sides)))
    }

    /// One list, best first.
    #[inline]
    pub fn levels(&self, book: BookKind, side: Side) -> LevelList<'_> {
        match (&self.0, book) {
            (Stored::ByPosition(few), BookKind::Direct) => {
                LevelList::best_first(few.direct[side.index()].as_slice())
            }
            (Stored::ByPrice(sides), BookKind::Direct) => {
                LevelList::worst_first(sides[side.index()].worst_first())
            }
            (_, BookKind::Implied) => LevelList::best_first(self.implied(side)),
        }
    }

    /// One implied list, best first.
    #[inline]
    pub fn implied(&self, side: Side) -> &[Level] {
        match &self.0 {
            Stored::ByPosition(few) => few.implied.levels(side),
            Stored::ByPrice(_) => &[],
        }
    }

    /// Both implied lists.
    #[inline]
    pub fn implied_lists(&self) -> ImpliedLists {
        match &self.0 {
            Stored::ByPosition(few) => few.implied,
            Stored::ByPrice(_) => ImpliedLists::new(0),
        }
    }

    /// The first level of a side of the direct book; it may be unknown.
    #[inline]
    pub fn first(&self, side: Side) -> Option<Level> {
        self.levels(BookKind::Direct, side).first().copied()
    }

    /// The best direct level of a side, if it exists and is known.
    #[inline]
    pub fn best(&self, side: Side) -> Option<Level> {
        match &self.0 {
            Stored::ByPosition(few) => few.direct[side.index()].best(),
            Stored::ByPrice(sides) => sides[side.index()].best(),
        }
    }

    /// Whether the book is a deep book, kept by price.
    pub fn is_deep(&self) -> bool {
        matches!(self.0, Stored::ByPrice(_))
    }

    /// Price from which on levels of a side are left out, if any.
    pub fn truncated_from(&self, side: Side) -> Option<Price> {
        match &self.0 {
            Stored::ByPosition(_) => None,
            Stored::ByPrice(sides) => sides[side.index()].truncated_from(),
        }
    }

    /// Applies a venue's event and appends its steps. An event of the other kind (position or price) changes nothing
    /// and is unexpected.
    #[inline]
    pub fn apply(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) -> ApplyResult {
        let LevelEvent {
            action,
            place,
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
                index: index as u16,
            });
        };
        match (&mut self.0, place, book) {
            (Stored::ByPosition(few), Place::Position(position), BookKind::Direct) => {
                few.direct[side.index()].apply(action, position, level, &mut steps);
                ApplyResult::Expected
            }
            (Stored::ByPosition(few), Place::Position(position), BookKind::Implied) => {
                few.implied.0[side.index()].apply(action, position, level, &mut steps);
                ApplyResult::Expected
            }
            (Stored::ByPrice(sides), Place::Price, BookKind::Direct) => {
                sides[side.index()].apply(action, level, &mut steps)
            }
            (Stored::ByPosition(_), Place::Price, _) | (Stored::ByPrice(_), _, _) => {
                ApplyResult::Unexpected
            }
        }
    }

    /// Applies an entry of a whole book and appends its steps: as [`PriceBook::apply`], and by price entries of one price
    /// without a number of orders are one level ([`DeepLevels::rebuild`]).
    pub fn rebuild(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) -> ApplyResult {
        let LevelEvent {
            side, book, action, ..
        } = *event;
        match (&mut self.0, event.place, book, action) {
            (Stored::ByPrice(sides), Place::Price, BookKind::Direct, UpdateAction::New) => {
                let level = Level {
                    price: event.price,
                    quantity: event.quantity,
                    orders: event.orders,
                    known: true,
                };
                sides[side.index()].rebuild(level, &mut |action, index: usize, level| {
                    changes.push(LevelChange {
                        level,
                        book,
                        side,
                        action,
                        index: index as u16,
                    });
                })
            }
            _ => self.apply(event, changes),
        }
    }

    /// Empties the lists and appends the steps.
    pub fn clear(&mut self, changes: &mut Vec<LevelChange>) {
        for side in Side::BOTH {
            let (direct, implied) = self.clear_side(side);
            if direct {
                changes.push(cleared(BookKind::Direct, side));
            }
            if implied {
                changes.push(cleared(BookKind::Implied, side));
            }
        }
    }

    /// Applies one resolved step, as a reader of updates does. `false` if it does not fit.
    #[inline]
    pub fn apply_delta(&mut self, change: &LevelChange) -> bool {
        let LevelChange {
            level,
            book,
            side,
            action,
            index,
        } = *change;
        let index = usize::from(index);
        match (&mut self.0, book) {
            (Stored::ByPosition(few), BookKind::Direct) => {
                few.direct[side.index()].apply_delta(action, index, level)
            }
            (Stored::ByPosition(few), BookKind::Implied) => few.implied.apply_delta(change),
            (Stored::ByPrice(sides), BookKind::Direct) => {
                sides[side.index()].apply_delta(action, index, level)
            }
            (Stored::ByPrice(_), BookKind::Implied) => action == LevelAction::Clear,
        }
    }

    /// Empties one side; returns whether the direct and the implied list had levels.
    fn clear_side(&mut self, side: Side) -> (bool, bool) {
        match &mut self.0 {
            Stored::ByPosition(few) => (
                few.direct[side.index()].clear(),
                few.implied.0[side.index()].clear(),
            ),
            Stored::ByPrice(sides) => (sides[side.index()].clear(), false),
        }
    }

    /// Depth of the book.
    fn depth(&self) -> Depth {
        match &self.0 {
            Stored::ByPosition(few) => Depth {
                direct: few.direct[0].depth().into(),
                implied: few.implied.0[0].depth(),
            },
            Stored::ByPrice(_) => Depth {
                direct: Depth::ALL,
                implied: 0,
            },
        }
    }
}

/// The price books of all instruments, indexed by [`Instrument`].
#[derive(Debug)]
pub struct PriceBooks {
    books: Vec<PriceBook>,
    default_depth: Depth,
    /// Unused deep books.
    spare: Vec<PriceBook>,
    levels_max: usize,
}

impl PriceBooks {
    /// Reads a book by position, so that it is in the caches.
    pub fn warm(&self, instrument: Instrument) {
        let book = self.books.get(instrument.index());
        let Some(Stored::ByPosition(few)) = book.map(|book| &book.0) else {
            return;
        };
        for levels in &few.direct {
            // A cache line has two levels and a part of a third.
            let lines = levels.as_slice().iter().step_by(2);
            lines.for_each(|level| _ = black_box(level.price));
        }
    }

    /// Allocates `instruments_max` books. Instruments without a definition have `default_depth`; if that is
    /// [`Depth::ALL`], memory of the first [`SPARE_MAX`] books with `levels_max` a side is reserved at start. A further
    /// deep book reserves its memory when its instrument is first named or defined.
    pub fn new(instruments_max: usize, default_depth: Depth, levels_max: usize) -> PriceBooks {
        let spare = match default_depth.is_all() {
            true => instruments_max.min(SPARE_MAX),
            false => 0,
        };
        PriceBooks {
            books: Vec::with_capacity(instruments_max),
            default_depth,
            spare: (0..spare).map(|_| PriceBook::deep(levels_max)).collect(),
            levels_max,
        }
    }

    /// The book of an instrument; `None` if neither it nor a later one was used.
    #[inline]
    pub fn get(&self, instrument: Instrument) -> Option<&PriceBook> {
        self.books.get(instrument.index())
    }

    /// The book of an instrument; created on first use.
    #[inline]
    pub fn get_mut(&mut self, instrument: Instrument) -> &mut PriceBook {
        if instrument.index() >= self.books.len() {
            self.make(instrument);
        }
        &mut self.books[instrument.index()]
    }

    /// Sets the depth of an instrument's book; a new depth empties it.
    pub fn define(&mut self, instrument: Instrument, depth: Depth) {
        let now = self.get_mut(instrument).depth();
        let same = match depth.is_all() {
            true => now.is_all(),
            // Compared as the book limits it.
            false => PriceBook::new(depth).depth() == now,
        };
        if !same {
            let fresh = self.fresh(depth);
            *self.get_mut(instrument) = fresh;
        }
    }

    /// Turns an instrument's book into a deep one that grows as needed: for a reader, which learns the depth from
    /// updates. The book is empty then, unless it was deep already.
    pub fn deepen(&mut self, instrument: Instrument) {
        let book = self.get_mut(instrument);
        if !book.is_deep() {
            let sides = Side::BOTH.map(DeepLevels::growing);
            *book = PriceBook(Stored::ByPrice(Box::new(sides)));
        }
    }

    /// An empty book with its memory.
    fn fresh(&mut self, depth: Depth) -> PriceBook {
        match depth.is_all() {
            true => {
                let spare = self.spare.pop();
                spare.unwrap_or_else(|| PriceBook::deep(self.levels_max))
            }
            false => PriceBook::new(depth),
        }
    }

    #[cold]
    fn make(&mut self, instrument: Instrument) {
        while self.books.len() <= instrument.index() {
            let fresh = self.fresh(self.default_depth);
            self.books.push(fresh);
        }
    }

    /// Applies a venue's event and appends its steps.
    #[inline]
    pub fn apply(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) -> ApplyResult {
        self.get_mut(event.instrument).apply(event, changes)
    }

    /// Applies an entry of a whole book and appends its steps.
    pub fn rebuild(&mut self, event: &LevelEvent, changes: &mut Vec<LevelChange>) -> ApplyResult {
        self.get_mut(event.instrument).rebuild(event, changes)
    }

    /// Empties every book, keeping depths.
    pub fn clear(&mut self) {
        for book in &mut self.books {
            for side in Side::BOTH {
                book.clear_side(side);
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

impl PriceBook {
    /// Best bid or offer, direct and implied.
    #[inline]
    pub fn touch(&self, side: Side) -> Option<Touch> {
        Touch::of(side, self.first(side), self.implied(side).first().copied())
    }

    /// Whether the book, direct and implied together, is one-sided, normal, locked or crossed.
    #[inline]
    pub fn spread(&self) -> Spread {
        Spread::between(self.touch(Side::Bid), self.touch(Side::Ask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::Quantity;

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
            place: Place::Position(1),
            action: UpdateAction::New,
            side,
            book,
        }
    }

    #[test]
    fn implied_and_direct_are_separate() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        let _ = book.apply(&new(Side::Bid, BookKind::Implied, 7), &mut changes);
        assert_eq!(book.best(Side::Bid), None);
        assert_eq!(book.levels(BookKind::Implied, Side::Bid).len(), 1);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].book, BookKind::Implied);
    }

    #[test]
    fn locked_and_crossed_books_are_detected() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        assert_eq!(book.spread(), Spread::OneSided);
        let _ = book.apply(&new(Side::Ask, BookKind::Direct, 10), &mut changes);
        let _ = book.apply(&new(Side::Bid, BookKind::Direct, 9), &mut changes);
        assert_eq!(book.spread(), Spread::Normal);
        let _ = book.apply(&new(Side::Bid, BookKind::Direct, 10), &mut changes);
        assert_eq!(book.spread(), Spread::Locked);
        let _ = book.apply(&new(Side::Bid, BookKind::Direct, 11), &mut changes);
        assert_eq!(book.spread(), Spread::Crossed);
    }

    #[test]
    fn an_implied_price_that_crosses_the_direct_book_is_detected() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        for (side, kind, price, expected) in [
            (Side::Ask, BookKind::Direct, 10, Spread::OneSided),
            (Side::Bid, BookKind::Implied, 9, Spread::Normal),
            (Side::Bid, BookKind::Implied, 10, Spread::Locked),
            (Side::Bid, BookKind::Implied, 11, Spread::Crossed),
        ] {
            let _ = book.apply(&new(side, kind, price), &mut changes);
            assert_eq!(book.spread(), expected);
        }
    }

    #[test]
    fn clearing_returns_the_lists_that_were_not_empty() {
        let mut book = PriceBook::new(DEPTH);
        let mut changes = Vec::new();
        let _ = book.apply(&new(Side::Ask, BookKind::Direct, 10), &mut changes);
        let _ = book.apply(&new(Side::Bid, BookKind::Implied, 9), &mut changes);
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
        let mut books = PriceBooks::new(4, DEPTH, 0);
        let _ = books.apply(&new(Side::Bid, BookKind::Direct, 1), &mut Vec::new());
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
