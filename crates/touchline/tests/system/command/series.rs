//! Quotes and trades as series: exactly those of the exchange.

use crate::command::Desk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use touchline_lab::capture::Feed;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_types::Price;

#[test]
fn the_last_quote_of_each_instrument_is_the_top_of_its_book() {
    let desk = Desk::new("last-quotes");
    desk.replay("--quiet --quotes q.jsonl --books books").done();
    let mut last: BTreeMap<i64, Value> = BTreeMap::new();
    for row in rows(&desk.read("q.jsonl")) {
        last.insert(row["security_id"].as_i64().expect("an id"), row);
    }
    let mut sources = BTreeMap::new();
    let books = rows(&desk.read("books"));
    assert_eq!(last.len(), books.len());
    for book in books {
        let row = &last[&book["security_id"].as_i64().expect("an id")];
        assert_eq!(row["symbol"], book["symbol"]);
        assert_eq!(row["state"], book["state"]);
        for (side, sign) in [("bid", 1), ("ask", -1)] {
            let expected = best(&book, side, sign);
            let shown =
                ["price", "quantity", "book"].map(|part| row[format!("{side}_{part}")].clone());
            assert_eq!(json!(shown), expected, "{row} {book}");
            *sources.entry(expected[2].to_string()).or_insert(0) += 1;
        }
    }
    assert!(sources.len() >= 3, "{sources:?}");
}

/// No best price as one value.
pub fn or_null(best: Value) -> Value {
    if best[0].is_null() { Value::Null } else { best }
}

/// The better of the two books, calculated independently.
pub fn best(book: &Value, side: &str, sign: i64) -> Value {
    let first = |list: String| {
        let level = &book[list][0];
        let price: Option<Price> = level[0].as_str().map(price);
        price.map(|price| (price.0 * sign, level.clone()))
    };
    let (direct, implied) = (first(format!("{side}s")), first(format!("implied_{side}s")));
    let with = |level: &Value, source: &str| json!([level[0], level[1], source]);
    match (direct, implied) {
        (None, None) => json!([null, null, null]),
        (Some((_, level)), None) => with(&level, "direct"),
        (None, Some((_, level))) => with(&level, "implied"),
        (Some((a, direct)), Some((b, implied))) if a == b => {
            let sum = direct[1].as_i64().expect("whole") + implied[1].as_i64().expect("whole");
            json!([direct[0], sum, "merged"])
        }
        (Some((a, direct)), Some((b, _))) if a > b => with(&direct, "direct"),
        (_, Some((_, implied))) => with(&implied, "implied"),
    }
}

/// For instruments without implied prices, each new top of book is a quote in the same packet, and there are no other
/// quotes.
#[test]
fn quotes_are_the_changes_of_the_top_of_book() {
    let desk = Desk::new("quotes-tops");
    desk.replay("--quiet --quotes q.jsonl --tops tops --books books")
        .done();
    let books = rows(&desk.read("books"));
    let all = rows(&desk.read("q.jsonl"));
    let is_direct = |id: &Value| {
        let of = all.iter().filter(|row| row["security_id"] == *id);
        of.clone().all(|row| {
            ["bid_book", "ask_book"]
                .iter()
                .all(|name| row[name] == "direct" || row[name].is_null())
        })
    };
    let mut compared = 0;
    for id in books
        .iter()
        .map(|book| &book["security_id"])
        .filter(|id| is_direct(id))
    {
        let mut tops: Vec<Value> = Vec::new();
        for top in rows(&desk.read("tops"))
            .iter()
            .filter(|top| top["security_id"] == *id)
        {
            let pair = json!([top["bid"], top["ask"], top["seq"]]);
            let is_new = tops
                .last()
                .is_none_or(|last| (&last[0], &last[1]) != (&pair[0], &pair[1]));
            if is_new {
                tops.push(pair);
            }
        }
        let side = |row: &Value, side: &str| match &row[format!("{side}_price")] {
            Value::Null => Value::Null,
            price => json!([price, row[format!("{side}_quantity")]]),
        };
        let of = all
            .iter()
            .filter(|row| row["security_id"] == *id && row["state"] == "live");
        let quotes = of.map(|row| json!([side(row, "bid"), side(row, "ask"), row["sequence"]]));
        // Before its first order an instrument has an empty book, which is a quote, too.
        let quotes: Vec<Value> = quotes
            .skip_while(|quote| quote[0].is_null() && quote[1].is_null())
            .collect();
        let tops: Vec<Value> = tops
            .into_iter()
            .skip_while(|top| top[0].is_null() && top[1].is_null())
            .collect();
        assert_eq!(quotes, tops);
        compared += quotes.len();
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn trades_equal_those_of_the_exchange_with_event_times() {
    let desk = Desk::new("trades");
    desk.replay("--quiet --trades t.csv").done();
    let text = desk.read("t.csv");
    let mut lines = text.lines();
    let head = "exchange_ns,receive_ns,sequence,security_id,symbol,state,price,quantity,aggressor,trade_id,action";
    assert_eq!(lines.next(), Some(head));
    let shown: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let books = &desk.session.expected.books;
    let mut expected = Vec::new();
    let sent = desk.session.packets.iter();
    for packet in sent.filter(|packet| packet.feed == Feed::Incremental) {
        let mut rest = &packet.payload[12..];
        while rest.len() > 10 {
            let (message, behind) = rest.split_at(usize::from(u16_at(rest, 0)));
            rest = behind;
            if u16_at(message, 4) != 48 {
                continue;
            }
            let entries = &message[10 + usize::from(u16_at(message, 2))..];
            for entry in entries[3..].chunks(32).take(usize::from(entries[2])) {
                let id = i32_at(entry, 12);
                let symbol = books
                    .iter()
                    .find(|book| book.security_id == id)
                    .and_then(|book| book.symbol.clone());
                expected.push([
                    i64_at(message, 10).to_string(),
                    packet.sequence.to_string(),
                    id.to_string(),
                    symbol.expect("it has one"),
                    "live".to_owned(),
                    Price(i64_at(entry, 0)).to_string(),
                    i32_at(entry, 8).to_string(),
                    if entry[24] == 1 { "buy" } else { "sell" }.to_owned(),
                    i32_at(entry, 26).to_string(),
                    "new".to_owned(),
                ]);
            }
        }
    }
    assert!(expected.len() > 20, "{}", expected.len());
    let without_receipt: Vec<Vec<&str>> = shown
        .iter()
        .map(|row| [&row[..1], &row[2..]].concat())
        .collect();
    assert_eq!(without_receipt, expected);
    let received: Vec<u64> = shown
        .iter()
        .map(|row| row[1].parse().expect("a time"))
        .collect();
    assert!(received.is_sorted() && received[0] >= desk.arrivals[0].time_ns);
}

#[test]
fn both_formats_have_equal_values_and_are_reproducible() {
    let desk = Desk::new("forms");
    desk.replay("--quiet --quotes q.csv --trades t.csv").done();
    desk.replay("--quiet --quotes q.jsonl --trades t.jsonl")
        .done();
    desk.replay("--quiet --quotes q2.csv --trades t2.jsonl")
        .done();
    assert_eq!(desk.read("q.csv"), desk.read("q2.csv"));
    assert_eq!(desk.read("t.jsonl"), desk.read("t2.jsonl"));
    for (csv, jsonl) in [("q.csv", "q.jsonl"), ("t.csv", "t.jsonl")] {
        let (csv, objects) = (desk.read(csv), rows(&desk.read(jsonl)));
        let mut lines = csv.lines();
        let names: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), objects.len());
        for (line, object) in lines.iter().zip(&objects) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), names.len(), "{line}");
            assert_eq!(
                object.as_object().map(|object| object.len()),
                Some(names.len())
            );
            for (name, cell) in names.iter().zip(cells) {
                let value = match &object[name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(value, cell, "{name}: {line}");
            }
        }
    }
}

/// An empty cell in a column of times makes pandas read the column as floating point, which rounds nanoseconds.
#[test]
fn every_row_has_its_times() {
    let desk = Desk::new("times");
    desk.replay("--quiet --quotes q.csv --trades t.csv").done();
    for name in ["q.csv", "t.csv"] {
        let text = desk.read(name);
        let mut exchange_ns = Vec::new();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            for cell in &cells[..2] {
                assert_eq!(cell.len(), 19, "{name}: {line}");
            }
            exchange_ns.push(cells[0].parse::<u64>().expect("nanoseconds"));
        }
        assert!(exchange_ns.len() > 20 && exchange_ns.is_sorted(), "{name}");
    }
    // States before the first event come with it.
    let first = desk.read("q.csv");
    let first: Vec<&str> = first.lines().skip(1).collect();
    let time = first[0].split(',').next();
    let together = first
        .iter()
        .take_while(|line| line.split(',').next() == time);
    assert!(together.count() > 5, "{first:?}");
}

/// Instruments that are not selected have no rows: not at the join, not at a loss, not at a reset.
#[test]
fn only_selected_instruments_have_rows() {
    let session = generate(&Options::default(), 3);
    let plan = FaultPlan::incremental([Fault::DropOnAllLines {
        share: 0.03,
        packets_max: 4,
    }]);
    let delivery = deliver(&session, &plan, 3);
    assert!(!delivery.report.lost_on_both.is_empty());
    let desk = Desk::with("selected", session, delivery.arrivals);
    let symbol_of = |book: &Value| book["symbol"].as_str().expect("a symbol").to_owned();
    desk.replay("--quiet --books books").done();
    let books = rows(&desk.read("books"));
    for book in [&books[0], &books[books.len() - 1]] {
        let symbol = symbol_of(book);
        let toml = format!("{}symbols = [\"{symbol}\"]\n", desk.read("cme.toml"));
        desk.write("one.toml", toml);
        let series = "--quiet --quotes q.jsonl --trades t.jsonl";
        desk.run(&format!(
            "replay --config one.toml --pcap session.pcap {series}"
        ))
        .done();
        let mut states = Vec::new();
        for row in rows(&desk.read("q.jsonl")) {
            assert_eq!(symbol_of(&row), symbol, "{row}");
            assert_eq!(row["security_id"], book["security_id"], "{row}");
            states.push(row["state"].clone());
        }
        assert!(
            states.contains(&json!("live")) && states.contains(&json!("gapped")),
            "{states:?}"
        );
        for row in rows(&desk.read("t.jsonl")) {
            assert_eq!(symbol_of(&row), symbol, "{row}");
        }
    }
}

#[test]
fn an_unknown_file_extension_is_refused_before_the_replay() {
    let desk = Desk::new("endings");
    let before = desk.files();
    for name in ["q.txt", "q", "-"] {
        desk.replay(&format!("--quotes {name}"))
            .refused(2, &[name, ".csv or .jsonl"]);
        desk.replay(&format!("--books b --trades {name}"))
            .refused(2, &[name, ".csv or .jsonl"]);
    }
    desk.replay("--quotes s.csv --trades s.csv")
        .refused(2, &["given for two outputs"]);
    assert_eq!(desk.files(), before);
}

/// Every command that shows a best price shows the same one, and names its book.
#[test]
fn the_screens_of_a_bus_agree_on_the_best_prices() {
    let desk = Desk::new("agree");
    desk.publish("--books books").done();
    let list = desk.run("book lab").done().stdout;
    let screen = desk.run("top lab --once --size 200x60").done().stdout;
    let book_of = |best: &Value| best[2].as_str().expect("a book").to_owned();
    let mut implied = 0;
    for book in rows(&desk.read("books")) {
        let symbol = book["symbol"].as_str().expect("a symbol");
        let [bid, ask] = [("bid", 1), ("ask", -1)].map(|(side, sign)| best(&book, side, sign));
        implied += [&bid, &ask]
            .iter()
            .filter(|best| best[2] != "direct")
            .count();
        let shown = |best: &Value| match best[0].as_str() {
            Some(price) => format!("{}@{price} {}", best[1], book_of(best)),
            None => String::new(),
        };
        let line = list
            .lines()
            .find(|line| line.split_whitespace().next() == Some(symbol));
        let (left, right) = line
            .expect("it is listed")
            .split_once('|')
            .expect("two sides");
        assert!(left.trim_end().ends_with(&shown(&bid)), "{bid} {left}");
        assert_eq!(right.trim(), shown(&ask));
        // The selected row has a mark in front.
        let row = screen
            .lines()
            .find(|line| line.split_whitespace().take(2).any(|word| word == symbol));
        let row: Vec<&str> = row.expect("it is listed").split_whitespace().collect();
        for best in [&bid, &ask].into_iter().filter(|best| best[0].is_string()) {
            let mark = match book_of(best).as_str() {
                "implied" => "i",
                "merged" => "+i",
                _ => "",
            };
            let quantity = format!("{}{mark}", best[1]);
            assert!(row.contains(&quantity.as_str()), "{quantity}: {row:?}");
        }

        let ladder = desk.run(&format!("book lab {symbol}")).done().stdout;
        let top = ladder.lines().nth(2).and_then(|line| line.split_once('|'));
        if let Some((left, right)) = top {
            let price = |best: &Value| best[0].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                left.split_whitespace().next_back().unwrap_or_default(),
                price(&bid)
            );
            assert_eq!(
                right.split_whitespace().next().unwrap_or_default(),
                price(&ask)
            );
        }
        let tail = format!("tail lab --symbol {symbol} --count 3");
        let json = rows(&desk.run(&format!("{tail} --json")).done().stdout);
        let told = json
            .iter()
            .find(|row| row["message"] == "book_snapshot")
            .expect("its book");
        assert_eq!(
            (&told["best_bid"], &told["best_ask"]),
            (&or_null(bid.clone()), &or_null(ask.clone()))
        );
        let text = desk.run(&tail).done().stdout;
        let amount = |best: &Value| match best[0].as_str() {
            Some(price) => format!("{}@{price} {}", best[1], best[2].as_str().expect("a book")),
            None => "-".to_owned(),
        };
        let both = format!("{:>23} | {:<23}", amount(&bid), amount(&ask));
        assert!(text.contains(&both), "{both}: {text}");
    }
    assert!(implied > 2, "{implied}");
}

fn rows(text: &str) -> Vec<Value> {
    let rows = text.lines().filter(|line| !line.contains("\"notice\""));
    rows.map(|line| serde_json::from_str(line).expect("a JSON object a line"))
        .collect()
}

pub fn price(text: &str) -> Price {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<9}");
    Price(digits.parse().expect("digits"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
