//! Settings of a feed.

use touchline_instruments::Symbols;
use touchline_session::Secret;
use touchline_session::fix;
use touchline_types::Code;

/// Whose rules apply where the standard leaves room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Deribit's: a Logon with a proof in place of a password, a list of instruments, levels named by
    /// their price.
    Deribit,
    /// Everybody else's: the instruments are those of the configuration.
    Standard,
}

/// One session that brings market data.
#[derive(Debug)]
pub struct Settings {
    /// The session under it.
    pub session: fix::Settings,
    /// Whose rules apply.
    pub dialect: Dialect,
    /// Which instruments of the venue's list are wanted.
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
    /// Password (554), or what its place is computed from.
    pub password: Option<Secret>,
    /// Source of nonces: 32 unpredictable bytes.
    pub entropy: Secret,
    /// Further fields of the Logon.
    pub logon_fields: Vec<(u32, Vec<u8>)>,
    /// Further fields of each MarketDataRequest.
    pub request_fields: Vec<(u32, Vec<u8>)>,
    /// Books are shown as stale after so long without a byte from the venue.
    pub stale_ns: u64,
}

impl Settings {
    /// The venue's name in every definition. A venue of the standard has that of its TargetCompID (56), as far as it
    /// fits.
    #[must_use]
    pub fn venue(&self) -> Code {
        match self.dialect {
            Dialect::Deribit => Code::lossy(b"deribit"),
            Dialect::Standard => Code::lossy(self.session.target.as_bytes()),
        }
    }
}
