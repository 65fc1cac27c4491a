//! Expected books of an exchange: the final state in full, and a hash after each event.

mod checker;
mod log;

pub use checker::{Checker, Verdict, Wrong};
pub use log::NoState;

use super::flow::Flow;
use super::ladder::{Ladder, List};
use super::market::{Market, RestingOrder};
use super::publisher::{Published, Publisher};
use crate::picture::{BookRow, Level, OrderRow, OrdersRow, Picture, Side, State};
use std::collections::BTreeMap;

/// State of one book after an event that changed it, or at the end of a packet within that event, which is the state in
/// snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookState {
    /// Sequence of the packet that ends the event.
    pub sequence: u64,
    /// The venue's id of the instrument.
    pub security_id: i32,
    /// [`hash`] of its four lists, or [`hash_of_orders`] of an order book.
    pub hash: u64,
}

/// Hash of the four lists of a book as a subscriber shows them: direct bids, direct offers, implied bids, implied
/// offers, each best first, as price in units of 1e-9, quantity, and number of orders. Implied levels have no number of
/// orders, so theirs is ignored.
///
/// Two different books have the same hash with a probability of 2⁻⁶⁴; the books are not chosen by an attacker.
pub fn hash<L: IntoIterator<Item = (i64, i64, i64)>>(lists: [L; 4]) -> u64 {
    let mut state = 0;
    for (list, levels) in lists.into_iter().enumerate() {
        // A separator between lists: a level that moves to another list changes the hash.
        state = mix(state ^ (list as u64 + 1));
        for (price, quantity, orders) in levels {
            let orders = if list < 2 { orders } else { 0 };
            for number in [price, quantity, orders] {
                state = mix(state.rotate_left(23) ^ number as u64);
            }
        }
    }
    state
}

/// [`hash`] of an order book: bids and offers, each in order of priority, as price in units of 1e-9, quantity, and the
/// venue's order id.
pub fn hash_of_orders<L: IntoIterator<Item = (i64, i64, u64)>>([bids, asks]: [L; 2]) -> u64 {
    let lists = [Some(bids), Some(asks), None, None];
    hash(lists.map(|orders| {
        let orders = orders.into_iter().flatten();
        orders.map(|(price, quantity, id)| (price, quantity, id as i64))
    }))
}

/// Finaliser of SplitMix64: every input bit affects every output bit.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

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

/// Final state of a subscriber without losses.
pub(super) fn picture(publisher: &Publisher, flow: &Flow) -> Picture {
    let mut expected_books = Picture {
        tops: flow.tops.clone(),
        ..Picture::default()
    };
    let rows = publisher.instruments.iter().zip(&publisher.published);
    for ((instrument, published), market) in rows.zip(&flow.markets) {
        let levels = |list: List| {
            let depth = if list.implied {
                instrument.implied_depth()
            } else {
                instrument.depth()
            };
            let ladder = list.of(market, depth);
            ladder.into_iter().map(|rung| Some(rung.into())).collect()
        };
        let symbol = Some(instrument.symbol.clone());
        expected_books.orders.push(OrdersRow {
            security_id: instrument.security_id,
            symbol: symbol.clone(),
            state: State::Live,
            bids: orders(market, Side::Bid),
            asks: orders(market, Side::Ask),
        });
        expected_books.books.push(book(
            instrument.security_id,
            symbol,
            published,
            List::ALL.map(levels),
        ));
    }
    expected_books
}

fn orders(market: &Market, side: Side) -> Vec<OrderRow> {
    let row = |order: &RestingOrder| OrderRow {
        id: order.id,
        price: Some(order.price),
        quantity: Some(order.quantity),
    };
    market.orders(side).iter().map(row).collect()
}

fn book(
    security_id: i32,
    symbol: Option<String>,
    published: &Published,
    [bids, asks, implied_bids, implied_asks]: [Vec<Option<Level>>; 4],
) -> BookRow {
    BookRow {
        security_id,
        symbol,
        state: State::Live,
        last_rpt_seq: published.rpt_seq,
        bids,
        asks,
        implied_bids,
        implied_asks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lists = [Vec<(i64, i64, i64)>; 4];

    #[test]
    fn a_hash_covers_everything_that_a_subscriber_shows() {
        let book = [
            vec![(5, 1, 2), (4, 1, 1)],
            vec![(6, 2, 1)],
            vec![(3, 1, 0)],
            vec![],
        ];
        let mut hashes = vec![hash(book.clone())];
        let mut changed = |change: fn(&mut Lists)| {
            let mut other = book.clone();
            change(&mut other);
            hashes.push(hash(other));
        };
        changed(|book| book[0][0].0 += 1);
        changed(|book| book[0][0].1 += 1);
        changed(|book| book[0][0].2 += 1);
        changed(|book| book[0].swap(0, 1));
        changed(|book| book.swap(2, 3));
        changed(|book| book.swap(0, 1));
        changed(|book| book[1].clear());
        changed(|book| *book = Default::default());
        changed(|book| {
            let moved = book[0].pop();
            book[1].splice(0..0, moved);
        });
        let all = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), all);
        let mut counted = book.clone();
        counted[2][0].2 = -1;
        assert_eq!(
            hash(counted),
            hash(book),
            "implied levels have no number of orders"
        );
    }

    #[test]
    fn a_hash_of_orders_covers_price_quantity_id_side_and_rank() {
        let books = [
            [vec![(5, 1, 10), (5, 2, 11)], vec![(6, 1, 12)]],
            [vec![(5, 2, 11), (5, 1, 10)], vec![(6, 1, 12)]],
            [vec![(4, 1, 10), (5, 2, 11)], vec![(6, 1, 12)]],
            [vec![(5, 3, 10), (5, 2, 11)], vec![(6, 1, 12)]],
            [vec![(5, 1, 13), (5, 2, 11)], vec![(6, 1, 12)]],
            [vec![(6, 1, 12)], vec![(5, 1, 10), (5, 2, 11)]],
            [vec![(5, 1, 10)], vec![(6, 1, 12)]],
        ];
        let all = books.len();
        let hashes: std::collections::BTreeSet<u64> = books.map(hash_of_orders).into();
        assert_eq!(hashes.len(), all);
    }
}
