//! Executions as ExecutionReports, in the order of the journal.

use std::fmt::Write;
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::{Executed, Ledger, OrderRow};
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Alarm, Event, FillLine, OrderLine};
use touchline_fx_events::orders::{FillKind, OrderState};
use touchline_fx_events::ticks;
use touchline_types::{Price, Side};
use touchline_wire::fix::{Encoder, Precision};

/// Decimals of an average price, at most.
const DECIMALS: u32 = 9;
/// TransactTime (60).
const TRANSACT_TIME: u32 = 60;
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
/// The same entries give the same reports with the same ExecIDs, whenever they are read.
#[derive(Debug, Default)]
pub struct Reports {
    all: Vec<Report>,
    /// Id of the journal, if there is a journal.
    journal: Option<[u8; 16]>,
    /// Time of the journal's first entry.
    began_ns: Option<u64>,
    /// A reversed fill whose alarm or correction follows in a later event.
    reversed: Option<FillLine>,
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
    /// Sets the journal to which the entries belong.
    pub fn of_journal(&mut self, journal: [u8; 16]) {
        self.journal = Some(journal);
    }

    /// Id of the journal, if it is there.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.journal
    }

    /// Time of the journal's first entry.
    pub fn began_ns(&self) -> Option<u64> {
        self.began_ns
    }

    /// Number of reports.
    pub fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// A report, from 0.
    pub fn get(&self, number: u64) -> Option<&Report> {
        self.all.get(usize::try_from(number).ok()?)
    }

    /// Takes a message of an engine, after the ledger of all orders has taken it.
    pub fn take(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>) {
        self.began_ns.get_or_insert(told.at_ns);
        let Entry::Event(event, _) = &told.entry else {
            return;
        };
        let at_ns = told.at_ns;
        match event {
            Event::Order(line) => self.ended(ledger, at_ns, line),
            Event::Fill(fill) => self.fill(ledger, at_ns, fill, told),
            Event::Alarm {
                what: Alarm::Bust, ..
            } => self.bust(ledger, at_ns),
            _ => {}
        }
    }

    /// The end of an order other than by a fill, once.
    fn ended(&mut self, ledger: &Ledger, at_ns: u64, line: &OrderLine) {
        let Some(order) = line.number.and_then(|number| ledger.order_of(number)) else {
            return;
        };
        let end = match line.status.map(|status| status.state) {
            Some(OrderState::Canceled) => '4',
            Some(OrderState::Rejected) => '8',
            Some(OrderState::Expired) => 'C',
            _ => return,
        };
        if order.ends > 1 {
            return;
        }
        let id = format!("{}-{end}", order.id);
        let mut body = body(order, &order.executed, None, (&id, end));
        if end == '8' {
            // Other: the codes of the Investment Association are newer than FIX 4.4.
            put(&mut body, "103", "99");
        }
        if let Some(code) = line.code {
            put(&mut body, "58", &format!("code {}", code.name()));
        }
        self.push(at_ns, body);
    }

    fn fill(&mut self, ledger: &Ledger, at_ns: u64, fill: &FillLine, told: &PublishedEntry<'_>) {
        if fill.kind == FillKind::Book {
            return self.booked(at_ns, fill, told);
        }
        if fill.kind == FillKind::Bust {
            self.reversed = Some(*fill);
            return;
        }
        let order = fill.order.and_then(|order| ledger.order_of(order.number));
        let Some(order) = order else {
            return;
        };
        if fill.kind == FillKind::Named {
            return self.named(at_ns, order, fill);
        }
        let reversed = self.reversed.take_if(|_| fill.kind == FillKind::Correct);
        let exec_type = if reversed.is_some() { 'G' } else { 'F' };
        let id = exec_id(order, fill);
        let mut body = body(order, &order.executed, Some(fill), (&id, exec_type));
        put_trade(&mut body, fill.quantity, fill.price);
        if let Some(old) = &reversed {
            put(&mut body, "19", &exec_id(order, old));
        }
        put(&mut body, "527", fill.exec_id.as_str());
        self.push(at_ns, body);
    }

    /// Reports a late original: the fill known from a status or from the desk is corrected to its remaining quantity,
    /// and the rest is reported with its own ExecID and price.
    fn named(&mut self, at_ns: u64, order: &OrderRow, fill: &FillLine) {
        let of = fill.part_of.and_then(|of| order.executed.derived(of));
        let Some(of) = of.filter(|of| of.named > 0) else {
            return;
        };
        let origin = format!("{}-{}", order.bank, of.exec_id);
        let before = reported(&origin, of.named - 1);
        let is_left = of.quantity > 0;
        if is_left {
            // The original itself follows.
            let mut executed = order.executed.clone();
            executed.book(-fill.quantity, fill.price);
            let id = reported(&origin, of.named);
            let mut body = body(order, &executed, Some(fill), (&id, 'G'));
            put_trade(&mut body, of.quantity, of.price);
            put(&mut body, "19", &before);
            self.push(at_ns, body);
        }
        let exec_type = if is_left { 'F' } else { 'G' };
        let id = exec_id(order, fill);
        let mut body = body(order, &order.executed, Some(fill), (&id, exec_type));
        put_trade(&mut body, fill.quantity, fill.price);
        if !is_left {
            put(&mut body, "19", &before);
        }
        put(&mut body, "527", fill.exec_id.as_str());
        self.push(at_ns, body);
    }

    /// A trade that the desk booked without an order.
    fn booked(&mut self, at_ns: u64, fill: &FillLine, told: &PublishedEntry<'_>) {
        let id = fill.exec_id.as_str();
        let mut body = String::with_capacity(256);
        put(&mut body, "37", id);
        if let Some(bank) = fill.bank {
            put_bank(&mut body, &told.labels.banks[bank]);
        }
        let (quantity, price) = (fill.quantity.to_string(), decimal(fill.price));
        let date = fill.settl_date.unwrap_or_default();
        for (tag, value) in [
            ("17", id),
            ("150", "F"),
            ("39", "2"),
            ("38", &quantity),
            ("54", side(fill.side)),
            ("55", &told.labels.pairs[fill.pair].symbol),
            ("64", date.as_str()),
            ("151", "0"),
            ("14", &quantity),
            ("6", &price),
            ("32", &quantity),
            ("31", &price),
        ] {
            put(&mut body, tag, value);
        }
        self.push(at_ns, body);
    }

    /// Reports the reversed fill as a bust, if there is one.
    fn bust(&mut self, ledger: &Ledger, at_ns: u64) {
        let Some(fill) = self.reversed.take() else {
            return;
        };
        let order = fill.order.and_then(|order| ledger.order_of(order.number));
        let Some(order) = order else {
            return;
        };
        let derived = order.executed.derived(fill.exec_id);
        let of = reported(&exec_id(order, &fill), derived.map_or(0, |of| of.named));
        let id = format!("{of}-H");
        let mut body = body(order, &order.executed, Some(&fill), (&id, 'H'));
        put_trade(&mut body, fill.quantity, fill.price);
        put(&mut body, "19", &of);
        self.push(at_ns, body);
    }

    fn push(&mut self, at_ns: u64, body: String) {
        self.all.push(Report {
            at_ns,
            body: body.into(),
        });
    }
}

/// Fields of an order's report, with the quantities executed at that time; for a fill also its parent and value date,
/// which a correction may change.
fn body(
    order: &OrderRow,
    executed: &Executed,
    fill: Option<&FillLine>,
    (exec_id, exec_type): (&str, char),
) -> String {
    let mut text = String::with_capacity(256);
    let id = order.id.as_str();
    put(&mut text, "37", id);
    put(&mut text, "11", id);
    if let Some(parent) = fill.and_then(|fill| fill.parent) {
        put(&mut text, "583", parent.as_str());
    }
    put_bank(&mut text, &order.bank);
    put(&mut text, "17", exec_id);
    put(&mut text, "150", exec_type.encode_utf8(&mut [0; 4]));
    let status = status(order, executed);
    put(&mut text, "39", status.encode_utf8(&mut [0; 4]));
    put_terms(&mut text, order, fill);
    put(&mut text, "151", &leaves(order, executed).to_string());
    put(&mut text, "14", &executed.net.to_string());
    put(&mut text, "6", &average(executed));
    text
}

fn put_trade(text: &mut String, quantity: i64, price: Price) {
    put(text, "32", &quantity.to_string());
    put(text, "31", &decimal(price));
}

/// Account, currency, quantity, kind, price, side, symbol, time in force, settlement date.
fn put_terms(text: &mut String, order: &OrderRow, fill: Option<&FillLine>) {
    let terms = &order.terms;
    let date = fill.and_then(|fill| fill.settl_date);
    let date = date.filter(|date| !date.is_empty());
    let date = date.map_or_else(|| terms.value_date.to_string(), |date| date.to_string());
    for (tag, value) in [
        ("1", terms.account.as_str()),
        ("15", terms.base.as_str()),
        ("38", &terms.quantity.to_string()),
        ("40", if terms.is_quoted { "D" } else { "2" }),
        ("44", &decimal(terms.price)),
        ("54", side(terms.side)),
        ("55", &terms.pair),
        ("59", if terms.is_fok { "4" } else { "3" }),
        ("64", &date),
    ] {
        put(text, tag, value);
    }
}

fn leaves(order: &OrderRow, executed: &Executed) -> i64 {
    match order.state.is_end() {
        true => 0,
        false => (order.terms.quantity - executed.filled).max(0),
    }
}

/// OrdStatus (39). A busted quantity is not traded again, so a filled order with a bust is reported as canceled.
fn status(order: &OrderRow, executed: &Executed) -> char {
    let is_whole = order.terms.quantity == executed.net;
    match order.state {
        OrderState::Filled if !is_whole => '4',
        OrderState::Filled => '2',
        OrderState::Canceled => '4',
        OrderState::Rejected => '8',
        OrderState::Expired => 'C',
        _ if is_whole => '2',
        _ if executed.net > 0 => '1',
        _ => '0',
    }
}

/// Average price, rounded half up at nine decimals.
fn average(executed: &Executed) -> String {
    let net = i128::from(executed.net);
    match net > 0 {
        true => ticks::text((2 * executed.cost + net).div_euclid(2 * net), DECIMALS),
        false => "0".to_owned(),
    }
}

fn decimal(price: Price) -> String {
    ticks::text(i128::from(price.0), ticks::PRICE_DECIMALS)
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Bid => "1",
        Side::Ask => "2",
    }
}

/// ExecID of a fill: the bank's is unique at the bank only.
fn exec_id(order: &OrderRow, fill: &FillLine) -> String {
    format!("{}-{}", order.bank, fill.exec_id)
}

/// ExecID of the last report of a fill of which this many late originals were parts.
fn reported(origin: &str, named: u64) -> String {
    match named {
        0 => origin.to_owned(),
        named => format!("{origin}-{}", named + 1),
    }
}

/// The bank as executing firm.
fn put_bank(body: &mut String, bank: &str) {
    for (tag, value) in [("453", "1"), ("448", bank), ("447", "D"), ("452", "1")] {
        put(body, tag, value);
    }
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

#[cfg(test)]
pub(super) mod tests;
