//! Commands of the desk, as JSON objects.

use crate::config::PairConfig;
use crate::desk_trades::{DeskTrade, NAME_MAX};
use crate::input::{Desk, ParentRequest};
use crate::parents::{Lifetime, ParentTerms};
use crate::plan::Style;
use crate::setup::{PARENT_ID_MAX, Pair, Setup};
use crate::ticks;
use serde_json::{Map, Value};
use thiserror::Error;
use touchline_types::{Id, Side};

/// Invalid command. A parent with invalid terms is not an error: the parent is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeskError {
    /// Not a JSON object.
    #[error(
        "not a JSON object of the desk (column {column}); give a command, as {{\"op\":\"end\"}}"
    )]
    Json {
        /// Column of the error, from 1.
        column: usize,
    },
    /// No known `op`.
    #[error(
        "'{0}' is not a command; give parent, cancel, kill, lift, enable, resolve, book, restart, reboot or end"
    )]
    Op(String),
}

/// Why the terms of a parent are invalid: the field, its value, and what it may be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadOrder {
    /// Its name.
    #[error("id: 1 to {PARENT_ID_MAX} bytes of printable text are required")]
    Id,
    /// A pair that is not configured.
    #[error("pair {given} is not configured; the pairs are {configured}")]
    Pair {
        /// As received.
        given: String,
        /// Symbols of the configuration.
        configured: String,
    },
    /// Not a positive whole number of units.
    #[error("quantity {0} is not a whole number of base units from 1 to {max}", max = ticks::QUANTITY_MAX)]
    Quantity(String),
    /// Not a multiple of the pair's lot.
    #[error("quantity {given} is not a multiple of {lot}, the lot of {symbol}")]
    Lot {
        /// As received.
        given: i64,
        /// Base units.
        lot: i64,
        /// Pair.
        symbol: String,
    },
    /// Not a price of the pair.
    #[error("limit {given} is not a positive price of {symbol}: its tick is {tick}")]
    Limit {
        /// As received.
        given: String,
        /// Pair.
        symbol: String,
        /// Tick as a decimal.
        tick: String,
    },
    /// A field with a value that it cannot have.
    #[error("{field} {given}: give {wanted}")]
    Field {
        /// Its key.
        field: &'static str,
        /// As received.
        given: String,
        /// What it may be.
        wanted: &'static str,
    },
}

/// Why a parent is refused as `bad_order`; none if its terms are valid, or if the text is not a parent.
pub fn bad_order(setup: &Setup, text: &str) -> Option<BadOrder> {
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    let is_parent = fields.get("op").and_then(Value::as_str) == Some("parent");
    is_parent.then(|| parent(setup, &fields).err()).flatten()
}

/// Reads a command.
///
/// # Errors
/// The command is invalid.
pub fn read(setup: &Setup, text: &str) -> Result<Desk, DeskError> {
    let fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| DeskError::Json {
            column: error.column(),
        })?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let id = |key: &str| text(key).map(|text| Id::lossy(text.as_bytes()));
    let bank = text("bank").and_then(|name| setup.bank(name));
    Ok(match text("op").unwrap_or_default() {
        "parent" => Desk::Parent(ParentRequest {
            id: id("id"),
            terms: parent(setup, &fields).ok(),
        }),
        "cancel" => Desk::Cancel { id: id("id") },
        "kill" => Desk::Kill { by: id("by") },
        "lift" => Desk::Lift { by: id("by") },
        "enable" => Desk::Enable {
            bank,
            pair: text("pair").and_then(|symbol| setup.pair_of(bank?, symbol.as_bytes())),
        },
        "resolve" => Desk::Resolve {
            id: id("clordid"),
            cum: whole(&fields, "cum"),
            price: id("price"),
        },
        "book" => Desk::Book {
            id: id("id"),
            by: id("by"),
            trade: desk_trade(setup, &fields),
        },
        "restart" => Desk::Restart,
        "reboot" => Desk::Reboot {
            epoch: fields.get("epoch").and_then(Value::as_u64).unwrap_or(0),
        },
        "end" => Desk::End,
        other => return Err(DeskError::Op(other.to_owned())),
    })
}

/// Terms of a parent.
fn parent(setup: &Setup, fields: &Map<String, Value>) -> Result<ParentTerms, BadOrder> {
    let id = word(fields, "id", None).filter(|id| (1..=PARENT_ID_MAX).contains(&id.len()));
    let id = id
        .and_then(|id| Id::new(id.as_bytes()))
        .ok_or(BadOrder::Id)?;
    let pair = word(fields, "pair", None).and_then(|symbol| setup.pair(symbol));
    let pair: Pair = pair.ok_or_else(|| BadOrder::Pair {
        given: given(fields, "pair"),
        configured: symbols(setup),
    })?;
    let config = &setup.pairs[pair].config;
    let side = side(fields).ok_or_else(|| bad_field(fields, "side", "buy or sell"))?;
    let quantity = whole(fields, "qty")
        .filter(|quantity| (1..=ticks::QUANTITY_MAX).contains(quantity))
        .ok_or_else(|| BadOrder::Quantity(given(fields, "qty")))?;
    if quantity % config.lot != 0 {
        return Err(BadOrder::Lot {
            given: quantity,
            lot: config.lot,
            symbol: config.symbol.clone(),
        });
    }
    let limit = limit(fields, config)?;
    let (lifetime, deadline_ms) = lifetime(fields)?;
    let urgency = match fields.get("urgency") {
        None => 1,
        Some(value) => value
            .as_u64()
            .filter(|urgency| *urgency <= 2)
            .ok_or_else(|| bad_field(fields, "urgency", "0, 1 or 2"))?
            as usize,
    };
    let style = match word(fields, "style", Some("best")) {
        Some("best") => Style::Best,
        Some("full") => Style::Full,
        Some("sweep") => Style::Sweep,
        _ => return Err(bad_field(fields, "style", "best, full or sweep")),
    };
    let partial = match fields.get("partial") {
        None => true,
        Some(value) => value
            .as_bool()
            .ok_or_else(|| bad_field(fields, "partial", "true or false"))?,
    };
    Ok(ParentTerms {
        id,
        pair,
        side,
        quantity,
        limit,
        lifetime,
        deadline_ms,
        urgency,
        style,
        partial,
    })
}

/// Limit price, if one is given.
fn limit(fields: &Map<String, Value>, config: &PairConfig) -> Result<Option<i64>, BadOrder> {
    let value = match fields.get("limit") {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let text = value.as_str();
    let price = text.and_then(|text| ticks::price(text.as_bytes(), config.precision));
    let price = price.ok_or_else(|| BadOrder::Limit {
        given: given(fields, "limit"),
        symbol: config.symbol.clone(),
        tick: ticks::text(1, u32::from(config.precision)),
    })?;
    Ok(Some(price))
}

/// Lifetime, and the milliseconds of one that has a deadline.
fn lifetime(fields: &Map<String, Value>) -> Result<(Lifetime, u64), BadOrder> {
    let lifetime = match word(fields, "tif", Some("gtd")) {
        Some("gtd") => Lifetime::Deadline,
        Some("ioc") => Lifetime::Immediate,
        Some("fok") => Lifetime::AllOrNothing,
        _ => return Err(bad_field(fields, "tif", "gtd, ioc or fok")),
    };
    let deadline_ms = match (lifetime, fields.get("deadline_ms")) {
        (Lifetime::Deadline, value) => value
            .and_then(Value::as_u64)
            .ok_or_else(|| bad_field(fields, "deadline_ms", "the milliseconds of a gtd order"))?,
        _ => 0,
    };
    Ok((lifetime, deadline_ms))
}

fn bad_field(fields: &Map<String, Value>, field: &'static str, wanted: &'static str) -> BadOrder {
    BadOrder::Field {
        field,
        given: given(fields, field),
        wanted,
    }
}

/// The value of a field as it was received, cut: it becomes part of an answer and of a log line.
fn given(fields: &Map<String, Value>, key: &str) -> String {
    const LETTERS_MAX: usize = 40;
    let text = fields
        .get(key)
        .map_or("(none)".to_owned(), Value::to_string);
    text.chars().take(LETTERS_MAX).collect()
}

fn symbols(setup: &Setup) -> String {
    let symbols = setup.pairs.iter().map(|pair| pair.config.symbol.as_str());
    symbols.collect::<Vec<_>>().join(", ")
}

/// A booking without an order; none if invalid.
fn desk_trade(setup: &Setup, fields: &Map<String, Value>) -> Option<DeskTrade> {
    let id = word(fields, "id", None)?;
    let value_date = word(fields, "value_date", None)?;
    let is_date = value_date.len() == 8 && value_date.bytes().all(|byte| byte.is_ascii_digit());
    Some(DeskTrade {
        id: Id::new(id.as_bytes()).filter(|_| (1..=NAME_MAX).contains(&id.len()))?,
        pair: setup.pair(word(fields, "pair", None)?)?,
        side: side(fields)?,
        quantity: whole(fields, "qty")
            .filter(|quantity| (1..=ticks::QUANTITY_MAX).contains(quantity))?,
        price: ticks::traded(word(fields, "price", None)?.as_bytes())?,
        bank: match fields.get("bank") {
            None | Some(Value::Null) => None,
            Some(name) => Some(setup.bank(name.as_str()?)?),
        },
        value_date: Id::new(value_date.as_bytes()).filter(|_| is_date)?,
    })
}

/// The side of a trade.
fn side(fields: &Map<String, Value>) -> Option<Side> {
    match word(fields, "side", None)? {
        "buy" => Some(Side::Bid),
        "sell" => Some(Side::Ask),
        _ => None,
    }
}

/// A text field, or its default.
fn word<'a>(
    fields: &'a Map<String, Value>,
    key: &str,
    default: Option<&'a str>,
) -> Option<&'a str> {
    match fields.get(key) {
        None => default,
        Some(value) => value.as_str(),
    }
}

fn whole(fields: &Map<String, Value>, key: &str) -> Option<i64> {
    fields.get(key)?.as_i64()
}
