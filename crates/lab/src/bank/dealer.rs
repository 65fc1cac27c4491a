//! The dealing desk of a bank: its order session, the treatment of orders, and its own books.
//!
//! The desk stores its own trades, which do not depend on the content of its reports or on their arrival: positions are compared with
//! its books. Tags are numbers: the lab shares no table with the code under test.

mod answers;
mod books;
mod client;
mod connection;
mod contradiction;
mod log;
mod order;
mod port;
mod restart;

pub use books::{Book, Books};
pub use port::Dealer;

use super::config::{Config, OrdersConfig};
use super::day::{DayConfig, NumbersAtEnd};
use super::ladder::Ladder;
use crate::random::Random;
use answers::{Answer, Fields, Request};
use client::DealingClient;
use log::Log;
use order::Order;
use std::collections::{BTreeSet, VecDeque};
use touchline_types::ReceiveTime;

/// Time until a bust or a correction of a fill.
const REVERSAL_NS: u64 = 30_000_000;
/// Time until a fill of an order that was rejected.
const AFTER_END_NS: u64 = 15_000_000;

/// Messages that a desk keeps to send them again, and their bytes.
const KEPT: (usize, usize) = (65_536, 16 << 20);

/// The desk without its port: bytes and time in, bytes out, with the one client that deals with it.
#[derive(Debug)]
pub struct Desk {
    bank: String,
    config: OrdersConfig,
    random: Random,
    client: Option<DealingClient>,
    kept: (usize, usize),
    requests: Vec<Request>,
    /// Messages that the session did not accept yet.
    waiting: VecDeque<(String, Fields)>,
    orders: Vec<Order>,
    /// ClOrdIDs of all orders that arrived, also of those that the desk lost or could not read.
    ids: BTreeSet<String>,
    /// Future events of orders, each with its time, unsorted.
    due: Vec<Due>,
    closed_until_ns: u64,
    /// Closed by its hours, and what it forgets then and at a loss.
    is_closed: bool,
    numbers: NumbersAtEnd,
    drops_orders: bool,
    /// Time behind a loss for which last looks go on, nanoseconds, and their number.
    last_looks: (u64, u64),
    /// Time of the start, part of ExecIDs: they are never used again.
    start_ms: u64,
    /// ExecID of the last trade.
    last_exec_id: String,
    executions: u64,
    books: Books,
    /// Whether no faults are made in this turn.
    is_sound: bool,
    /// The file that survives a kill, the orders that changed in this turn, and the last written state: executions, books,
    /// whether messages wait.
    log: Option<Log>,
    changed: BTreeSet<usize>,
    written: (u64, Books, bool),
}

/// Deal: the traded quantity of an order in the desk's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deal<'a> {
    /// ClOrdID.
    pub id: &'a str,
    /// Units ordered.
    pub quantity: i64,
    /// Units traded.
    pub cum: i64,
    /// Units traded after the desk had reported an end: its own contradiction.
    pub after_end: i64,
    /// Whether the order cannot trade any more.
    pub is_ended: bool,
    /// Price, ticks.
    pub price: i64,
}

/// Future event of an order.
#[derive(Debug, Clone)]
struct Due {
    at_ns: u64,
    order: usize,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    /// The end of the hold: the desk looks at its price.
    Look,
    /// The second part of a fill.
    Rest,
    /// A fill of an order that has ended.
    FillAfterEnd,
    /// A trade of this id, quantity and price is reversed.
    Bust(String, i64, i64),
    /// The price of a trade is corrected by one tick, in the client's favour.
    Correct(String, i64, i64),
    /// The connection is closed.
    Disconnect,
}

impl Desk {
    /// A desk without a client.
    pub fn new(bank: &str, config: &OrdersConfig, pairs: usize, random: Random) -> Desk {
        Desk {
            bank: bank.to_owned(),
            config: config.clone(),
            random,
            client: None,
            kept: KEPT,
            requests: Vec::new(),
            waiting: VecDeque::new(),
            orders: Vec::new(),
            ids: BTreeSet::new(),
            due: Vec::new(),
            closed_until_ns: 0,
            is_closed: false,
            numbers: NumbersAtEnd::Keep,
            drops_orders: false,
            last_looks: (0, 0),
            start_ms: 0,
            last_exec_id: String::new(),
            executions: 0,
            books: Books::new(pairs),
            is_sound: true,
            log: None,
            changed: BTreeSet::new(),
            written: (0, Books::new(pairs), false),
        }
    }

    /// What it forgets at the end of its day, and at a loss of the session.
    pub fn with_day(mut self, day: Option<&DayConfig>) -> Desk {
        if let Some(day) = day {
            (self.numbers, self.drops_orders) = (day.numbers, day.drops_orders);
        }
        self
    }

    /// Keeps at most that many messages of that many bytes to send them again.
    pub fn with_kept(mut self, messages: usize, bytes: usize) -> Desk {
        self.kept = (messages, bytes);
        self
    }

    /// Its name, the CompID of its session.
    pub fn bank(&self) -> &str {
        &self.bank
    }

    /// Ledger of the desk: its trades.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// Every order that arrived, oldest first.
    pub fn deals(&self) -> impl Iterator<Item = Deal<'_>> {
        self.orders.iter().map(|order| Deal {
            id: &order.id,
            quantity: order.quantity,
            cum: order.cum,
            after_end: order.after_end,
            is_ended: order.ended_ns.is_some(),
            price: order.price,
        })
    }

    /// When something is due next.
    pub fn due_ns(&self) -> u64 {
        let due = self.due.iter().map(|due| due.at_ns);
        due.min().unwrap_or(u64::MAX)
    }

    /// Begins to log the client out.
    pub fn log_out(&mut self, at: ReceiveTime) {
        if let Some(client) = &mut self.client {
            client.session.log_out("the bank closes", at);
        }
    }

    /// Answers received messages, and executes due events; returns whether there were any.
    pub fn work(
        &mut self,
        config: &Config,
        shown: &[Option<Ladder>],
        is_sound: bool,
        at: ReceiveTime,
    ) -> bool {
        if self.start_ms == 0 {
            self.start(at);
        }
        self.is_sound = is_sound;
        self.send_waiting(at);
        let requests = std::mem::take(&mut self.requests);
        let mut is_busy = !requests.is_empty();
        for request in requests {
            self.request(config, &request, is_sound, at);
        }
        while let Some(place) = self.next_due(at.mono_ns) {
            let Due { order, what, .. } = self.due.remove(place);
            self.happen(config, shown, (order, &what), is_sound, at);
            is_busy = true;
        }
        if let Some(client) = self.client.as_mut().filter(|client| client.is_connected) {
            client.session.handle_timeout(at);
        }
        is_busy
    }

    /// Index of the earliest due event.
    fn next_due(&self, now_ns: u64) -> Option<usize> {
        let all = self.due.iter().enumerate();
        let due = all.filter(|(_, due)| due.at_ns <= now_ns);
        due.min_by_key(|(_, due)| due.at_ns).map(|(place, _)| place)
    }

    fn request(&mut self, config: &Config, request: &Request, is_sound: bool, at: ReceiveTime) {
        match request {
            Request::Order { .. } => self.order(config, request, is_sound, at),
            Request::Cancel { id, original } => self.cancel(config, (id, original), at),
            // By its rules the orders of a lost session are gone, and it answers no question.
            Request::Status { .. } | Request::MassStatus { .. } if self.drops_orders => {
                self.books.questions += 1;
            }
            Request::Status { id, request, about } => {
                let found = self.orders.iter().rposition(|order| order.id == *id);
                self.books.questions += 1;
                match found {
                    Some(order) => {
                        self.answer(
                            config,
                            order,
                            &Answer::Status {
                                request,
                                mass: None,
                            },
                            at,
                        );
                    }
                    None => self.send("8", answers::unknown(id, request, about), at),
                }
            }
            Request::MassStatus { request } => self.mass_status(config, request, at),
            Request::DontKnow => self.books.dont_knows += 1,
            Request::Malformed { id } => {
                // Two orders without a ClOrdID are not one order.
                if id.is_empty() || self.is_new(id) {
                    self.malformed(id, at);
                }
            }
        }
    }

    fn order(&mut self, config: &Config, request: &Request, is_sound: bool, at: ReceiveTime) {
        let Request::Order {
            id,
            symbol,
            is_buy,
            quantity,
            price,
            is_fok,
            date,
            made_ns,
        } = request
        else {
            return;
        };
        self.books.orders += 1;
        if !self.is_new(id) {
            return;
        }
        let pair = config.pairs.iter().position(|pair| pair.symbol == *symbol);
        let price_of = |pair: usize| answers::ticks(price, config.pairs[pair].precision);
        let Some((pair, price)) = pair.and_then(|pair| Some((pair, price_of(pair)?))) else {
            self.malformed(id, at);
            return;
        };
        let is_wrong = config.spot_date(pair, *made_ns) != *date;
        self.books.wrong_dates += u64::from(is_wrong);
        let mut chance = |share: f64| !is_sound && self.random.chance(share);
        let (is_lost, is_silent) = (chance(self.config.lost), chance(self.config.silent));
        let (is_late, disconnects) = (chance(self.config.late), chance(self.config.disconnect));
        if is_lost {
            self.books.lost += 1;
            // mutant: lab: a desk that starts again does not know a lost order
            self.keep_id(id);
            return;
        }
        self.orders.push(Order {
            id: id.clone(),
            pair,
            date: date.clone(),
            is_buy: *is_buy,
            quantity: *quantity,
            price,
            is_fok: *is_fok,
            cum: 0,
            cost: 0,
            status: b'0',
            ended_ns: None,
            is_silent,
            after_end: 0,
        });
        self.books.silent += u64::from(is_silent);
        let order = self.orders.len() - 1;
        self.changed.insert(order);
        self.answer(config, order, &Answer::State, at);
        let [least, most] = self.config.hold_ms;
        let mut hold_ms = self.random.between(least as i64, most.max(least) as i64) as u64;
        if is_late {
            self.books.late += 1;
            hold_ms += self.config.late_ms;
        }
        let hold_ns = hold_ms * 1_000_000;
        self.later(order, hold_ns, What::Look, at);
        if disconnects {
            self.later(order, hold_ns / 2, What::Disconnect, at);
        }
    }

    /// Whether no order of that ClOrdID arrived before. One sent twice is the worst that a client can do: it is counted.
    fn is_new(&mut self, id: &str) -> bool {
        let is_new = self.ids.insert(id.to_owned());
        self.books.duplicates += u64::from(!is_new);
        is_new
    }

    /// Rejects an order that cannot be read.
    fn malformed(&mut self, id: &str, at: ReceiveTime) {
        self.keep_id(id);
        self.send("8", answers::malformed(id, &self.bank), at);
    }

    fn cancel(&mut self, config: &Config, (id, original): (&str, &str), at: ReceiveTime) {
        self.books.cancels += 1;
        let found = self.orders.iter().rposition(|order| order.id == original);
        match found {
            Some(place) if self.orders[place].ended_ns.is_none() => {
                self.end(place, b'4', at);
                self.answer(config, place, &Answer::Canceled { request: id }, at);
            }
            Some(place) => {
                let status = self.orders[place].status;
                self.send("9", answers::cancel_reject(id, original, status, b'0'), at);
            }
            None => self.send("9", answers::cancel_reject(id, original, b'8', b'1'), at),
        }
    }

    fn mass_status(&mut self, config: &Config, request: &str, at: ReceiveTime) {
        self.books.questions += 1;
        let reach_ns = self.config.mass_status_ms.saturating_mul(1_000_000);
        let is_recent = |order: &Order| {
            let ended_ns = order.ended_ns.unwrap_or(u64::MAX);
            ended_ns.saturating_add(reach_ns) > at.wall_ns
        };
        let all = (0..self.orders.len()).filter(|place| is_recent(&self.orders[*place]));
        let all: Vec<usize> = all.collect();
        if all.is_empty() {
            self.send("8", answers::no_orders(request), at);
        }
        for (number, order) in all.iter().enumerate() {
            let mass = Some((all.len(), number + 1 == all.len()));
            self.answer(config, *order, &Answer::Status { request, mass }, at);
        }
    }

    fn happen(
        &mut self,
        config: &Config,
        shown: &[Option<Ladder>],
        (order, what): (usize, &What),
        is_sound: bool,
        at: ReceiveTime,
    ) {
        match what {
            What::Look if self.orders[order].ended_ns.is_some() => {}
            What::Look => self.look(config, shown, order, is_sound, at),
            What::Rest => {
                let about = &self.orders[order];
                if about.ended_ns.is_none() {
                    let left = about.quantity - about.cum;
                    self.fill(config, order, left, is_sound, at);
                }
            }
            What::FillAfterEnd => {
                self.books.after_end += 1;
                let left = self.orders[order].quantity - self.orders[order].cum;
                self.orders[order].after_end = left;
                self.fill(config, order, left, true, at);
            }
            What::Bust(exec_id, quantity, price) => {
                self.books.busts += 1;
                self.trade(order, -quantity, *price);
                let reversal = Answer::Bust { exec_id };
                self.answer(config, order, &reversal, at);
            }
            What::Correct(exec_id, quantity, price) => {
                let better = match self.orders[order].is_buy {
                    true => price - 1,
                    false => price + 1,
                };
                self.books.corrects += 1;
                self.trade(order, -quantity, *price);
                self.trade(order, *quantity, better);
                let correct = Answer::Correct {
                    exec_id,
                    quantity: *quantity,
                    price: better,
                };
                self.answer(config, order, &correct, at);
            }
            What::Disconnect => {
                self.books.disconnects += 1;
                self.close(at.mono_ns + self.config.outage_ms * 1_000_000);
            }
        }
    }

    /// Last look: the order is filled if the desk's best price is still as good, within a tolerance. Sizes do not count: it
    /// judges any quantity by that price.
    fn look(
        &mut self,
        config: &Config,
        shown: &[Option<Ladder>],
        place: usize,
        is_sound: bool,
        at: ReceiveTime,
    ) {
        let order = &self.orders[place];
        let ladder = shown[order.pair].as_ref();
        let bands = ladder.map_or(&[][..], |ladder| &ladder.bands);
        let own = match order.is_buy {
            true => bands.iter().map(|band| band.ask).min(),
            false => bands.iter().map(|band| -band.bid).min(),
        };
        let asked = if order.is_buy {
            order.price
        } else {
            -order.price
        };
        let tolerance = self.config.last_look_ticks;
        let is_lucky = !is_sound && self.random.chance(self.config.reject);
        let reason = match own {
            _ if is_lucky => Some(*self.random.pick(&self.config.reject_codes)),
            // No price any more.
            None => Some(32),
            Some(own) if own > asked + tolerance => Some(30),
            Some(_) => None,
        };
        if let Some(reason) = reason {
            self.books.reject(reason);
            self.end(place, b'8', at);
            self.answer(config, place, &Answer::Reject { reason }, at);
            let is_told = !self.orders[place].is_silent;
            if is_told && !is_sound && self.random.chance(self.config.after_end) {
                self.later(place, AFTER_END_NS, What::FillAfterEnd, at);
            }
            return;
        }
        let (quantity, is_fok) = (self.orders[place].quantity, self.orders[place].is_fok);
        let half = quantity / 2 / 1_000 * 1_000;
        let mut chance = |share: f64| !is_sound && !is_fok && half > 0 && self.random.chance(share);
        let (is_part, is_split) = (chance(self.config.partial), chance(self.config.split));
        if is_split {
            self.fill(config, place, half, is_sound, at);
            self.later(place, 2_000_000, What::Rest, at);
        } else if is_part {
            self.fill(config, place, half, is_sound, at);
            self.end(place, b'4', at);
            self.answer(config, place, &Answer::State, at);
        } else {
            self.fill(config, place, quantity, is_sound, at);
        }
    }

    /// The desk trades: its books first, then the report.
    fn fill(
        &mut self,
        config: &Config,
        place: usize,
        quantity: i64,
        is_sound: bool,
        at: ReceiveTime,
    ) {
        let price = self.orders[place].price;
        self.executions += 1;
        let exec_id = self.exec_id();
        self.books.fills += 1;
        let order = &mut self.orders[place];
        order.cum += quantity;
        order.cost += i128::from(price) * i128::from(quantity);
        order.status = if order.cum == order.quantity {
            b'2'
        } else {
            b'1'
        };
        if order.cum == order.quantity {
            order.ended_ns = Some(at.wall_ns);
        }
        self.changed.insert(place);
        self.trade(place, quantity, price);
        let fill = Answer::Fill {
            exec_id: &exec_id,
            quantity,
            price,
        };
        self.answer(config, place, &fill, at);
        // A client cannot know that a trade without a report was reversed.
        let is_told = !self.orders[place].is_silent;
        let mut chance = |share: f64| is_told && !is_sound && self.random.chance(share);
        if chance(self.config.bust) {
            self.later(place, REVERSAL_NS, What::Bust(exec_id, quantity, price), at);
        } else if chance(self.config.correct) {
            let correct = What::Correct(exec_id, quantity, price);
            self.later(place, REVERSAL_NS, correct, at);
        }
    }

    fn trade(&mut self, place: usize, quantity: i64, price: i64) {
        self.books.trade(&self.orders[place], quantity, price);
    }

    fn end(&mut self, place: usize, status: u8, at: ReceiveTime) {
        let order = &mut self.orders[place];
        order.status = status;
        order.ended_ns = Some(at.wall_ns);
        self.changed.insert(place);
    }

    fn later(&mut self, order: usize, after_ns: u64, what: What, at: ReceiveTime) {
        let at_ns = at.mono_ns + after_ns;
        self.due.push(Due { at_ns, order, what });
    }

    fn exec_id(&self) -> String {
        format!("{}-X{}.{}", self.bank, self.start_ms, self.executions)
    }

    fn answer(&mut self, config: &Config, place: usize, answer: &Answer<'_>, at: ReceiveTime) {
        let order = &self.orders[place];
        if order.is_silent && !matches!(answer, Answer::Status { .. }) {
            return;
        }
        let number = place + 1;
        let exec_id = match answer {
            Answer::Fill { exec_id, .. } => (*exec_id).to_owned(),
            Answer::Status { .. } => "0".to_owned(),
            _ => {
                self.executions += 1;
                self.exec_id()
            }
        };
        let order = &self.orders[place];
        let mut fields = answers::report(
            order,
            number,
            &config.pairs[order.pair],
            &exec_id,
            answer,
            at,
        );
        if !self.is_sound && self.random.chance(self.config.contradict) {
            let tag = *self.random.pick(&self.config.contradict_in);
            let report = contradiction::Report {
                order,
                answer,
                precision: config.pairs[order.pair].precision,
                last_exec_id: &self.last_exec_id,
            };
            if report.contradict(tag, &mut fields, &mut self.random) {
                self.books.contradict(tag);
            }
        }
        if matches!(answer, Answer::Fill { .. }) {
            self.last_exec_id = exec_id;
        }
        self.send("8", fields, at);
    }
}
