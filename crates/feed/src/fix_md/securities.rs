//! The venue's list of instruments (35=y) as definitions, and the state of one (35=f).

use super::counters::Counters;
use super::instruments::{Book, Row, Rows};
use super::legs::{self, ListedLegs};
use crate::Output;
use touchline_instruments::{Instruments, Symbols};
use touchline_types::{
    Code, Event, InstrumentDefinition, Legs, OptionRight, Price, Quantity, ReferenceData,
    SecurityType, Symbol, TradingStatus,
};
use touchline_wire::fix::{
    Field, Malformed, Message, decimal, tag, timestamp, unsigned, without_zeros,
};

const CONTRACT_MULTIPLIER: u32 = 231;
const CURRENCY: u32 = 15;
const HALT_REASON: u32 = 327;
const HIGH_LIMIT_PRICE: u32 = 1_149;
const LAST_FRAGMENT: u32 = 893;
const LOW_LIMIT_PRICE: u32 = 1_148;
const MATURITY_DATE: u32 = 541;
const MATURITY_TIME: u32 = 1_079;
const MAX_TRADE_VOL: u32 = 1_140;
const MIN_PRICE_INCREMENT: u32 = 969;
const MIN_TRADE_VOL: u32 = 562;
const PRICE_LIMIT_TYPE: u32 = 1_306;
const PUT_OR_CALL: u32 = 201;
const ROUND_LOT: u32 = 561;
const SECURITY_REQUEST_RESULT: u32 = 560;
const SECURITY_STATUS: u32 = 965;
const SECURITY_TRADING_STATUS: u32 = 326;
const SECURITY_TYPE: u32 = 167;
const SETTLEMENT_CURRENCY: u32 = 120;
const STRIKE_PRICE: u32 = 202;
const TRADE_VOL_TYPE: u32 = 1_786;
const TRANSACT_TIME: u32 = 60;

/// Kind of a list message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The complete list, or its last part.
    Whole,
    /// A part; more follow.
    Part,
    /// The venue rejected the request for the list.
    Refused,
}

/// Fields of one instrument in the list.
#[derive(Clone, Copy, Debug, Default)]
struct Security<'a> {
    symbol: &'a [u8],
    kind: &'a [u8],
    currency: &'a [u8],
    multiplier: &'a [u8],
    tick: &'a [u8],
    lot: &'a [u8],
    quantity_min: &'a [u8],
    quantity_max: &'a [u8],
    /// Unit of the smallest and largest quantity.
    quantity_type: &'a [u8],
    high_limit: &'a [u8],
    low_limit: &'a [u8],
    /// Unit of the price limits.
    limit_type: &'a [u8],
    trading_status: &'a [u8],
    status: &'a [u8],
    legs: ListedLegs<'a>,
    settlement_currency: &'a [u8],
    right: &'a [u8],
    strike: &'a [u8],
    maturity_date: &'a [u8],
    maturity_time: &'a [u8],
}

/// Applies a list, or a part of one: selected instruments are defined. Live books of instruments that were redefined
/// become inconsistent.
///
/// # Errors
/// A field is unreadable; no instrument of the list is defined.
pub fn take(
    message: &Message<'_>,
    rows: &mut Rows,
    chosen: &Symbols,
    counters: &mut Counters,
    out: &mut Output<'_>,
) -> Result<Listed, Malformed> {
    add_selected(message, rows, chosen, out.instruments)?;
    let mut security = Security::default();
    let mut listed = Listed::Whole;
    let mut is_readable = true;
    let mut taken = |security: Security<'_>| {
        if !security.symbol.is_empty() {
            is_readable &= define(&security, rows, chosen, counters, out);
        }
    };
    for field in message.fields() {
        let Field { tag, value } = field?;
        match tag {
            // The first field of each instrument.
            tag::SYMBOL => {
                taken(security);
                security = Security {
                    symbol: value,
                    ..Security::default()
                };
            }
            SECURITY_TYPE => security.kind = value,
            CURRENCY => security.currency = value,
            CONTRACT_MULTIPLIER => security.multiplier = value,
            MIN_PRICE_INCREMENT => security.tick = value,
            ROUND_LOT => security.lot = value,
            MIN_TRADE_VOL => security.quantity_min = value,
            MAX_TRADE_VOL => security.quantity_max = value,
            HIGH_LIMIT_PRICE => security.high_limit = value,
            LOW_LIMIT_PRICE => security.low_limit = value,
            PRICE_LIMIT_TYPE => security.limit_type = value,
            TRADE_VOL_TYPE => security.quantity_type = value,
            SECURITY_TRADING_STATUS => security.trading_status = value,
            SECURITY_STATUS => security.status = value,
            legs::NO_LEGS | legs::LEG_SYMBOL | legs::LEG_SIDE | legs::LEG_RATIO_QTY => {
                security.legs.read(tag, value);
            }
            SETTLEMENT_CURRENCY => security.settlement_currency = value,
            PUT_OR_CALL => security.right = value,
            STRIKE_PRICE => security.strike = value,
            MATURITY_DATE => security.maturity_date = value,
            MATURITY_TIME => security.maturity_time = value,
            SECURITY_REQUEST_RESULT if without_zeros(value) != b"0" => listed = Listed::Refused,
            LAST_FRAGMENT if value == b"N" && listed == Listed::Whole => listed = Listed::Part,
            _ => {}
        }
    }
    taken(security);
    counters.messages_malformed += u64::from(!is_readable);
    fill_in_legs(rows, out);
    Ok(listed)
}

/// Adds all selected instruments of the list, so that a combination may be listed before its legs.
fn add_selected(
    message: &Message<'_>,
    rows: &mut Rows,
    chosen: &Symbols,
    instruments: &mut Instruments,
) -> Result<(), Malformed> {
    for field in message.fields() {
        let Field { tag, value } = field?;
        if let (tag::SYMBOL, Ok(name)) = (tag, std::str::from_utf8(value))
            && chosen.admit(name)
        {
            // `define` counts those that do not fit.
            rows.add(name, instruments);
        }
    }
    Ok(())
}

/// Defines an instrument if it is selected. `false`: its tick, contract size or legs are unreadable, and absent in the
/// definition.
fn define(
    security: &Security<'_>,
    rows: &mut Rows,
    chosen: &Symbols,
    counters: &mut Counters,
    out: &mut Output<'_>,
) -> bool {
    counters.securities += 1;
    let Ok(name) = std::str::from_utf8(security.symbol) else {
        counters.instruments_refused += 1;
        return true;
    };
    if !chosen.admit(name) {
        return true;
    }
    let Some(instrument) = rows.add(name, out.instruments) else {
        counters.instruments_refused += 1;
        return true;
    };
    let multiplier = number(security.multiplier);
    let tick = number(security.tick);
    let legs = security.legs.resolve(out.instruments);
    let is_readable = multiplier.is_ok() && tick.is_ok() && legs.is_ok();
    let legs = legs.unwrap_or(Legs::NONE);
    let row = rows.row_mut(instrument);
    let definition = out.instruments.definition_mut(instrument);
    row.is_listed = true;
    row.missing_legs = security.legs.missing(&legs, chosen);
    let was = (*definition, row.multiplier);
    row.multiplier = multiplier.unwrap_or_default().or(row.multiplier);
    definition.group = Symbol::new(security.kind);
    definition.asset = Symbol::new(security.currency);
    definition.tick = tick.unwrap_or_default().map_or(Price::NULL, Price);
    definition.defined = true;
    definition.reference = ReferenceData {
        multiplier: row.multiplier.map_or(Price::NULL, Price),
        legs,
        ..reference(security, definition)
    };
    publish(was, row, counters, out);
    is_readable
}

/// Publishes the combinations again whose legs are in the table now, and were not when they were listed.
fn fill_in_legs(rows: &mut Rows, out: &mut Output<'_>) {
    for row in rows.iter_mut() {
        let mut legs = out.instruments.definition(row.instrument).reference.legs;
        if row.missing_legs.fill_in(&mut legs, out.instruments) {
            let definition = out.instruments.definition_mut(row.instrument);
            definition.reference.legs = legs;
            push_defined(row, out);
        }
    }
}

/// Publishes the definition of an instrument if it differs from the one before, which is given with the contract size
/// before.
fn publish(
    was: (InstrumentDefinition, Option<i64>),
    row: &mut Row,
    counters: &mut Counters,
    out: &mut Output<'_>,
) {
    let now = (*out.instruments.definition(row.instrument), row.multiplier);
    if now == was {
        return;
    }
    let is_other = is_other(was.1, now.1)
        || is_other(named(was.0.group), named(now.0.group))
        || is_other(named(was.0.asset), named(now.0.asset));
    if is_other && row.was_published {
        counters.instruments_changed += 1;
        empty(row, out);
    }
    if now.0 != was.0 || is_other {
        push_defined(row, out);
    }
}

fn push_defined(row: &Row, out: &mut Output<'_>) {
    out.push(Event::Defined {
        instrument: row.instrument,
        price: row.validity(),
        orders: None,
    });
}

/// Reference data of an instrument in the list. Unreadable fields are absent: none of them affects the meaning of
/// prices and quantities.
fn reference(security: &Security<'_>, definition: &InstrumentDefinition) -> ReferenceData {
    let number = |text: &[u8], decimals: u8| {
        let number = decimal(text).and_then(|number| number.scaled(decimals));
        number.ok().filter(|number| *number != i64::MAX)
    };
    let quantity = |text| {
        let decimals = definition.quantity_exponent.unsigned_abs();
        // Some venues state 0 for "no limit".
        let units = number(text, decimals).filter(|units| *units > 0);
        units.map_or(Quantity::NULL, Quantity)
    };
    // Smallest and largest quantity may be counts of round lots, which the definition does not say.
    let quantity_limit = |text| match without_zeros(security.quantity_type) {
        b"" | b"0" => quantity(text),
        _ => Quantity::NULL,
    };
    let price = |text| number(text, Price::DECIMALS as u8).map_or(Price::NULL, Price);
    // Limits may be ticks or per cent, from a price that the list does not state.
    let price_limit = |text| match without_zeros(security.limit_type) {
        b"" | b"0" => price(text),
        _ => Price::NULL,
    };
    let maturity = maturity_date(security.maturity_date).unwrap_or(0);
    ReferenceData {
        venue: definition.reference.venue,
        security_type: security_type(security.kind),
        currency: Code::new(security.currency).unwrap_or_default(),
        settlement_currency: Code::new(security.settlement_currency).unwrap_or_default(),
        lot: quantity(security.lot),
        quantity_min: quantity_limit(security.quantity_min),
        quantity_max: quantity_limit(security.quantity_max),
        maturity,
        expiry_ns: match maturity {
            0 => 0,
            _ => expiry_ns(security).unwrap_or(0),
        },
        strike: price(security.strike),
        high_limit: price_limit(security.high_limit),
        low_limit: price_limit(security.low_limit),
        status: status_code(security),
        right: match without_zeros(security.right) {
            b"0" => Some(OptionRight::Put),
            b"1" => Some(OptionRight::Call),
            _ => None,
        },
        ..ReferenceData::NULL
    }
}

/// SecurityType (167): FIX 4.4's words, and Deribit's for combinations and indices.
fn security_type(kind: &[u8]) -> Option<SecurityType> {
    Some(match kind {
        b"" => return None,
        b"FUT" => SecurityType::Future,
        b"OPT" => SecurityType::Option,
        b"FUTCO" => SecurityType::FutureSpread,
        b"OPTCO" => SecurityType::OptionSpread,
        b"FXSPOT" => SecurityType::Spot,
        b"FXFWD" | b"FXNDF" => SecurityType::Forward,
        b"CS" | b"PS" => SecurityType::Stock,
        b"REPO" => SecurityType::Repo,
        b"INDEX" => SecurityType::Index,
        _ => SecurityType::Other,
    })
}

/// SecurityTradingStatus (326), or SecurityStatus (965) as the nearest code of it; 255 if absent or unknown.
fn status_code(security: &Security<'_>) -> u8 {
    const READY_TO_TRADE: u8 = 17;
    const NOT_AVAILABLE: u8 = 18;
    let stated = unsigned(security.trading_status).ok();
    if let Some(code) = stated.and_then(|code| u8::try_from(code).ok()) {
        return code;
    }
    match security.status {
        b"1" => READY_TO_TRADE,
        // Inactive, expired, delisted, suspended, published; Deribit: 12 is archived.
        b"2" | b"4" | b"5" | b"9" | b"10" | b"12" => NOT_AVAILABLE,
        _ => u8::MAX,
    }
}

/// MaturityDate (541), `YYYYMMDD`, as a number.
fn maturity_date(text: &[u8]) -> Option<u32> {
    let digits: &[u8; 8] = text.try_into().ok()?;
    u32::try_from(unsigned(digits).ok()?).ok()
}

/// End of trading: MaturityDate (541) with MaturityTime (1079), whose first eight characters are a UTC time of day if
/// `Z` or nothing follows them. Without a time the end is absent.
fn expiry_ns(security: &Security<'_>) -> Option<u64> {
    let (time, zone) = security.maturity_time.split_at_checked(8)?;
    if !matches!(zone, b"" | b"Z") {
        return None;
    }
    let mut text = [b'-'; 17];
    text[..8].copy_from_slice(security.maturity_date.get(..8)?);
    text[9..].copy_from_slice(time);
    timestamp(&text).ok()
}

/// Whether a redefinition changes the meaning of the book's prices or quantities. The tick does not: prices are
/// integers in fixed units, and not counts of ticks.
fn is_other<T: PartialEq>(was: Option<T>, now: Option<T>) -> bool {
    matches!((was, now), (Some(was), Some(now)) if was != now)
}

fn named(symbol: Symbol) -> Option<Symbol> {
    (!symbol.is_empty()).then_some(symbol)
}

/// The published book has another meaning under the new definition.
fn empty(row: &mut Row, out: &mut Output<'_>) {
    row.was_published = false;
    row.quotes.clear();
    if row.book == Book::Live {
        row.book = Book::Inconsistent;
    }
    out.push(Event::BookLost(row.instrument, row.validity()));
}

/// A number as a count of 1e-9; `None` if absent.
fn number(text: &[u8]) -> Result<Option<i64>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = decimal(text)?.scaled(Price::DECIMALS as u8)?;
    Ok(Some(number))
}

/// Publishes the venue's state of an instrument (35=f).
///
/// # Errors
/// A field is unreadable.
pub fn status(
    message: &Message<'_>,
    counters: &mut Counters,
    out: &mut Output<'_>,
) -> Result<(), Malformed> {
    // Codes that are absent or out of range.
    let mut status = TradingStatus {
        instrument: None,
        group: [0; 6],
        status: 255,
        reason: 255,
        event: 255,
    };
    let mut begun_ns = 0;
    let code = |value| unsigned(value).map(|code| u8::try_from(code).unwrap_or(255));
    for field in message.fields() {
        let Field { tag, value } = field?;
        match tag {
            tag::SYMBOL => {
                status.instrument = out.instruments.find_symbol(value);
            }
            SECURITY_TRADING_STATUS => status.status = code(value)?,
            HALT_REASON => status.reason = code(value).unwrap_or(255),
            TRANSACT_TIME => begun_ns = timestamp(value).unwrap_or(0),
            _ => {}
        }
    }
    match status.instrument {
        Some(_) => out.push(Event::Status(status, begun_ns)),
        None => counters.messages_unasked += 1,
    }
    Ok(())
}
