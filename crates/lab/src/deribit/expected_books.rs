//! Expected books of the exchange: their states, and the final books.
//!
//! States have the format of [`crate::cme::expected_books`], a line each, and the same checker compares a subscriber's
//! books with them. The instrument is its position in the venue's list, from 1.

use super::market::{Book, Instrument, Market, Side, best};
use crate::cme::expected_books::{BookState, hash};
use std::fmt::Write;

/// Current state of a book. Prices count in 1e-9, quantities in 1e-8, and the number of orders is absent (-1), as
/// subscribers receive it.
pub fn state(market: &Market, instrument: usize) -> BookState {
    let about = &market.instruments()[instrument];
    let book = &market.books()[instrument];
    BookState {
        sequence: u64::from(market.happened()),
        security_id: about.number,
        hash: hash([
            levels(about, book, Side::Bid),
            levels(about, book, Side::Offer),
            Vec::new(),
            Vec::new(),
        ]),
    }
}

/// States of all books before the first event.
pub fn states(market: &Market) -> impl Iterator<Item = BookState> + '_ {
    (0..market.books().len()).map(|instrument| state(market, instrument))
}

/// Levels of a side, best first: price, quantity, and no number of orders.
fn levels(about: &Instrument, book: &Book, side: Side) -> Vec<(i64, i64, i64)> {
    let scaled = |(price, lots)| (price * about.tick, lots * about.lot, -1);
    best(book, side).map(scaled).collect()
}

/// All books, a JSON object a line, in the format of `replay --books`.
pub fn books_jsonl(market: &Market) -> String {
    let mut text = String::new();
    for (about, book) in market.instruments().iter().zip(market.books()) {
        let _ = write!(
            text,
            "{{\"security_id\":{},\"symbol\":\"{}\",\"state\":\"live\",\"last_rpt_seq\":null",
            about.number, about.symbol
        );
        for (name, side) in [("bids", Side::Bid), ("asks", Side::Offer)] {
            let _ = write!(text, ",\"{name}\":[");
            let mut separator = "";
            for (price, quantity, _) in levels(about, book, side) {
                let price = shortest(price, 9);
                let quantity = match quantity % 100_000_000 {
                    0 => shortest(quantity, 8),
                    _ => format!("\"{}\"", shortest(quantity, 8)),
                };
                let _ = write!(text, "{separator}[\"{price}\",{quantity},null]");
                separator = ",";
            }
            text.push(']');
        }
        text.push_str(",\"implied_bids\":[],\"implied_asks\":[]}\n");
    }
    text
}

/// A number with this number of decimals, in its shortest form.
fn shortest(number: i64, decimals: usize) -> String {
    let scale = 10_i64.pow(decimals as u32);
    let text = format!("{}.{:0decimals$}", number / scale, number % scale);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::market::Settings;
    use super::*;

    #[test]
    fn books_are_written_in_the_common_format() {
        assert_eq!(shortest(60_000_500_000_000, 9), "60000.5");
        assert_eq!(shortest(30_000_000_000, 9), "30");
        assert_eq!(shortest(10_000_000, 8), "0.1");
        let market = Market::open(&Settings {
            seed: 1,
            instruments: 5,
            levels: 3,
        });
        let text = books_jsonl(&market);
        let rows: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[0]["symbol"], "BTC-PERPETUAL");
        assert_eq!(rows[0]["bids"].as_array().map(Vec::len), Some(3));
        assert_eq!(rows[0]["bids"][0][0], "59999.5");
        assert!(rows[0]["bids"][0][1].is_u64() && rows[0]["bids"][0][2].is_null());
    }

    #[test]
    fn every_change_is_another_state() {
        let mut market = Market::open(&Settings {
            seed: 1,
            instruments: 2,
            levels: 10,
        });
        let mut last: Vec<BookState> = states(&market).collect();
        for _ in 0..1_000 {
            let happening = market.step();
            let now = state(&market, happening.instrument);
            let changed = now.hash != last[happening.instrument].hash;
            assert_eq!(changed, !happening.changes.is_empty());
            last[happening.instrument] = now;
        }
    }
}
