//! Rows of orders on this host, for a publisher of updates that another publisher made.

use touchline_book::OrderBooks;
use touchline_types::{Instrument, OrderChange, OrderEvent, OrdersSnapshot, OrdersUpdate};

/// Orders of a stream of updates, each with a row of its own here: rows of the first publisher are those of its own tables.
#[derive(Debug)]
pub struct OwnRows {
    orders: OrderBooks,
    steps: Vec<OrderChange>,
}

impl OwnRows {
    /// Room for that many instruments, orders, and entries of one update.
    pub fn new(instruments_max: usize, orders_max: usize, entries_max: usize) -> OwnRows {
        OwnRows {
            orders: OrderBooks::new(instruments_max, orders_max),
            steps: Vec::with_capacity(entries_max),
        }
    }

    /// Removes every order.
    pub fn clear_all(&mut self) {
        self.orders.clear_all();
    }

    /// Removes the orders of an instrument.
    pub fn clear(&mut self, instrument: Instrument) {
        self.orders.clear(instrument);
    }

    /// The update with rows of this host; `None`: one of its orders does not fit, and the book is unknown here.
    #[inline]
    pub fn change<'a>(&'a mut self, update: &OrdersUpdate<'a>) -> Option<OrdersUpdate<'a>> {
        self.take(update.instrument, update.changes)?;
        Some(OrdersUpdate {
            changes: &self.steps,
            ..*update
        })
    }

    /// As [`OwnRows::change`], of a whole book.
    pub fn replace<'a>(&'a mut self, snapshot: &OrdersSnapshot<'a>) -> Option<OrdersSnapshot<'a>> {
        self.orders.clear(snapshot.instrument);
        self.take(snapshot.instrument, snapshot.orders)?;
        Some(OrdersSnapshot {
            orders: &self.steps,
            ..*snapshot
        })
    }

    #[inline]
    fn take(&mut self, instrument: Instrument, changes: &[OrderChange]) -> Option<()> {
        self.steps.clear();
        for change in changes {
            let event = OrderEvent {
                order_id: change.order_id,
                priority: Some(change.priority),
                price: change.price,
                quantity: change.quantity,
                instrument,
                action: change.action,
                side: change.side,
            };
            self.orders.apply(&event, &mut self.steps).ok()?;
        }
        Some(())
    }
}
