//! Result of a run in the machine-readable form of the `--books`, `--orders` and `--tops` outputs.
//!
//! The generator's expected books and the reference handler's result both have this type, so they can be compared as
//! values and, line by line, as text.

use std::fmt::Write;

/// Books, orders and tops of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The final book of each instrument, by ascending id.
    pub books: Vec<BookRow>,
    /// The final orders of each instrument, by ascending id; empty if the run had no order data.
    pub orders: Vec<OrdersRow>,
    /// The best bid and offer after each end of event, in processing order.
    pub tops: Vec<TopRow>,
}

/// Side of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Buyers.
    Bid,
    /// Sellers.
    Ask,
}

/// State of an instrument's book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Complete, and confirmed after the last lost packet.
    Live,
    /// Complete as far as received, but a lost packet may have changed it.
    Gapped,
    /// Known to be incomplete; empty until a snapshot is used.
    Recovering,
    /// Known to be incomplete, and filled by updates (natural refresh).
    Natural,
}

/// One price level as the venue sent it; a null field is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Price in units of 1e-9.
    pub price: Option<i64>,
    /// Quantity in contracts.
    pub quantity: Option<i64>,
    /// Number of orders; absent for implied levels.
    pub orders: Option<i64>,
}

/// Final price book of one instrument. Sides are best first; `None` is an unknown level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookRow {
    /// The venue's id.
    pub security_id: i32,
    /// From the definition, if one was received.
    pub symbol: Option<String>,
    /// State of the book.
    pub state: State,
    /// RptSeq of the last processed entry.
    pub last_rpt_seq: u32,
    /// Direct bids.
    pub bids: Vec<Option<Level>>,
    /// Direct offers.
    pub asks: Vec<Option<Level>>,
    /// Implied bids.
    pub implied_bids: Vec<Option<Level>>,
    /// Implied offers.
    pub implied_asks: Vec<Option<Level>>,
}

/// One resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRow {
    /// The venue's order id.
    pub id: u64,
    /// Price in units of 1e-9.
    pub price: Option<i64>,
    /// Displayed quantity in contracts.
    pub quantity: Option<i64>,
}

/// Final orders of one instrument, in priority order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrdersRow {
    /// The venue's id.
    pub security_id: i32,
    /// From the definition, if one was received.
    pub symbol: Option<String>,
    /// State of the orders.
    pub state: State,
    /// Bids.
    pub bids: Vec<OrderRow>,
    /// Offers.
    pub asks: Vec<OrderRow>,
}

/// Best direct bid and offer of one instrument at an end of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRow {
    /// Sequence of the packet with the end of event.
    pub sequence: u64,
    /// The venue's id.
    pub security_id: i32,
    /// Best bid; `None` if absent or unknown.
    pub bid: Option<Level>,
    /// Best offer; `None` if absent or unknown.
    pub ask: Option<Level>,
}

impl Picture {
    /// Text of `books.jsonl`.
    pub fn books_jsonl(&self) -> String {
        let mut out = String::new();
        for row in &self.books {
            head(&mut out, row.security_id, row.symbol.as_deref(), row.state);
            let _ = write!(out, ",\"last_rpt_seq\":{}", row.last_rpt_seq);
            list(&mut out, "bids", &row.bids, |out, level| {
                level_or_null(out, level, true)
            });
            list(&mut out, "asks", &row.asks, |out, level| {
                level_or_null(out, level, true)
            });
            list(&mut out, "implied_bids", &row.implied_bids, |out, level| {
                level_or_null(out, level, false)
            });
            list(&mut out, "implied_asks", &row.implied_asks, |out, level| {
                level_or_null(out, level, false)
            });
            out.push_str("}\n");
        }
        out
    }

    /// Text of `orders.jsonl`.
    pub fn orders_jsonl(&self) -> String {
        let mut out = String::new();
        for row in &self.orders {
            head(&mut out, row.security_id, row.symbol.as_deref(), row.state);
            list(&mut out, "orders_bids", &row.bids, order);
            list(&mut out, "orders_asks", &row.asks, order);
            out.push_str("}\n");
        }
        out
    }

    /// Text of `tops.jsonl`.
    pub fn tops_jsonl(&self) -> String {
        let mut out = String::new();
        for row in &self.tops {
            let _ = write!(
                out,
                "{{\"seq\":{},\"security_id\":{},\"bid\":",
                row.sequence, row.security_id
            );
            level_or_null(&mut out, &row.bid, false);
            out.push_str(",\"ask\":");
            level_or_null(&mut out, &row.ask, false);
            out.push_str("}\n");
        }
        out
    }
}

/// A price as the shortest plain decimal: no exponent, no trailing zero, no trailing point.
pub fn decimal(nanos: impl Into<i128>) -> String {
    let nanos = nanos.into();
    let sign = if nanos < 0 { "-" } else { "" };
    let magnitude = nanos.unsigned_abs();
    let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let digits = format!("{fraction:09}");
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

impl Side {
    /// Opposite side.
    pub fn opposite(self) -> Self {
        match self {
            Self::Bid => Self::Ask,
            Self::Ask => Self::Bid,
        }
    }
}

impl State {
    /// Name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gapped => "gapped",
            Self::Recovering => "recovering",
            Self::Natural => "natural",
        }
    }
}

fn head(out: &mut String, security_id: i32, symbol: Option<&str>, state: State) {
    let _ = write!(out, "{{\"security_id\":{security_id},\"symbol\":");
    match symbol {
        Some(symbol) => text(out, symbol),
        None => out.push_str("null"),
    }
    let _ = write!(out, ",\"state\":\"{}\"", state.name());
}

fn list<T>(out: &mut String, name: &str, items: &[T], item: impl Fn(&mut String, &T)) {
    let _ = write!(out, ",\"{name}\":[");
    for (index, value) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        item(out, value);
    }
    out.push(']');
}

fn level_or_null(out: &mut String, level: &Option<Level>, with_orders: bool) {
    let Some(level) = level else {
        return out.push_str("null");
    };
    out.push('[');
    price(out, level.price);
    out.push(',');
    number(out, level.quantity);
    if with_orders {
        out.push(',');
        number(out, level.orders);
    }
    out.push(']');
}

fn order(out: &mut String, order: &OrderRow) {
    let _ = write!(out, "[\"{}\",", order.id);
    price(out, order.price);
    out.push(',');
    number(out, order.quantity);
    out.push(']');
}

fn price(out: &mut String, value: Option<i64>) {
    match value {
        Some(nanos) => _ = write!(out, "\"{}\"", decimal(nanos)),
        None => out.push_str("null"),
    }
}

fn number(out: &mut String, value: Option<i64>) {
    match value {
        Some(value) => _ = write!(out, "{value}"),
        None => out.push_str("null"),
    }
}

/// Writes a JSON string. Symbols come from the wire and may contain any character.
fn text(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_print_as_the_shortest_decimal() {
        for (nanos, expected) in [
            (0, "0"),
            (250_000_000, "0.25"),
            (15_230_000_000_000, "15230"),
            (-7_812_500, "-0.0078125"),
            (-1_000_000_001, "-1.000000001"),
            (i64::MIN, "-9223372036.854775808"),
        ] {
            assert_eq!(decimal(nanos), expected);
        }
    }

    #[test]
    fn rows_have_the_documented_format() {
        let level = |price, orders| {
            Some(Level {
                price: Some(price),
                quantity: Some(3),
                orders,
            })
        };
        let picture = Picture {
            books: vec![BookRow {
                security_id: 7,
                symbol: None,
                state: State::Gapped,
                last_rpt_seq: 9,
                bids: vec![None, level(1_500_000_000, Some(2))],
                asks: vec![level(2_000_000_000, None)],
                implied_bids: vec![level(1_000_000_000, None)],
                implied_asks: vec![],
            }],
            orders: vec![OrdersRow {
                security_id: 7,
                symbol: Some("A\"B".into()),
                state: State::Live,
                bids: vec![OrderRow {
                    id: u64::MAX,
                    price: Some(-5_000_000),
                    quantity: None,
                }],
                asks: vec![],
            }],
            tops: vec![TopRow {
                sequence: 4,
                security_id: 7,
                bid: None,
                ask: level(0, Some(1)),
            }],
        };
        assert_eq!(
            picture.books_jsonl(),
            "{\"security_id\":7,\"symbol\":null,\"state\":\"gapped\",\"last_rpt_seq\":9,\"bids\":[null,[\"1.5\",3,2]],\
             \"asks\":[[\"2\",3,null]],\"implied_bids\":[[\"1\",3]],\"implied_asks\":[]}\n"
        );
        assert_eq!(
            picture.orders_jsonl(),
            "{\"security_id\":7,\"symbol\":\"A\\\"B\",\"state\":\"live\",\
             \"orders_bids\":[[\"18446744073709551615\",\"-0.005\",null]],\"orders_asks\":[]}\n"
        );
        assert_eq!(
            picture.tops_jsonl(),
            "{\"seq\":4,\"security_id\":7,\"bid\":null,\"ask\":[\"0\",3]}\n"
        );
    }
}
