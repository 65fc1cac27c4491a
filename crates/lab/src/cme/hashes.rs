//! Hashes of published books.

use super::ladder::Ladder;
use super::market::RestingOrder;
use crate::picture::Side;
use std::collections::BTreeMap;
use touchline_types::book_state::{hash, hash_of_orders};

/// [`hash`] of the published levels, in the order of [`List::ALL`].
pub(super) fn hash_of_ladders(ladders: &[Ladder; 4]) -> u64 {
    hash(ladders.each_ref().map(|ladder| {
        ladder
            .iter()
            .map(|rung| (rung.price, rung.quantity, rung.orders.map_or(0, i64::from)))
    }))
}

/// [`hash_of_orders`] of the published orders.
pub(super) fn hash_of_published_orders(orders: &BTreeMap<u64, RestingOrder>) -> u64 {
    hash_of_orders([Side::Bid, Side::Ask].map(|side| {
        let mut served: Vec<_> = orders.values().filter(|order| order.side == side).collect();
        served.sort_unstable_by_key(|order| {
            let from_best = if side == Side::Bid {
                -order.price
            } else {
                order.price
            };
            (from_best, order.priority)
        });
        let parts = |order: &RestingOrder| (order.price, order.quantity, order.id);
        served.into_iter().map(parts)
    }))
}
