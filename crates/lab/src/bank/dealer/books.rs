//! Ledger of a dealing desk, and counts of its actions.

use super::order::Order;
use crate::picture::decimal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Position of a pair, of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Base units.
    pub position: i64,
    /// Term currency, ticks times units.
    pub cash: i128,
}

/// The books of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Books {
    /// By pair.
    pairs: Vec<Book>,
    /// By value date and pair.
    #[serde(default)]
    dates: BTreeMap<String, Vec<Book>>,
    /// Orders received.
    pub orders: u64,
    /// Orders received under a ClOrdID that was used before.
    pub duplicates: u64,
    /// Orders with a value date that was not the spot date of the pair when they were made.
    #[serde(default)]
    pub wrong_dates: u64,
    /// Fills.
    pub fills: u64,
    /// Rejects.
    pub rejects: u64,
    /// Rejects by OrdRejReason (103).
    #[serde(default)]
    pub reject_reasons: BTreeMap<u32, u64>,
    /// Orders that were lost before anybody saw them.
    pub lost: u64,
    /// Orders without a report.
    pub silent: u64,
    /// Orders whose answer came late.
    pub late: u64,
    /// Fills of orders that had ended.
    pub after_end: u64,
    /// Trades reversed.
    pub busts: u64,
    /// Trades corrected.
    pub corrects: u64,
    /// Connections closed with orders out.
    pub disconnects: u64,
    /// Cancel requests received.
    pub cancels: u64,
    /// Status requests received.
    pub questions: u64,
    /// Trades that the client refused.
    pub dont_knows: u64,
    /// Reports that contradicted themselves or their order, by tag.
    #[serde(default)]
    pub contradictions: BTreeMap<u32, u64>,
}

impl Books {
    /// Empty books.
    pub fn new(pairs: usize) -> Books {
        Books {
            pairs: vec![Book::default(); pairs],
            ..Books::default()
        }
    }

    /// Number of pairs.
    pub(super) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Position of a pair.
    pub fn of(&self, pair: usize) -> Book {
        self.pairs[pair]
    }

    /// Books a trade of the client; a negative quantity reverses one.
    pub(super) fn trade(&mut self, order: &Order, quantity: i64, price: i64) {
        let signed = if order.is_buy { quantity } else { -quantity };
        let pairs = self.pairs.len();
        let dated = self.dates.entry(order.date.clone());
        let dated = dated.or_insert_with(|| vec![Book::default(); pairs]);
        for book in [&mut self.pairs[order.pair], &mut dated[order.pair]] {
            book.position += signed;
            book.cash -= i128::from(price) * i128::from(signed);
        }
    }

    /// Counts a report that contradicts itself.
    pub(super) fn contradict(&mut self, tag: u32) {
        *self.contradictions.entry(tag).or_default() += 1;
    }

    /// Counts a reject.
    pub(super) fn reject(&mut self, reason: u32) {
        self.rejects += 1;
        *self.reject_reasons.entry(reason).or_default() += 1;
    }

    /// Counts by name, for a line of a table.
    pub fn counts(&self) -> [(&'static str, u64); 16] {
        [
            ("orders", self.orders),
            ("fills", self.fills),
            ("rejects", self.rejects),
            ("lost", self.lost),
            ("silent", self.silent),
            ("late", self.late),
            ("after_end", self.after_end),
            ("busts", self.busts),
            ("corrects", self.corrects),
            ("disconnects", self.disconnects),
            ("cancels", self.cancels),
            ("questions", self.questions),
            ("dont_knows", self.dont_knows),
            ("duplicates", self.duplicates),
            ("wrong_dates", self.wrong_dates),
            ("reports", self.fills + self.rejects),
        ]
    }

    /// The books as one JSON object; `pairs` are the symbols with the decimals of their ticks. Cash is in term currency.
    pub fn json(&self, bank: &str, pairs: &[(&str, u32)]) -> String {
        let mut text = format!("{{\"bank\":\"{bank}\"");
        for (name, count) in self.counts() {
            // Writing into a string does not fail.
            let _ = write!(text, ",\"{name}\":{count}");
        }
        text.push_str(",\"reject_reasons\":{");
        for (place, (reason, count)) in self.reject_reasons.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\"{reason}\":{count}");
        }
        text.push_str("},\"contradictions\":{");
        for (place, (tag, count)) in self.contradictions.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\"{tag}\":{count}");
        }
        text.push_str("},\"positions\":");
        add_positions(&mut text, &self.pairs, pairs);
        text.push_str(",\"dates\":{");
        for (place, (date, books)) in self.dates.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(text, "{comma}\"{date}\":");
            add_positions(&mut text, books, pairs);
        }
        text.push_str("}}");
        text
    }
}

/// Adds the positions of all pairs as an object.
fn add_positions(text: &mut String, books: &[Book], pairs: &[(&str, u32)]) {
    text.push('{');
    for (place, (Book { position, cash }, (symbol, decimals))) in
        books.iter().zip(pairs).enumerate()
    {
        let comma = if place == 0 { "" } else { "," };
        let cash = decimal(cash * 10_i128.pow(9 - decimals));
        // Writing into a string does not fail.
        let _ = write!(text, "{comma}\"{symbol}\":[{position},\"{cash}\"]");
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cash_is_in_term_currency() {
        let mut books = Books::new(2);
        books.pairs[0].cash = -110_002_050_000;
        books.pairs[1].cash = 30_000_000_000_000_001;
        let line = books.json("A", &[("EUR/USD", 5), ("USD/JPY", 3)]);
        let positions = "{\"EUR/USD\":[0,\"-1100020.5\"],\"USD/JPY\":[0,\"30000000000000.001\"]}";
        assert!(line.contains(positions), "{line}");
    }
}
