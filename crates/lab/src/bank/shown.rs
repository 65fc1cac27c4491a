//! The best prices of all banks, by plain search, as a reference for composites.

use super::config::{Config, Kind};
use super::ladder::Ladder;

/// The best price of a side, and its bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// Ticks.
    pub price: i64,
    /// Quantity at the price: the larger of the sum of amounts and the largest band.
    pub quantity: i64,
    /// Names of the banks, in the order of the configuration.
    pub banks: Vec<String>,
}

/// Best bid and ask over the quotes of each bank, without those of an inverted bank.
pub fn best(config: &Config, shown: &[Option<&Ladder>]) -> [Option<Best>; 2] {
    [true, false].map(|is_bid| {
        let price_of = |band: &super::Band| if is_bid { band.bid } else { band.ask };
        let honest = |ladder: &&Ladder| {
            let bid = ladder.bands.iter().map(|band| band.bid).max();
            let ask = ladder.bands.iter().map(|band| band.ask).min();
            bid.zip(ask).is_none_or(|(bid, ask)| bid <= ask)
        };
        let ladders = shown.iter().map(|ladder| ladder.filter(honest));
        let all: Vec<_> = ladders
            .enumerate()
            .flat_map(|(bank, ladder)| {
                let bands = ladder.map_or(&[][..], |ladder| &ladder.bands[..]);
                bands.iter().map(move |band| (bank, *band))
            })
            .collect();
        let prices = all.iter().map(|(_, band)| price_of(band));
        let price = if is_bid { prices.max() } else { prices.min() }?;
        let (mut sum, mut largest, mut banks) = (0, 0, Vec::new());
        for (bank, band) in all.iter().filter(|(_, band)| price_of(band) == price) {
            match config.banks[*bank].kind {
                Kind::Sweep => sum += band.size,
                Kind::Full => largest = band.size.max(largest),
            }
            let name = &config.banks[*bank].name;
            if !banks.contains(name) {
                banks.push(name.clone());
            }
        }
        Some(Best {
            price,
            quantity: sum.max(largest),
            banks,
        })
    })
}
