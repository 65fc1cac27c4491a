//! Offers of a pair's side in the order of a sweep, with a number for each that has this order: a search compares numbers, without
//! branches that a processor mispredicts.

use crate::plan::{Offer, low};
use touchline_fx_events::ticks::QUANTITY_MAX;
use touchline_types::Side;

/// Offers without penalties, in the order of a sweep.
///
/// Invariant: there is a key for each offer, and the keys do not decrease.
#[derive(Debug, Clone, Default)]
pub(super) struct SortedOffers {
    offers: Vec<Offer>,
    keys: Vec<u128>,
}

impl SortedOffers {
    /// All of them.
    pub fn all(&self) -> &[Offer] {
        &self.offers
    }

    /// Replaces an offer. Only offers between the two places move.
    pub fn replace(&mut self, side: Side, was: &Offer, is: &Offer) {
        let (from, key) = (self.find(side, was), key(side, is));
        let to = self.place(key, is.age);
        let at = match to > from {
            true => {
                self.offers.copy_within(from + 1..to, from);
                self.keys.copy_within(from + 1..to, from);
                to - 1
            }
            false => {
                self.offers.copy_within(to..from, to + 1);
                self.keys.copy_within(to..from, to + 1);
                to
            }
        };
        self.offers[at] = *is;
        self.keys[at] = key;
    }

    /// Adds an offer.
    pub fn insert(&mut self, side: Side, is: &Offer) {
        let key = key(side, is);
        let at = self.place(key, is.age);
        self.offers.insert(at, *is);
        self.keys.insert(at, key);
    }

    /// Removes an offer.
    pub fn remove(&mut self, side: Side, was: &Offer) {
        let at = self.find(side, was);
        self.offers.remove(at);
        self.keys.remove(at);
    }

    /// Offers at a price.
    pub fn at_price(&self, side: Side, price: i64) -> impl Iterator<Item = &Offer> {
        let from = self
            .keys
            .partition_point(|other| *other < first_key(side, price));
        let rest = self.offers[from..].iter();
        rest.take_while(move |offer| offer.price == price)
    }

    /// Index at which an offer belongs: offers of one key are ordered by age.
    fn place(&self, key: u128, age: u64) -> usize {
        let mut at = self.keys.partition_point(|other| *other < key);
        while self.keys.get(at) == Some(&key) && self.offers[at].age < age {
            at += 1;
        }
        at
    }

    /// Index of an offer. An entry that moved in its bank's book is, for a moment, a second offer with the same key.
    fn find(&self, side: Side, offer: &Offer) -> usize {
        let key = key(side, offer);
        let mut at = self.keys.partition_point(|other| *other < key);
        while self.keys.get(at) == Some(&key) && !self.offers[at].is(offer) {
            at += 1;
        }
        assert!(
            self.keys.get(at) == Some(&key),
            "offers are sorted as a sweep takes them, and have the one that goes"
        );
        at
    }
}

/// Price, larger size, rank: the order of a sweep without penalties, but for the age.
fn key(side: Side, offer: &Offer) -> u128 {
    let smaller = (QUANTITY_MAX - offer.size) as u64;
    first_key(side, offer.price) | u128::from(smaller << RANK_BITS | u64::from(offer.bank))
}

/// Below the keys of all offers at a price.
fn first_key(side: Side, price: i64) -> u128 {
    u128::from(low(side, price) as u64 ^ 1 << 63) << 64
}

/// Bits of a rank in a key; the other bits of a word hold any quantity.
const RANK_BITS: u32 = 13;
const _: () = assert!(QUANTITY_MAX < 1 << (64 - RANK_BITS));
const _: () = assert!(touchline_fx_events::setup::BANKS_MAX <= 1 << RANK_BITS);
