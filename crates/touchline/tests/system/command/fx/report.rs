//! `touchline fx report`: its figures against another computation from the records of the journal, over two runs, the first of which is
//! killed.

use super::books::nanos;
use super::trade::{Market, close};
use crate::command::Desk;
use serde_json::Value;
use std::collections::BTreeMap;
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{BenchmarkOf, Event};
use touchline_fx_events::lines::{LineKind, lines_of};
use touchline_fx_events::ticks;

/// Banks that reject, hold, fill in parts, reverse and correct.
const BANKS: [&str; 3] = [
    "[banks.orders]\nhold_ms = [2, 8]\npartial = 0.3\nbust = 0.15\ncorrect = 0.15",
    "[banks.orders]\nreject = 0.4\nhold_ms = [1, 3]",
    "[banks.orders]\nlast_look_ticks = 0\nhold_ms = [5, 20]",
];

/// A table of the report.
struct Table(Vec<BTreeMap<String, String>>);

impl Table {
    fn read(desk: &Desk, folder: &str, file: &str) -> Table {
        let text = desk.read(&format!("{folder}/{file}"));
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), head.len(), "{file}: {line}");
            let cells = head.iter().zip(cells);
            cells
                .map(|(key, cell)| ((*key).to_owned(), cell.to_owned()))
                .collect()
        };
        Table(lines.map(row).collect())
    }
}

/// What the records say of a parent: side, units, cost, mid at arrival, all of 1e-9.
#[derive(Debug, Default)]
struct Parent {
    sign: i128,
    units: i128,
    cost: i128,
    mid2: Option<i128>,
    tick: i128,
}

/// Another computation, from lines and raw entries.
#[derive(Debug, Default)]
struct Records {
    parents: BTreeMap<String, Parent>,
    names: BTreeMap<u32, String>,
    /// Value date of each order, from its message.
    dates: BTreeMap<String, String>,
    /// Units and cash by pair and value date.
    positions: BTreeMap<(String, String), (i128, i128)>,
    /// Orders, rejects and units by bank.
    banks: BTreeMap<String, (u64, u64, i128)>,
    commands: usize,
    alarms: usize,
    runs: usize,
}

fn word<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or_default()
}

impl Records {
    fn read(desk: &Desk) -> Records {
        let mut found = Records::default();
        let read = records::read(
            &desk.path("fx/journal"),
            |_, labels, at_ns, entry, batch| {
                match &entry {
                    Entry::Run { .. } => found.runs += 1,
                    Entry::Command { .. } => found.commands += 1,
                    Entry::Event(Event::Accepted { number, terms }, _) => {
                        let pair = &labels.pairs[terms.pair];
                        found.names.insert(*number, terms.id.to_string());
                        let parent = found.parents.entry(terms.id.to_string()).or_default();
                        parent.tick = i128::from(ticks::tick(pair.precision));
                    }
                    Entry::Event(Event::Benchmark(mark), _) => {
                        if let BenchmarkOf::Parent(number) = mark.of {
                            let parent = found.parents.get_mut(&found.names[&number]);
                            let parent = parent.expect("a parent");
                            parent.mid2 = mark.mid2.map(|mid2| i128::from(mid2) * parent.tick);
                        }
                    }
                    _ => {}
                }
                lines_of(
                    (labels, batch),
                    at_ns,
                    &entry,
                    &mut String::new(),
                    |kind, text| {
                        let line: Value = serde_json::from_str(text).expect("a line is JSON");
                        found.line(kind, &line);
                    },
                );
            },
        );
        read.expect("a journal");
        found
    }

    fn line(&mut self, kind: LineKind, line: &Value) {
        match kind {
            LineKind::Order => self.order(line),
            LineKind::Fill => self.fill(line),
            LineKind::Decision => {
                self.alarms += usize::from(matches!(word(line, "event"), "alarm" | "kill"));
            }
            _ => {}
        }
    }

    fn order(&mut self, line: &Value) {
        let bank = self.banks.entry(word(line, "bank").to_owned()).or_default();
        bank.0 += u64::from(word(line, "event") == "journal");
        bank.1 += u64::from(line["code"].is_string());
        let fix = word(line, "fix");
        if let Some(date) = fix.split('|').find_map(|field| field.strip_prefix("64=")) {
            self.dates
                .insert(word(line, "clordid").to_owned(), date.to_owned());
        }
    }

    fn fill(&mut self, line: &Value) {
        let order = word(line, "clordid").to_owned();
        let (units, price) = (
            i128::from(line["qty"].as_i64().expect("units")),
            nanos(word(line, "price")),
        );
        let sign = if word(line, "kind") == "bust" { -1 } else { 1 };
        let side = if word(line, "side") == "buy" { 1 } else { -1 };
        let key = (word(line, "pair").to_owned(), self.dates[&order].clone());
        let position = self.positions.entry(key).or_default();
        position.0 += side * sign * units;
        position.1 -= side * sign * units * price;
        let parent = self
            .parents
            .get_mut(word(line, "parent"))
            .expect("a parent");
        parent.sign = side;
        parent.units += sign * units;
        parent.cost += sign * units * price;
        self.banks
            .entry(word(line, "bank").to_owned())
            .or_default()
            .2 += sign * units;
        assert_ne!(word(line, "kind"), "named", "no bank reports late here");
    }
}

/// A decimal, 1e-10: more than any amount has.
fn tenths_of_nanos(text: &str) -> i128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 10, "{text}");
    format!("{whole}{fraction:0<10}")
        .parse()
        .expect("a decimal")
}

fn units(row: &BTreeMap<String, String>, key: &str) -> i128 {
    row[key]
        .parse()
        .unwrap_or_else(|_| panic!("{key}: {row:?}"))
}

/// Each figure of parents, positions and banks is that of the records, rows add up, and CSV, JSON and page state the same.
#[test]
fn figures_of_the_report_are_those_of_the_records() {
    let market = Market::open("fx-report", &BANKS);
    let mut engine = market.engine("engine.txt");
    let order = |place: usize| {
        let side = ["buy", "buy", "sell"][place % 3];
        let pair = ["EUR/USD", "EUR/USD", "EUR/USD", "USD/JPY"][place % 4];
        let quantity = 1_000_000 + 500_000 * (place % 4);
        market.send_to_its_end(&format!("{pair} {side} {quantity} --tif ioc --wait"));
    };
    (0..16).for_each(order);
    engine.kill();
    // A journal that a crash cut: no run has continued it.
    market
        .desk
        .run("fx report --config fx/run.toml --dir none --out cut")
        .done();
    let cut = Records::read(&market.desk);
    judge_parents(&market.desk, "cut", &cut);
    judge_positions(&market.desk, "cut", &cut);
    let engine = market.engine("engine2.txt");
    (16..32).for_each(order);
    let (_, own) = close(engine, &market, "engine2.txt");
    market
        .desk
        .run("fx report --config fx/run.toml --out report")
        .done();
    let desk = &market.desk;
    let records = Records::read(desk);
    assert_eq!(records.runs, 2);

    judge_parents(desk, "report", &records);
    judge_positions(desk, "report", &records);
    judge_banks(desk, &records);
    let about: Value = serde_json::from_str(&desk.read("report/about.json")).expect("JSON");
    assert_eq!(
        about["not_known"],
        serde_json::json!([]),
        "the fills add up to the engine's positions"
    );
    assert_eq!(about["journal"]["runs"], 2);
    assert_eq!(about["counts"]["commands"], records.commands);
    assert_eq!(about["counts"]["alarms"], records.alarms);
    assert_eq!(
        Table::read(desk, "report", "alarms.csv").0.len(),
        records.alarms
    );
    let mut by_pair = BTreeMap::<&str, i128>::new();
    let table = Table::read(desk, "report", "value_dates.csv");
    for row in &table.0 {
        *by_pair.entry(&row["pair"]).or_default() += units(row, "position");
    }
    for (pair, (position, _)) in &own {
        assert_eq!(by_pair[pair.as_str()], i128::from(*position), "{pair}");
    }
}

fn judge_parents(desk: &Desk, folder: &str, records: &Records) {
    let table = Table::read(desk, folder, "parents.csv");
    let page = desk.read(&format!("{folder}/report.html"));
    assert_eq!(table.0.len(), records.parents.len());
    let mut measured = 0;
    for row in &table.0 {
        let parent = &records.parents[&row["parent"]];
        assert_eq!(units(row, "filled"), parent.units, "{row:?}");
        assert_eq!(row["person"], "desk", "{row:?}");
        if parent.units == 0 {
            assert_eq!((&*row["average"], &*row["slippage"]), ("", ""), "{row:?}");
            continue;
        }
        // Rounded against us, to a hundredth of a tick.
        let part = parent.tick * parent.units;
        let hundredths = match parent.sign {
            1 => -(-parent.cost * 100).div_euclid(part),
            _ => (parent.cost * 100).div_euclid(part),
        };
        assert_eq!(
            tenths_of_nanos(&row["average"]) * 10,
            hundredths * parent.tick,
            "{row:?}"
        );
        let Some(mid2) = parent.mid2 else {
            assert_eq!(row["slippage"], "", "{row:?}");
            continue;
        };
        let dearer2 = parent.sign * (2 * parent.cost - parent.units * mid2);
        assert_eq!(tenths_of_nanos(&row["slippage"]), dearer2 * 5, "{row:?}");
        let close = |key: &str, exact: f64, digits: f64| {
            let told: f64 = row[key].parse().expect("a number");
            assert!(
                (told - exact).abs() <= 0.5 * digits + 1e-9,
                "{key}, {exact}: {row:?}"
            );
        };
        let (money2, units) = (dearer2 as f64 / 1e9, parent.units as f64);
        close("slippage_per_million", money2 / 2.0 / units * 1e6, 0.01);
        close(
            "slippage_ticks",
            money2 / 2.0 / units * 1e9 / parent.tick as f64,
            1e-4,
        );
        let shown = format!(
            "<td>{} {}<td>{}",
            row["slippage"], row["currency"], row["slippage_per_million"]
        );
        assert!(page.contains(&shown), "{shown}: {page}");
        measured += 1;
    }
    assert!(measured > 5, "{measured} parents have a mid and a fill");
    let orders = Table::read(desk, folder, "orders.csv");
    for (id, parent) in &records.parents {
        let of = orders.0.iter().filter(|row| row["parent"] == *id);
        assert_eq!(
            of.map(|row| units(row, "filled")).sum::<i128>(),
            parent.units,
            "{id}"
        );
    }
    for row in &orders.0 {
        assert_eq!(row["value_date"], records.dates[&row["clordid"]]);
    }
}

fn judge_positions(desk: &Desk, folder: &str, records: &Records) {
    let table = Table::read(desk, folder, "value_dates.csv");
    assert_eq!(table.0.len(), records.positions.len());
    let (mut sums, page) = ([0; 2], desk.read(&format!("{folder}/report.html")));
    for row in &table.0 {
        let key = (row["pair"].clone(), row["value_date"].clone());
        let (position, cash) = records.positions[&key];
        assert_eq!(
            (units(row, "position"), nanos(&row["cash"])),
            (position, cash)
        );
        let whole = 10 * cash + position * tenths_of_nanos(&row["mid"]);
        let parts = tenths_of_nanos(&row["realised"]) + tenths_of_nanos(&row["open"]);
        assert_eq!(parts, whole, "{row:?}");
        for (sum, key) in sums.iter_mut().zip(["realised_report", "open_report"]) {
            *sum += tenths_of_nanos(&row[key]);
        }
    }
    let about: Value =
        serde_json::from_str(&desk.read(&format!("{folder}/about.json"))).expect("JSON");
    for (sum, key) in sums.iter().zip(["realised", "open"]) {
        let told = about["profit"][key].as_str().expect("a sum");
        assert_eq!(tenths_of_nanos(told), *sum, "{key}");
        assert!(
            page.contains(&format!("<td>{told}")),
            "{key} {told}: {page}"
        );
    }
}

fn judge_banks(desk: &Desk, records: &Records) {
    let table = Table::read(desk, "report", "scorecard.csv");
    let mut found = BTreeMap::<String, (u64, u64, i128)>::new();
    for row in &table.0 {
        let bank = found.entry(row["bank"].clone()).or_default();
        bank.0 += row["orders"].parse::<u64>().expect("a count");
        bank.1 += row["rejected"].parse::<u64>().expect("a count");
        bank.2 += units(row, "net");
    }
    assert_eq!(found, records.banks);
    let lines = desk.read("report/scorecard.jsonl");
    let by = table
        .0
        .iter()
        .map(|row| ((row["bank"].as_str(), row["pair"].as_str()), row));
    let by: BTreeMap<_, _> = by.collect();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let row = by[&(word(&line, "bank"), word(&line, "pair"))];
        for key in ["orders", "sent", "fills", "filled", "unknown"] {
            assert_eq!(row[key], line[key].to_string(), "{key}: {row:?} {line}");
        }
        assert_eq!(
            row["hold_p50_ns"],
            line["hold_p50_ns"].to_string().replace("null", "")
        );
    }
}
