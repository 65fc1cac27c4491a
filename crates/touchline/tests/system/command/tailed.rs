//! Books kept from the lines of `tail --json` only, as its help documents them.

use super::series::{best, or_null};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use touchline_testing::Process;

/// State of a reader of the lines.
#[derive(Default)]
pub struct Books {
    /// By the publisher's index.
    instruments: BTreeMap<u64, Instrument>,
    /// Number of lines with messages.
    pub messages: u64,
    /// Events of the subscription, in order.
    pub events: Vec<String>,
}

#[derive(Default)]
struct Instrument {
    id: Value,
    symbol: Value,
    state: Value,
    lists: Map<String, Value>,
    orders: BTreeMap<u64, Value>,
}

const LISTS: [&str; 4] = ["bids", "asks", "implied_bids", "implied_asks"];

/// Reads the lines of a tail as they arrive.
pub struct Tail {
    process: Process,
    /// State so far.
    pub books: Books,
}

impl Tail {
    /// A reader of a command.
    pub fn of(process: Process) -> Tail {
        Tail {
            process,
            books: Books::default(),
        }
    }

    /// Reads until the subscription reports this event for the `times`th time.
    pub fn read_until(&mut self, event: &str, times: usize) {
        while self.books.times(event) < times {
            self.books.line(&self.process.next_line());
        }
    }

    /// Interrupts the command, reads the rest, and returns its exit status.
    pub fn interrupt(mut self) -> (Books, Option<i32>) {
        let status = self.process.end("INT");
        for line in self.process.other_lines() {
            self.books.line(&line);
        }
        (self.books, status)
    }
}

impl Books {
    /// Number of such events.
    pub fn times(&self, event: &str) -> usize {
        self.events.iter().filter(|told| *told == event).count()
    }

    /// Processes a line.
    pub fn line(&mut self, line: &str) {
        let line: Value = serde_json::from_str(line).expect("a JSON object a line");
        if let Some(event) = line["notice"].as_str() {
            self.events.push(event.to_owned());
            if event == "restarted" {
                self.instruments.clear();
            }
            return;
        }
        self.messages += 1;
        match line["message"].as_str().expect("the kind of message") {
            "reset" => {
                for instrument in self.instruments.values_mut() {
                    instrument.clear("live");
                }
            }
            "gap" => {
                for instrument in self.instruments.values_mut() {
                    instrument.orders.clear();
                    if instrument.state == "live" {
                        instrument.state = json!("gapped");
                    }
                }
            }
            kind => self.of_instrument(kind, &line),
        }
    }

    fn of_instrument(&mut self, kind: &str, line: &Value) {
        let Some(index) = line["instrument"].as_u64() else {
            return;
        };
        let instrument = self.instruments.entry(index).or_default();
        instrument.id = line["security_id"].clone();
        instrument.symbol = line["symbol"].clone();
        match kind {
            "book" => {
                let changes = line["changes"].as_array().expect("changes");
                changes.iter().for_each(|change| instrument.change(change));
                for (side, sign) in [("bid", 1), ("ask", -1)] {
                    let shown = &line[format!("best_{side}")];
                    assert_eq!(*shown, instrument.best(side, sign), "{line}");
                }
            }
            "book_snapshot" => {
                for list in LISTS {
                    instrument.lists.insert(list.to_owned(), line[list].clone());
                }
            }
            "orders" => {
                let changes = line["changes"].as_array().expect("changes");
                changes.iter().for_each(|change| instrument.order(change));
            }
            "orders_snapshot" => {
                instrument.orders.clear();
                let orders = line["orders"].as_array().expect("orders");
                orders.iter().for_each(|order| instrument.order(order));
            }
            "state" => {}
            // Not part of the books.
            _ => return,
        }
        if !kind.starts_with("orders") {
            instrument.state = line["state"].clone();
        }
    }

    /// The objects of `replay --books`, but for `last_rpt_seq`.
    pub fn books(&self) -> Vec<Value> {
        let book = |instrument: &Instrument| {
            let mut book = json!({
                "security_id": instrument.id,
                "symbol": instrument.symbol,
                "state": instrument.state,
            });
            for list in LISTS {
                book[list] = instrument.lists.get(list).cloned().unwrap_or(json!([]));
            }
            book
        };
        let mut books: Vec<_> = self.instruments.values().map(book).collect();
        books.sort_by_key(|book| book["security_id"].as_i64());
        books
    }

    /// Orders of each instrument, by id: `[side, price, quantity]`.
    pub fn orders(&self) -> Vec<(Value, BTreeMap<u64, Value>)> {
        let orders = |instrument: &Instrument| (instrument.id.clone(), instrument.orders.clone());
        let mut orders: Vec<_> = self.instruments.values().map(orders).collect();
        orders.sort_by_key(|(id, _)| id.as_i64());
        orders
    }
}

impl Instrument {
    fn clear(&mut self, state: &str) {
        self.lists.clear();
        self.orders.clear();
        self.state = json!(state);
    }

    fn change(&mut self, change: &Value) {
        let implied = if change["book"] == "implied" {
            "implied_"
        } else {
            ""
        };
        let name = format!("{implied}{}s", change["side"].as_str().expect("a side"));
        let list = self.lists.entry(name).or_insert(json!([]));
        let list = list.as_array_mut().expect("a list");
        let index = change["index"].as_u64().expect("an index") as usize;
        match change["action"].as_str().expect("an action") {
            "insert" => list.insert(index, change["level"].clone()),
            "replace" => list[index] = change["level"].clone(),
            "remove" => drop(list.remove(index)),
            "clear" => list.clear(),
            other => panic!("no action is called {other}"),
        }
    }

    fn order(&mut self, change: &Value) {
        let id = change["order_id"].as_str().expect("a number as a string");
        let id = id.parse().expect("a number");
        match change["action"].as_str().expect("an action") {
            "delete" => drop(self.orders.remove(&id)),
            _ => {
                let order = json!([change["side"], change["price"], change["quantity"]]);
                self.orders.insert(id, order);
            }
        }
    }

    /// Best price of both books, as in the lines of changes; none if a better level is unknown.
    fn best(&self, side: &str, sign: i64) -> Value {
        let book = json!(self.lists);
        let is_unknown = |list: String| book[list].get(0).is_some_and(Value::is_null);
        if is_unknown(format!("{side}s")) || is_unknown(format!("implied_{side}s")) {
            return Value::Null;
        }
        or_null(best(&book, side, sign))
    }
}

/// Output of `replay --books`, without fields that the bus does not carry.
pub fn written_books(text: &str) -> Vec<Value> {
    let book = |line: &str| {
        let mut book: Value = serde_json::from_str(line).expect("a JSON object a line");
        let object = book.as_object_mut().expect("an object");
        object.remove("last_rpt_seq");
        book
    };
    text.lines().map(book).collect()
}

/// Output of `replay --orders`, by order id.
pub fn written_orders(text: &str) -> Vec<(Value, BTreeMap<u64, Value>)> {
    let orders = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a JSON object a line");
        let mut orders = BTreeMap::new();
        for (list, side) in [("orders_bids", "bid"), ("orders_asks", "ask")] {
            for order in line[list].as_array().expect("a list") {
                let id = order[0].as_str().expect("a number as a string");
                let id = id.parse().expect("a number");
                orders.insert(id, json!([side, order[1], order[2]]));
            }
        }
        (line["security_id"].clone(), orders)
    };
    text.lines().map(orders).collect()
}
