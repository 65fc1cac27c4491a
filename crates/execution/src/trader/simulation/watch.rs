//! What is watched from outside the engine: the orders on the wire, the lines for readers, and what the desk wanted.

use std::collections::{HashMap, HashSet, VecDeque};
use touchline_types::Id;
use touchline_wire::fix::{Frame, Message, decimal, frame};

const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// A second, less what an order may wait for room in the kernel: the engine counts orders when it makes them.
const SECOND_NS: u64 = 950_000_000;
/// Lines of the trace that a failure prints.
const TRACE_LINES: usize = 400;

/// A parent as the desk sent it.
#[derive(Debug, Clone)]
pub struct Parent {
    pub pair: usize,
    pub is_buy: bool,
    pub quantity: i64,
    /// Ticks.
    pub limit: Option<i64>,
}

/// When an order left, and its TransactTime (60).
type Sent = (u64, String);

/// Symbol and decimals of each pair.
pub type Pairs = Vec<(String, u8)>;

/// The watch.
pub struct Watch {
    pub pairs: Pairs,
    pub parents: HashMap<String, Parent>,
    /// Whether the kill switch was set after the last thing that the engine did.
    pub is_killed: bool,
    pub failure: Option<String>,
    pub orders: u64,
    sent: HashSet<String>,
    /// Orders that were asked to be canceled on the present connection, by bank.
    canceled: Vec<HashSet<String>>,
    /// Bytes of a message that is not whole yet, by bank.
    rest: Vec<Vec<u8>>,
    /// Orders of the last second, and their limit, by bank.
    rates: Vec<(VecDeque<Sent>, usize)>,
    /// Lines that a reader took.
    pub lines: Vec<String>,
    trace: Option<VecDeque<String>>,
}

impl Watch {
    pub fn new(pairs: Pairs, rates: impl IntoIterator<Item = usize>, traces: bool) -> Watch {
        let rates: Vec<_> = rates
            .into_iter()
            .map(|most| (VecDeque::new(), most))
            .collect();
        Watch {
            pairs,
            parents: HashMap::new(),
            is_killed: false,
            failure: None,
            orders: 0,
            sent: HashSet::new(),
            canceled: vec![HashSet::new(); rates.len()],
            rest: vec![Vec::new(); rates.len()],
            rates,
            lines: Vec::new(),
            trace: traces.then(VecDeque::new),
        }
    }

    /// Adds to the trace, if there is one.
    pub fn note(&mut self, now_ns: u64, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            if trace.len() == TRACE_LINES {
                trace.pop_front();
            }
            trace.push_back(format!("{:>9} us  {}", now_ns / 1_000, what()));
        }
    }

    pub fn trace(&self) -> impl Iterator<Item = &String> {
        self.trace.iter().flatten()
    }

    pub fn fail(&mut self, what: String) {
        self.failure.get_or_insert(what);
    }

    /// Whether an order has been on the wire.
    pub fn has_sent(&self, id: &Id) -> bool {
        self.sent.contains(id.as_str())
    }

    /// Whether the bank was asked to cancel an order on the present connection.
    pub fn has_canceled(&self, bank: usize, id: &str) -> bool {
        self.canceled[bank].contains(id)
    }

    /// A connection begins.
    pub fn connected(&mut self, bank: usize) {
        self.rest[bank].clear();
        self.canceled[bank].clear();
    }

    /// The engine handed bytes to the kernel.
    pub fn sent(&mut self, bank: usize, now_ns: u64, bytes: &[u8]) {
        let mut rest = std::mem::take(&mut self.rest[bank]);
        rest.extend_from_slice(bytes);
        let mut start = 0;
        while let Ok(Frame::Whole(message)) = frame(&rest[start..], MESSAGE_BYTES_MAX) {
            start += message.len();
            if message.msg_type() == b"D" {
                self.order(bank, now_ns, &message);
            } else if message.msg_type() != b"0" {
                if message.msg_type() == b"F" {
                    self.canceled[bank].insert(field(&message, 41).to_owned());
                }
                let is_fill = message.msg_type() == b"4";
                if is_fill
                    && !message
                        .bytes()
                        .windows(6)
                        .any(|field| field == b"\x0143=Y\x01")
                {
                    self.fail("a message that was sent became a gap fill".to_owned());
                }
                let bytes = message.bytes();
                self.note(now_ns, || format!("to bank {bank}: {}", short(bytes)));
            }
        }
        rest.drain(..start);
        self.rest[bank] = rest;
    }

    /// The bank handed whole messages to its kernel.
    pub fn said(&mut self, bank: usize, now_ns: u64, bytes: &[u8]) {
        let mut start = 0;
        while let Ok(Frame::Whole(message)) = frame(&bytes[start..], MESSAGE_BYTES_MAX) {
            start += message.len();
            if message.msg_type() != b"0" {
                self.note(now_ns, || {
                    format!("bank {bank} sends: {}", short(message.bytes()))
                });
            }
        }
    }

    fn order(&mut self, bank: usize, now_ns: u64, message: &Message<'_>) {
        let field = |tag: u32| field(message, tag);
        let id = field(11);
        self.orders += 1;
        self.note(now_ns, || {
            let (side, quantity, price) = (field(54), field(38), field(44));
            format!("order {id} to bank {bank}: side {side}, {quantity} at {price}")
        });
        if self.is_killed {
            self.fail(format!("order {id} is sent while killed"));
        }
        if !self.sent.insert(id.to_owned()) {
            self.fail(format!("order {id} is sent twice"));
        }
        let (recent, most) = &mut self.rates[bank];
        let made = field(60);
        recent.push_back((now_ns, made.to_owned()));
        while recent[0].0 + SECOND_NS <= now_ns {
            recent.pop_front();
        }
        // The limit is that of plans: all orders of one are made at the same time, and may leave in several writes.
        let before = recent.iter().filter(|(_, time)| time != made).count();
        if before >= *most {
            let (count, most) = (recent.len(), *most);
            self.fail(format!(
                "{count} orders to bank {bank} in a second, the limit is {most}"
            ));
        }
        if let Err(what) = self.judge(id, field(55), field(54), field(38), field(44)) {
            self.fail(format!("order {id}: {what}"));
        }
    }

    fn judge(
        &self,
        id: &str,
        symbol: &str,
        side: &str,
        quantity: &str,
        price: &str,
    ) -> Result<(), String> {
        let parent = parent_of(id).and_then(|name| self.parents.get(name));
        let parent = parent.ok_or("no such parent")?;
        let quantity: i64 = quantity.parse().unwrap_or(0);
        let (pair, precision) = &self.pairs[parent.pair];
        let price = decimal(price.as_bytes()).map_err(|_| "no price")?;
        let price = price.mantissa * 10_i64.pow(u32::from(*precision) - u32::from(price.decimals));
        let is_within = |limit: i64| {
            if parent.is_buy {
                price <= limit
            } else {
                price >= limit
            }
        };
        if symbol != pair || (side == "1") != parent.is_buy {
            return Err("another pair or side than its parent".to_owned());
        }
        if quantity <= 0 || quantity % 1_000 != 0 || quantity > parent.quantity {
            return Err(format!("a quantity of {quantity}"));
        }
        match parent.limit.is_none_or(is_within) {
            true => Ok(()),
            false => Err(format!(
                "price {price} is beyond the limit {:?}",
                parent.limit
            )),
        }
    }

    /// The engine published a line.
    pub fn published(&mut self, number: u64, line: &str) {
        if number == self.lines.len() as u64 + 1 {
            self.lines.push(line.to_owned());
        }
    }
}

/// The text of a field; empty if there is none.
fn field<'a>(message: &Message<'a>, tag: u32) -> &'a str {
    let mut fields = message.fields().map_while(Result::ok);
    let field = fields.find(|field| field.tag == tag);
    field.map_or("", |field| std::str::from_utf8(field.value).unwrap_or(""))
}

/// The parent in a ClOrdID: prefix, parent, number.
pub fn parent_of(id: &str) -> Option<&str> {
    id.split('-').nth(1)
}

/// The fields of a message that a trace shows.
pub fn short(bytes: &[u8]) -> String {
    const SHOWN: [&str; 20] = [
        "35=", "34=", "43=", "11=", "41=", "17=", "19=", "150=", "39=", "14=", "32=", "31=",
        "103=", "790=", "584=", "912=", "7=", "16=", "36=", "58=",
    ];
    let text = String::from_utf8_lossy(bytes);
    let fields = text.split('\x01');
    let fields = fields.filter(|field| SHOWN.iter().any(|tag| field.starts_with(tag)));
    fields.collect::<Vec<_>>().join("|")
}
