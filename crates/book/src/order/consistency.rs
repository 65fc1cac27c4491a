//! Consistency of the order books: list, index and number of orders say the same.

use super::OrderBooks;
use crate::order_pool::Order;
use touchline_types::Instrument;

impl OrderBooks {
    /// The rule that an instrument's book breaks, if any; books of more than `orders_max` orders are left out. List, index and
    /// number of orders must say the same: a book that lies to one of them shows an order twice, or never removes it.
    pub(super) fn broken(&self, instrument: Instrument, orders_max: u32) -> Option<&'static str> {
        let book = self.books.get(instrument.index()).copied();
        let book = book.filter(|book| book.len <= orders_max)?;
        let mut len = 0;
        for node in self.nodes(instrument) {
            let Order {
                instrument: of,
                order_id,
                ..
            } = *self.pool.order(node);
            let chain = self.index.chain(of, order_id);
            let found = self.index.find(&self.pool, chain, of, order_id);
            len += 1;
            if of != instrument.0 {
                return Some("an order is in the list of another instrument");
            } else if found.map(|place| place.node) != Ok(node) {
                return Some("an order of the list is not in the index");
            } else if !self.pool.is_linked(book.first, node) {
                return Some("the neighbours of an order in its list do not name it");
            } else if len > book.len {
                return Some("the list has more orders than the book counts");
            }
        }
        (len < book.len).then_some("the list has fewer orders than the book counts")
    }

    /// [`Self::broken`] of all books together.
    pub(super) fn any_broken(&self) -> Option<&'static str> {
        let orders: usize = self.books.iter().map(|book| book.len as usize).sum();
        if orders != self.index.len() {
            return Some("the books have another number of orders than the index");
        }
        let instruments = (0..self.books.len() as u32).map(Instrument);
        let mut broken = instruments.filter_map(|instrument| self.broken(instrument, u32::MAX));
        broken.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::hash::HashKeys;
    use touchline_types::{OrderAction, OrderEvent, Price, Quantity, Side};

    const INSTRUMENT: Instrument = Instrument(3);

    /// The books after orders 1 to 3 of one instrument.
    fn of_three() -> OrderBooks {
        let mut books = OrderBooks::with_keys(8, 8, HashKeys::from_seed(1));
        for order_id in 1..4 {
            let event = OrderEvent {
                order_id,
                priority: None,
                price: Price(100),
                quantity: Quantity(1),
                instrument: INSTRUMENT,
                action: OrderAction::New,
                side: Side::Bid,
            };
            books.apply(&event, &mut Vec::new()).expect("room");
        }
        books
    }

    /// Each way in which list, index and count can contradict each other is found.
    #[test]
    fn a_book_that_contradicts_its_index_is_found() {
        assert_eq!(of_three().any_broken(), None);
        let mut counts_more = of_three();
        counts_more.books[3].len = 4;
        let mut counts_less = of_three();
        counts_less.books[3].len = 2;
        for (books, expected) in [(&counts_more, "fewer"), (&counts_less, "more")] {
            let found = books.broken(INSTRUMENT, u32::MAX).expect("it is found");
            assert!(found.contains(expected), "{found}");
            let found = books.any_broken().expect("it is found");
            assert!(found.contains("another number of orders"), "{found}");
            assert_eq!(books.broken(INSTRUMENT, 1), None, "too large a book");
        }

        let of_index = |books: &OrderBooks, id| {
            let chain = books.index.chain(3, id);
            books.index.find(&books.pool, chain, 3, id).expect("there")
        };
        let mut not_in_index = of_three();
        let place = of_index(&not_in_index, 2);
        not_in_index.index.remove(&mut not_in_index.pool, place);
        let mut of_another = of_three();
        let node = of_index(&of_another, 2).node;
        of_another.pool.order_mut(node).instrument = 4;
        let mut first_left_out = of_three();
        first_left_out.books[3].first = of_index(&first_left_out, 2).node;
        for (books, expected) in [
            (not_in_index, "is not in the index"),
            (of_another, "of another instrument"),
            (first_left_out, "do not name it"),
        ] {
            let found = books.broken(INSTRUMENT, u32::MAX).expect("it is found");
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    #[should_panic = "a whole order book has as many orders as were inserted"]
    fn a_book_with_fewer_orders_than_it_counts_is_not_published() {
        let mut books = of_three();
        books.books[3].len = 4;
        books.gather(INSTRUMENT, &mut Vec::new());
    }
}
