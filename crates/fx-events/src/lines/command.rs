//! Commands of the desk, the terms of an accepted parent, and answers.

use super::names::{lifetime_name, side_name, style_name};
use super::{put, put_decimal, put_id, put_text};
use crate::command::Command;
use crate::event::Answer;
use crate::labels::Labels;
use crate::parents::{Lifetime, ParentTerms};
use crate::plan::Style;
use std::fmt::Write;

/// Text of a command: the JSON object that a session file has; bytes that cannot be read as a command are written as
/// text, or else as digits.
pub fn command_text(bytes: &[u8]) -> String {
    let mut out = String::new();
    match (Command::decode(bytes), std::str::from_utf8(bytes)) {
        (Ok(command), _) => write_command(&mut out, &command),
        (Err(_), Ok(text)) => out.push_str(text),
        (Err(_), Err(_)) => {
            out.push_str("bytes ");
            bytes.iter().for_each(|byte| put!(out, "{byte:02x}"));
        }
    }
    out
}

fn write_command(out: &mut String, command: &Command) {
    let mut op = |name: &str| put!(out, "{{\"op\":\"{name}\"");
    match command {
        Command::Parent(order) => {
            op("parent");
            put_id(out, "id", Some(&order.id));
            put_id(out, "pair", Some(&order.pair));
            put!(out, ",\"side\":\"{}\"", side_name(order.side));
            put!(out, ",\"qty\":{}", order.quantity);
            if order.limit.is_some() {
                put_id(out, "limit", order.limit.as_ref());
            }
            put_lifetime(out, order.lifetime, order.deadline_ms);
            let urgency = usize::from(order.urgency);
            put_style(out, urgency, order.style, order.partial);
        }
        Command::Cancel { id } => {
            op("cancel");
            put_id(out, "id", Some(id));
        }
        Command::Kill => op("kill"),
        Command::Lift => op("lift"),
        Command::Enable { bank, pair } => {
            op("enable");
            put_id(out, "bank", Some(bank));
            put_id(out, "pair", Some(pair));
        }
        Command::Resolve { order, cum, price } => {
            op("resolve");
            put_id(out, "clordid", Some(order));
            put!(out, ",\"cum\":{cum}");
            put_id(out, "price", price.as_ref());
        }
        Command::Book(booking) => {
            op("book");
            put_id(out, "id", Some(&booking.id));
            put_id(out, "pair", Some(&booking.pair));
            put!(out, ",\"side\":\"{}\"", side_name(booking.side));
            put!(out, ",\"qty\":{}", booking.quantity);
            put_id(out, "price", Some(&booking.price));
            put_id(out, "bank", booking.bank.as_ref());
            put_id(out, "value_date", Some(&booking.value_date));
        }
        Command::Promote => op("promote"),
        Command::Standby => op("standby"),
    }
    out.push('}');
}

/// The terms of an accepted parent, as its command has them.
pub(super) fn parent(out: &mut String, labels: &Labels, terms: &ParentTerms) {
    out.push_str("{\"op\":\"parent\"");
    put_id(out, "id", Some(&terms.id));
    put!(out, ",\"pair\":\"{}\"", labels.pairs[terms.pair].symbol);
    put!(out, ",\"side\":\"{}\"", side_name(terms.side));
    put!(out, ",\"qty\":{}", terms.quantity);
    if let Some(limit) = terms.limit {
        out.push_str(",\"limit\":");
        let precision = u32::from(labels.pairs[terms.pair].precision);
        put_decimal(out, Some(i128::from(limit)), precision);
    }
    put_lifetime(out, terms.lifetime, terms.deadline_ms);
    put_style(out, terms.urgency, terms.style, terms.partial);
    out.push('}');
}

fn put_lifetime(out: &mut String, lifetime: Lifetime, deadline_ms: u64) {
    put!(out, ",\"tif\":\"{}\"", lifetime_name(lifetime));
    if lifetime == Lifetime::Deadline {
        put!(out, ",\"deadline_ms\":{deadline_ms}");
    }
}

fn put_style(out: &mut String, urgency: usize, style: Style, partial: bool) {
    let style = style_name(style);
    put!(
        out,
        ",\"urgency\":{urgency},\"style\":\"{style}\",\"partial\":{partial}"
    );
}

/// The answer to a command. Keys in the order of the alphabet.
pub(super) fn answer(out: &mut String, at_ns: u64, answer: &Answer<'_>) {
    out.push_str("{\"answer\":");
    put_text(out, answer.answer);
    if let Some(cause) = answer.cause {
        out.push_str(",\"cause\":");
        put_text(out, cause);
    }
    out.push_str(",\"client\":");
    put_text(out, answer.client);
    out.push_str(",\"reason\":");
    match answer.reason {
        Some(reason) => put_text(out, reason),
        None => out.push_str("null"),
    }
    put!(out, ",\"request\":{},\"t\":{at_ns}}}", answer.request);
}
