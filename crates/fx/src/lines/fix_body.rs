//! Messages to banks in the orders file: the body in ascending order of tags, with `|` between fields.

use crate::event::Message;
use crate::orders::Terms;
use crate::setup::Setup;
use crate::ticks;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Precision, write_timestamp};

/// A message, from MsgType on.
pub fn body(setup: &Setup, message: &Message) -> String {
    let mut fields = Fields::default();
    match message {
        Message::Order(terms) => order(&mut fields, setup, terms),
        Message::Cancel { id, terms, at_ns } => {
            fields.add(35, "F");
            fields.add(11, id.as_str());
            fields.add(38, &terms.quantity.to_string());
            fields.add(41, terms.id.as_str());
            fields.add(54, side(terms.side));
            fields.add(55, &setup.pairs[terms.pair].config.symbol);
            fields.add(60, &time(*at_ns));
        }
        Message::Status { request, terms } => {
            fields.add(35, "H");
            fields.add(11, terms.id.as_str());
            fields.add(54, side(terms.side));
            fields.add(55, &setup.pairs[terms.pair].config.symbol);
            fields.add(790, request_id(setup, 'H', *request).as_str());
        }
        Message::MassStatus { request } => {
            fields.add(35, "AF");
            fields.add(584, request_id(setup, 'M', *request).as_str());
            fields.add(585, "7");
        }
        Message::DontKnow(trade) => {
            fields.add(35, "Q");
            let said = [
                (17, &trade.exec_id),
                (31, &trade.last_px),
                (32, &trade.last_qty),
                (37, &trade.order_id),
                (54, &trade.side),
                (55, &trade.symbol),
            ];
            for (tag, value) in said {
                if let Some(value) = value {
                    fields.add(tag, value.as_str());
                }
            }
            fields.add(127, trade.reason.encode_utf8(&mut [0; 4]));
        }
    }
    fields.0
}

/// OrdStatusReqID (`H`) or MassStatusReqID (`M`) of a request number.
pub fn request_id(setup: &Setup, kind: char, number: u64) -> String {
    format!("{}-{kind}{number}", setup.prefix.as_str())
}

fn order(fields: &mut Fields, setup: &Setup, terms: &Terms) {
    let pair = &setup.pairs[terms.pair];
    let precision = u32::from(pair.config.precision);
    fields.add(35, "D");
    fields.add(1, setup.account.as_str());
    fields.add(11, terms.id.as_str());
    fields.add(15, pair.base.as_str());
    fields.add(38, &terms.quantity.to_string());
    fields.add(40, terms.quote_id.map_or("2", |_| "D"));
    fields.add(44, &ticks::text(i128::from(terms.price), precision));
    fields.add(54, side(terms.side));
    fields.add(55, &pair.config.symbol);
    fields.add(59, if terms.is_fok { "4" } else { "3" });
    fields.add(60, &time(terms.sent_ns));
    fields.add(64, &pair.config.spot_date);
    if let Some(quote_id) = &terms.quote_id {
        fields.add(117, Id::as_str(quote_id));
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Bid => "1",
        Side::Ask => "2",
    }
}

/// UTC, truncated to the millisecond.
fn time(at_ns: u64) -> String {
    let mut room = [0; 27];
    let text = write_timestamp(at_ns, Precision::Milliseconds, &mut room);
    String::from_utf8_lossy(text).into_owned()
}

#[derive(Default)]
struct Fields(String);

impl Fields {
    fn add(&mut self, tag: u32, value: &str) {
        if !self.0.is_empty() {
            self.0.push('|');
        }
        self.0.push_str(&tag.to_string());
        self.0.push('=');
        self.0.push_str(value);
    }
}
