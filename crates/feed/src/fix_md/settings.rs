//! Settings of a feed.

use touchline_instruments::Symbols;
use touchline_session::Secret;
use touchline_session::fix;
use touchline_types::Code;

/// Rules of the venue where the standard leaves a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Deribit: a Logon with a proof instead of a password, a list of instruments, and levels identified by their
    /// price.
    Deribit,
    /// Other venues: the instruments come from the configuration.
    Standard,
}

/// One market data session.
#[derive(Debug)]
pub struct Settings {
    /// Settings of the session.
    pub session: fix::Settings,
    /// Rules of the venue.
    pub dialect: Dialect,
    /// Selected instruments of the venue's list.
    pub chosen: Symbols,
    /// Instruments that are requested without a list of the venue.
    pub symbols: Vec<String>,
    /// MarketDepth (264), levels a side; 0 is every level.
    pub depth: u32,
    /// Whether trades are requested.
    pub trades: bool,
    /// Instruments of one request to Deribit, at least 1; at other venues each is requested by itself.
    pub symbols_per_request: usize,
    /// Most instruments.
    pub instruments_max: usize,
    /// Username (553).
    pub user: Option<String>,
    /// Password (554), or the secret that the proof is computed from.
    pub password: Option<Secret>,
    /// Source of nonces: 32 unpredictable bytes.
    pub entropy: Secret,
    /// Further fields of the Logon.
    pub logon_fields: Vec<(u32, Vec<u8>)>,
    /// Further fields of each MarketDataRequest.
    pub request_fields: Vec<(u32, Vec<u8>)>,
    /// Feed timeout: books are published as stale after this long without a byte from the venue.
    pub stale_ns: u64,
}

impl Settings {
    /// Venue name in every definition. For a venue of the standard it is the TargetCompID (56), truncated to the field.
    #[must_use]
    pub fn venue(&self) -> Code {
        match self.dialect {
            Dialect::Deribit => Code::lossy(b"deribit"),
            Dialect::Standard => Code::lossy(self.session.target.as_bytes()),
        }
    }
}
