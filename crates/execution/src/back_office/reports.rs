//! Executions as ExecutionReports, in the order of the journal.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write;
use touchline_fx::lines::LineKind;
use touchline_wire::fix::{Encoder, Precision};

/// Decimals of an average price, at most.
const DECIMALS: u32 = 9;
/// TransactTime (60).
const TRANSACT_TIME: u32 = 60;
/// Fields of an order (D) that its reports repeat: account, currency, quantity, kind, price, side, symbol, time in force,
/// settlement date.
const TERMS: [&str; 9] = ["1", "15", "38", "40", "44", "54", "55", "59", "64"];
/// Separator of fields.
const SOH: char = '\u{1}';

/// An ExecutionReport without header and TransactTime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Time of the execution.
    at_ns: u64,
    /// Fields, each with its separator.
    body: Box<str>,
}

/// All reports of a journal.
///
/// The same lines give the same reports with the same ExecIDs, whenever they are read.
#[derive(Debug, Default)]
pub struct Reports {
    all: Vec<Report>,
    orders: HashMap<String, Order>,
    /// A reversed fill whose alarm or correction has not come yet.
    reversed: Option<Map<String, Value>>,
    /// Fills that a status or the desk told of, by order and ExecID: late originals are parts of them.
    derived: HashMap<(String, String), Derived>,
}

/// What is left of a fill that a status or the desk told of.
#[derive(Debug)]
struct Derived {
    /// ExecID of its last report.
    reported: String,
    /// Reports of it so far.
    reports: u64,
    quantity: i64,
    price: String,
}

/// An order as far as reports need it.
#[derive(Debug, Default)]
struct Order {
    terms: String,
    quantity: Option<i64>,
    /// Units filled, busts counted as filled: they are not traded again.
    filled: i64,
    /// Units and cost without busts; cost in units times 10^-9 of the price.
    cum: i64,
    cost: i128,
    /// Its last OrdStatus (39), if it has ended.
    end: Option<char>,
}

impl Report {
    /// Checksum, by which a number that was used is known again.
    pub fn checksum(&self) -> u64 {
        // FNV-1a.
        let bytes = self.at_ns.to_le_bytes();
        let bytes = bytes.iter().chain(self.body.as_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Writes the fields.
    pub fn write(&self, encoder: &mut Encoder<'_>) {
        for field in self.body.split_terminator(SOH) {
            if let Some((tag, value)) = field.split_once('=')
                && let Ok(tag) = tag.parse()
            {
                encoder.bytes(tag, value.as_bytes());
            }
        }
        encoder.timestamp(TRANSACT_TIME, self.at_ns, Precision::Milliseconds);
    }
}

impl Reports {
    /// Number of reports.
    pub fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// A report, from 0.
    pub fn get(&self, number: u64) -> Option<&Report> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// Takes a line of the engine: its kind, and its text.
    pub fn take(&mut self, kind: LineKind, text: &str) {
        if !matches!(kind, LineKind::Decision | LineKind::Order | LineKind::Fill) {
            return;
        }
        let Ok(line) = serde_json::from_str::<Map<String, Value>>(text) else {
            return;
        };
        match kind {
            LineKind::Decision => self.decision(&line),
            LineKind::Order => self.order(&line),
            _ => self.fill(line),
        }
    }

    /// A bust is followed by its alarm, a correction by the corrected fill.
    fn decision(&mut self, line: &Map<String, Value>) {
        if line.get("what").and_then(Value::as_str) == Some("bust") {
            self.bust();
        }
    }

    fn order(&mut self, line: &Map<String, Value>) {
        let (id, event) = (word(line, "clordid"), word(line, "event"));
        let fix = word(line, "fix");
        if event == "sent" && fix.starts_with("35=D|") {
            let order = self.orders.entry(id.to_owned()).or_default();
            for field in fix.split('|') {
                let Some((tag, value)) = field.split_once('=') else {
                    continue;
                };
                if TERMS.contains(&tag) {
                    put(&mut order.terms, tag, value);
                }
                if tag == "38" {
                    order.quantity = value.parse().ok();
                }
            }
            return;
        }
        let end = match word(line, "state") {
            "filled" => '2',
            "canceled" => '4',
            "rejected" => '8',
            "expired" => 'C',
            _ => return,
        };
        let Some(order) = self.orders.get_mut(id) else {
            return;
        };
        if order.end.replace(end).is_some() || end == '2' {
            return;
        }
        let kind = end;
        let mut body = order.body(line, &format!("{id}-{kind}"), kind);
        if kind == '8' {
            // Other: the codes of the Investment Association are newer than FIX 4.4.
            put(&mut body, "103", "99");
        }
        if let Some(code) = line.get("code").and_then(Value::as_str) {
            put(&mut body, "58", &format!("code {code}"));
        }
        self.push(line, body);
    }

    fn fill(&mut self, line: Map<String, Value>) {
        let kind = word(&line, "kind");
        if kind == "bust" {
            self.bust();
            self.reversed = Some(line);
            return;
        }
        if kind == "book" {
            self.bust();
            self.booked(&line);
            return;
        }
        if kind == "named" {
            self.bust();
            self.named(&line);
            return;
        }
        if matches!(kind, "status" | "manual") {
            let derived = Derived {
                reported: exec_id(&line),
                reports: 1,
                quantity: whole(&line, "qty"),
                price: word(&line, "price").to_owned(),
            };
            self.derived.insert(key(&line, "exec_id"), derived);
        }
        let reversed = match kind {
            "correct" => self.reversed.take(),
            _ => None,
        };
        self.bust();
        let order = self.orders.entry(word(&line, "clordid").to_owned());
        let order = order.or_default();
        order.learn(&line);
        let quantity = whole(&line, "qty");
        if let Some(old) = &reversed {
            order.book(old, -1);
        } else {
            order.filled += quantity;
        }
        order.book(&line, 1);
        let exec_type = if reversed.is_some() { 'G' } else { 'F' };
        let mut body = order.body(&line, &exec_id(&line), exec_type);
        put(&mut body, "32", &quantity.to_string());
        put(&mut body, "31", word(&line, "price"));
        if let Some(old) = &reversed {
            put(&mut body, "19", &exec_id(old));
        }
        put(&mut body, "527", word(&line, "exec_id"));
        self.push(&line, body);
    }

    /// A late original: what a status or the desk told of is corrected to what is left of it, and the rest has its own ExecID and
    /// price.
    fn named(&mut self, line: &Map<String, Value>) {
        let quantity = whole(line, "qty");
        let order = self.orders.entry(word(line, "clordid").to_owned());
        let order = order.or_default();
        order.learn(line);
        let derived = self.derived.get_mut(&key(line, "ref"));
        let Some(of) = derived.filter(|of| of.quantity >= quantity) else {
            return;
        };
        let before = std::mem::take(&mut of.reported);
        of.quantity -= quantity;
        of.reports += 1;
        order.add(-quantity, &of.price);
        let mut reports = Vec::new();
        if of.quantity > 0 {
            let origin = format!("{}-{}", word(line, "bank"), word(line, "ref"));
            of.reported = format!("{origin}-{}", of.reports);
            let mut body = order.body(line, &of.reported, 'G');
            put(&mut body, "32", &of.quantity.to_string());
            put(&mut body, "31", &of.price);
            put(&mut body, "19", &before);
            reports.push(body);
        }
        order.add(quantity, word(line, "price"));
        let exec_type = if of.quantity > 0 { 'F' } else { 'G' };
        let mut body = order.body(line, &exec_id(line), exec_type);
        put(&mut body, "32", &quantity.to_string());
        put(&mut body, "31", word(line, "price"));
        if of.quantity == 0 {
            put(&mut body, "19", &before);
        }
        put(&mut body, "527", word(line, "exec_id"));
        reports.push(body);
        reports.into_iter().for_each(|body| self.push(line, body));
    }

    /// A trade that the desk booked without an order.
    fn booked(&mut self, line: &Map<String, Value>) {
        let id = word(line, "exec_id");
        let mut body = String::with_capacity(256);
        put(&mut body, "37", id);
        if !word(line, "bank").is_empty() {
            put_bank(&mut body, word(line, "bank"));
        }
        let side = if word(line, "side") == "buy" {
            "1"
        } else {
            "2"
        };
        let quantity = whole(line, "qty").to_string();
        for (tag, value) in [
            ("17", id),
            ("150", "F"),
            ("39", "2"),
            ("38", &quantity),
            ("54", side),
            ("55", word(line, "pair")),
            ("64", word(line, "settl_date")),
            ("151", "0"),
            ("14", &quantity),
            ("6", word(line, "price")),
            ("32", &quantity),
            ("31", word(line, "price")),
        ] {
            put(&mut body, tag, value);
        }
        self.push(line, body);
    }

    /// Reports the reversed fill as a bust, if there is one.
    fn bust(&mut self) {
        let Some(line) = self.reversed.take() else {
            return;
        };
        let order = self.orders.entry(word(&line, "clordid").to_owned());
        let order = order.or_default();
        order.learn(&line);
        order.book(&line, -1);
        let derived = self.derived.remove(&key(&line, "exec_id"));
        let of = derived.map_or_else(|| exec_id(&line), |derived| derived.reported);
        let mut body = order.body(&line, &format!("{of}-H"), 'H');
        put(&mut body, "32", &whole(&line, "qty").to_string());
        put(&mut body, "31", word(&line, "price"));
        put(&mut body, "19", &of);
        self.push(&line, body);
    }

    fn push(&mut self, line: &Map<String, Value>, body: String) {
        let at_ns = line.get("t").and_then(Value::as_u64).unwrap_or(0);
        self.all.push(Report {
            at_ns,
            body: body.into(),
        });
    }
}

impl Order {
    /// Side and symbol of an order whose own line is missing.
    fn learn(&mut self, line: &Map<String, Value>) {
        if self.terms.is_empty() {
            let side = if word(line, "side") == "buy" {
                "1"
            } else {
                "2"
            };
            put(&mut self.terms, "54", side);
            put(&mut self.terms, "55", word(line, "pair"));
        }
    }

    fn book(&mut self, line: &Map<String, Value>, sign: i64) {
        self.add(sign * whole(line, "qty"), word(line, "price"));
    }

    fn add(&mut self, quantity: i64, price: &str) {
        self.cum += quantity;
        self.cost += i128::from(quantity) * scaled(price).unwrap_or(0);
    }

    fn leaves(&self) -> i64 {
        match (self.end, self.quantity) {
            (None, Some(quantity)) => (quantity - self.filled).max(0),
            _ => 0,
        }
    }

    /// OrdStatus (39): what was busted is not traded again, so a filled order with a bust is a canceled one.
    fn status(&self) -> char {
        let is_whole = self.quantity == Some(self.cum);
        match self.end {
            Some('2') if !is_whole => '4',
            Some(end) => end,
            None if is_whole => '2',
            None if self.cum > 0 => '1',
            None => '0',
        }
    }

    fn body(&self, line: &Map<String, Value>, exec_id: &str, exec_type: char) -> String {
        let id = word(line, "clordid");
        let mut body = String::with_capacity(256);
        put(&mut body, "37", id);
        put(&mut body, "11", id);
        if let Some(parent) = line.get("parent").and_then(Value::as_str) {
            put(&mut body, "583", parent);
        }
        put_bank(&mut body, word(line, "bank"));
        put(&mut body, "17", exec_id);
        put(&mut body, "150", exec_type.encode_utf8(&mut [0; 4]));
        put(&mut body, "39", self.status().encode_utf8(&mut [0; 4]));
        self.put_terms(line, &mut body);
        put(&mut body, "151", &self.leaves().to_string());
        put(&mut body, "14", &self.cum.to_string());
        put(&mut body, "6", &self.average());
        body
    }

    /// The terms of the order; a correction may have another value date.
    fn put_terms(&self, line: &Map<String, Value>, body: &mut String) {
        let date = word(line, "settl_date");
        let terms = self.terms.split_terminator(SOH);
        for (tag, value) in terms.filter_map(|field| field.split_once('=')) {
            let is_other = tag == "64" && !date.is_empty();
            put(body, tag, if is_other { date } else { value });
        }
    }

    /// Average price, rounded half up at nine decimals.
    fn average(&self) -> String {
        let cum = i128::from(self.cum);
        if cum <= 0 {
            return "0".to_owned();
        }
        let scale = 10_i128.pow(DECIMALS);
        let average = (2 * self.cost + cum).div_euclid(2 * cum);
        let digits = format!("{:09}", average.rem_euclid(scale));
        let fraction = digits.trim_end_matches('0');
        let whole = average.div_euclid(scale);
        match fraction {
            "" => whole.to_string(),
            fraction => format!("{whole}.{fraction}"),
        }
    }
}

/// The bank as executing firm.
fn put_bank(body: &mut String, bank: &str) {
    for (tag, value) in [("453", "1"), ("448", bank), ("447", "D"), ("452", "1")] {
        put(body, tag, value);
    }
}

/// Order and ExecID of a line, the latter under this key.
fn key(line: &Map<String, Value>, exec_id: &str) -> (String, String) {
    (
        word(line, "clordid").to_owned(),
        word(line, exec_id).to_owned(),
    )
}

/// ExecID of a fill: the bank's is unique at the bank only.
fn exec_id(line: &Map<String, Value>) -> String {
    format!("{}-{}", word(line, "bank"), word(line, "exec_id"))
}

/// Appends a field. Bytes that FIX uses itself come from a bank and become `?`.
fn put(body: &mut String, tag: &str, value: &str) {
    // Writing into a string does not fail.
    let _ = write!(body, "{tag}=");
    let clean = |letter: char| {
        if letter.is_ascii_graphic() || letter == ' ' {
            letter
        } else {
            '?'
        }
    };
    body.extend(value.chars().map(clean));
    body.push(SOH);
}

fn word<'a>(line: &'a Map<String, Value>, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn whole(line: &Map<String, Value>, key: &str) -> i64 {
    line.get(key).and_then(Value::as_i64).unwrap_or(0)
}

/// A decimal in units of 10^-9.
fn scaled(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let width = DECIMALS as usize;
    let fraction = format!("{fraction:0<width$}");
    if fraction.len() > width {
        return None;
    }
    let is_negative = whole.starts_with('-');
    let whole: i128 = whole.trim_start_matches('-').parse().ok()?;
    let value = whole * 10_i128.pow(DECIMALS) + fraction.parse::<i128>().ok()?;
    Some(if is_negative { -value } else { value })
}

#[cfg(test)]
pub(super) mod tests;
