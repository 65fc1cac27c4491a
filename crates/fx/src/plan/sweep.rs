//! The sweep: offers that add up, best first.

use super::{Leg, Offer, Want, is_within};
use touchline_fx_events::setup::Bank;

/// A walk over offers, with reusable memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Sweep {
    /// Used offers, best first.
    pub legs: Vec<Leg>,
    /// Price of the last offer of a complete walk.
    pub end: Option<i64>,
    /// Quantity used from each bank, by rank; zero between walks.
    taken: Vec<i64>,
}

impl Sweep {
    pub fn new(banks: usize) -> Sweep {
        Sweep {
            legs: Vec::new(),
            end: None,
            taken: vec![0; banks],
        }
    }

    /// Uses up to `quantity` of offers in sweep order and returns the unfilled rest. An offer that cannot be used in
    /// its turn is skipped for good.
    pub fn walk(
        &mut self,
        offers: &[Offer],
        want: &Want<'_>,
        quantity: i64,
        without: Option<Bank>,
    ) -> i64 {
        self.legs.clear();
        let mut left = quantity;
        for offer in offers {
            if left == 0 {
                break;
            }
            let bank = usize::from(offer.bank);
            if offer.is_full
                || Some(bank) == without
                || !is_within(want.takes, offer.price, want.limit)
            {
                continue;
            }
            let taken = self.taken[bank];
            let most = left.min(want.caps[bank] - taken);
            let take = whole_lots(offer.size.min(most), want.lot);
            let counted = match want.is_quoted[bank] {
                true => take,
                false => taken + take,
            };
            if take <= 0 || counted < offer.minimum {
                continue;
            }
            self.taken[bank] += take;
            left -= take;
            self.legs.push(Leg {
                offer: *offer,
                quantity: take,
            });
        }
        assert!(left >= 0, "a sweep takes at most what is wanted");
        for leg in &self.legs {
            self.taken[usize::from(leg.offer.bank)] = 0;
        }
        let last = self.legs.last().map(|leg| leg.offer.price);
        self.end = last.filter(|_| left == 0);
        left
    }
}

/// A quantity rounded down to whole lots.
pub(crate) fn whole_lots(quantity: i64, lot: i64) -> i64 {
    quantity - quantity % lot
}
