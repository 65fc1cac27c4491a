//! Reference price of a pair: the median of the banks' own mids, and the banks whose prices are off the market. A single bank
//! moves neither. Rules: `docs/venues/fx-banks.md`, "Reference of a pair".

use super::BankSet;
use crate::quotes::NEVER;
use touchline_fx_events::setup::Bank;

/// Least number of banks with a mid that make a reference.
const BANKS_MIN: usize = 3;

/// Reference of a pair.
///
/// Invariant: the mids ascend.
#[derive(Debug, Clone)]
pub(super) struct PairReference {
    /// Twice the mid of each bank that quotes both sides, ticks.
    mids2: Vec<i64>,
    /// Twice the valid reference as of the last step, ticks.
    valid2: Option<i64>,
    /// The reference ends then: fewer than three banks have a mid. [`NEVER`] otherwise.
    ends_ns: u64,
    /// Banks off the market.
    off: BankSet,
    has_off: bool,
    /// A mid or a best price changed since the last step.
    is_dirty: bool,
}

impl Default for PairReference {
    fn default() -> PairReference {
        PairReference {
            mids2: Vec::new(),
            valid2: None,
            ends_ns: NEVER,
            off: BankSet::default(),
            has_off: false,
            is_dirty: false,
        }
    }
}

impl PairReference {
    /// A bank has another best bid or ask.
    pub fn change(&mut self, was: [Option<i64>; 2], is: [Option<i64>; 2]) {
        self.is_dirty = true;
        let mid2 = |[bid, ask]: [Option<i64>; 2]| Some(bid? + ask?);
        if let Some(was) = mid2(was) {
            let at = self.mids2.partition_point(|other| *other < was);
            assert!(
                self.mids2.get(at) == Some(&was),
                "the mids of banks ascend, and have the one that goes"
            );
            self.mids2.remove(at);
        }
        if let Some(is) = mid2(is) {
            let at = self.mids2.partition_point(|other| *other < is);
            self.mids2.insert(at, is);
        }
    }

    /// Whether the reference or the banks off the market may change now.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.is_dirty || now_ns >= self.ends_ns
    }

    /// Time at which the reference ends; [`NEVER`] if it does not end without a new quote.
    pub fn due_ns(&self) -> u64 {
        self.ends_ns
    }

    /// Twice the valid reference as of the last step, ticks.
    pub fn valid2(&self) -> Option<i64> {
        self.valid2
    }

    /// Banks off the market.
    pub fn off(&self) -> &BankSet {
        &self.off
    }

    /// Whether a bank is off the market.
    pub fn has_off(&self) -> bool {
        self.has_off
    }

    /// Forgets the reference: the process starts again.
    pub fn forget(&mut self) {
        self.valid2 = None;
        self.ends_ns = NEVER;
        self.is_dirty = true;
    }

    /// Makes the reference of this step.
    pub fn renew(&mut self, now_ns: u64, ttl_ns: u64) {
        self.is_dirty = false;
        let count = self.mids2.len();
        if count >= BANKS_MIN {
            let (low, high) = (self.mids2[(count - 1) / 2], self.mids2[count / 2]);
            self.valid2 = Some((low + high).div_euclid(2));
            self.ends_ns = NEVER;
            return;
        }
        if self.valid2.is_some() && self.ends_ns == NEVER {
            self.ends_ns = now_ns.saturating_add(ttl_ns);
        }
        // mutant: fx: an old reference stays valid
        if now_ns >= self.ends_ns {
            self.valid2 = None;
            self.ends_ns = NEVER;
        }
    }

    /// Judges the best prices of a bank. Whether it is off the market now, if that changed.
    pub fn judge(&mut self, bank: Bank, own: [Option<i64>; 2], off_ticks: i64) -> Option<bool> {
        let was_off = self.off.has(bank);
        let is_off = self.valid2.is_some_and(|reference2| {
            let is_far = |price: i64| (2 * price - reference2).abs() > 2 * off_ticks;
            match own {
                [None, None] => was_off,
                [bid, ask] => bid.is_some_and(is_far) || ask.is_some_and(is_far),
            }
        });
        if is_off == was_off {
            return None;
        }
        match is_off {
            true => self.off.add(bank),
            false => self.off.remove(bank),
        }
        self.has_off = !self.off.is_empty();
        Some(is_off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(mid2: i64) -> [Option<i64>; 2] {
        [Some(mid2 - 100), Some(100)]
    }

    proptest! {
        /// After any changes the reference is the median of the mids, rounded down, from three banks on.
        #[test]
        fn the_reference_is_the_median(
            changes in prop::collection::vec((0_usize..6, prop::option::of(200_i64..260)), 1..80),
        ) {
            let (mut reference, mut own) = (PairReference::default(), [None; 6]);
            for (bank, mid2) in changes {
                let was = std::mem::replace(&mut own[bank], mid2);
                let prices = |mid2: Option<i64>| mid2.map_or([None; 2], both);
                reference.change(prices(was), prices(mid2));
                reference.renew(1, 0);
                let mut mids: Vec<i64> = own.iter().copied().flatten().collect();
                mids.sort_unstable();
                let median = match mids.len() {
                    0..3 => None,
                    count if count % 2 == 1 => Some(mids[count / 2]),
                    count => Some((mids[count / 2 - 1] + mids[count / 2]) / 2),
                };
                prop_assert_eq!(reference.valid2(), median);
            }
        }
    }
}
