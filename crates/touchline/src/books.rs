//! Books and order books as JSON lines: the output contract.

use crate::json::{push_price, push_quantity};
use crate::output::{Failure, Output};
use std::fmt::Write;
use touchline_book::{LevelList, OrderBooks};
use touchline_feed::Feed;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::CmePipeline;
use touchline_transport::Publish;
use touchline_types::{BookKind, Instrument, InstrumentDefinition, Level, Side, Validity};

/// Writes one line for each instrument that is published, by ascending venue id.
pub fn write_books<P: Publish>(
    pipeline: &CmePipeline<P>,
    symbols: &Symbols,
    output: &mut Output,
) -> Result<(), Failure> {
    for instrument in by_security_id(pipeline, symbols) {
        output.line(&book_line(pipeline, instrument))?;
    }
    Ok(())
}

/// Writes one line for each instrument that is published, by ascending venue id, orders by
/// priority; none at all if the venue sent no order.
pub fn write_orders<P: Publish>(
    pipeline: &CmePipeline<P>,
    symbols: &Symbols,
    output: &mut Output,
) -> Result<(), Failure> {
    if pipeline.feed().orders_seen() {
        for instrument in by_security_id(pipeline, symbols) {
            output.line(&orders_line(pipeline, instrument))?;
        }
    }
    Ok(())
}

fn by_security_id<P: Publish>(pipeline: &CmePipeline<P>, symbols: &Symbols) -> Vec<Instrument> {
    let instruments = pipeline.instruments();
    let is_published = |instrument: &Instrument| {
        let definition = instruments.definition(*instrument);
        symbols.is_empty() || definition.defined && symbols.admit(definition.symbol.as_str())
    };
    let mut published: Vec<_> = instruments.iter().filter(is_published).collect();
    published.sort_by_key(|instrument| instruments.definition(*instrument).security_id);
    published
}

fn book_line<P: Publish>(pipeline: &CmePipeline<P>, instrument: Instrument) -> String {
    let feed = pipeline.feed();
    let definition = pipeline.instruments().definition(instrument);
    let book = pipeline.prices().get(instrument);
    let levels = |kind, side| book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
    let last = Some(feed.last_rpt_seq(instrument));
    price_row(definition, feed.validity(instrument), last, levels)
}

/// The row of a price book; `last_rpt_seq` is `null` where it is not known.
pub fn price_row<'a, L: IntoIterator<Item = &'a Level>>(
    definition: &InstrumentDefinition,
    validity: Validity,
    last_rpt_seq: Option<u32>,
    levels: impl Fn(BookKind, Side) -> L,
) -> String {
    let mut line = String::new();
    push_head(&mut line, definition, validity.name());
    match last_rpt_seq {
        Some(number) => {
            let _ = write!(line, ",\"last_rpt_seq\":{number}");
        }
        None => line.push_str(",\"last_rpt_seq\":null"),
    }
    push_lists(&mut line, definition, levels);
    line.push('}');
    line
}

fn orders_line<P: Publish>(pipeline: &CmePipeline<P>, instrument: Instrument) -> String {
    let validity = pipeline.feed().orders_validity(instrument);
    let definition = pipeline.instruments().definition(instrument);
    order_row(definition, validity, pipeline.orders())
}

/// The row of an order book.
pub fn order_row(
    definition: &InstrumentDefinition,
    validity: Validity,
    books: &OrderBooks,
) -> String {
    let mut line = String::new();
    push_head(&mut line, definition, validity.name());
    for (name, side) in [("orders_bids", Side::Bid), ("orders_asks", Side::Ask)] {
        let _ = write!(line, ",\"{name}\":[");
        let mut separator = "";
        books.visit(definition.instrument, side, |order| {
            let _ = write!(line, "{separator}[\"{}\",", order.order_id);
            push_price(&mut line, order.price);
            line.push(',');
            push_quantity(&mut line, order.quantity, definition.quantity_exponent);
            line.push(']');
            separator = ",";
        });
        line.push(']');
    }
    line.push('}');
    line
}

/// The beginning of an instrument's object: who it is, and how far it may be trusted.
pub fn push_head(line: &mut String, definition: &InstrumentDefinition, state: &str) {
    let _ = write!(
        line,
        "{{\"security_id\":{},\"symbol\":",
        definition.security_id
    );
    push_symbol(line, definition);
    let _ = write!(line, ",\"state\":\"{state}\"");
}

/// The four lists of a price book.
pub fn push_lists<'a, L: IntoIterator<Item = &'a Level>>(
    line: &mut String,
    definition: &InstrumentDefinition,
    levels: impl Fn(BookKind, Side) -> L,
) {
    for (name, kind, side) in [
        ("bids", BookKind::Direct, Side::Bid),
        ("asks", BookKind::Direct, Side::Ask),
        ("implied_bids", BookKind::Implied, Side::Bid),
        ("implied_asks", BookKind::Implied, Side::Ask),
    ] {
        let _ = write!(line, ",\"{name}\":[");
        for (index, level) in levels(kind, side).into_iter().enumerate() {
            line.push_str(if index > 0 { "," } else { "" });
            push_level(line, level, kind, definition);
        }
        line.push(']');
    }
}

/// An instrument's symbol; `null` where there is none.
pub fn push_symbol(line: &mut String, definition: &InstrumentDefinition) {
    if definition.symbol.is_empty() {
        line.push_str("null");
    } else {
        let symbol = serde_json::to_string(definition.symbol.as_str());
        line.push_str(symbol.as_deref().unwrap_or("null"));
    }
}

/// A level as `[price, quantity, orders]`, an implied one without orders; `null` if it is unknown.
pub fn push_level(
    line: &mut String,
    level: &Level,
    kind: BookKind,
    definition: &InstrumentDefinition,
) {
    if !level.known {
        line.push_str("null");
        return;
    }
    line.push('[');
    push_price(line, level.price);
    line.push(',');
    push_quantity(line, level.quantity, definition.quantity_exponent);
    match (kind, level.orders) {
        (BookKind::Implied, _) => {}
        (BookKind::Direct, -1) => line.push_str(",null"),
        (BookKind::Direct, orders) => {
            let _ = write!(line, ",{orders}");
        }
    }
    line.push(']');
}
