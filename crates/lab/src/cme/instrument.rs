//! Instruments of a session: sparse ascending ids, all depths and kinds of tick.

use crate::cme::encode::Version;
use crate::random::Random;

/// One instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// SecurityID.
    pub security_id: i32,
    /// Symbol.
    pub symbol: String,
    /// Kind of definition message.
    pub kind: Kind,
    /// MinPriceIncrement, 1e-9.
    pub tick: i64,
    /// Initial price of its market, 1e-9.
    pub price: i64,
    /// MarketDepth of feed type GBX; not listed if `None`, which means ten.
    pub listed_depth: Option<u8>,
    /// MarketDepth of feed type GBI; not listed if `None`, and then the instrument has no implied book.
    pub listed_implied_depth: Option<u8>,
    /// DisplayFactor, 1e-9.
    pub display_factor: i64,
    /// Needs the wide templates for its quantities.
    pub wide: bool,
    /// Kind of activity.
    pub activity: Activity,
}

/// Kind of definition message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 54.
    Future,
    /// 55.
    Option,
    /// 56; its prices may be negative.
    Spread,
}

/// Kind of activity of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Orders and trades.
    Traded,
    /// Mostly price limits, which are entries with a RptSeq and without a price; occasional orders and trades.
    Limits,
    /// Mostly inactive; occasional orders and trades.
    Quiet,
}

/// Price increments, 1e-9: a quarter, a cent, half a pip, one, 1/128.
const TICKS: [i64; 5] = [250_000_000, 10_000_000, 50_000, 1_000_000_000, 7_812_500];
/// Tick of wide instruments: quantities are amounts of a currency and prices are rates, so half a pip.
const WIDE_TICK: i64 = 50_000;
/// Listed depths, cycled through; `None` is not listed.
const DEPTHS: [Option<u8>; 5] = [Some(10), Some(1), Some(3), Some(5), None];

impl Instrument {
    /// Depth of the direct book.
    pub fn depth(&self) -> usize {
        self.listed_depth.map_or(10, usize::from)
    }

    /// Largest distance of its prices from [`price`](Self::price), 1e-9: a spread stays near zero, and other prices
    /// stay away from it.
    pub fn reach(&self) -> i64 {
        match self.kind {
            Kind::Spread => 20 * self.tick,
            _ => 400 * self.tick,
        }
    }

    /// Depth of the implied book.
    pub fn implied_depth(&self) -> usize {
        self.listed_implied_depth.map_or(2, usize::from)
    }
}

/// Instruments of a session, by ascending id.
pub fn generate(count: usize, version: Version, random: &mut Random) -> Vec<Instrument> {
    let mut security_id = 1_000;
    let instruments = (0..count).map(|index| {
        security_id += random.between(3, 60) as i32;
        let kind = match index % 5 {
            3 => Kind::Spread,
            4 => Kind::Option,
            _ => Kind::Future,
        };
        let wide = version == Version::V13 && index % 4 == 2;
        let tick = match TICKS[random.index(TICKS.len())] {
            _ if wide => WIDE_TICK,
            tick => tick,
        };
        let price = match kind {
            // Spreads are priced around zero, so half of their prices are negative.
            Kind::Spread => -tick,
            _ => tick * random.between(1_000, 20_000),
        };
        Instrument {
            security_id,
            symbol: format!("ZQ{}{}", char::from(b'A' + (index % 26) as u8), index / 26),
            kind,
            tick,
            price,
            listed_depth: DEPTHS[index % DEPTHS.len()],
            listed_implied_depth: (index % 3 != 1).then_some(2),
            display_factor: 1_000_000_000,
            wide,
            activity: match index % 8 {
                6 => Activity::Quiet,
                7 => Activity::Limits,
                _ => Activity::Traded,
            },
        }
    });
    instruments.collect()
}
