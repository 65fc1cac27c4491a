//! Requests of clients.

use super::credentials::Proof;
use touchline_wire::fix::{Message, tag, unsigned};

pub const SECURITY_REQ_ID: u32 = 320;
pub const MD_REQ_REJ_REASON: u32 = 281;

/// A message of a client.
#[derive(Clone, Debug)]
pub enum Request {
    /// Logon (A).
    Logon(Proof),
    /// SecurityListRequest (x), with its id.
    SecurityList(Vec<u8>),
    /// MarketDataRequest (V).
    MarketData(MarketData),
    /// Any other message, with its type.
    Other(Vec<u8>),
}

/// MarketDataRequest (V).
#[derive(Clone, Debug, Default)]
pub struct MarketData {
    /// MDReqID (262).
    pub id: Vec<u8>,
    /// SubscriptionRequestType (263): 0 snapshot, 1 snapshot and updates, 2 no more.
    pub kind: u8,
    /// MarketDepth (264); 0 is every level.
    pub depth: u64,
    /// MDUpdateType (265): 0 whole books, 1 changes.
    pub update: Option<u8>,
    /// MDEntryType (269) of each entry.
    pub entries: Vec<u8>,
    /// Symbol (55) of each instrument.
    pub symbols: Vec<Vec<u8>>,
}

impl Request {
    /// Reads an application message.
    pub fn read(message: &Message<'_>) -> Request {
        match message.msg_type() {
            b"x" => Request::SecurityList(value(message, SECURITY_REQ_ID)),
            b"V" => Request::MarketData(MarketData::read(message)),
            other => Request::Other(other.to_vec()),
        }
    }

    /// Reads a Logon.
    pub fn logon(message: &Message<'_>) -> Request {
        Request::Logon(Proof {
            user: value(message, tag::USERNAME),
            password: value(message, tag::PASSWORD).into(),
            raw_data: value(message, tag::RAW_DATA),
        })
    }
}

impl MarketData {
    fn read(message: &Message<'_>) -> MarketData {
        let mut request = MarketData::default();
        let char = |value: &[u8]| value.first().copied().filter(|_| value.len() == 1);
        for field in message.fields().map_while(Result::ok) {
            match field.tag {
                tag::MD_REQ_ID => request.id = field.value.to_vec(),
                tag::SUBSCRIPTION_REQUEST_TYPE => request.kind = char(field.value).unwrap_or(0),
                tag::MARKET_DEPTH => request.depth = unsigned(field.value).unwrap_or(u64::MAX),
                tag::MD_UPDATE_TYPE => request.update = Some(char(field.value).unwrap_or(0)),
                tag::MD_ENTRY_TYPE => request.entries.push(char(field.value).unwrap_or(0)),
                tag::SYMBOL => request.symbols.push(field.value.to_vec()),
                _ => {}
            }
        }
        request
    }
}

/// Value of the first field of a tag; empty if absent.
fn value(message: &Message<'_>, tag: u32) -> Vec<u8> {
    let mut fields = message.fields().map_while(Result::ok);
    let found = fields.find(|field| field.tag == tag);
    found.map_or_else(Vec::new, |field| field.value.to_vec())
}
