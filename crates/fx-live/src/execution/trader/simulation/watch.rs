//! The observer outside the engine: the orders on the wire, the lines for readers, and the wishes of the desk.

use super::machine::BEGIN_NS;
use super::weeks::Weeks;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use touchline_fx_events::encoding::Place;
use touchline_transport::clock::STEP_NS;
use touchline_types::Id;
use touchline_wire::fix::{Frame, Message, decimal, frame, timestamp};

const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// A second, less the time for which an order may wait for room in the kernel: the engine counts orders when it makes
/// them.
const SECOND_NS: u64 = 950_000_000;
const MS: u64 = 1_000_000;
/// Longest wait of an order for room in the kernel.
const WAIT_NS: u64 = 3_000 * MS;
/// Lines of the trace that a failure prints.
const TRACE_LINES: usize = 2_000;

/// A parent as the desk sent it.
#[derive(Debug, Clone)]
pub struct Parent {
    pub pair: usize,
    pub is_buy: bool,
    pub quantity: i64,
    /// Ticks.
    pub limit: Option<i64>,
    pub deadline_ms: u64,
    /// When it was accepted, by the monotonic clock, and the epoch of that run.
    pub accepted: Option<(u64, u64)>,
}

/// Time at which an order was sent, and its TransactTime (60).
type Sent = (u64, String);

/// Symbol and decimals of each pair.
pub type Pairs = Vec<(String, u8)>;

/// The watch.
pub struct Watch {
    pub pairs: Pairs,
    pub parents: HashMap<String, Parent>,
    /// Whether the kill switch was set after the last action of the engine.
    pub is_killed: bool,
    /// A kill is being executed: it holds even if the process dies.
    pub is_killing: bool,
    pub failure: Option<String>,
    pub orders: u64,
    sent: HashSet<String>,
    /// Value date (64) of each order.
    pub dates: HashMap<String, u32>,
    /// The days of the run.
    pub weeks: Option<Rc<Weeks>>,
    /// Orders for which a cancel was sent on the present connection, by bank.
    canceled: Vec<HashSet<String>>,
    /// Bytes of an incomplete message, by bank.
    rest: Vec<Vec<u8>>,
    /// Orders of the last second, and their limit, by bank.
    rates: Vec<(VecDeque<Sent>, usize)>,
    /// Times at which the wall clock of the engine's host was set, each with the sum of the steps, nanoseconds.
    walls: Vec<(u64, i64)>,
    /// Epoch of the run.
    epoch: u64,
    /// Step of the wall clock at the start of the run.
    began_set_ns: i64,
    /// When the journal of the run refused a record.
    pub refused_ns: Option<u64>,
    /// Parts of batches that a reader took, by the number of their first entry.
    pub parts: BTreeMap<u64, Vec<u8>>,
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
            is_killing: false,
            failure: None,
            orders: 0,
            sent: HashSet::new(),
            dates: HashMap::new(),
            weeks: None,
            canceled: vec![HashSet::new(); rates.len()],
            rest: vec![Vec::new(); rates.len()],
            rates,
            walls: vec![(0, 0)],
            epoch: 0,
            began_set_ns: 0,
            refused_ns: None,
            parts: BTreeMap::new(),
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

    /// A run starts. Its clock begins with the wall clock: orders that a step forward made old do not count any more.
    pub fn started(&mut self, epoch: u64) {
        (self.epoch, self.refused_ns) = (epoch, None);
        let set_ns = self.walls.last().map_or(0, |(_, set_ns)| *set_ns);
        if std::mem::replace(&mut self.began_set_ns, set_ns) < set_ns {
            self.rates.iter_mut().for_each(|(recent, _)| recent.clear());
        }
    }

    /// The wall clock of the engine's host was set.
    pub fn wall_set(&mut self, now_ns: u64, set_ns: i64) {
        self.walls.push((now_ns, set_ns));
    }

    /// Time at which an order was made, by the monotonic clock. The order states the wall clock, of now or of a while
    /// ago, since the order may wait for room in the kernel. `None`: the stated time is of another clock.
    fn made_ns(&self, now_ns: u64, made: &str) -> Option<u64> {
        let made_ns = timestamp(made.as_bytes()).ok()?;
        let mut until_ns = now_ns;
        for (from_ns, set_ns) in self.walls.iter().rev() {
            let at_ns = made_ns.saturating_add_signed(-(BEGIN_NS as i64 + set_ns));
            // Times have milliseconds, and a step is noticed in the next round.
            let earliest_ns = *from_ns.max(&now_ns.saturating_sub(WAIT_NS));
            // Inputs other than steps are not followed.
            let earliest_ns = earliest_ns.saturating_sub(MS + STEP_NS);
            if (earliest_ns..=until_ns + MS + STEP_NS).contains(&at_ns) {
                return Some(at_ns);
            }
            if *from_ns + WAIT_NS < now_ns {
                return None;
            }
            until_ns = *from_ns;
        }
        None
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
        let date = field(64).parse().unwrap_or(0);
        self.dates.insert(id.to_owned(), date);
        let pair = parent_of(id).and_then(|name| self.parents.get(name));
        if let (Some(weeks), Some(pair), Ok(made_ns)) =
            (&self.weeks, pair, timestamp(field(60).as_bytes()))
            && !weeks.may_have(pair.pair, date, made_ns)
        {
            self.fail(format!("order {id} has the value date {date}"));
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
        match self.made_ns(now_ns, field(60)) {
            None => {
                let made = field(60);
                self.fail(format!("order {id} has the time {made}, by another clock"));
            }
            Some(made_ns) => {
                let refused_ns = self.refused_ns.unwrap_or(u64::MAX);
                if made_ns > refused_ns.saturating_add(MS) {
                    self.fail(format!("order {id} has no record in the journal"));
                }
                if let Some(late_ms) = self.late_ms(id, made_ns) {
                    self.fail(format!(
                        "order {id} was made {late_ms} ms after the deadline of its parent"
                    ));
                }
            }
        }
        if let Err(what) = self.judge(id, field(55), field(54), field(38), field(44)) {
            self.fail(format!("order {id}: {what}"));
        }
    }

    /// Time from the deadline of its parent to the making of an order.
    fn late_ms(&self, id: &str, made_ns: u64) -> Option<u64> {
        let parent = parent_of(id).and_then(|name| self.parents.get(name))?;
        let (accepted_ns, epoch) = parent.accepted?;
        let until_ns = accepted_ns + parent.deadline_ms * MS;
        let late_ms = made_ns.saturating_sub(until_ns) / MS;
        (epoch == self.epoch && late_ms > 1 + STEP_NS / MS).then_some(late_ms)
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

    /// The engine published a part of a batch.
    pub fn published(&mut self, part: &[u8]) {
        let place = Place::of(part).expect("a part of a batch");
        if place.first > 0 {
            self.parts
                .entry(place.first)
                .or_insert_with(|| part.to_vec());
        }
    }

    /// Whether there is a trace.
    pub fn traces(&self) -> bool {
        self.trace.is_some()
    }
}

/// The text of a field; empty if the field is missing.
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
    const SHOWN: [&str; 24] = [
        "35=", "34=", "43=", "11=", "41=", "17=", "19=", "150=", "39=", "14=", "32=", "31=",
        "103=", "790=", "584=", "912=", "7=", "16=", "36=", "58=", "6=", "38=", "64=", "151=",
    ];
    let text = String::from_utf8_lossy(bytes);
    let fields = text.split('\x01');
    let fields = fields.filter(|field| SHOWN.iter().any(|tag| field.starts_with(tag)));
    fields.collect::<Vec<_>>().join("|")
}
