//! Limit order book of an instrument, kept as orders with price-time priority.
//!
//! All published data of a session are derived from it, so the expected books are correct by construction.

use crate::picture::Side;

/// The resting orders of one instrument, and its implied prices.
#[derive(Clone, Debug, Default)]
pub struct Market {
    /// Bids and offers, each in order of priority.
    sides: [Vec<RestingOrder>; 2],
    /// Implied bids and offers, best first: price and quantity.
    implied: [Vec<(i64, i64)>; 2],
}

/// One resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestingOrder {
    /// The venue's order id.
    pub id: u64,
    /// Side.
    pub side: Side,
    /// Price in units of 1e-9.
    pub price: i64,
    /// Contracts.
    pub quantity: i64,
    /// Time priority: the lowest is first.
    pub priority: u64,
}

/// Trade of one incoming order at one price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Price in units of 1e-9.
    pub price: i64,
    /// Contracts.
    pub quantity: i64,
    /// The side of the incoming order.
    pub aggressor: Side,
    /// Each order of the trade, the incoming one first, with its quantity.
    pub fills: Vec<(u64, i64)>,
}

impl Market {
    /// Orders of a side in order of priority.
    pub fn orders(&self, side: Side) -> &[RestingOrder] {
        &self.sides[side as usize]
    }

    /// All resting orders.
    pub fn all_orders(&self) -> impl Iterator<Item = &RestingOrder> {
        self.sides.iter().flatten()
    }

    /// Implied prices of a side, best first, with their quantities.
    pub fn implied(&self, side: Side) -> &[(i64, i64)] {
        &self.implied[side as usize]
    }

    /// Best direct price of a side.
    pub fn best(&self, side: Side) -> Option<i64> {
        self.orders(side).first().map(|order| order.price)
    }

    /// Best price of a side, direct or implied.
    pub fn touch(&self, side: Side) -> Option<i64> {
        let implied = self.implied(side).first().map(|&(price, _)| price);
        match (self.best(side), implied) {
            (Some(direct), Some(implied)) if is_better(side, implied, direct) => Some(implied),
            (direct, implied) => direct.or(implied),
        }
    }

    /// Enters an order: it trades with the orders that it crosses, price by price, and the rest of it joins the book.
    pub fn enter(&mut self, mut order: RestingOrder) -> Vec<Trade> {
        let mut trades: Vec<Trade> = Vec::new();
        let opposite = &mut self.sides[order.side.opposite() as usize];
        while let Some(resting) = opposite.first_mut() {
            if order.quantity == 0 || is_better(order.side, resting.price, order.price) {
                break;
            }
            let quantity = order.quantity.min(resting.quantity);
            match trades
                .last_mut()
                .filter(|trade| trade.price == resting.price)
            {
                Some(trade) => {
                    trade.quantity += quantity;
                    trade.fills[0].1 += quantity;
                    trade.fills.push((resting.id, quantity));
                }
                None => trades.push(Trade {
                    price: resting.price,
                    quantity,
                    aggressor: order.side,
                    fills: vec![(order.id, quantity), (resting.id, quantity)],
                }),
            }
            order.quantity -= quantity;
            resting.quantity -= quantity;
            if resting.quantity == 0 {
                opposite.remove(0);
            }
        }
        if order.quantity > 0 {
            self.rest(order);
        }
        trades
    }

    /// Removes an order from the book.
    pub fn cancel(&mut self, id: u64) -> Option<RestingOrder> {
        let side = self
            .sides
            .iter_mut()
            .find(|side| side.iter().any(|order| order.id == id))?;
        let place = side.iter().position(|order| order.id == id)?;
        Some(side.remove(place))
    }

    /// Lowers the quantity of an order, which keeps its priority.
    pub fn reduce(&mut self, id: u64, quantity: i64) {
        if let Some(order) = self.sides.iter_mut().flatten().find(|order| order.id == id) {
            order.quantity = order.quantity.min(quantity);
        }
    }

    /// Sets the implied prices of a side, in any order.
    pub fn imply(&mut self, side: Side, mut prices: Vec<(i64, i64)>) {
        prices.sort_by_key(|&(price, _)| if side == Side::Bid { -price } else { price });
        prices.dedup_by_key(|&mut (price, _)| price);
        self.implied[side as usize] = prices;
    }

    /// Removes the implied prices that the direct book does not allow: those that would trade with it, and those more
    /// than `reach` behind the best direct price of their side.
    pub fn fit_implied(&mut self, reach: i64) {
        for side in [Side::Bid, Side::Ask] {
            let (own, other) = (self.best(side), self.best(side.opposite()));
            self.implied[side as usize].retain(|&(price, _)| {
                other.is_none_or(|other| price != other && !is_better(side, price, other))
                    && own.is_none_or(|own| {
                        is_better(side, price, own) || price.abs_diff(own) <= reach.unsigned_abs()
                    })
            });
        }
    }

    /// Empties the book.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn rest(&mut self, order: RestingOrder) {
        let side = &mut self.sides[order.side as usize];
        let place = side.partition_point(|other| {
            is_better(order.side, other.price, order.price)
                || (other.price == order.price && other.priority < order.priority)
        });
        side.insert(place, order);
    }
}

/// True if `price` is better than `other` for an order of this side.
fn is_better(side: Side, price: i64, other: i64) -> bool {
    match side {
        Side::Bid => price > other,
        Side::Ask => price < other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(id: u64, side: Side, price: i64, quantity: i64) -> RestingOrder {
        RestingOrder {
            id,
            side,
            price,
            quantity,
            priority: id,
        }
    }

    #[test]
    fn an_incoming_order_takes_the_best_price_and_the_oldest_order_first() {
        let mut market = Market::default();
        for resting in [
            order(1, Side::Ask, 101, 5),
            order(2, Side::Ask, 100, 3),
            order(3, Side::Ask, 100, 4),
            order(4, Side::Ask, 103, 9),
        ] {
            assert!(market.enter(resting).is_empty());
        }
        let trades = market.enter(order(5, Side::Bid, 102, 20));
        let expected = [
            Trade {
                price: 100,
                quantity: 7,
                aggressor: Side::Bid,
                fills: vec![(5, 7), (2, 3), (3, 4)],
            },
            Trade {
                price: 101,
                quantity: 5,
                aggressor: Side::Bid,
                fills: vec![(5, 5), (1, 5)],
            },
        ];
        assert_eq!(trades, expected);
        assert_eq!(market.orders(Side::Bid), [order(5, Side::Bid, 102, 8)]);
        assert_eq!(market.best(Side::Ask), Some(103));
    }

    #[test]
    fn orders_are_sorted_by_price_then_priority() {
        let mut market = Market::default();
        for resting in [
            order(3, Side::Bid, 10, 1),
            order(1, Side::Bid, 10, 1),
            order(2, Side::Bid, 11, 1),
        ] {
            market.enter(resting);
        }
        let ids: Vec<u64> = market
            .orders(Side::Bid)
            .iter()
            .map(|order| order.id)
            .collect();
        assert_eq!(ids, [2, 1, 3]);
        market.reduce(1, 0);
        assert_eq!(market.cancel(1), Some(order(1, Side::Bid, 10, 0)));
        assert_eq!(market.cancel(1), None);
    }
}
