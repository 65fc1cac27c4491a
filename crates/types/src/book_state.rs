//! The state of a live book in one line, to compare a subscriber's books with expected ones, or those of two hosts: after
//! each event `sequence security_id hash`, the hash in sixteen hexadecimal digits. A file of them can be read while it grows.

use core::fmt;
use core::str::FromStr;

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

impl fmt::Display for BookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sequence,
            security_id,
            hash,
        } = self;
        write!(f, "{sequence} {security_id} {hash:016x}")
    }
}

/// Error: a line is not a [`BookState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoState;

impl fmt::Display for NoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line is not `sequence security_id hash`; check that the file is a complete log of expected books")
    }
}

impl core::error::Error for NoState {}

impl FromStr for BookState {
    type Err = NoState;

    fn from_str(line: &str) -> Result<Self, NoState> {
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or(NoState);
        let state = Self {
            sequence: next()?.parse().map_err(|_| NoState)?,
            security_id: next()?.parse().map_err(|_| NoState)?,
            hash: Some(next()?)
                .filter(|hash| hash.len() == 16)
                .and_then(|hash| u64::from_str_radix(hash, 16).ok())
                .ok_or(NoState)?,
        };
        match words.next() {
            None => Ok(state),
            Some(_) => Err(NoState),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString;
    use std::{vec, vec::Vec};

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

    #[test]
    fn a_line_is_read_back_and_a_truncated_one_is_not() {
        let state = BookState {
            sequence: 12,
            security_id: -7,
            hash: 0x0012_3456_789a_bcde,
        };
        let line = state.to_string();
        assert_eq!(line, "12 -7 00123456789abcde");
        assert_eq!(line.parse(), Ok(state));
        for cut in 0..line.len() {
            assert_eq!(
                line[..cut].parse::<BookState>(),
                Err(NoState),
                "{}",
                &line[..cut]
            );
        }
        assert!((line + " 1").parse::<BookState>().is_err());
    }
}
