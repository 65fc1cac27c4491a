//! Best prices of a composite.

use crate::setup::{BANKS_MAX, Bank};
use std::cmp::Ordering;

/// Set of banks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BankSet([u64; BANKS_MAX / 64]);

impl BankSet {
    /// Adds a bank.
    pub fn add(&mut self, bank: Bank) {
        self.0[bank / 64] |= 1 << (bank % 64);
    }

    /// Removes a bank.
    pub fn remove(&mut self, bank: Bank) {
        self.0[bank / 64] &= !(1 << (bank % 64));
    }

    /// Whether a bank is in the set.
    pub fn has(&self, bank: Bank) -> bool {
        self.0[bank / 64] >> (bank % 64) & 1 == 1
    }

    /// Number of banks.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Banks by rank.
    pub fn iter(&self) -> impl Iterator<Item = Bank> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                // Clears the lowest bit.
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(64 * at + bit)
            })
        })
    }

    /// Banks that are in one of two sets.
    pub fn differing(&self, other: &BankSet) -> BankSet {
        BankSet(std::array::from_fn(|at| self.0[at] ^ other.0[at]))
    }
}

/// Best price of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Top {
    /// Ticks.
    pub price: i64,
    /// Quantity at the price, units.
    pub quantity: i64,
    /// Banks at the price.
    pub banks: BankSet,
}

/// Relation of the best bid to the best ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// There are no usable quotes.
    #[default]
    Empty,
    /// One side is missing.
    OneSided,
    /// The bid is below the ask.
    Normal,
    /// Bid and ask are equal.
    Locked,
    /// The bid is above the ask.
    Crossed,
}

/// Relation of the best bid to the best ask.
pub fn state(tops: &[Option<Top>; 2]) -> State {
    let [Some(bid), Some(ask)] = tops else {
        return match tops.iter().any(Option::is_some) {
            true => State::OneSided,
            false => State::Empty,
        };
    };
    match bid.price.cmp(&ask.price) {
        Ordering::Less => State::Normal,
        Ordering::Equal => State::Locked,
        Ordering::Greater => State::Crossed,
    }
}
