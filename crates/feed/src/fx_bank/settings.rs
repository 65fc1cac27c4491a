//! Settings of the feed.

use touchline_fx::config as fx;
use touchline_fx::{BankStream, Setup};
use touchline_fx_days::{Hours, Rolls};
use touchline_session::Secret;
use touchline_session::fix::{self, Application, ApplicationId, ResendPolicy};
use touchline_settings::Mistakes;
use touchline_types::Code;

/// Messages of a pricing session: received quotes and sent requests. Old requests are gap-filled, not resent.
pub const APPLICATION: Application<'static> = Application {
    id: ApplicationId(0),
    receives: &[b"W", b"X", b"S", b"i", b"Z", b"AI", b"Y", b"AG", b"j"],
    sends: &[b"V", b"R", b"b"],
    resend: ResendPolicy::GapFill,
};

/// Request for a bank's quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// MarketDataRequest (V) for snapshots.
    Snapshots,
    /// MarketDataRequest (V) for snapshots and increments, or for mass quotes.
    Increments,
    /// QuoteRequest (R).
    Quotes,
}

/// A pair of the bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// `EUR/USD`.
    pub symbol: String,
    /// Decimals of a tick.
    pub precision: u8,
    /// Spot value date, `YYYYMMDD`: quotes for another date are rejected. Empty: that of the calendars.
    pub spot_date: String,
}

/// Meaning and lifetime of a bank's quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The pairs, in the bank's order: mass quotes identify a pair by its index.
    pub pairs: Vec<Pair>,
    /// Whether the quotes are bands, each for its whole size.
    pub is_full: bool,
    /// Minimum order quantity for quotes that state none, base units.
    pub min_qty: u64,
    /// Age of a pair's last quote message at which its quotes are unusable, milliseconds; 0 disables it.
    pub stale_ms: u64,
    /// Feed timeout, milliseconds; 0 disables it.
    pub silence_ms: u64,
    /// Lifetime of a quote from its receipt, milliseconds; 0 is unlimited.
    pub ttl_ms: u64,
    /// Whether spot dates follow from calendars.
    pub has_calendars: bool,
}

impl Rules {
    /// The empty books of a bank with these rules.
    ///
    /// # Errors
    /// A pair is invalid; the text names it.
    pub fn stream(&self, bank: &str) -> Result<BankStream, Mistakes> {
        let pair = |pair: &Pair| fx::PairConfig {
            // No sizes: the composer computes the prices for sizes.
            lot: 1,
            sizes: Vec::new(),
            ..fx::PairConfig::new(&pair.symbol, pair.precision, &pair.spot_date)
        };
        let bank = fx::BankConfig {
            pairs: self.pairs.iter().map(|pair| pair.symbol.clone()).collect(),
            kind: match self.is_full {
                true => fx::StreamKind::Full,
                false => fx::StreamKind::Sweep,
            },
            min_qty: self.min_qty as i64,
            stale_ms: self.stale_ms,
            silence_ms: self.silence_ms,
            ttl_ms: self.ttl_ms,
            ..fx::BankConfig::new(bank)
        };
        let setup = Setup::new(fx::Config {
            pairs: self.pairs.iter().map(pair).collect(),
            banks: vec![bank],
            has_calendars: self.has_calendars,
            ..fx::Config::of_prices()
        })?;
        Ok(BankStream::new(setup))
    }
}

/// When both numbers begin again at 1, with ResetSeqNumFlag (141=Y).
#[derive(Debug, Clone, Default)]
pub enum Reset {
    /// With each Logon.
    #[default]
    Logon,
    /// With the first Logon of the process that the bank accepts.
    Run,
    /// With the first Logon of each session of these hours that the bank accepts.
    Session(Hours),
}

/// One bank's pricing session.
#[derive(Debug)]
pub struct Settings {
    /// Settings of the session.
    pub session: fix::Settings,
    /// When its numbers begin again.
    pub reset: Reset,
    /// Name of the bank in published quotes.
    pub bank: Code,
    /// Its empty books, of [`Rules::stream`].
    pub stream: BankStream,
    /// Calendars of its pairs, in their order.
    pub rolls: Option<Rolls>,
    /// How quotes are requested.
    pub request: Request,
    /// MarketDepth (264): 0 for a ladder, 1 for bands.
    pub depth: u32,
    /// Sizes that are requested separately (38), base units; empty: one request for the whole ladder.
    pub bands: Vec<u64>,
    /// Levels a side of the bank's own book.
    pub levels_max: usize,
    /// Interval at which all quotes are published again, for readers that join.
    pub snapshot_ns: u64,
    /// Username (553).
    pub user: Option<String>,
    /// Password (554).
    pub password: Option<Secret>,
    /// Further fields of the Logon.
    pub logon_fields: Vec<(u32, Vec<u8>)>,
    /// Further fields of each request.
    pub request_fields: Vec<(u32, Vec<u8>)>,
    /// Most instruments.
    pub instruments_max: usize,
    /// Maximum size of a received message, bytes.
    pub message_bytes_max: usize,
}
