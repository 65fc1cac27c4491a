//! A book as a person sees it: bids and asks side by side, implied quantities beside direct ones.

use crate::format::count;
use crate::paint::Paint;
use std::fmt::Write;
use touchline_book::{Consolidated, ConsolidatedLevel, PriceBook, Spread};
use touchline_types::{BookKind, InstrumentDefinition, Quantity, Side, Validity};

/// Draws the best `rows` levels of a book, best first; 80 columns wide.
///
/// ```text
///  ZQA0, 1032, live                            LOCKED or CROSSED behind it, direct or implied
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
    let (symbol, security_id) = (definition.symbol, definition.security_id);
    let _ = match symbol.is_empty() {
        true => write!(text, " {}, {state}", paint.bold(security_id)),
        false => write!(text, " {}, {security_id}, {state}", paint.bold(symbol)),
    };
    let _ = match spread_word(book.spread()) {
        Some(word) => writeln!(text, ", {}", paint.red(word)),
        None => writeln!(text),
    };
    let head = format!(
        " {:>6}{:>9}{:>11}{:>12} | {:<12}{:>10}{:>9}{:>7}",
        "orders", "implied", "direct", "bid", "ask", "direct", "implied", "orders"
    );
    let _ = writeln!(text, "{}", paint.dim(head));
    let mut bids = side_cells(definition, book, Side::Bid).take(rows);
    let mut asks = side_cells(definition, book, Side::Ask).take(rows);
    loop {
        let (bid, ask) = (bids.next(), asks.next());
        if bid.is_none() && ask.is_none() {
            break;
        }
        let [price, direct, implied, orders] = bid.unwrap_or_default();
        let left = format!("{orders:>6}{implied:>9}{direct:>11}{price:>12}");
        let [price, direct, implied, orders] = ask.unwrap_or_default();
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

/// What a spread is called that a market should not have.
pub fn spread_word(spread: Spread) -> Option<&'static str> {
    match spread {
        Spread::Locked => Some("LOCKED"),
        // mutant: ladder: a crossed book says nothing
        Spread::Crossed => Some("CROSSED"),
        Spread::Normal | Spread::OneSided => None,
    }
}

/// The rows of a side, best first; a best level that was never stated is a question mark.
fn side_cells<'a>(
    definition: &'a InstrumentDefinition,
    book: &'a PriceBook,
    side: Side,
) -> impl Iterator<Item = [String; 4]> + 'a {
    let best = book.levels(BookKind::Direct, side).first();
    let unstated = best.filter(|best| !best.known).map(|_| {
        let mut cells = <[String; 4]>::default();
        cells[0].push('?');
        cells
    });
    let stated = Consolidated::new(book, side).map(|level| cells(definition, &level));
    unstated.into_iter().chain(stated)
}

/// Price, direct quantity, implied quantity and number of orders; empty where there is none.
fn cells(definition: &InstrumentDefinition, level: &ConsolidatedLevel) -> [String; 4] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Instrument, LevelEvent, Place, Price, UpdateAction};

    const DEPTH: Depth = Depth {
        direct: 10,
        implied: 2,
    };

    fn drawn(levels: &[(Side, BookKind, u8, i64)]) -> String {
        let mut book = PriceBook::new(DEPTH);
        for &(side, kind, position, price) in levels {
            let event = LevelEvent {
                instrument: Instrument(0),
                orders: 1,
                price: Price(price * 1_000_000_000),
                quantity: Quantity(5),
                place: Place::Position(position),
                action: UpdateAction::New,
                side,
                book: kind,
            };
            let _ = book.apply(&event, &mut Vec::new());
        }
        let definition = InstrumentDefinition::unknown(Instrument(0), 7, DEPTH);
        ladder(&definition, Validity::Live, &book, 10, Paint::plain())
    }

    #[test]
    fn a_book_that_is_locked_or_crossed_says_so_also_where_a_side_is_implied() {
        use BookKind::{Direct, Implied};
        for (bid, word) in [(9, "live\n"), (10, ", LOCKED\n"), (11, ", CROSSED\n")] {
            for kind in [Direct, Implied] {
                let text = drawn(&[(Side::Ask, Direct, 1, 10), (Side::Bid, kind, 1, bid)]);
                let head = text.split_inclusive('\n').next().expect("a heading");
                assert!(head.ends_with(word), "{kind:?}: {text}");
            }
        }
    }

    #[test]
    fn a_best_level_that_was_never_stated_is_a_question_mark() {
        let text = drawn(&[(Side::Bid, BookKind::Direct, 2, 9)]);
        let rows: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
        assert!(rows[0].starts_with("? |"), "{text}");
        assert!(rows[1].contains("9 |"), "{text}");
    }
}
