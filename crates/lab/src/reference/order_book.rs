//! Reference order book: one map of orders, sorted on request.

use crate::picture::{OrderRow, Side};
use std::collections::BTreeMap;

/// The resting orders of one instrument, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderBook {
    orders: BTreeMap<u64, Order>,
}

/// One resting order; a field that the venue never sent is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Side.
    pub side: Side,
    /// Price in units of 1e-9.
    pub price: Option<i64>,
    /// Displayed quantity in contracts.
    pub quantity: Option<i64>,
    /// MDOrderPriority: the lowest is first among orders at one price.
    pub priority: Option<u64>,
}

impl OrderBook {
    /// Applies one order entry. The numbers are CME's OrderUpdateAction; others change nothing.
    ///
    /// 0 inserts the order; 1 updates it (null fields keep their old value, an unknown order is inserted); 2 removes
    /// it (an unknown order is ignored).
    pub fn apply(&mut self, action: u8, id: u64, order: Order) {
        match (action, self.orders.get(&id)) {
            (1, Some(old)) => {
                let merged = Order {
                    side: order.side,
                    price: order.price.or(old.price),
                    quantity: order.quantity.or(old.quantity),
                    priority: order.priority.or(old.priority),
                };
                self.orders.insert(id, merged);
            }
            (0 | 1, _) => _ = self.orders.insert(id, order),
            (2, _) => _ = self.orders.remove(&id),
            _ => {}
        }
    }

    /// Removes every order.
    pub fn clear(&mut self) {
        self.orders.clear();
    }

    /// The orders of one side: best price first, then lowest priority number, then id.
    pub fn rows(&self, side: Side) -> Vec<OrderRow> {
        let mut orders: Vec<_> = self
            .orders
            .iter()
            .filter(|(_, order)| order.side == side)
            .collect();
        orders.sort_by_key(|(id, order)| {
            let distance = order.price.map(|price| match side {
                Side::Bid => -i128::from(price),
                Side::Ask => i128::from(price),
            });
            (
                distance.unwrap_or(i128::MAX),
                order.priority.unwrap_or(u64::MAX),
                **id,
            )
        });
        orders
            .iter()
            .map(|(id, order)| OrderRow {
                id: **id,
                price: order.price,
                quantity: order.quantity,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(
        side: Side,
        price: impl Into<Option<i64>>,
        quantity: i64,
        priority: impl Into<Option<u64>>,
    ) -> Order {
        Order {
            side,
            price: price.into(),
            quantity: Some(quantity),
            priority: priority.into(),
        }
    }

    #[test]
    fn orders_are_sorted_by_price_then_priority() {
        let mut book = OrderBook::default();
        book.apply(0, 1, order(Side::Bid, 10, 5, 7));
        book.apply(0, 2, order(Side::Bid, 11, 5, 9));
        book.apply(0, 3, order(Side::Bid, 10, 5, 3));
        book.apply(0, 4, order(Side::Ask, 12, 5, 2));
        book.apply(0, 5, order(Side::Ask, 11, 5, 8));
        let ids = |side| book.rows(side).iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids(Side::Bid), [2, 3, 1]);
        assert_eq!(ids(Side::Ask), [5, 4]);
    }

    #[test]
    fn an_update_keeps_the_fields_that_it_omits() {
        let mut book = OrderBook::default();
        book.apply(0, 1, order(Side::Bid, 10, 5, 7));
        book.apply(1, 1, order(Side::Bid, None, 2, None));
        assert_eq!(
            book.rows(Side::Bid),
            [OrderRow {
                id: 1,
                price: Some(10),
                quantity: Some(2)
            }]
        );
        book.apply(1, 9, order(Side::Bid, 11, 1, 8));
        assert_eq!(
            book.rows(Side::Bid).len(),
            2,
            "an update of an unknown order puts it in"
        );
        book.apply(2, 1, order(Side::Bid, None, 0, None));
        book.apply(2, 77, order(Side::Bid, None, 0, None));
        assert_eq!(book.rows(Side::Bid).len(), 1);
    }
}
