//! One instrument's book of a crowded channel, and the messages of its changes.

use super::super::encode::incremental::{Body, LevelEntry, OrderEntry, ReferringOrder};
use super::super::ladder::List;
use super::ExpectedBook;
use crate::picture::Side;

/// The protocol publishes no more levels than this.
pub const LEVELS_MAX: usize = 10;
/// Tick of each instrument, 1e-9, and the price of its best bid.
const TICK: i64 = 10_000_000;
const BEST_BID: i64 = 100_000_000_000;
/// MDUpdateAction and OrderUpdateAction.
const NEW: u8 = 0;
const CHANGE: u8 = 1;
const DELETE: u8 = 2;

/// One price of one side.
#[derive(Clone, Debug)]
pub struct Price {
    pub price: i64,
    pub quantity: i64,
    pub orders: Vec<Order>,
}

#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub id: u64,
    pub quantity: i64,
}

/// A change that a later one takes back.
#[derive(Clone, Copy, Debug)]
pub enum Open {
    /// An order came at a price, or is a best price of its own: it will go.
    Came(Side, i64, u64),
    /// An order has another quantity: it will have this one.
    Changed(Side, i64, Order),
}

/// One instrument.
#[derive(Clone, Debug)]
pub struct Book {
    pub security_id: i32,
    rpt_seq: u32,
    /// Bids and offers, best first.
    pub sides: [Vec<Price>; 2],
    /// Changes that will be taken back.
    pub open: Vec<Open>,
}

impl Book {
    /// A full book, before its first message.
    pub fn new(security_id: i32, sides: [Vec<Price>; 2]) -> Book {
        Book {
            security_id,
            sides,
            ..Book::EMPTY
        }
    }

    pub const EMPTY: Book = Book {
        security_id: 0,
        rpt_seq: 0,
        sides: [Vec::new(), Vec::new()],
        open: Vec::new(),
    };

    /// Whether the best price of a side is that of the opening.
    pub fn is_at_rest(&self, side: Side) -> bool {
        self.sides[side as usize].first().map(|price| price.price) == Some(best(side))
    }

    pub fn opening_levels(&mut self, side: Side, levels: usize) -> Body {
        let shown = self.sides[side as usize].len().min(levels);
        let entries = (0..shown).map(|place| self.level(side, place, NEW));
        Body::Book {
            wide: false,
            levels: entries.collect(),
            orders: Vec::new(),
        }
    }

    pub fn opening_orders(&self, side: Side) -> impl Iterator<Item = OrderEntry> {
        let prices = self.sides[side as usize].iter();
        prices.flat_map(move |price| {
            let entry = move |order: &Order| self.order_entry(side, price.price, *order, NEW);
            price.orders.iter().map(entry)
        })
    }

    fn order_entry(&self, side: Side, price: i64, order: Order, action: u8) -> OrderEntry {
        OrderEntry {
            security_id: self.security_id,
            id: order.id,
            priority: Some(order.id),
            price: Some(price),
            quantity: Some(order.quantity),
            side,
            action,
        }
    }

    /// An order comes to a price that has others.
    pub fn came(&mut self, side: Side, place: usize, order: Order, levels: usize) -> Body {
        let price = &mut self.sides[side as usize][place];
        price.quantity += order.quantity;
        price.orders.push(order);
        self.order_message(side, place, order, NEW, levels)
    }

    /// An order has another quantity.
    pub fn changed(&mut self, side: Side, place: usize, order: Order, levels: usize) -> Body {
        let price = &mut self.sides[side as usize][place];
        let held = price.orders.iter_mut().find(|held| held.id == order.id);
        let held = held.expect("a changed order is at its price");
        price.quantity += order.quantity - held.quantity;
        *held = order;
        self.order_message(side, place, order, CHANGE, levels)
    }

    /// An order comes as a new best price.
    pub fn new_best(&mut self, side: Side, price: i64, order: Order) -> Body {
        let level = Price {
            price,
            quantity: order.quantity,
            orders: vec![order],
        };
        self.sides[side as usize].insert(0, level);
        let levels = vec![self.level(side, 0, NEW)];
        Body::Book {
            wide: false,
            levels,
            orders: vec![referring(order, NEW)],
        }
    }

    /// The only order of the best price goes; the level behind the published ones becomes one of them.
    fn end_best(&mut self, side: Side, levels: usize) -> Body {
        let mut entries = vec![self.level(side, 0, DELETE)];
        let gone = self.sides[side as usize].remove(0);
        if self.sides[side as usize].len() >= levels && levels == LEVELS_MAX {
            entries.push(self.level(side, levels - 1, NEW));
        }
        Body::Book {
            wide: false,
            levels: entries,
            orders: vec![referring(gone.orders[0], DELETE)],
        }
    }

    pub fn take_back(&mut self, change: Open, levels: usize) -> Body {
        let (Open::Came(side, price, _) | Open::Changed(side, price, _)) = change;
        let mut prices = self.sides[side as usize].iter();
        let place = prices.position(|held| held.price == price);
        let place = place.expect("the price of an open change has its order");
        match change {
            Open::Came(_, price, _) if price != best(side) && place == 0 => {
                self.end_best(side, levels)
            }
            Open::Came(.., id) => {
                let price = &mut self.sides[side as usize][place];
                let held = price.orders.iter().position(|order| order.id == id);
                let order = price
                    .orders
                    .remove(held.expect("an order that came is at its price"));
                price.quantity -= order.quantity;
                self.order_message(side, place, order, DELETE, levels)
            }
            Open::Changed(.., order) => self.changed(side, place, order, levels),
        }
    }

    /// A change of one order: with its level where that is published, alone behind it.
    fn order_message(
        &mut self,
        side: Side,
        place: usize,
        order: Order,
        action: u8,
        levels: usize,
    ) -> Body {
        if place >= levels {
            let price = self.sides[side as usize][place].price;
            return Body::Orders(vec![self.order_entry(side, price, order, action)]);
        }
        Body::Book {
            wide: false,
            levels: vec![self.level(side, place, CHANGE)],
            orders: vec![referring(order, action)],
        }
    }

    fn level(&mut self, side: Side, place: usize, action: u8) -> LevelEntry {
        self.rpt_seq += 1;
        let price = &self.sides[side as usize][place];
        let list = List {
            side,
            implied: false,
        };
        LevelEntry {
            security_id: self.security_id,
            rpt_seq: self.rpt_seq,
            entry_type: list.entry_type(),
            action,
            level: place as u8 + 1,
            price: price.price,
            quantity: price.quantity,
            orders: Some(price.orders.len() as i32),
        }
    }

    pub fn expected(&self, levels: usize) -> ExpectedBook {
        let shown = |side: &Vec<Price>| {
            let level = |price: &Price| (price.price, price.quantity, price.orders.len() as u32);
            side.iter().take(levels).map(level).collect()
        };
        let orders = self.sides.iter().flatten();
        ExpectedBook {
            security_id: self.security_id,
            levels: self.sides.each_ref().map(shown),
            orders: orders.map(|price| price.orders.len()).sum(),
        }
    }
}

pub fn best(side: Side) -> i64 {
    match side {
        Side::Bid => BEST_BID,
        Side::Ask => BEST_BID + 3 * TICK,
    }
}

/// The price that is worse than another by a number of ticks.
pub fn beyond(side: Side, price: i64, ticks: i64) -> i64 {
    match side {
        Side::Bid => price - ticks * TICK,
        Side::Ask => price + ticks * TICK,
    }
}

/// An order at the first level of its message.
fn referring(order: Order, action: u8) -> ReferringOrder {
    ReferringOrder {
        id: order.id,
        priority: Some(order.id),
        quantity: Some(order.quantity),
        reference: 1,
        action,
    }
}
