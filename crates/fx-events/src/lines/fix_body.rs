//! Messages to banks in the orders file: the body in ascending order of tags, with `|` between fields.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use crate::event::Message;
use crate::labels::Labels;
use crate::orders::Terms;
use crate::short_text::ShortText;
use touchline_types::Side;
use touchline_wire::fix::{Precision, write_timestamp};

/// Appends a message, from MsgType on.
pub fn body(labels: &Labels, message: &Message, out: &mut String) {
    out.push_str("35=");
    out.push_str(msg_type(message));
    fields(labels, message, |tag, value| {
        out.push('|');
        out.push_str(ShortText::unsigned(u64::from(tag)).as_str());
        out.push('=');
        // All values are text.
        out.push_str(std::str::from_utf8(value).unwrap_or_default());
    });
}

/// MsgType (35).
pub fn msg_type(message: &Message) -> &'static str {
    match message {
        Message::Order(_) => "D",
        Message::Cancel { .. } => "F",
        Message::Status { .. } => "H",
        Message::MassStatus { .. } => "AF",
        Message::DontKnow(_) => "Q",
    }
}

/// The fields of the body, in ascending order of tags.
pub fn fields(labels: &Labels, message: &Message, mut add: impl FnMut(u32, &[u8])) {
    let add = &mut add;
    match message {
        Message::Order(terms) => order(add, labels, terms),
        Message::Cancel { id, order, at_ns } => {
            add(11, id.as_bytes());
            add(38, whole(order.quantity).as_bytes());
            add(41, order.id.as_bytes());
            add(54, side(order.side).as_bytes());
            add(55, labels.pairs[order.pair].symbol.as_bytes());
            time(*at_ns, add);
        }
        Message::Status { request, order } => {
            add(11, order.id.as_bytes());
            add(54, side(order.side).as_bytes());
            add(55, labels.pairs[order.pair].symbol.as_bytes());
            add(790, request_id(labels, 'H', *request).as_bytes());
        }
        Message::MassStatus { request } => {
            add(584, request_id(labels, 'M', *request).as_bytes());
            add(585, b"7");
        }
        Message::DontKnow(trade) => {
            let said = [
                (17, &trade.exec_id),
                (31, &trade.last_px),
                (32, &trade.last_qty),
                (37, &trade.order_id),
                (38, &trade.order_qty),
                (54, &trade.side),
                (55, &trade.symbol),
            ];
            for (tag, value) in said {
                if let Some(value) = value {
                    add(tag, value.as_bytes());
                }
            }
            add(127, trade.reason.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// OrdStatusReqID (`H`) or MassStatusReqID (`M`) of a request number.
fn request_id(labels: &Labels, kind: char, number: u64) -> ShortText {
    let mut text = ShortText::new();
    text.push(labels.prefix.as_str());
    text.push("-");
    text.push(kind.encode_utf8(&mut [0; 4]));
    text.push_unsigned(number);
    text
}

/// The number of a request, from its OrdStatusReqID or MassStatusReqID.
pub fn request_number(labels: &Labels, kind: char, id: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(id).ok()?;
    let rest = text
        .strip_prefix(labels.prefix.as_str())?
        .strip_prefix('-')?;
    let number = rest.strip_prefix(kind)?.parse().ok()?;
    // Only the name that we gave.
    (request_id(labels, kind, number).as_str() == text).then_some(number)
}

fn order(add: &mut impl FnMut(u32, &[u8]), labels: &Labels, terms: &Terms) {
    let pair = &labels.pairs[terms.pair];
    let precision = u32::from(pair.precision);
    add(1, labels.account.as_bytes());
    add(11, terms.id.as_bytes());
    add(15, pair.base.as_bytes());
    add(38, whole(terms.quantity).as_bytes());
    add(40, terms.quote_id.map_or(b"2", |_| b"D"));
    add(
        44,
        ShortText::decimal(i128::from(terms.price), precision).as_bytes(),
    );
    add(54, side(terms.side).as_bytes());
    add(55, pair.symbol.as_bytes());
    add(59, if terms.is_fok { b"4" } else { b"3" });
    time(terms.sent_ns, add);
    add(
        64,
        ShortText::unsigned(u64::from(terms.value_date)).as_bytes(),
    );
    if let Some(quote_id) = &terms.quote_id {
        add(117, quote_id.as_bytes());
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Bid => "1",
        Side::Ask => "2",
    }
}

/// A quantity, which is positive.
fn whole(quantity: i64) -> ShortText {
    ShortText::decimal(i128::from(quantity), 0)
}

/// TransactTime (60): UTC, truncated to the millisecond.
fn time(at_ns: u64, add: &mut impl FnMut(u32, &[u8])) {
    let mut room = [0; 27];
    let text = write_timestamp(at_ns, Precision::Milliseconds, &mut room);
    add(60, text);
}
