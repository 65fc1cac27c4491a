//! Requests for a bank's quotes: one for each pair, or for each size of a pair.

use super::settings::{Request, Settings};
use touchline_fx_events::setup::Pair;
use touchline_wire::fix::{Encoder, tag};

/// Prefix of our request ids.
const PREFIX: &str = "TL-";

/// Requests: their number, and the content of each.
#[derive(Debug, Clone, Copy)]
pub struct Requests {
    pairs: usize,
    bands: usize,
}

impl Requests {
    pub fn new(settings: &Settings) -> Requests {
        Requests {
            pairs: settings.stream.setup().pairs.len(),
            bands: settings.bands.len().max(1),
        }
    }

    /// Number of requests.
    pub fn count(self) -> usize {
        self.pairs * self.bands
    }

    /// Pair of one of our request ids.
    pub fn pair_of(self, id: &[u8]) -> Option<Pair> {
        let number = std::str::from_utf8(id).ok()?.strip_prefix(PREFIX)?;
        let number: usize = number.parse().ok()?;
        let number = number.checked_sub(1)?;
        (number < self.count()).then(|| number / self.bands)
    }

    /// Message type of the requests.
    pub fn msg_type(settings: &Settings) -> &'static [u8] {
        match settings.request {
            Request::Quotes => b"R",
            Request::Snapshots | Request::Increments => b"V",
        }
    }

    /// Writes the body of a request, by its number from 0.
    pub fn write(self, number: usize, settings: &Settings, body: &mut Encoder<'_>) {
        let (pair, band) = (number / self.bands, number % self.bands);
        let symbol = settings.stream.setup().pairs[pair].config.symbol.as_bytes();
        let id = format!("{PREFIX}{}", number + 1);
        let size = settings.bands.get(band);
        match settings.request {
            Request::Quotes => {
                body.bytes(tag::QUOTE_REQ_ID, id.as_bytes())
                    .unsigned(tag::NO_RELATED_SYM, 1)
                    .bytes(tag::SYMBOL, symbol)
                    // QuoteRequestType: automatic. QuoteType: tradeable.
                    .unsigned(tag::QUOTE_REQUEST_TYPE, 2)
                    .unsigned(tag::QUOTE_TYPE, 1);
            }
            Request::Snapshots | Request::Increments => {
                let increments = settings.request == Request::Increments;
                body.bytes(tag::MD_REQ_ID, id.as_bytes())
                    .char(tag::SUBSCRIPTION_REQUEST_TYPE, b'1')
                    .unsigned(tag::MARKET_DEPTH, u64::from(settings.depth))
                    .unsigned(tag::MD_UPDATE_TYPE, u64::from(increments))
                    .unsigned(tag::NO_MD_ENTRY_TYPES, 2)
                    .char(tag::MD_ENTRY_TYPE, b'0')
                    .char(tag::MD_ENTRY_TYPE, b'1')
                    .unsigned(tag::NO_RELATED_SYM, 1)
                    .bytes(tag::SYMBOL, symbol);
            }
        }
        if let Some(size) = size {
            body.unsigned(tag::ORDER_QTY, *size);
        }
        for (tag, value) in &settings.request_fields {
            body.bytes(*tag, value);
        }
    }
}
