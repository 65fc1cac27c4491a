//! Positions by the lines of an engine and by the banks' ledgers, and their comparison.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use touchline_fx_events::lines::LineKind;

/// Positions: base units, and cash in term currency, 1e-9.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<String, (i64, i128)>);

impl Positions {
    fn book(&mut self, key: String, units: i64, cash: i128) {
        let book = self.0.entry(key).or_default();
        book.0 += units;
        book.1 += cash;
    }

    /// Units of a pair, or of a bank and pair.
    pub fn of(&self, key: &str) -> i64 {
        self.0.get(key).map_or(0, |(units, _)| *units)
    }

    /// Without cash.
    pub fn units(&self) -> Positions {
        let all = self.0.iter();
        Positions(
            all.map(|(key, (units, _))| (key.clone(), (*units, 0)))
                .collect(),
        )
    }

    fn without_empty(&self) -> Positions {
        let all = self.0.iter().filter(|(_, book)| **book != (0, 0));
        Positions(all.map(|(key, book)| (key.clone(), *book)).collect())
    }
}

/// Positions by bank and pair, from fills.
#[derive(Debug, Clone, Default)]
pub struct Books {
    positions: Positions,
    /// Fills that were seen: bank, ExecID and kind.
    seen: BTreeSet<(String, String, String)>,
    pub fills: u64,
}

impl Books {
    /// Takes a line of the engine. A fill that comes twice is an error.
    pub fn take(&mut self, kind: LineKind, text: &str) -> Result<(), String> {
        if kind != LineKind::Fill {
            return Ok(());
        }
        let line: Value = serde_json::from_str(text).expect("a line is JSON");
        self.fill(&|key| match &line[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// Books of `fills.csv`.
    pub fn of_csv(text: &str) -> Result<Books, String> {
        let (mut books, mut lines) = (Books::default(), text.lines());
        let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            books.fill(&|key| {
                let place = columns.iter().position(|column| *column == key);
                cells[place.expect("a column")].to_owned()
            })?;
        }
        Ok(books)
    }

    fn fill(&mut self, value: &dyn Fn(&str) -> String) -> Result<(), String> {
        let (bank, kind, pair) = (value("bank"), value("kind"), value("pair"));
        if !self
            .seen
            .insert((bank.clone(), value("exec_id"), kind.clone()))
        {
            return Err(format!("a fill came twice: {bank} {}", value("exec_id")));
        }
        self.fills += 1;
        let quantity: i64 = value("qty").parse().expect("units");
        let is_plus = (value("side") == "buy") != (kind == "bust");
        let units = if is_plus { quantity } else { -quantity };
        let cash = -nanos(&value("price")) * i128::from(units);
        self.positions.book(format!("{bank} {pair}"), units, cash);
        Ok(())
    }

    /// By bank and pair.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }
}

/// Positions by value date and pair: the last line of each pair of an engine.
#[derive(Debug, Clone, Default)]
pub struct ByDate(BTreeMap<String, Positions>);

impl ByDate {
    /// Takes a line of the engine.
    pub fn take(&mut self, kind: LineKind, text: &str) {
        if kind != LineKind::Position {
            return;
        }
        let line: Value = serde_json::from_str(text).expect("a line is JSON");
        let pair = line["pair"].as_str().expect("a pair");
        let mut positions = Positions::default();
        for part in line["dates"].as_array().expect("dates") {
            let date = part[0].as_str().expect("a date");
            positions.book(format!("{date} {pair}"), units(&part[1]), cash(&part[2]));
        }
        self.0.insert(pair.to_owned(), positions);
    }

    pub fn positions(&self) -> Positions {
        let all = self.0.values().flat_map(|of| of.0.clone());
        Positions(all.collect())
    }
}

fn units(value: &Value) -> i64 {
    value.as_i64().expect("units")
}

fn cash(value: &Value) -> i128 {
    nanos(value.as_str().expect("cash"))
}

/// A decimal in 1e-9.
pub fn nanos(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<9}");
    digits
        .parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Positions by pair, from lines with `pair`, `position` and `cash`.
pub fn positions(lines: &str) -> Result<Positions, String> {
    let mut positions = Positions::default();
    for text in lines.lines() {
        let line: Value = serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))?;
        let pair = line["pair"].as_str().ok_or("no pair")?.to_owned();
        let units = line["position"].as_i64().ok_or("no position")?;
        positions.book(pair, units, nanos(line["cash"].as_str().ok_or("no cash")?));
    }
    Ok(positions)
}

/// Ledgers of the banks.
#[derive(Debug, Clone)]
pub struct Ledgers(Vec<Value>);

impl Ledgers {
    pub fn read(text: &str) -> Ledgers {
        let lines = text.lines().map(serde_json::from_str);
        Ledgers(lines.map(|line| line.expect("a ledger")).collect())
    }

    /// Total of the counts of this name.
    pub fn count(&self, name: &str) -> u64 {
        let counts = self.0.iter().map(|bank| bank[name].as_u64());
        counts.map(|count| count.expect("a count")).sum()
    }

    /// Reports that contradicted themselves or their order, of all tags.
    pub fn contradictions(&self) -> u64 {
        let tags = self
            .0
            .iter()
            .filter_map(|bank| bank["contradictions"].as_object());
        tags.flat_map(|tags| tags.values())
            .filter_map(Value::as_u64)
            .sum()
    }

    /// The ledger of one bank.
    pub fn of_bank(&self, name: &str) -> &Value {
        let mut ledgers = self.0.iter();
        let found = ledgers.find(|ledger| ledger["bank"] == name);
        found.expect("a bank with a ledger")
    }

    pub fn by_pair(&self) -> Positions {
        self.positions(|_, pair| pair.to_owned())
    }

    pub fn by_bank(&self) -> Positions {
        self.positions(|bank, pair| format!("{bank} {pair}"))
    }

    /// By value date and pair.
    pub fn by_date(&self) -> Positions {
        let mut positions = Positions::default();
        for ledger in &self.0 {
            for (date, pairs) in ledger["dates"].as_object().expect("dates") {
                for (pair, book) in pairs.as_object().expect("a book") {
                    positions.book(format!("{date} {pair}"), units(&book[0]), cash(&book[1]));
                }
            }
        }
        positions
    }

    /// Value dates of all trades.
    pub fn value_dates(&self) -> BTreeSet<&str> {
        let dates = self.0.iter().filter_map(|of| of["dates"].as_object());
        dates
            .flat_map(|dates| dates.keys().map(String::as_str))
            .collect()
    }

    /// Ledgers that are wrong: a trade of one value date has another one.
    pub fn of_another_date(&self) -> Ledgers {
        let mut other = self.clone();
        let dates = other.0[0]["dates"].as_object_mut().expect("dates");
        let (first, moved) = dates
            .iter()
            .next()
            .map(|(date, of)| (date.clone(), of.clone()))
            .expect("a trade");
        dates.remove(&first);
        dates.insert("20991231".to_owned(), moved);
        other
    }

    fn positions(&self, key: impl Fn(&str, &str) -> String) -> Positions {
        let mut positions = Positions::default();
        for ledger in &self.0 {
            let bank = ledger["bank"].as_str().expect("a bank");
            for (pair, book) in ledger["positions"].as_object().expect("a book") {
                positions.book(key(bank, pair), units(&book[0]), cash(&book[1]));
            }
        }
        positions
    }

    /// Ledgers that are wrong: a fill more, a fill less, a fill at another price, a fill of another bank, an order that came
    /// twice.
    pub fn wrong_by_one_fill(&self) -> Vec<Ledgers> {
        let trade = |ledgers: &mut Ledgers, bank: usize, units: i64, price: i64| {
            let book = &mut ledgers.0[bank]["positions"]["EUR/USD"];
            // The price is in ticks of 0.00001.
            let cash = nanos(book[1].as_str().expect("cash"));
            let cash = cash - i128::from(price * units) * 10_000;
            book[0] = (book[0].as_i64().expect("units") + units).into();
            book[1] = touchline_fx_events::ticks::text(cash, 9).into();
        };
        let changed = |change: &dyn Fn(&mut Ledgers)| {
            let mut ledgers = self.clone();
            change(&mut ledgers);
            ledgers
        };
        vec![
            changed(&|ledgers| trade(ledgers, 0, 1_000, 110_000)),
            changed(&|ledgers| trade(ledgers, 1, -1_000, 110_000)),
            changed(&|ledgers| {
                trade(ledgers, 0, 1_000, 110_000);
                trade(ledgers, 0, -1_000, 110_001);
            }),
            changed(&|ledgers| {
                trade(ledgers, 0, 1_000, 110_000);
                trade(ledgers, 1, -1_000, 110_000);
            }),
            changed(&|ledgers| ledgers.0[0]["duplicates"] = 1.into()),
        ]
    }
}

/// Checks the output of an engine at its end, a summary and its positions: no order is unknown, no order came twice, and positions are
/// those of the ledgers.
pub fn judge_end(said: &str, ledgers: &Ledgers) -> Result<(), String> {
    let (summary, lines) = said.split_once('\n').ok_or("no summary")?;
    if !summary.contains(" 0 orders unknown") {
        return Err(summary.to_owned());
    }
    if ledgers.count("duplicates") > 0 {
        return Err("an order came twice".to_owned());
    }
    is_equal("the engine", &positions(lines)?, &ledgers.by_pair())
}

/// The positions are those of the ledgers, and no order came twice.
pub fn judge(books: &Books, ledgers: &Ledgers) -> Result<(), String> {
    match ledgers.count("duplicates") {
        0 => is_equal("its lines", books.positions(), &ledgers.by_bank()),
        count => Err(format!("{count} orders came twice")),
    }
}

/// Named positions, and those of the ledgers; a pair without trades may be missing.
pub fn is_equal(what: &str, found: &Positions, ledgers: &Positions) -> Result<(), String> {
    match found.without_empty() == ledgers.without_empty() {
        true => Ok(()),
        false => Err(format!(
            "{what}: {found:?}, the banks' ledgers: {ledgers:?}"
        )),
    }
}
