//! Commands of the desk, as JSON objects.

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
            terms: parent(setup, &fields),
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

/// Terms of a parent; none if invalid.
fn parent(setup: &Setup, fields: &Map<String, Value>) -> Option<ParentTerms> {
    let id = word(fields, "id", None)?;
    let id = Id::new(id.as_bytes()).filter(|_| (1..=PARENT_ID_MAX).contains(&id.len()))?;
    let pair: Pair = setup.pair(word(fields, "pair", None)?)?;
    let config = &setup.pairs[pair].config;
    let side = side(fields)?;
    let quantity = whole(fields, "qty").filter(|quantity| {
        let is_some = (1..=ticks::QUANTITY_MAX).contains(quantity);
        // mutant: fx: a quantity need not be a multiple of the lot
        is_some && quantity % config.lot == 0
    })?;
    let limit = match fields.get("limit") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(ticks::price(text.as_bytes(), config.precision)?),
        Some(_) => return None,
    };
    let lifetime = match word(fields, "tif", Some("gtd"))? {
        "gtd" => Lifetime::Deadline,
        "ioc" => Lifetime::Immediate,
        "fok" => Lifetime::AllOrNothing,
        _ => return None,
    };
    let deadline_ms = match (lifetime, fields.get("deadline_ms")) {
        (Lifetime::Deadline, value) => value?.as_u64()?,
        _ => 0,
    };
    let urgency = match fields.get("urgency") {
        None => 1,
        Some(value) => value.as_u64().filter(|urgency| *urgency <= 2)? as usize,
    };
    let style = match word(fields, "style", Some("best"))? {
        "best" => Style::Best,
        "full" => Style::Full,
        "sweep" => Style::Sweep,
        _ => return None,
    };
    let partial = match fields.get("partial") {
        None => true,
        Some(value) => value.as_bool()?,
    };
    Some(ParentTerms {
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
