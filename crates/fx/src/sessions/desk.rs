//! Commands of the desk, as JSON objects.

use crate::commands;
use crate::setup::{Setup, is_date};
use serde_json::{Map, Value};
use thiserror::Error;
use touchline_fx_events::command::{Booking, Order};
use touchline_fx_events::desk::{Day, Desk, ParentRequest};
use touchline_fx_events::parents::Lifetime;
use touchline_fx_events::plan::Style;
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
    /// A day without a configured pair or bank, or with a date that does not exist.
    #[error(
        "a day has a configured pair or bank, and dates as \"20260107\"; a spot date may be null"
    )]
    Day,
    /// No known `op`.
    #[error(
        "'{0}' is not a command; give parent, cancel, kill, lift, enable, resolve, book, day, bank_day, restart, reboot or end"
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
            terms: order(&fields).and_then(|order| commands::terms(setup, &order).ok()),
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
            trade: booking(&fields).and_then(|booking| commands::trade(setup, &booking)),
        },
        "restart" => Desk::Restart,
        "reboot" => Desk::Reboot {
            epoch: fields.get("epoch").and_then(Value::as_u64).unwrap_or(0),
        },
        "day" => Desk::Day(Day {
            pair: text("pair")
                .and_then(|symbol| setup.pair(symbol))
                .ok_or(DeskError::Day)?,
            trade: date(text("trade")).ok_or(DeskError::Day)?,
            spot: match fields.get("spot") {
                None | Some(Value::Null) => 0,
                _ => date(text("spot")).ok_or(DeskError::Day)?,
            },
        }),
        "bank_day" => Desk::BankDay {
            bank: bank.ok_or(DeskError::Day)?,
            trade: date(text("trade")).ok_or(DeskError::Day)?,
        },
        "end" => Desk::End,
        other => return Err(DeskError::Op(other.to_owned())),
    })
}

/// A date as a number.
fn date(text: Option<&str>) -> Option<u32> {
    text.filter(|text| is_date(text))?.parse().ok()
}

/// A parent order; none if a field has a value that no order has.
fn order(fields: &Map<String, Value>) -> Option<Order> {
    let (id, pair) = (name(fields, "id")?, name(fields, "pair")?);
    let lifetime = match word(fields, "tif", "gtd")? {
        "gtd" => Lifetime::Deadline,
        "ioc" => Lifetime::Immediate,
        "fok" => Lifetime::AllOrNothing,
        _ => return None,
    };
    Some(Order {
        limit: optional_name(fields, "limit")?,
        lifetime,
        deadline_ms: match lifetime {
            Lifetime::Deadline => fields.get("deadline_ms")?.as_u64()?,
            Lifetime::Immediate | Lifetime::AllOrNothing => 0,
        },
        urgency: match fields.get("urgency") {
            None => 1,
            Some(value) => u8::try_from(value.as_u64()?).ok()?,
        },
        style: match word(fields, "style", "best")? {
            "best" => Style::Best,
            "full" => Style::Full,
            "sweep" => Style::Sweep,
            _ => return None,
        },
        partial: match fields.get("partial") {
            None => true,
            Some(value) => value.as_bool()?,
        },
        ..Order::new(id, pair, side(fields)?, whole(fields, "qty")?)
    })
}

/// A booking without an order; none if a field has a value that no booking has.
fn booking(fields: &Map<String, Value>) -> Option<Booking> {
    Some(Booking {
        id: name(fields, "id")?,
        pair: name(fields, "pair")?,
        side: side(fields)?,
        quantity: whole(fields, "qty")?,
        price: name(fields, "price")?,
        bank: optional_name(fields, "bank")?,
        value_date: name(fields, "value_date")?,
    })
}

/// The side of a trade.
fn side(fields: &Map<String, Value>) -> Option<Side> {
    match fields.get("side")?.as_str()? {
        "buy" => Some(Side::Bid),
        "sell" => Some(Side::Ask),
        _ => None,
    }
}

/// A text field.
fn name(fields: &Map<String, Value>, key: &str) -> Option<Id> {
    Id::new(fields.get(key)?.as_str()?.as_bytes())
}

/// A text field that may be absent or `null`. The outer `None`: the field is not a text.
fn optional_name(fields: &Map<String, Value>, key: &str) -> Option<Option<Id>> {
    match fields.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(_) => name(fields, key).map(Some),
    }
}

/// A text field, or its default.
fn word<'a>(fields: &'a Map<String, Value>, key: &str, default: &'a str) -> Option<&'a str> {
    fields.get(key).map_or(Some(default), Value::as_str)
}

fn whole(fields: &Map<String, Value>, key: &str) -> Option<i64> {
    fields.get(key)?.as_i64()
}
