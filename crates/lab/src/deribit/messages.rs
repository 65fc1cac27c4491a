//! Bodies of the exchange's messages, field by field in the venue's order.

use super::market::{Action, Book, Change, Instrument, Market, Side, Trade, best};
use super::request::{MD_REQ_REJ_REASON, SECURITY_REQ_ID};
use touchline_wire::fix::{Encoder, Precision, tag};

const NO_RELATED_SYM: u32 = 146;
const TRADE_VOLUME_24H: u32 = 100_087;
const MARK_PRICE: u32 = 100_090;
const OPEN_INTEREST: u32 = 746;
const CONTRACT_MULTIPLIER: u32 = 231;
const TRADE_ID: u32 = 100_009;
const SECURITY_STATUS: u32 = 965;
const PUT_OR_CALL: u32 = 201;
const STRIKE_PRICE: u32 = 202;
const MATURITY_DATE: u32 = 541;
const MATURITY_TIME: u32 = 1_079;
const NO_LEGS: u32 = 555;
const LEG_SYMBOL: u32 = 600;
const LEG_RATIO_QTY: u32 = 623;

/// Decimals of every price and quantity.
const DECIMALS: u8 = 4;

/// SecurityList (y): all listed instruments. `ticks` tells whether increments of price and quantity are known.
pub fn security_list<'a>(
    body: &mut Encoder<'_>,
    id: &[u8],
    response: u64,
    instruments: impl ExactSizeIterator<Item = Listed<'a>>,
) {
    body.bytes(SECURITY_REQ_ID, id)
        .unsigned(322, response)
        .char(560, b'0')
        .unsigned(NO_RELATED_SYM, instruments.len() as u64);
    for listed in instruments {
        match listed {
            Listed::Known(instrument) => security(body, instrument),
            Listed::Name(symbol) => {
                body.bytes(tag::SYMBOL, symbol);
            }
        }
    }
}

/// Listed instrument.
#[derive(Clone, Copy, Debug)]
pub enum Listed<'a> {
    /// All fields are known.
    Known(&'a Instrument),
    /// Only the name, from a recording.
    Name(&'a [u8]),
}

fn security(body: &mut Encoder<'_>, instrument: &Instrument) {
    let (description, precision) = match instrument.kind {
        "OPT" => ("option", 4),
        "OPTCO" => ("option_combo", 4),
        _ => ("future", 2),
    };
    body.bytes(tag::SYMBOL, instrument.symbol.as_bytes())
        .bytes(107, description.as_bytes())
        .bytes(167, instrument.kind.as_bytes())
        .bytes(15, instrument.currency.as_bytes())
        .unsigned(2_576, precision)
        .decimal(969, instrument.tick / 100_000, DECIMALS)
        .decimal(562, instrument.lot / 10_000, DECIMALS)
        .decimal(CONTRACT_MULTIPLIER, instrument.multiplier, DECIMALS)
        .char(SECURITY_STATUS, b'1');
    if let Some((right, strike)) = instrument.option {
        body.unsigned(PUT_OR_CALL, right as u64)
            .unsigned(STRIKE_PRICE, strike)
            .bytes(MATURITY_DATE, b"20271231")
            .bytes(MATURITY_TIME, b"08:00:00");
    }
    if !instrument.legs.is_empty() {
        body.unsigned(NO_LEGS, instrument.legs.len() as u64);
        for (symbol, ratio) in &instrument.legs {
            body.bytes(LEG_SYMBOL, symbol.as_bytes())
                .decimal(LEG_RATIO_QTY, *ratio, 0);
        }
    }
}

/// Common head of both kinds of market data.
fn head(body: &mut Encoder<'_>, instrument: &Instrument, book: &Book, happened: u32) {
    let middle = |side| best(book, side).next().map_or(0, |(price, _)| price);
    let mark = (middle(Side::Bid) + middle(Side::Offer)) * instrument.tick / 2;
    body.decimal(TRADE_VOLUME_24H, i64::from(happened) * 10_000, DECIMALS)
        .decimal(MARK_PRICE, mark / 100_000, DECIMALS)
        .decimal(OPEN_INTEREST, 80_000_000_000, DECIMALS);
}

/// Market Data - Snapshot/Full Refresh (W): a book, `depth` levels a side; every level if it is 0.
pub fn snapshot(
    body: &mut Encoder<'_>,
    market: &Market,
    place: usize,
    id: &[u8],
    depth: u64,
    now_ns: u64,
) {
    let (instrument, book) = (&market.instruments()[place], &market.books()[place]);
    let most = if depth == 0 {
        usize::MAX
    } else {
        depth as usize
    };
    body.bytes(tag::SYMBOL, instrument.symbol.as_bytes())
        .decimal(CONTRACT_MULTIPLIER, instrument.multiplier, DECIMALS);
    head(body, instrument, book, market.happened());
    let count: usize = [Side::Bid, Side::Offer]
        .iter()
        .map(|side| book.levels(*side).len().min(most))
        .sum();
    body.bytes(tag::MD_REQ_ID, id)
        .unsigned(tag::NO_MD_ENTRIES, count as u64);
    for side in [Side::Bid, Side::Offer] {
        for (price, lots) in best(book, side).take(most) {
            body.char(tag::MD_ENTRY_TYPE, entry_type(side));
            level(body, instrument, price, lots, now_ns);
        }
    }
}

/// Market Data - Incremental Refresh (X): levels that changed together.
pub fn changes(
    body: &mut Encoder<'_>,
    market: &Market,
    place: usize,
    id: &[u8],
    changes: &[&Change],
    now_ns: u64,
) {
    let instrument = &market.instruments()[place];
    body.bytes(tag::SYMBOL, instrument.symbol.as_bytes());
    head(body, instrument, &market.books()[place], market.happened());
    body.bytes(tag::MD_REQ_ID, id)
        .unsigned(tag::NO_MD_ENTRIES, changes.len() as u64);
    for change in changes {
        let action = match change.action {
            Action::New => b'0',
            Action::Change => b'1',
            Action::Delete => b'2',
        };
        body.char(tag::MD_UPDATE_ACTION, action)
            .char(tag::MD_ENTRY_TYPE, entry_type(change.side));
        level(body, instrument, change.price, change.quantity, now_ns);
    }
}

/// Market Data - Incremental Refresh (X): trades.
pub fn trades(body: &mut Encoder<'_>, instrument: &Instrument, trades: &[Trade], now_ns: u64) {
    body.bytes(tag::SYMBOL, instrument.symbol.as_bytes())
        .unsigned(tag::NO_MD_ENTRIES, trades.len() as u64);
    for trade in trades {
        body.char(tag::MD_UPDATE_ACTION, b'0')
            .char(tag::MD_ENTRY_TYPE, b'2');
        level(body, instrument, trade.price, trade.quantity, now_ns);
        let side = if trade.taker == Side::Bid { b'1' } else { b'2' };
        body.unsigned(TRADE_ID, trade.id)
            .char(54, side)
            .char(37, b'0')
            .char(198, b'0')
            .char(39, b'2');
    }
}

fn entry_type(side: Side) -> u8 {
    match side {
        Side::Bid => b'0',
        Side::Offer => b'1',
    }
}

fn level(body: &mut Encoder<'_>, instrument: &Instrument, price: i64, lots: i64, now_ns: u64) {
    body.decimal(
        tag::MD_ENTRY_PX,
        price * instrument.tick / 100_000,
        DECIMALS,
    )
    .decimal(tag::MD_ENTRY_SIZE, lots * instrument.lot / 10_000, DECIMALS)
    .timestamp(tag::MD_ENTRY_DATE, now_ns, Precision::Milliseconds);
}

/// Market Data Request Reject (Y).
pub fn refusal(body: &mut Encoder<'_>, id: &[u8], reason: u8, text: &str) {
    body.bytes(tag::MD_REQ_ID, id)
        .char(MD_REQ_REJ_REASON, reason)
        .bytes(tag::TEXT, text.as_bytes());
}

/// Business Message Reject (j): a message of this type is not served.
pub fn unsupported(body: &mut Encoder<'_>, msg_type: &[u8]) {
    body.bytes(tag::REF_MSG_TYPE, msg_type)
        .char(tag::BUSINESS_REJECT_REASON, b'3')
        .bytes(tag::TEXT, b"this exchange serves market data only");
}
