//! A bank's quotes of a pair: prices for sizes, both sides.

use super::config::BankConfig;

/// One size with its prices, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Base units.
    pub size: i64,
    /// Bid.
    pub bid: i64,
    /// Ask.
    pub ask: i64,
}

/// All sizes of a bank's pair, the smallest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ladder {
    /// The sizes.
    pub bands: Vec<Band>,
}

impl Ladder {
    /// The ladder of a bank around a mid.
    pub fn around(mid: i64, bank: &BankConfig) -> Ladder {
        let band = |(tier, size): (usize, &i64)| {
            let half = bank.spread_ticks / 2 + tier as i64 * bank.tier_ticks;
            let odd = bank.spread_ticks % 2;
            Band {
                size: *size,
                bid: mid + bank.skew_ticks - half,
                ask: mid + bank.skew_ticks + half + odd,
            }
        };
        Ladder {
            bands: bank.tiers.iter().enumerate().map(band).collect(),
        }
    }

    /// A ladder with bids above asks.
    pub fn inverted(&self) -> Ladder {
        let mut inverted = self.clone();
        for band in &mut inverted.bands {
            (band.bid, band.ask) = (band.ask + 1, band.bid - 1);
        }
        inverted
    }
}
