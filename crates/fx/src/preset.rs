//! Guards for the usual pairs: none of them means off. `touchline fx preset` prints them for a configuration.

use std::fmt::Write;

/// Guards of a pair.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Currency pair.
    pub symbol: &'static str,
    /// Decimals of a tick.
    pub precision: u8,
    /// Largest distance of a traded price from the reference, ticks: about half a percent.
    pub collar_ticks: i64,
    /// Largest excess of the best bid over the best ask, ticks.
    pub crossed_max_ticks: i64,
    /// Distance from the reference beyond which a bank is off the market, ticks.
    pub off_market_ticks: i64,
    /// Largest parent, base units.
    pub max_order: i64,
    /// Largest worst case, base units.
    pub max_net: i64,
    /// Dollars of one base unit, millionths, for limits.
    pub usd_e6: i64,
}

/// Largest parent and largest worst case of a preset, base units.
pub const MAX_ORDER: i64 = 25_000_000;
/// See [`MAX_ORDER`].
pub const MAX_NET: i64 = 100_000_000;

const fn preset(
    symbol: &'static str,
    precision: u8,
    [collar_ticks, crossed_max_ticks, off_market_ticks]: [i64; 3],
    usd_e6: i64,
) -> Preset {
    Preset {
        symbol,
        precision,
        collar_ticks,
        crossed_max_ticks,
        off_market_ticks,
        max_order: MAX_ORDER,
        max_net: MAX_NET,
        usd_e6,
    }
}

/// The presets, by turnover of the pairs.
pub const PRESETS: [Preset; 15] = [
    preset("EUR/USD", 5, [500, 50, 250], 1_150_000),
    preset("USD/JPY", 3, [700, 70, 350], 1_000_000),
    preset("GBP/USD", 5, [650, 65, 325], 1_320_000),
    preset("USD/CNH", 5, [3_500, 350, 1_750], 1_000_000),
    preset("USD/CAD", 5, [700, 70, 350], 1_000_000),
    preset("AUD/USD", 5, [350, 35, 175], 660_000),
    preset("USD/CHF", 5, [400, 40, 200], 1_000_000),
    preset("NZD/USD", 5, [300, 30, 150], 590_000),
    preset("USD/SGD", 5, [650, 65, 325], 1_000_000),
    preset("USD/SEK", 5, [5_000, 500, 2_500], 1_000_000),
    preset("USD/NOK", 5, [5_000, 500, 2_500], 1_000_000),
    preset("EUR/GBP", 5, [450, 45, 225], 1_150_000),
    preset("EUR/JPY", 3, [850, 85, 425], 1_150_000),
    preset("EUR/CHF", 5, [470, 47, 235], 1_150_000),
    preset("GBP/JPY", 3, [1_000, 100, 500], 1_320_000),
];

impl Preset {
    /// The preset of a pair.
    pub fn of(symbol: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.symbol == symbol)
    }

    /// Guards of a pair that has no preset, from its present mid, ticks.
    pub fn around(mid_ticks: i64) -> [i64; 3] {
        [200, 2_000, 400].map(|part| (mid_ticks / part).clamp(1, 999_999))
    }

    /// A section of a configuration; its `spot_date` is left to the writer.
    pub fn toml(&self) -> String {
        let mut text = format!(
            "[[pairs]]\nsymbol = \"{}\"\nprecision = {}\nspot_date = \"YYYYMMDD\"\n",
            self.symbol, self.precision
        );
        // Writing into a string does not fail.
        let _ = write!(
            text,
            "collar_ticks = {}\ncrossed_max_ticks = {}\noff_market_ticks = {}\nmax_order = {}\nmax_net = {}\nusd_e6 = {}\n",
            self.collar_ticks,
            self.crossed_max_ticks,
            self.off_market_ticks,
            self.max_order,
            self.max_net,
            self.usd_e6
        );
        text
    }
}

/// Guards of `[risk]`, for `touchline fx preset`; the names are left to the writer.
pub const RISK: &str = "\
[risk]
max_gross_usd = 250000000
duplicate_ms = 100
kill_unknown = 20
kill_rejects_per_s = 50
kill_lifters = [\"NAME\", \"ANOTHER\"]
bookers = [\"NAME\", \"ANOTHER\"]
reference_ttl_ms = 60000
without_reference = \"wait\"
";

/// Guards of a bank, for `touchline fx preset`.
pub const BANK: &str = "\
[[banks]]
stale_ms = 5000
silence_ms = 3500
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guards::{Scope, check, off};

    /// The printed presets state all guards, and none is off.
    #[test]
    fn presets_state_all_guards_and_none_means_off() {
        let pairs: String = PRESETS.iter().map(Preset::toml).collect();
        let text = format!("{RISK}{pairs}{BANK}[[sessions]]\n");
        assert_eq!(check(&text, Scope::Engine).none_or(()), Ok(()));
        assert_eq!(off(&text), Vec::<String>::new());
        let [collar, crossed, off_market] = Preset::around(110_000);
        assert_eq!([collar, crossed, off_market], [550, 55, 275]);
        assert_eq!(Preset::around(1_000_000_000), [999_999, 500_000, 999_999]);
    }
}
