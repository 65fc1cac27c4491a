//! Actions of the participants of a market: new orders, moves, cancellations, market makers, implied prices.

use super::Flow;
use crate::cme::instrument::Instrument;
use crate::cme::market::{RestingOrder, Trade};
use crate::picture::Side;
use crate::random::Random;

/// The widest spread of a direct book with both sides at the end of an event, ticks.
pub const SPREAD_TICKS_MAX: i64 = 8;

/// Implied prices farther than this behind the best direct price of their side are removed, ticks.
pub(super) const REACH_TICKS: i64 = 12;

/// Share of turns in which an empty side stays empty: subscribers receive one-sided books, too.
const AWAY_SHARE: f64 = 0.25;

impl Flow {
    /// One action of one participant.
    pub(super) fn action(&mut self, instrument: &Instrument, index: usize) -> Vec<Trade> {
        let side = *self.random.pick(&[Side::Bid, Side::Ask]);
        let market = &self.markets[index];
        let some_order = |random: &mut Random| {
            let orders = market.orders(side);
            (!orders.is_empty()).then(|| orders[random.index(orders.len())])
        };
        match (self.random.below(100), some_order(&mut self.random)) {
            (0..45, _) | (_, None) => {
                let price = self.passive_price(instrument, index, side);
                self.enter(instrument, index, side, price)
            }
            (45..63, Some(order)) => {
                self.markets[index].cancel(order.id);
                Vec::new()
            }
            (63..73, Some(order)) => {
                let quantity = (order.quantity / 2).max(1);
                self.markets[index].reduce(order.id, quantity);
                Vec::new()
            }
            (73..83, Some(order)) => self.move_order(instrument, index, order),
            (83..88, Some(order)) => self.withdraw(index, side, order.price),
            (_, Some(_)) => {
                let price = self.aggressive_price(instrument, index, side);
                self.enter(instrument, index, side, price)
            }
        }
    }

    /// Makers fill an empty side and a spread that is too wide. They never trade.
    pub(super) fn make_market(&mut self, instrument: &Instrument, index: usize) {
        for side in [Side::Bid, Side::Ask] {
            let market = &self.markets[index];
            let is_empty = market.best(side).is_none();
            let width = match (market.best(Side::Bid), market.best(Side::Ask)) {
                (Some(bid), Some(ask)) => ask - bid,
                _ => 0,
            };
            let is_left = is_empty && !self.random.chance(AWAY_SHARE);
            if is_left || width > SPREAD_TICKS_MAX * instrument.tick {
                let near = self.random.between(1, 4);
                let price = self.price_behind(instrument, index, side, near);
                self.enter(instrument, index, side, price);
            }
        }
    }

    /// A price that does not trade: at most twelve ticks behind the other side's best.
    fn passive_price(&mut self, instrument: &Instrument, index: usize, side: Side) -> i64 {
        let ticks = self.random.between(1, REACH_TICKS);
        self.price_behind(instrument, index, side, ticks)
    }

    /// A price `ticks` behind the other side's best, kept near the instrument's price: no bid is more than
    /// [`Instrument::reach`] above it, no offer as far below.
    fn price_behind(&self, instrument: &Instrument, index: usize, side: Side, ticks: i64) -> i64 {
        let market = &self.markets[index];
        let (tick, centre, reach) = (instrument.tick, instrument.price, instrument.reach());
        let distance = ticks * tick;
        match (side, market.best(side.opposite())) {
            (Side::Bid, Some(ask)) => (ask - distance).min(centre + reach),
            (Side::Ask, Some(bid)) => (bid + distance).max(centre - reach),
            (Side::Bid, None) => {
                let usual = market.best(side).unwrap_or(centre) - distance + 3 * tick;
                usual.clamp(centre - reach, centre + reach)
            }
            (Side::Ask, None) => {
                let usual = market.best(side).unwrap_or(centre) + distance - 3 * tick;
                usual.clamp(centre - reach, centre + reach)
            }
        }
    }

    /// A price that trades with the best levels of the other side, if there are any within reach.
    fn aggressive_price(&mut self, instrument: &Instrument, index: usize, side: Side) -> i64 {
        let ticks = self.random.between(0, 3) * instrument.tick;
        match (side, self.markets[index].best(side.opposite())) {
            (Side::Bid, Some(ask)) => (ask + ticks).min(instrument.price + instrument.reach()),
            (Side::Ask, Some(bid)) => (bid - ticks).max(instrument.price - instrument.reach()),
            (_, None) => self.passive_price(instrument, index, side),
        }
    }

    fn enter(
        &mut self,
        instrument: &Instrument,
        index: usize,
        side: Side,
        price: i64,
    ) -> Vec<Trade> {
        let unit = match (instrument.wide, self.large_quantities) {
            (false, _) => 1,
            (true, false) => 1_000_000,
            (true, true) => 40_000_000,
        };
        let quantity = self.random.between(1, 40) * unit;
        self.last_order += self.random.between(1, 9) as u64;
        let id = self.last_order;
        self.markets[index].enter(RestingOrder {
            id,
            side,
            price,
            quantity,
            priority: id,
        })
    }

    /// Gives an order another price. It keeps its id and loses its priority.
    fn move_order(
        &mut self,
        instrument: &Instrument,
        index: usize,
        order: RestingOrder,
    ) -> Vec<Trade> {
        self.markets[index].cancel(order.id);
        let price = self.passive_price(instrument, index, order.side);
        self.last_order += 1;
        self.markets[index].enter(RestingOrder {
            price,
            priority: self.last_order,
            ..order
        })
    }

    /// A participant cancels all orders of a side, from a price to the best or to the worst.
    fn withdraw(&mut self, index: usize, side: Side, price: i64) -> Vec<Trade> {
        let better = self.random.chance(0.5);
        let orders = self.markets[index].orders(side).to_vec();
        for order in orders {
            let is_higher = order.price > price;
            if order.price == price || (is_higher == (side == Side::Bid)) == better {
                self.markets[index].cancel(order.id);
            }
        }
        Vec::new()
    }

    /// Sets new implied prices of one side near its best, none of which trades with the other side, direct or implied.
    pub(super) fn imply(&mut self, instrument: &Instrument, index: usize) {
        let side = *self.random.pick(&[Side::Bid, Side::Ask]);
        let count = self.random.between(0, 4);
        let market = &self.markets[index];
        let (best, limit) = (market.best(side), market.touch(side.opposite()));
        let towards = if side == Side::Bid { 1 } else { -1 };
        let mut prices = Vec::new();
        for _ in 0..count {
            let ticks = self.random.between(-6, 2);
            let price = best.unwrap_or(instrument.price) + towards * ticks * instrument.tick;
            let price = match (side, limit) {
                (_, None) => price,
                (Side::Bid, Some(ask)) => price.min(ask - instrument.tick),
                (Side::Ask, Some(bid)) => price.max(bid + instrument.tick),
            };
            prices.push((price, self.random.between(1, 300)));
        }
        self.markets[index].imply(side, prices);
    }
}
