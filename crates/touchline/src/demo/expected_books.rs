//! Comparison of the subscriber's books with the exchange's, row by row.

use crate::output::Failure;
use crate::paint::Paint;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Result of the comparison: books and order books compared, and those that differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    books: Compared,
    order_books: Compared,
}

/// One kind of book.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compared {
    total: usize,
    wrong: Vec<String>,
}

/// Compares the files of the exchange and of the subscriber in a folder.
pub fn compare(folder: &Path) -> Result<Comparison, Failure> {
    let compared = |kind: &str| {
        let expected_books = read(&folder.join(format!("truth-{kind}.jsonl")))?;
        let held = read(&folder.join(format!("{kind}.jsonl")))?;
        Ok(rows(&expected_books, &held))
    };
    Ok(Comparison {
        books: compared("books")?,
        order_books: compared("orders")?,
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::run(format!("{}: {error}", path.display())))
}

/// Compares each expected row, without `last_rpt_seq`, which a bus does not carry.
fn rows(expected_books: &str, held: &str) -> Compared {
    let held: BTreeMap<i64, Value> = parsed(held).collect();
    let mut compared = Compared::default();
    for (id, expected) in parsed(expected_books) {
        compared.total += 1;
        if held.get(&id) != Some(&expected) {
            let symbol = expected["symbol"].as_str().map(str::to_owned);
            compared
                .wrong
                .push(symbol.unwrap_or_else(|| id.to_string()));
        }
    }
    compared
}

fn parsed(text: &str) -> impl Iterator<Item = (i64, Value)> + '_ {
    text.lines().filter_map(|line| {
        let mut row: Value = serde_json::from_str(line).ok()?;
        row.as_object_mut()?.remove("last_rpt_seq");
        Some((row["security_id"].as_i64()?, row))
    })
}

impl Comparison {
    /// Whether books were compared and none differs.
    pub fn is_equal(&self) -> bool {
        let compared = [&self.books, &self.order_books];
        compared
            .into_iter()
            .all(|compared| compared.total > 0 && compared.wrong.is_empty())
    }

    /// The differences, in one line.
    pub fn difference(&self) -> String {
        let wrong = |compared: &Compared| match compared.total {
            0 => "none at all".to_owned(),
            _ => compared.wrong.join(", "),
        };
        let (books, orders) = (wrong(&self.books), wrong(&self.order_books));
        format!(
            "books differ from the exchange's: price books of [{books}], order books of [{orders}]"
        )
    }

    /// The result, for the terminal.
    pub fn describe(&self, paint: Paint) -> String {
        let mut text = format!(
            "\n{}\n",
            paint.bold("The subscriber's books against the exchange's")
        );
        for (name, Compared { total, wrong }) in [
            ("price books", &self.books),
            ("order books", &self.order_books),
        ] {
            let equal = format!(
                "{} of {total} {name} equal the exchange's",
                total - wrong.len()
            );
            let _ = match wrong.is_empty() {
                true => writeln!(text, "  {}", paint.green(equal)),
                false => writeln!(text, "  {}: not {}", paint.red(equal), wrong.join(", ")),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str =
        r#"{"security_id":7,"symbol":"ZQ","state":"live","last_rpt_seq":5,"bids":[["1",2,1]]}"#;

    #[test]
    fn a_book_that_is_missing_or_other_is_named() {
        let held = ROW.replace("\"last_rpt_seq\":5", "\"last_rpt_seq\":null");
        assert_eq!(rows(ROW, &held).wrong, [""; 0]);
        for other in [
            String::new(),
            held.replace("[\"1\",2,1]", "[\"1\",3,1]"),
            held.replace("live", "gapped"),
            held.replace("\"security_id\":7", "\"security_id\":8"),
        ] {
            assert_eq!(rows(ROW, &other).wrong, ["ZQ"], "{other}");
        }
        assert!(!Comparison::default().is_equal(), "nothing was compared");
    }
}
