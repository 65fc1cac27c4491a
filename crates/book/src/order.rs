//! Market by order: every order of every instrument of a channel, in priority order.

use crate::order_index::{CHAIN_MAX, Chain, OrderIndex};
use crate::order_tree::{NONE, NodeIndex, Order, OrderPool};
use std::hash::RandomState;
use touchline_types::hash::HashKeys;
use touchline_types::{Instrument, OrderAction, OrderChange, OrderEvent, OrderRow, Quantity, Side};

/// The limit of orders is reached, or that of one chain of the index; the event was not applied, so this order book is
/// not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersFull;

/// The order books of all instruments, indexed by [`Instrument`].
///
/// An update of an order that is not there inserts it; a delete of one does nothing.
#[derive(Debug)]
pub struct OrderBooks {
    pool: OrderPool,
    index: OrderIndex,
    /// By instrument.
    books: Vec<Book>,
}

/// The orders of one instrument.
#[derive(Clone, Copy, Debug)]
struct Book {
    /// The trees, by side.
    roots: [NodeIndex; 2],
    len: u32,
}

impl Book {
    const EMPTY: Book = Book {
        roots: [NONE; 2],
        len: 0,
    };
}

impl OrderBooks {
    /// Room for `instruments_max` books with `orders_max` orders between them, taken now.
    pub fn new(instruments_max: usize, orders_max: usize) -> OrderBooks {
        // mutant: hash: order books have a secret that everybody knows
        let keys = HashKeys::drawn_from(&RandomState::new());
        OrderBooks::with_keys(instruments_max, orders_max, keys)
    }

    /// The same with a secret that is known, for tests. What the books hold does not depend on it.
    pub fn with_keys(instruments_max: usize, orders_max: usize, keys: HashKeys<2>) -> OrderBooks {
        OrderBooks {
            pool: OrderPool::new(orders_max),
            index: OrderIndex::new(orders_max, keys),
            books: Vec::with_capacity(instruments_max),
        }
    }

    /// Applies a venue's event and appends the step it resolved to, if it changed anything.
    pub fn apply(
        &mut self,
        event: &OrderEvent,
        changes: &mut Vec<OrderChange>,
    ) -> Result<(), OrdersFull> {
        let (instrument, order_id) = (event.instrument.0, event.order_id);
        let chain = self.index.chain(instrument, order_id);
        let found = self.index.find(&self.pool, chain, instrument, order_id);
        let change = match (event.action, found) {
            (OrderAction::Delete, Ok(node)) => Some(self.delete(node, chain)),
            (OrderAction::Delete, Err(_)) => None,
            (_, Ok(node)) => Some(self.update(node, event)),
            // mutant: hash: a chain of orders has no end
            (_, Err(CHAIN_MAX..)) => return Err(OrdersFull),
            (_, Err(_)) => Some(self.insert(event, chain)?),
        };
        changes.extend(change);
        Ok(())
    }

    /// Visits the orders of one side, best first.
    pub fn visit(&self, instrument: Instrument, side: Side, mut visitor: impl FnMut(&Order)) {
        self.visit_rows(instrument, side, |_, order| visitor(order));
    }

    /// Visits the orders of one side with the row of each, best first.
    pub fn visit_rows(
        &self,
        instrument: Instrument,
        side: Side,
        mut visitor: impl FnMut(OrderRow, &Order),
    ) {
        if let Some(book) = self.books.get(instrument.index()) {
            let root = book.roots[side.index()];
            self.pool
                .visit(root, &mut |node, order| visitor(self.pool.row(node), order));
        }
    }

    /// The best order of one side.
    pub fn best(&self, instrument: Instrument, side: Side) -> Option<&Order> {
        self.pool
            .best(self.books.get(instrument.index())?.roots[side.index()])
    }

    /// Empties one instrument's book.
    pub fn clear(&mut self, instrument: Instrument) {
        let Some(book) = self.books.get(instrument.index()).copied() else {
            return;
        };
        for root in book.roots {
            self.release(root);
        }
        self.books[instrument.index()] = Book::EMPTY;
    }

    /// Empties every book.
    pub fn clear_all(&mut self) {
        if self.is_empty() {
            return;
        }
        self.index.clear(&self.pool);
        self.pool.clear();
        self.books.fill(Book::EMPTY);
    }

    /// Number of orders in one instrument's book.
    pub fn len_of(&self, instrument: Instrument) -> usize {
        let book = self.books.get(instrument.index());
        book.map_or(0, |book| book.len as usize)
    }

    /// Number of orders in all books.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no order at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn insert(&mut self, event: &OrderEvent, chain: Chain) -> Result<OrderChange, OrdersFull> {
        let order = Order {
            order_id: event.order_id,
            // An order of unknown rank stands behind those whose rank is known.
            priority: event.priority.unwrap_or(u64::MAX),
            price: event.price,
            quantity: event.quantity,
            instrument: event.instrument.0,
            side: event.side,
        };
        let node = self.pool.take(order).ok_or(OrdersFull)?;
        self.index.insert(&mut self.pool, chain, node);
        let row = event.instrument.index();
        if row >= self.books.len() {
            self.books.resize(row + 1, Book::EMPTY);
        }
        self.books[row].len += 1;
        self.link(node);
        Ok(step(OrderAction::New, &order, self.pool.row(node)))
    }

    fn update(&mut self, node: NodeIndex, event: &OrderEvent) -> OrderChange {
        let old = *self.pool.order(node);
        let new = Order {
            priority: event.priority.unwrap_or(old.priority),
            price: if event.price.is_null() {
                old.price
            } else {
                event.price
            },
            // mutant: book: a null quantity overwrites
            quantity: if event.quantity.is_null() {
                old.quantity
            } else {
                event.quantity
            },
            side: event.side,
            ..old
        };
        if (new.side, new.price, new.priority) == (old.side, old.price, old.priority) {
            self.pool.order_mut(node).quantity = new.quantity;
        } else {
            self.unlink(node);
            *self.pool.order_mut(node) = new;
            self.link(node);
        }
        step(OrderAction::Update, &new, self.pool.row(node))
    }

    fn delete(&mut self, node: NodeIndex, chain: Chain) -> OrderChange {
        let (order, row) = (*self.pool.order(node), self.pool.row(node));
        self.unlink(node);
        self.forget(node, chain);
        OrderChange {
            quantity: Quantity::ZERO,
            ..step(OrderAction::Delete, &order, row)
        }
    }

    fn link(&mut self, node: NodeIndex) {
        let (row, side) = self.place(node);
        let root = &mut self.books[row].roots[side];
        *root = self.pool.insert(*root, node);
    }

    fn unlink(&mut self, node: NodeIndex) {
        let (row, side) = self.place(node);
        let root = &mut self.books[row].roots[side];
        *root = self.pool.remove(*root, node);
    }

    fn place(&self, node: NodeIndex) -> (usize, usize) {
        let order = self.pool.order(node);
        (order.instrument as usize, order.side.index())
    }

    /// Takes a node that is in no tree out of the index and gives it back.
    fn forget(&mut self, node: NodeIndex, chain: Chain) {
        let row = self.pool.order(node).instrument as usize;
        self.books[row].len -= 1;
        self.index.remove(&mut self.pool, chain, node);
        self.pool.give(node);
    }

    /// Gives a whole tree back, root by root.
    fn release(&mut self, mut root: NodeIndex) {
        while root != NONE {
            let node = root;
            root = self.pool.remove(root, node);
            let order = self.pool.order(node);
            let chain = self.index.chain(order.instrument, order.order_id);
            self.forget(node, chain);
        }
    }
}

/// The row of an order is its node in the pool, which stays its own as long as it is in a book.
fn step(action: OrderAction, order: &Order, row: OrderRow) -> OrderChange {
    OrderChange {
        order_id: order.order_id,
        priority: order.priority,
        price: order.price,
        quantity: order.quantity,
        side: order.side,
        action,
        row,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use touchline_types::Price;

    fn event(action: OrderAction, order_id: u64, price: i64, priority: u64) -> OrderEvent {
        OrderEvent {
            order_id,
            priority: Some(priority),
            price: Price(price),
            quantity: Quantity(1),
            instrument: Instrument(3),
            action,
            side: Side::Bid,
        }
    }

    fn ids(books: &OrderBooks) -> Vec<u64> {
        let mut ids = Vec::new();
        books.visit(Instrument(3), Side::Bid, |order| ids.push(order.order_id));
        ids
    }

    #[test]
    fn orders_stand_by_price_then_priority() {
        let mut books = OrderBooks::new(4, 8);
        let mut changes = Vec::new();
        for (id, price, priority) in [(1, 100, 5), (2, 101, 9), (3, 100, 4), (4, -7, 1)] {
            books
                .apply(&event(OrderAction::New, id, price, priority), &mut changes)
                .unwrap();
        }
        assert_eq!(ids(&books), [2, 3, 1, 4]);
        assert_eq!(books.best(Instrument(3), Side::Bid).unwrap().order_id, 2);
        books
            .apply(&event(OrderAction::Update, 4, 102, 1), &mut changes)
            .unwrap();
        assert_eq!(ids(&books), [4, 2, 3, 1], "an update may move the price");
        assert_eq!(changes.len(), 5);
    }

    #[test]
    fn null_fields_keep_the_old_value() {
        let mut books = OrderBooks::new(4, 8);
        let mut changes = Vec::new();
        books
            .apply(&event(OrderAction::New, 1, 100, 5), &mut changes)
            .unwrap();
        let null = OrderEvent {
            priority: None,
            price: Price::NULL,
            quantity: Quantity::NULL,
            ..event(OrderAction::Update, 1, 0, 0)
        };
        books.apply(&null, &mut changes).unwrap();
        let last = changes.last().unwrap();
        assert_eq!(
            (last.price, last.priority, last.quantity),
            (Price(100), 5, Quantity(1))
        );
    }

    #[test]
    fn unknown_orders() {
        let mut books = OrderBooks::new(4, 8);
        let mut changes = Vec::new();
        books
            .apply(&event(OrderAction::Delete, 1, 100, 5), &mut changes)
            .unwrap();
        assert!(changes.is_empty() && books.is_empty());
        books
            .apply(&event(OrderAction::Update, 1, 100, 5), &mut changes)
            .unwrap();
        assert_eq!(ids(&books), [1]);
    }

    #[test]
    fn a_full_pool_is_said_and_changes_nothing() {
        let mut books = OrderBooks::new(4, 1);
        let mut changes = Vec::new();
        books
            .apply(&event(OrderAction::New, 1, 100, 5), &mut changes)
            .unwrap();
        let refused = books.apply(&event(OrderAction::New, 2, 100, 5), &mut changes);
        assert_eq!(refused, Err(OrdersFull));
        assert_eq!(ids(&books), [1]);
        books.clear(Instrument(3));
        books
            .apply(&event(OrderAction::New, 2, 100, 5), &mut changes)
            .unwrap();
        assert_eq!(ids(&books), [2]);
    }

    /// Orders whose secret somebody knows: one chain is full, its next order is refused as if there were no room, and the
    /// books are as they were. The orders of another chain have room.
    #[test]
    fn a_full_chain_is_said_and_changes_nothing() {
        let keys = HashKeys::from_seed(1);
        let mut books = OrderBooks::with_keys(4, 1024, keys);
        let chain = |id: u64| keys.hash([id, 3]) >> (64 - 10);
        let same: Vec<u64> = (0..100_000).filter(|id| chain(*id) == chain(0)).collect();
        let other = (0..).find(|id| chain(*id) != chain(0)).unwrap();
        let (some, more) = (&same[..CHAIN_MAX], same[CHAIN_MAX]);
        let mut changes = Vec::new();
        let mut apply = |action, id| books.apply(&event(action, id, 100, id), &mut changes);
        for id in some {
            assert_eq!(apply(OrderAction::New, *id), Ok(()));
        }
        assert_eq!(apply(OrderAction::New, more), Err(OrdersFull));
        assert_eq!(apply(OrderAction::Delete, more), Ok(()), "it is not there");
        assert_eq!(apply(OrderAction::New, other), Ok(()));
        assert_eq!(apply(OrderAction::Update, some[0]), Ok(()));
        assert_eq!(apply(OrderAction::Delete, some[1]), Ok(()));
        assert_eq!(apply(OrderAction::New, more), Ok(()), "one place is free");
        assert_eq!(books.len(), CHAIN_MAX + 1);
    }

    /// Each table draws a secret of its own: ids that share a chain of one stand in many chains of another.
    #[test]
    fn each_table_has_a_secret_of_its_own() {
        let (one, other) = (OrderBooks::new(4, 1024), OrderBooks::new(4, 1024));
        let place = |books: &OrderBooks, id| books.index.chain(3, id);
        let mut shared: Vec<u64> = (0..100_000).collect();
        shared.retain(|id| place(&one, *id) == place(&one, 0));
        let mut chains: Vec<_> = shared.iter().map(|id| place(&other, *id)).collect();
        chains.sort_unstable();
        chains.dedup();
        assert!(chains.len() > shared.len() / 2, "{} chains", chains.len());
    }

    /// What is in the books, and in which order, is the same whatever the secret.
    #[test]
    fn the_secret_is_not_seen() {
        let of = |seed| {
            let mut books = OrderBooks::with_keys(4, 64, HashKeys::from_seed(seed));
            let mut changes = Vec::new();
            for round in 0..2_000_u64 {
                let id = round * 7 % 90;
                let action = [OrderAction::New, OrderAction::Delete][(round % 3 / 2) as usize];
                let one = event(action, id, (round % 5) as i64, round);
                let applied = books.apply(&one, &mut changes);
                assert!(applied.is_ok() || books.len() == 64);
            }
            (ids(&books), changes)
        };
        let expected = of(1);
        assert!(expected.0.len() > 20);
        for seed in 2..10 {
            assert_eq!(of(seed), expected);
        }
    }

    /// Random orders against a sorted map, with clears in between.
    #[test]
    fn a_map_says_the_same() {
        let mut books = OrderBooks::new(4, 512);
        let mut model: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
        let mut random = 7_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        for round in 0..200_000 {
            let (id, price, priority) = (next(300), next(20) as i64, next(1000));
            let action =
                [OrderAction::New, OrderAction::Update, OrderAction::Delete][next(3) as usize];
            books
                .apply(&event(action, id, price, priority), &mut Vec::new())
                .unwrap();
            match action {
                OrderAction::Delete => drop(model.remove(&id)),
                _ => drop(model.insert(id, (price, priority))),
            }
            if round % 5_000 == 4_999 {
                books.clear(Instrument(3));
                model.clear();
            }
            if round % 97 == 0 {
                let mut expected: Vec<_> = model.iter().map(|(id, (p, r))| (-p, *r, *id)).collect();
                expected.sort_unstable();
                let expected: Vec<_> = expected.into_iter().map(|(_, _, id)| id).collect();
                assert_eq!(ids(&books), expected);
                assert_eq!(books.len(), model.len());
            }
        }
    }
}
