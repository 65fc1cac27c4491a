//! Ladder of a book: bids and asks side by side, implied quantities beside direct ones.

use crate::format::count;
use crate::paint::Paint;
use std::fmt::Write;
use touchline_client::{Book, ConsolidatedLevel, Price, Quantity, Side, Spread, State};

/// Draws the best `rows` levels of a book, best first; 80 columns wide.
///
/// ```text
///  ZQA0, 1032, live                            LOCKED or CROSSED behind it, direct or implied
///  orders  implied     direct         bid | ask             direct  implied orders
///       3                  12     4500.25 | 4500.5               7        2      1
/// ```
pub fn ladder(book: &Book<'_>, rows: usize, paint: Paint) -> String {
    let mut text = String::new();
    let state = match book.state() {
        State::Live => paint.green(book.state().name()),
        _ => paint.yellow(book.state().name()),
    };
    let security_id = book.definition().security_id;
    let _ = match book.symbol() {
        "?" => write!(text, " {}, {state}", paint.bold(security_id)),
        symbol => write!(text, " {}, {security_id}, {state}", paint.bold(symbol)),
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
    let side = |side| side_cells(book, side, |price| price.to_string()).take(rows);
    let (mut bids, mut asks) = (side(Side::Bid), side(Side::Ask));
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
    let more = |side| book.levels(side).count().saturating_sub(rows);
    let (bids, asks) = (more(Side::Bid), more(Side::Ask));
    // For a shallow book the whole depth is shown.
    if book.definition().depth.is_all() && bids + asks > 0 {
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

/// Label of an abnormal spread.
pub fn spread_word(spread: Spread) -> Option<&'static str> {
    match spread {
        Spread::Locked => Some("LOCKED"),
        Spread::Crossed => Some("CROSSED"),
        Spread::Normal | Spread::OneSided => None,
    }
}

/// Rows of a side, best first: price, direct quantity, implied quantity and number of orders. A best level that was never
/// published is a question mark.
pub fn side_cells<'a, F: Fn(Price) -> String>(
    book: &Book<'a>,
    side: Side,
    price: F,
) -> impl Iterator<Item = [String; 4]> + use<'a, F> {
    let best = book.direct(side).next();
    let unstated = best.filter(|best| !best.is_known).map(|_| {
        let mut cells = <[String; 4]>::default();
        cells[0].push('?');
        cells[1].push('?');
        cells
    });
    let stated = book
        .levels(side)
        .map(move |level| cells(&level, price(level.price)));
    unstated.into_iter().chain(stated)
}

/// Quantities and orders are empty if absent.
fn cells(level: &ConsolidatedLevel, price: String) -> [String; 4] {
    let quantity = |quantity: Quantity| match quantity.mantissa() {
        0 => String::new(),
        _ => quantity.to_string(),
    };
    let orders = level.orders.filter(|orders| *orders > 0);
    let (mut direct, implied) = (quantity(level.direct), quantity(level.implied));
    if direct.is_empty() && implied.is_empty() {
        direct = level.direct.to_string();
    }
    [
        price,
        direct,
        implied,
        orders.map_or(String::new(), |orders| orders.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_client::Bus;
    use touchline_testing::Folder;
    use touchline_transport::Publish;
    use touchline_transport::shm::{Publisher, Root, Settings};
    use touchline_types::{
        BookSnapshot, Depth, Instrument, InstrumentDefinition, Level, Price, Quantity as Units,
        Timestamps, Update, Validity,
    };

    fn level(price: i64) -> Level {
        Level {
            price: Price(price * 1_000_000_000),
            quantity: Units(5),
            orders: 1,
            known: true,
        }
    }

    /// The ladder of a book with these lists.
    fn drawn(name: &str, bids: &[Level], asks: &[Level], implied_bids: &[Level]) -> String {
        let folder = Folder::new(name);
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let settings = Settings::default();
        let mut publisher = Publisher::open(&Root::at(&folder), "test", &settings).expect("ours");
        let definition = InstrumentDefinition::unknown(Instrument(0), 7, depth);
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
        let book = BookSnapshot {
            instrument: Instrument(0),
            validity: Validity::Live,
            bids,
            asks,
            implied_bids,
            implied_asks: &[],
        };
        publisher.publish(&Update::BookSnapshot(book), &Timestamps::default());
        publisher.commit();
        let options = Bus::options().directory(&folder);
        let mut snapshot = options.snapshot("test").expect("it is there");
        let book = snapshot
            .book(touchline_client::SecurityId(7))
            .expect("it was published");
        ladder(&book, 10, Paint::plain())
    }

    #[test]
    fn locked_and_crossed_books_are_marked_also_by_implied_prices() {
        for (bid, word) in [(9, "live\n"), (10, ", LOCKED\n"), (11, ", CROSSED\n")] {
            let (bid, ask) = ([level(bid)], [level(10)]);
            let direct = drawn("direct", &bid, &ask, &[]);
            let implied = drawn("implied", &[], &ask, &bid);
            for text in [direct, implied] {
                let head = text.split_inclusive('\n').next().expect("a heading");
                assert!(head.ends_with(word), "{text}");
            }
        }
    }

    #[test]
    fn a_best_level_that_was_never_stated_is_a_question_mark() {
        let text = drawn("unstated", &[Level::UNKNOWN, level(9)], &[], &[]);
        let rows: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
        let words = |row: &str| {
            row.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(rows[0]), ["?", "?", "|"], "{text}");
        assert_eq!(words(rows[1]), ["1", "5", "9", "|"], "{text}");
    }

    /// A level is drawn with a quantity, also one of size zero.
    #[test]
    fn no_level_is_drawn_without_its_quantity() {
        let empty = Level {
            quantity: Units(0),
            ..level(9)
        };
        let text = drawn("zero", &[empty], &[], &[]);
        let row = text.lines().nth(2).expect("a level");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["1", "0", "9", "|"], "{text}");
    }
}
