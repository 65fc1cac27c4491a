//! Names of the generated markets of the benchmarks.

use touchline_lab::bench::market::Market;
use touchline_lab::cme::crowded;

/// A generated market.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum MarketName {
    /// Ten instruments of all kinds, with trades and statistics: 399 bytes a packet.
    Mixed,
    /// As OnixS describes channel 360: 4,069 instruments, 429 bytes, 794 orders a book.
    #[value(name = "channel-360")]
    Channel360,
    /// As OnixS describes channel 384: 1,905 instruments, 178 bytes, 270 orders a book.
    #[value(name = "channel-384")]
    Channel384,
    /// A million orders in 2,000 books.
    MillionOrders,
}

impl MarketName {
    pub fn market(self) -> Market {
        match self {
            MarketName::Mixed => Market::Mixed,
            MarketName::Channel360 => Market::Crowded(crowded::CHANNEL_360),
            MarketName::Channel384 => Market::Crowded(crowded::CHANNEL_384),
            MarketName::MillionOrders => Market::Crowded(crowded::MILLION_ORDERS),
        }
    }
}
