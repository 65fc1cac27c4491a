//! Requests after a Logon, in order: the list of instruments, then their market data.

use super::instruments::{Book, Row, Rows};
use super::settings::{Dialect, Settings};
use touchline_wire::fix::{Encoder, tag};

const SECURITY_REQ_ID: u32 = 320;
const SECURITY_LIST_REQUEST_TYPE: u32 = 559;

/// Progress of the download of this connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Not logged on.
    #[default]
    Down,
    /// The list is requested.
    Listing,
    /// Market data is requested, and some answers are missing.
    Asking,
    /// All requests were answered.
    Done,
}

/// Requests all instruments, and notices of later ones.
pub fn security_list(number: u64, request: &mut Encoder<'_>) {
    request
        .unsigned(SECURITY_REQ_ID, number)
        // All securities.
        .unsigned(SECURITY_LIST_REQUEST_TYPE, 4)
        .char(tag::SUBSCRIPTION_REQUEST_TYPE, b'1');
}

/// Marks the next instruments to request with the number of their request; returns their count.
pub fn choose(rows: &mut Rows, number: u64, most: usize) -> usize {
    let is_wanted = |row: &&mut Row| row.book == Book::Unasked && row.is_listed;
    let mut count = 0;
    for row in rows.iter_mut().filter(is_wanted) {
        if row.is_alone && count > 0 {
            continue;
        }
        (row.book, row.request) = (Book::Awaited, number);
        count += 1;
        if row.is_alone || count == most {
            break;
        }
    }
    count
}

/// Subscription type: `b'1'` snapshot and changes, `b'2'` unsubscribe.
pub fn market_data(
    settings: &Settings,
    rows: &Rows,
    number: u64,
    wanted: u8,
    request: &mut Encoder<'_>,
) {
    request
        .unsigned(tag::MD_REQ_ID, number)
        .char(tag::SUBSCRIPTION_REQUEST_TYPE, wanted)
        .unsigned(tag::MARKET_DEPTH, u64::from(settings.depth));
    // Deribit sends changes of complete books only; for a limited depth it sends a snapshot each time.
    let incremental = settings.dialect == Dialect::Standard || settings.depth == 0;
    request.char(tag::MD_UPDATE_TYPE, if incremental { b'1' } else { b'0' });
    for (tag, value) in &settings.request_fields {
        request.bytes(*tag, value);
    }
    let types: &[u8] = if settings.trades { b"012" } else { b"01" };
    request.unsigned(tag::NO_MD_ENTRY_TYPES, types.len() as u64);
    for kind in types {
        request.char(tag::MD_ENTRY_TYPE, *kind);
    }
    let asked = rows.iter().filter(|row| row.request == number);
    request.unsigned(tag::NO_RELATED_SYM, asked.clone().count() as u64);
    for row in asked {
        request.bytes(tag::SYMBOL, row.name.as_bytes());
    }
}

/// Whether every requested instrument was answered.
pub fn is_answered(rows: &Rows) -> bool {
    let is_open = |row: &Row| {
        row.is_listed && matches!(row.book, Book::Unasked | Book::Awaited | Book::Inconsistent)
    };
    !rows.iter().any(is_open)
}
