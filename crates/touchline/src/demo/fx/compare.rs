//! Compares the composite on its bus with the best prices of the simulated banks.

use crate::output::Failure;
use crate::paint::Paint;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};
use touchline_fx_events::ticks;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Item, Join, Kinds, Root, Subscriber};
use touchline_types::{Quote, Side, Update, Validity};

/// Banks at the best are published again each second; the ring also has older messages.
const READING: Duration = Duration::from_millis(2_500);
/// Decimals of a price.
const DECIMALS: u32 = 9;

/// Best bid and ask of each pair, as the simulator writes them; null for a pair that is not live.
pub type Composite = BTreeMap<String, Value>;

/// Reads the composite from its bus.
pub fn read(root: &Root, bus: &str) -> Result<Composite, Failure> {
    let join = Join {
        kinds: Kinds::QUOTES,
        ..Join::default()
    };
    let mut subscriber = Subscriber::join(root, bus, join).map_err(Failure::run)?;
    let (mut symbols, mut composite) = (BTreeMap::new(), Composite::new());
    let until = Instant::now() + READING;
    while Instant::now() < until {
        let polled = subscriber.poll(|item| {
            let Item::Update(received) = item else { return };
            match received.update {
                Update::Definition(definition) => {
                    symbols.insert(definition.instrument, definition.symbol.to_string());
                }
                Update::QuoteSnapshot(snapshot) => {
                    let stream = snapshot.stream;
                    if let Some(symbol) = symbols.get(&stream.instrument) {
                        let is_live = stream.validity == Validity::Live;
                        let sides = Side::BOTH.map(|side| side_of(snapshot.quotes, side));
                        let [bid, ask] = sides;
                        let row = match is_live {
                            true => json!({"pair": symbol, "bid": bid, "ask": ask}),
                            false => Value::Null,
                        };
                        composite.insert(symbol.clone(), row);
                    }
                }
                _ => {}
            }
        });
        if matches!(polled, Polled::Nothing) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(composite)
}

/// Price, quantity and banks of a side.
fn side_of(quotes: &[Quote], side: Side) -> Value {
    let best = quotes
        .iter()
        .filter(|quote| quote.side == side && quote.tier.is_none());
    let names: Vec<&str> = best.clone().map(|quote| quote.quote_id.as_str()).collect();
    match best.clone().next() {
        None => Value::Null,
        Some(first) => json!([
            ticks::text(i128::from(first.price.0), DECIMALS),
            first.quantity.0,
            names,
        ]),
    }
}

/// The composite and the best prices of the banks, pair by pair.
#[derive(Debug, Default)]
pub struct Comparison {
    rows: Vec<(String, Value, Value)>,
}

impl Comparison {
    /// Compares the composite with the lines of the simulator.
    pub fn of(composite: &Composite, said: &[String]) -> Comparison {
        let mut rows = BTreeMap::new();
        let lines = said.iter().filter(|line| line.starts_with('{'));
        for line in lines {
            let Ok(expected) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let Some(pair) = expected["pair"].as_str().map(str::to_owned) else {
                continue;
            };
            let found = composite.get(&pair).cloned().unwrap_or(Value::Null);
            // The last row is of the time of the comparison.
            rows.insert(pair, (found, expected));
        }
        let rows = rows.into_iter();
        Comparison {
            rows: rows
                .map(|(pair, (found, expected))| (pair, found, expected))
                .collect(),
        }
    }

    /// Whether at least one pair was compared and none differs.
    pub fn is_equal(&self) -> bool {
        !self.rows.is_empty()
            && self
                .rows
                .iter()
                .all(|(_, found, expected)| found == expected)
    }

    /// The result, for a screen.
    pub fn describe(&self, paint: Paint) -> String {
        let mut text = format!(
            "\n{}\n",
            paint.bold("The composite and the best prices of the banks")
        );
        for (pair, found, expected) in &self.rows {
            // Writing into a string does not fail.
            let _ = match found == expected {
                true => writeln!(text, "  {} {}", paint.green(pair.clone()), side_text(found)),
                false => writeln!(
                    text,
                    "  {} the composite is {}, the best of the banks {}",
                    paint.red(pair.clone()),
                    side_text(found),
                    side_text(expected)
                ),
            };
        }
        text
    }
}

fn side_text(row: &Value) -> String {
    let side = |name: &str| match row[name].as_array().map(Vec::as_slice) {
        Some([Value::String(price), quantity, Value::Array(banks)]) => {
            let banks: Vec<&str> = banks.iter().filter_map(Value::as_str).collect();
            format!("{quantity} at {price} ({})", banks.join(", "))
        }
        _ => "nothing".to_owned(),
    };
    match row {
        Value::Null => "not live".to_owned(),
        _ => format!("{} | {}", side("bid"), side("ask")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"pair":"EUR/USD","bid":["1.1",1000000,["LP01"]],"ask":["1.10002",2000000,["LP01","LP02"]]}"#;

    #[test]
    fn another_bank_price_or_size_is_a_difference() {
        let row: Value = serde_json::from_str(LINE).expect("a row");
        let composite = Composite::from([("EUR/USD".to_owned(), row.clone())]);
        let said = vec!["ok".to_owned(), LINE.to_owned()];
        assert!(Comparison::of(&composite, &said).is_equal());
        for other in [
            LINE.replace("LP02", "LP03"),
            LINE.replace("1.10002", "1.10003"),
            LINE.replace("2000000", "3000000"),
            LINE.replace(r#"["1.1",1000000,["LP01"]]"#, "null"),
        ] {
            let said = vec![other.clone()];
            assert!(!Comparison::of(&composite, &said).is_equal(), "{other}");
        }
        assert!(!Comparison::of(&Composite::new(), &said).is_equal());
        assert!(!Comparison::of(&composite, &[]).is_equal(), "nothing said");
    }
}
