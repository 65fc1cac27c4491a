//! Market by order: the orders of every instrument of a channel, ranked when a whole book is requested.

mod consistency;

use crate::order_index::{CHAIN_MAX, Chain, OrderIndex, Place};
use crate::order_pool::{NONE, NodeIndex, Order, OrderPool};
use std::hash::RandomState;
use std::hint::black_box;
use touchline_types::hash::HashKeys;
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderEvent, OrderRow, Price, Quantity, Side,
};

/// The limit of orders is reached, or that of one chain of the index; the event was not applied, so this order book is
/// incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersFull;

/// Orders up to which a core's caches hold them all: half a mebibyte of nodes.
const CACHED_MAX: usize = 8_192;

/// Orders of an instrument up to which a debug build checks its whole book after each event; at a change of whole books it checks
/// books of any size.
const CHECKED_MAX: u32 = 64;

/// Orders of a packet that are read ahead: a processor waits for about as many lines at once.
const READ_AHEAD_MAX: usize = 8;

/// The order books of all instruments, indexed by [`Instrument`].
///
/// An update of a missing order inserts it; a delete of one has no effect.
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
    /// First order of its list, which is unordered.
    first: NodeIndex,
    len: u32,
}

impl Book {
    const EMPTY: Book = Book {
        first: NONE,
        len: 0,
    };
}

impl OrderBooks {
    /// Allocates `instruments_max` books with `orders_max` orders in total.
    pub fn new(instruments_max: usize, orders_max: usize) -> OrderBooks {
        let keys = HashKeys::drawn_from(&RandomState::new());
        OrderBooks::with_keys(instruments_max, orders_max, keys)
    }

    /// [`Self::new`] with a known secret, for tests. The content of the books does not depend on
    /// it.
    pub fn with_keys(instruments_max: usize, orders_max: usize, keys: HashKeys<2>) -> OrderBooks {
        OrderBooks {
            pool: OrderPool::new(orders_max),
            index: OrderIndex::new(orders_max, keys),
            books: Vec::with_capacity(instruments_max),
        }
    }

    /// Whether there are more orders than the caches hold.
    #[inline]
    pub fn is_large(&self) -> bool {
        self.len() > CACHED_MAX
    }

    /// Reads the first order of the chain of each of the first eight events. A loop over the events would wait for
    /// two cache lines for each event in turn; these reads wait together. Reading the order's neighbours too is no faster.
    #[inline]
    pub fn read_ahead<'a>(&self, events: impl Iterator<Item = &'a OrderEvent>) {
        let mut heads = [NONE; READ_AHEAD_MAX];
        for (head, event) in heads.iter_mut().zip(events) {
            let chain = self.index.chain(event.instrument.0, event.order_id);
            *head = self.index.head(chain);
        }
        for head in heads {
            if head != NONE {
                black_box(self.pool.order(head).order_id);
            }
        }
    }

    /// Applies a venue's event and appends its step, if it changed the book.
    pub fn apply(
        &mut self,
        event: &OrderEvent,
        changes: &mut Vec<OrderChange>,
    ) -> Result<(), OrdersFull> {
        let (instrument, order_id) = (event.instrument.0, event.order_id);
        let chain = self.index.chain(instrument, order_id);
        let found = self.index.find(&self.pool, chain, instrument, order_id);
        let change = match (event.action, found) {
            (OrderAction::Delete, Ok(place)) => self.delete(place),
            (OrderAction::Delete, Err(_)) => return Ok(()),
            (_, Ok(place)) => self.update(place.node, event),
            // mutant: hash: a chain of orders has no length limit
            (_, Err(CHAIN_MAX..)) => return Err(OrdersFull),
            (_, Err(_)) => self.insert(event, chain)?,
        };
        changes.push(change);
        debug_assert_eq!(
            self.broken(event.instrument, CHECKED_MAX),
            None,
            "an order book breaks its rule"
        );
        Ok(())
    }

    /// An order of an instrument.
    pub fn get(&self, instrument: Instrument, order_id: u64) -> Option<&Order> {
        let chain = self.index.chain(instrument.0, order_id);
        let found = self.index.find(&self.pool, chain, instrument.0, order_id);
        found.ok().map(|place| self.pool.order(place.node))
    }

    /// Visits the orders of one side, best first. Sorts them in newly allocated memory: not for the path.
    pub fn visit(&self, instrument: Instrument, side: Side, visitor: impl FnMut(&Order)) {
        let orders = self.nodes(instrument).map(|node| self.pool.order(node));
        let mut ranked: Vec<&Order> = orders.filter(|order| order.side == side).collect();
        ranked.sort_unstable_by_key(|order| {
            rank(order.side, order.price, order.priority, order.order_id)
        });
        ranked.into_iter().for_each(visitor);
    }

    /// Replaces `out` by a whole book: each order as a `New` step, bids first, best first on each side. Allocates
    /// nothing if `out` has room.
    pub fn gather(&self, instrument: Instrument, out: &mut Vec<OrderChange>) {
        out.clear();
        out.extend(self.nodes(instrument).map(|node| {
            let order = self.pool.order(node);
            step(OrderAction::New, order, self.pool.row(node))
        }));
        assert_eq!(
            out.len(),
            self.len_of(instrument),
            "a whole order book has as many orders as were inserted and not deleted"
        );
        out.sort_unstable_by_key(|order| {
            let rank = rank(order.side, order.price, order.priority, order.order_id);
            (order.side.index(), rank)
        });
    }

    fn nodes(&self, instrument: Instrument) -> impl Iterator<Item = NodeIndex> {
        let book = self.books.get(instrument.index());
        self.pool.list(book.map_or(NONE, |book| book.first))
    }

    /// Empties one instrument's book.
    pub fn clear(&mut self, instrument: Instrument) {
        debug_assert_eq!(
            self.broken(instrument, u32::MAX),
            None,
            "an order book breaks its rule"
        );
        // An instrument without orders so far may have no book.
        let Some(book) = self.books.get_mut(instrument.index()) else {
            return;
        };
        let mut node = std::mem::replace(book, Book::EMPTY).first;
        while node != NONE {
            let order = self.pool.order(node);
            let (row, id) = (order.instrument, order.order_id);
            let behind = self.pool.behind(node);
            let chain = self.index.chain(row, id);
            let place = self.index.find(&self.pool, chain, row, id);
            let place = place.expect("each order of a book is in its index");
            self.forget(place);
            node = behind;
        }
    }

    /// Empties every book.
    pub fn clear_all(&mut self) {
        if self.is_empty() {
            return;
        }
        debug_assert_eq!(self.any_broken(), None, "an order book breaks its rule");
        self.index.clear(&self.pool);
        self.pool.clear();
        self.books.fill(Book::EMPTY);
    }

    /// Reads the beginning of an instrument's list and the place of the next order, so that they are in the caches.
    pub fn warm(&self, instrument: Instrument) {
        if let Some(node) = self.nodes(instrument).next() {
            black_box(self.pool.order(node).order_id);
        }
        self.pool.warm();
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

    /// Whether there are no orders.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the orders use: a node for each of the orders that there were at once, and the index.
    pub fn bytes(&self) -> usize {
        self.pool.bytes() + self.index.bytes()
    }

    #[inline]
    fn insert(&mut self, event: &OrderEvent, chain: Chain) -> Result<OrderChange, OrdersFull> {
        let order = Order {
            order_id: event.order_id,
            // An order of unknown rank follows those of known rank.
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
        let book = &mut self.books[row];
        book.len += 1;
        self.pool.link(&mut book.first, node);
        Ok(step(OrderAction::New, &order, self.pool.row(node)))
    }

    #[inline]
    fn update(&mut self, node: NodeIndex, event: &OrderEvent) -> OrderChange {
        let order = self.pool.order_mut(node);
        order.side = event.side;
        order.priority = event.priority.unwrap_or(order.priority);
        if !event.price.is_null() {
            order.price = event.price;
        }
        if !event.quantity.is_null() {
            order.quantity = event.quantity;
        }
        let order = *order;
        step(OrderAction::Update, &order, self.pool.row(node))
    }

    #[inline]
    fn delete(&mut self, place: Place) -> OrderChange {
        let (order, row) = (*self.pool.order(place.node), self.pool.row(place.node));
        let book = &mut self.books[order.instrument as usize];
        book.len -= 1;
        self.pool.unlink(&mut book.first, place.node);
        self.forget(place);
        OrderChange {
            quantity: Quantity::ZERO,
            ..step(OrderAction::Delete, &order, row)
        }
    }

    /// Removes an unlinked node from the index and returns it to the pool.
    #[inline]
    fn forget(&mut self, place: Place) {
        self.index.remove(&mut self.pool, place);
        self.pool.give(place.node);
    }
}

/// Better orders of a side have a lower rank.
fn rank(side: Side, price: Price, priority: u64, order_id: u64) -> (i64, u64, u64) {
    let price = match side {
        // `!p` reverses the order of every i64 without overflow.
        Side::Bid => !price.0,
        Side::Ask => price.0,
    };
    // mutant: book: orders of a price stay in order of arrival
    (price, priority, order_id)
}

/// The row of an order is its node in the pool, which it keeps while it is in a book.
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

    /// Ids of the bids, in the order of a whole book.
    fn ids(books: &OrderBooks) -> Vec<u64> {
        let mut whole = Vec::new();
        books.gather(Instrument(3), &mut whole);
        let mut ids = Vec::new();
        books.visit(Instrument(3), Side::Bid, |order| ids.push(order.order_id));
        let bids = whole.iter().filter(|order| order.side == Side::Bid);
        let gathered: Vec<u64> = bids.map(|order| order.order_id).collect();
        assert_eq!(ids, gathered);
        ids
    }

    /// A removed order leaves its node for the next one.
    #[test]
    fn an_order_takes_a_node_and_its_part_of_the_index() {
        let mut books = OrderBooks::new(4, 1_000);
        let index = 1_024 * size_of::<u32>();
        assert_eq!(books.bytes(), index);
        let actions = [OrderAction::New, OrderAction::Delete, OrderAction::New];
        for action in actions {
            for order_id in 0..100 {
                let event = event(action, order_id, 5, order_id);
                books.apply(&event, &mut Vec::new()).unwrap();
            }
            assert_eq!(books.bytes(), index + 100 * 64);
        }
        books.clear_all();
        assert_eq!(books.bytes(), index);
    }

    #[test]
    fn orders_are_sorted_by_price_then_priority() {
        let mut books = OrderBooks::new(4, 8);
        let mut changes = Vec::new();
        for (id, price, priority) in [(1, 100, 5), (2, 101, 9), (3, 100, 4), (4, -7, 1)] {
            books
                .apply(&event(OrderAction::New, id, price, priority), &mut changes)
                .unwrap();
        }
        assert_eq!(ids(&books), [2, 3, 1, 4]);
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
    fn updates_of_unknown_orders_add_them_and_deletions_do_nothing() {
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
    fn a_full_pool_is_an_error_and_changes_nothing() {
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

    /// With a known secret one chain is full: its next order is refused as if there were no room, and the books are
    /// unchanged. Orders of another chain have room.
    #[test]
    fn a_full_chain_is_an_error_and_changes_nothing() {
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

    /// Each table draws its own secret: ids that share a chain of one are spread over many chains of another.
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

    /// Content and order of the books do not depend on the secret.
    #[test]
    fn books_do_not_depend_on_the_hash_secret() {
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

    /// Random orders compared with a sorted map, with clears in between.
    #[test]
    fn order_books_equal_a_sorted_map() {
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
