//! A book as a person sees it: bids and asks side by side, implied quantities beside direct ones.

use crate::figures::count;
use crate::paint::Paint;
use std::fmt::Write;
use touchline_book::{Consolidated, ConsolidatedLevel, PriceBook};
use touchline_types::{BookKind, InstrumentDefinition, Quantity, Side, Validity};

/// Draws the best `rows` levels of a book, best first; 80 columns wide.
///
/// ```text
///  ZQA0, 1032, live
///  orders  implied     direct         bid | ask             direct  implied orders
///       3                  12     4500.25 | 4500.5               7        2      1
/// ```
pub fn ladder(
    definition: &InstrumentDefinition,
    validity: Validity,
    book: &PriceBook,
    rows: usize,
    paint: Paint,
) -> String {
    let mut text = String::new();
    let state = match validity {
        Validity::Live => paint.green(validity.name()),
        _ => paint.yellow(validity.name()),
    };
    let (symbol, venue_id) = (definition.symbol, definition.venue_id);
    let _ = match symbol.is_empty() {
        true => writeln!(text, " {}, {state}", paint.bold(venue_id)),
        false => writeln!(text, " {}, {venue_id}, {state}", paint.bold(symbol)),
    };
    let head = format!(
        " {:>6}{:>9}{:>11}{:>12} | {:<12}{:>10}{:>9}{:>7}",
        "orders", "implied", "direct", "bid", "ask", "direct", "implied", "orders"
    );
    let _ = writeln!(text, "{}", paint.dim(head));
    let mut bids = Consolidated::new(book, Side::Bid).take(rows);
    let mut asks = Consolidated::new(book, Side::Ask).take(rows);
    loop {
        let (bid, ask) = (bids.next(), asks.next());
        if bid.is_none() && ask.is_none() {
            break;
        }
        let [price, direct, implied, orders] = cells(definition, bid);
        let left = format!("{orders:>6}{implied:>9}{direct:>11}{price:>12}");
        let [price, direct, implied, orders] = cells(definition, ask);
        let right = format!("{price:<12}{direct:>10}{implied:>9}{orders:>7}");
        let _ = writeln!(
            text,
            " {} | {}",
            paint.green(left),
            paint.red(right.trim_end())
        );
    }
    let more = |side| {
        book.levels(BookKind::Direct, side)
            .len()
            .saturating_sub(rows)
    };
    let (bids, asks) = (more(Side::Bid), more(Side::Ask));
    // A book of few levels shows all that matters.
    if book.is_deep() && bids + asks > 0 {
        let _ = writeln!(
            text,
            " {}",
            paint.dim(format!(
                "{:>38} | {} more",
                format!("{} more", count(bids as u64)),
                count(asks as u64)
            ))
        );
    }
    text
}

/// Price, direct quantity, implied quantity and number of orders; empty where there is none.
fn cells(definition: &InstrumentDefinition, level: Option<ConsolidatedLevel>) -> [String; 4] {
    let Some(level) = level else {
        return Default::default();
    };
    let quantity = |quantity: Quantity| match definition.decimal(quantity) {
        Some(decimal) if quantity != Quantity::ZERO => decimal.to_string(),
        Some(_) => String::new(),
        None => "?".to_owned(),
    };
    let orders = if level.orders > 0 {
        level.orders.to_string()
    } else {
        String::new()
    };
    [
        level.price.to_string(),
        quantity(level.direct),
        quantity(level.implied),
        orders,
    ]
}
