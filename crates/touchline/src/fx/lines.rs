//! Lines of an engine as text.

use serde_json::{Map, Value};

/// A line of the drop copy or the journal.
pub type Fields = Map<String, Value>;

/// The value of a field without quotation marks; `-` if there is none.
pub fn field(line: &Fields, key: &str) -> String {
    match line.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A whole number of a line; 0 if there is none.
pub fn whole(line: &Fields, key: &str) -> i64 {
    line.get(key).and_then(Value::as_i64).unwrap_or(0)
}

/// A trade as text, with its quantity as the caller writes it: `buy 1000000 EUR/USD at 1.10001 by LP02`.
pub fn trade(line: &Fields, quantity: &str) -> String {
    let of = |key| field(line, key);
    format!(
        "{} {quantity} {} at {} by {}",
        of("side"),
        of("pair"),
        of("price"),
        of("bank")
    )
}
