//! Books and order books as JSON lines. The format is an interface.

use crate::output::{Failure, Output};
use crate::record::{List, Prices, Record};
use touchline_book::{LevelList, OrderBooks};
use touchline_client::{Book, Bus, Definition, State};
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::CmePipeline;
use touchline_transport::Publish;
use touchline_types::{BookKind, Instrument, InstrumentDefinition, Level, Side, Validity};

/// Writes one line for each published instrument, by ascending security id.
pub fn write_books<P: Publish>(
    pipeline: &CmePipeline<P>,
    symbols: &Symbols,
    prices: Prices,
    output: &mut Output,
) -> Result<(), Failure> {
    for instrument in by_security_id(pipeline, symbols) {
        output.line(&book_line(pipeline, instrument, prices))?;
    }
    Ok(())
}

/// Writes one line for each published instrument, by ascending security id, orders by priority; no
/// line if the venue sent no order.
pub fn write_orders<P: Publish>(
    pipeline: &CmePipeline<P>,
    symbols: &Symbols,
    prices: Prices,
    output: &mut Output,
) -> Result<(), Failure> {
    if pipeline.feed().orders_seen() {
        for instrument in by_security_id(pipeline, symbols) {
            output.line(&orders_line(pipeline, instrument, prices))?;
        }
    }
    Ok(())
}

fn by_security_id<P: Publish>(pipeline: &CmePipeline<P>, symbols: &Symbols) -> Vec<Instrument> {
    let instruments = pipeline.instruments();
    let is_published = |instrument: &Instrument| {
        let definition = instruments.definition(*instrument);
        symbols.admit_instrument(definition)
    };
    let mut published: Vec<_> = instruments.iter().filter(is_published).collect();
    published.sort_by_key(|instrument| instruments.definition(*instrument).security_id);
    published
}

fn book_line<P: Publish>(
    pipeline: &CmePipeline<P>,
    instrument: Instrument,
    prices: Prices,
) -> String {
    let feed = pipeline.feed();
    let definition = pipeline.instruments().definition(instrument);
    let book = pipeline.prices().get(instrument);
    let levels = |kind, side| book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
    let last = Some(feed.last_rpt_seq(instrument));
    price_row(definition, feed.validity(instrument), last, prices, levels)
}

/// The row of a price book; `last_rpt_seq` is `null` if it is unknown.
pub fn price_row<'a, L: IntoIterator<Item = &'a Level>>(
    definition: &InstrumentDefinition,
    validity: Validity,
    last_rpt_seq: Option<u32>,
    prices: Prices,
    levels: impl Fn(BookKind, Side) -> L,
) -> String {
    let mut line = String::new();
    let mut row = Record::json(&mut line);
    head(&mut row, definition, validity);
    row.optional("last_rpt_seq", last_rpt_seq);
    lists(&mut row, definition, prices, levels);
    row.end();
    line
}

fn orders_line<P: Publish>(
    pipeline: &CmePipeline<P>,
    instrument: Instrument,
    prices: Prices,
) -> String {
    let validity = pipeline.feed().orders_validity(instrument);
    let definition = pipeline.instruments().definition(instrument);
    order_row(definition, validity, prices, pipeline.orders())
}

/// The row of an order book.
pub fn order_row(
    definition: &InstrumentDefinition,
    validity: Validity,
    prices: Prices,
    books: &OrderBooks,
) -> String {
    let mut line = String::new();
    let mut row = Record::json(&mut line);
    head(&mut row, definition, validity);
    for (name, side) in [("orders_bids", Side::Bid), ("orders_asks", Side::Ask)] {
        row.list(name, |list| {
            books.visit(definition.instrument, side, |order| {
                list.list(|fields| {
                    fields.exact(order.order_id);
                    fields.price(prices.of(definition, order.price));
                    fields.quantity(order.quantity, definition.quantity_exponent);
                });
            });
        });
    }
    row.end();
    line
}

/// The row of a price book from a client; a bus does not carry `last_rpt_seq`.
pub fn client_price_row(book: &Book<'_>) -> String {
    let mut line = String::new();
    let mut row = Record::json(&mut line);
    client_head(&mut row, book.definition(), book.state());
    row.optional("last_rpt_seq", None::<u8>);
    client_lists(&mut row, book);
    row.end();
    line
}

/// The row of an order book from a client.
pub fn client_order_row(bus: &Bus, instrument: touchline_client::Instrument) -> String {
    let mut line = String::new();
    let mut row = Record::json(&mut line);
    if let (Ok(definition), Ok(state)) = (bus.definition(instrument), bus.orders_state(instrument))
    {
        client_head(&mut row, definition, state);
    }
    for (name, side) in [("orders_bids", Side::Bid), ("orders_asks", Side::Ask)] {
        row.list(name, |list| {
            // The handle is of this bus; a bus without orders gives none.
            let _ = bus.orders(instrument, side, |order| {
                list.list(|fields| {
                    fields.exact(order.order_id);
                    fields.price(order.price);
                    fields.decimal(order.quantity.decimal());
                });
            });
        });
    }
    row.end();
    line
}

/// First fields of a book's object: instrument and state.
pub fn client_head(row: &mut Record<'_>, definition: &Definition, state: State) {
    row.number("security_id", definition.security_id);
    match definition.symbol.as_str() {
        "" => row.optional("symbol", None::<u8>),
        symbol => row.text("symbol", symbol),
    }
    row.word("state", state.name());
}

/// The four lists of a price book from a client.
pub fn client_lists(row: &mut Record<'_>, book: &Book<'_>) {
    for (name, kind, side) in LISTS {
        row.list(name, |list| {
            for shown in book.list(kind, side) {
                match shown.is_known {
                    true => list.list(|fields| client_level(fields, &shown, kind)),
                    false => list.null(),
                }
            }
        });
    }
}

/// Price, quantity and orders of a level; an implied one has no orders.
pub fn client_level(fields: &mut List<'_>, level: &touchline_client::Level, kind: BookKind) {
    fields.price(level.price);
    fields.decimal(level.quantity.decimal());
    match (kind, level.orders) {
        (BookKind::Implied, _) => {}
        (BookKind::Direct, None) => fields.null(),
        (BookKind::Direct, Some(orders)) => fields.number(orders),
    }
}

const LISTS: [(&str, BookKind, Side); 4] = [
    ("bids", BookKind::Direct, Side::Bid),
    ("asks", BookKind::Direct, Side::Ask),
    ("implied_bids", BookKind::Implied, Side::Bid),
    ("implied_asks", BookKind::Implied, Side::Ask),
];

/// First fields of a book's object: instrument and validity.
pub fn head(row: &mut Record<'_>, definition: &InstrumentDefinition, validity: Validity) {
    row.number("security_id", definition.security_id);
    row.symbol(definition);
    row.word("state", validity.name());
}

/// The four lists of a price book.
pub fn lists<'a, L: IntoIterator<Item = &'a Level>>(
    row: &mut Record<'_>,
    definition: &InstrumentDefinition,
    prices: Prices,
    levels: impl Fn(BookKind, Side) -> L,
) {
    for (name, kind, side) in LISTS {
        row.list(name, |list| {
            for shown in levels(kind, side) {
                match shown.known {
                    true => list.list(|fields| level(fields, shown, kind, definition, prices)),
                    false => list.null(),
                }
            }
        });
    }
}

/// Price, quantity and orders of a level; an implied one has no orders.
pub fn level(
    fields: &mut List<'_>,
    level: &Level,
    kind: BookKind,
    definition: &InstrumentDefinition,
    prices: Prices,
) {
    fields.price(prices.of(definition, level.price));
    fields.quantity(level.quantity, definition.quantity_exponent);
    match (kind, level.orders) {
        (BookKind::Implied, _) => {}
        (BookKind::Direct, -1) => fields.null(),
        (BookKind::Direct, orders) => fields.number(orders),
    }
}
