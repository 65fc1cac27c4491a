//! Index of the orders of all instruments: from order id and instrument to the node of the pool.
//!
//! A table of chains that run through the nodes themselves. The hash is keyed with a secret of this table, so a venue
//! cannot choose ids that share a chain, and the length of a chain is limited, so its cost is bounded. Removing an order
//! moves no other entry and leaves no tombstone.

use crate::order_pool::{NONE, NodeIndex, OrderPool};
use touchline_types::hash::HashKeys;

/// Maximum number of orders in one chain. In a full table a chain reaches it by chance once in
/// 10^30 times.
pub const CHAIN_MAX: usize = 32;

/// Number of chains per order above which a clear looks up each order instead of visiting all chains.
const USED_MIN: usize = 16;

/// The index.
#[derive(Debug)]
pub struct OrderIndex {
    /// First node of each chain; the number of chains is a power of two, at least 2.
    heads: Vec<NodeIndex>,
    /// Shift of a hash to its chain.
    shift: u32,
    keys: HashKeys<2>,
    len: usize,
}

/// Chain of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chain(usize);

/// Place of an order in the index: its chain, its node, and the previous node of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    chain: Chain,
    /// The node.
    pub node: NodeIndex,
    before: NodeIndex,
}

impl OrderIndex {
    /// Allocates room for `orders_max` orders.
    pub fn new(orders_max: usize, keys: HashKeys<2>) -> OrderIndex {
        let chains = orders_max.next_power_of_two().max(2);
        OrderIndex {
            heads: vec![NONE; chains],
            shift: 64 - chains.trailing_zeros(),
            keys,
            len: 0,
        }
    }

    /// Number of orders.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the table of chains.
    pub fn bytes(&self) -> usize {
        self.heads.len() * size_of::<NodeIndex>()
    }

    /// The chain of an order.
    #[inline]
    pub fn chain(&self, instrument: u32, order_id: u64) -> Chain {
        let hash = self.keys.hash([order_id, u64::from(instrument)]);
        Chain((hash >> self.shift) as usize)
    }

    /// The first node of a chain, [`NONE`] if it is empty.
    #[inline]
    pub fn head(&self, chain: Chain) -> NodeIndex {
        self.heads[chain.0]
    }

    /// The place of an order.
    ///
    /// # Errors
    /// The order is missing; with the length of its chain.
    #[inline]
    pub fn find(
        &self,
        pool: &OrderPool,
        chain: Chain,
        instrument: u32,
        order_id: u64,
    ) -> Result<Place, usize> {
        let mut length = 0;
        let (mut before, mut node) = (NONE, self.heads[chain.0]);
        while node != NONE {
            let order = pool.order(node);
            if order.order_id == order_id && order.instrument == instrument {
                return Ok(Place {
                    chain,
                    node,
                    before,
                });
            }
            before = node;
            node = pool.next(node);
            length += 1;
        }
        Err(length)
    }

    /// Inserts a node into its chain, which has fewer than [`CHAIN_MAX`] nodes and does not have
    /// this order.
    #[inline]
    pub fn insert(&mut self, pool: &mut OrderPool, chain: Chain, node: NodeIndex) {
        let order = pool.order(node);
        debug_assert!(
            self.find(pool, chain, order.instrument, order.order_id)
                .is_err_and(|length| length < CHAIN_MAX),
            "an order is in the index once, in a chain with room"
        );
        let head = &mut self.heads[chain.0];
        pool.set_next(node, *head);
        *head = node;
        self.len += 1;
    }

    /// Removes a found order from its chain, which is unchanged since.
    #[inline]
    pub fn remove(&mut self, pool: &mut OrderPool, place: Place) {
        debug_assert_eq!(
            place.node,
            match place.before {
                NONE => self.heads[place.chain.0],
                before => pool.next(before),
            },
            "a chain is unchanged between the search and the removal of an order"
        );
        let next = pool.next(place.node);
        if place.before == NONE {
            self.heads[place.chain.0] = next;
        } else {
            pool.set_next(place.before, next);
        }
        self.len -= 1;
    }

    /// Removes all orders; every order of the index is in `pool`.
    ///
    /// The cost depends on the orders present instead of the capacity: a clear happens with every loss, while packets
    /// queue. A table for a million orders is 4 MiB.
    pub fn clear(&mut self, pool: &OrderPool) {
        if pool.used() > self.heads.len() / USED_MIN {
            self.heads.fill(NONE);
        } else {
            for order in pool.orders() {
                let chain = self.chain(order.instrument, order.order_id);
                self.heads[chain.0] = NONE;
            }
        }
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_pool::Order;
    use touchline_types::{Price, Quantity, Side};

    /// Inverse modulo 2^64 of an odd number by Newton's method: each step doubles the correct bits.
    fn inverse(odd: u64) -> u64 {
        (0..5).fold(odd, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
        })
    }

    /// Ids that share a place of a table of (order id, instrument 0) with rustc-hash, without a secret: equal low bits
    /// choose the place, equal high bits the tag.
    fn chosen(index: u64) -> u64 {
        const MULTIPLIER: u64 = 0xF135_7AEA_2E62_A9C5;
        let hash = 0x2A << 57 | (index + 1) << 26 | 0x15_5555_u64;
        let once = hash.rotate_right(26).wrapping_mul(inverse(MULTIPLIER));
        let id = once.wrapping_mul(inverse(MULTIPLIER));
        let again = id.wrapping_mul(MULTIPLIER).wrapping_mul(MULTIPLIER);
        assert_eq!(again.rotate_left(26), hash, "the ids collide there");
        id
    }

    fn order(order_id: u64, instrument: u32) -> Order {
        Order {
            order_id,
            priority: 0,
            price: Price(0),
            quantity: Quantity(1),
            instrument,
            side: Side::Bid,
        }
    }

    /// Nodes visited to find each of these orders once, and the longest chain.
    fn cost(seed: u64, orders: u64, id: impl Fn(u64) -> (u64, u32)) -> (usize, usize) {
        let mut pool = OrderPool::new(orders as usize);
        let mut index = OrderIndex::new(orders as usize, HashKeys::from_seed(seed));
        let (mut looked_at, mut longest) = (0, 0);
        for number in 0..orders {
            let (order_id, instrument) = id(number);
            let chain = index.chain(instrument, order_id);
            let length = index.find(&pool, chain, instrument, order_id);
            let length = length.expect_err("it is not there yet") + 1;
            looked_at += length;
            longest = longest.max(length);
            let node = pool.take(order(order_id, instrument)).expect("room");
            index.insert(&mut pool, chain, node);
        }
        (looked_at, longest)
    }

    /// Ids that collide without a secret, consecutive ids, ids that differ in their highest bits, and one id in many
    /// instruments cost the same as random ones.
    #[test]
    fn adversarial_ids_have_the_cost_of_random_ones() {
        const ORDERS: u64 = 1 << 16;
        for seed in 1..=20 {
            let random = |n: u64| (HashKeys::<1>::from_seed(9).hash([n]), 0);
            let (by_chance, _) = cost(seed, ORDERS, random);
            let kinds: [&dyn Fn(u64) -> (u64, u32); 4] = [
                &|n| (chosen(n), 0),
                &|n| (1_000_000_000_000 + n, 0),
                &|n| (n << 47, 0),
                &|n| (7, n as u32),
            ];
            for (kind, id) in kinds.into_iter().enumerate() {
                let (looked_at, longest) = cost(seed, ORDERS, id);
                let ratio = looked_at as f64 / by_chance as f64;
                assert!(ratio < 1.1, "seed {seed} kind {kind}: {ratio} times");
                assert!(longest < 16, "seed {seed} kind {kind}: {longest}");
            }
        }
    }

    /// A few orders are removed one by one, many with the whole table; in both cases later look-ups find no removed order.
    #[test]
    fn an_emptied_index_has_no_entry_of_few_or_many_orders() {
        for orders in [1, 100, 4_096] {
            let mut pool = OrderPool::new(4_096);
            let mut index = OrderIndex::new(4_096, HashKeys::from_seed(orders));
            for id in 0..orders {
                let chain = index.chain(0, id);
                let node = pool.take(order(id, 0)).expect("room");
                index.insert(&mut pool, chain, node);
            }
            index.clear(&pool);
            assert_eq!(index.len(), 0);
            assert!(index.heads.iter().all(|head| *head == NONE), "{orders}");
        }
    }

    /// Orders inserted and removed at any place of a chain leave the others unchanged.
    #[test]
    fn orders_are_removed_from_the_middle_of_a_chain() {
        let mut pool = OrderPool::new(8);
        let mut index = OrderIndex::new(2, HashKeys::from_seed(1));
        let mut same = (0..).filter(|id| index.chain(0, *id) == index.chain(0, 0));
        let ids: [u64; 5] = std::array::from_fn(|_| same.next().expect("every other one"));
        let chain = index.chain(0, 0);
        let nodes = ids.map(|id| {
            let node = pool.take(order(id, 0)).expect("room");
            index.insert(&mut pool, chain, node);
            node
        });
        for gone in [2, 0, 4, 1, 3] {
            let place = index.find(&pool, chain, 0, ids[gone]).expect("it is there");
            assert_eq!(place.node, nodes[gone]);
            index.remove(&mut pool, place);
            let found = index.find(&pool, chain, 0, ids[gone]);
            assert_eq!(found, Err(index.len()));
        }
        assert_eq!(index.len(), 0);
    }

    /// Debug builds refuse an order that is there already, and a removal from a chain that has changed since the search.
    #[test]
    fn a_second_entry_and_an_old_place_are_refused() {
        let mut pool = OrderPool::new(8);
        let mut index = OrderIndex::new(2, HashKeys::from_seed(1));
        let chain = index.chain(0, 7);
        let node = pool.take(order(7, 0)).expect("room");
        index.insert(&mut pool, chain, node);
        let old = index.find(&pool, chain, 0, 7).expect("it is there");
        let mut refuses = |what: &dyn Fn(&mut OrderIndex, &mut OrderPool)| {
            let call = std::panic::AssertUnwindSafe(|| what(&mut index, &mut pool));
            std::panic::catch_unwind(call).is_err()
        };
        if cfg!(debug_assertions) {
            assert!(refuses(&|index, pool| index.insert(pool, chain, node)));
            let moved = Place {
                before: node,
                ..old
            };
            assert!(refuses(&|index, pool| index.remove(pool, moved)));
        }
        assert!(!refuses(&|index, pool| index.remove(pool, old)));
    }
}
