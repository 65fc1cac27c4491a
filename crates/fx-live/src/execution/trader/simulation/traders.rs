//! The desk: two people who send, cancel, kill, lift, enable and resolve.

use super::watch::{Parent, Watch};
use crate::execution::desk::Received;
use std::collections::VecDeque;
use touchline_fx_events::command::{Booking, Command, Order};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::Lifetime;
use touchline_fx_events::plan::Style;
use touchline_lab::bank::Deal;
use touchline_lab::random::Random;
use touchline_types::{Id, Side};

const MS: u64 = 1_000_000;
/// Parents that the desk sends again after a loss of the host.
const UNANSWERED_MAX: usize = 5;
/// Commands that a ring keeps.
const RING_COMMANDS: usize = 24;

/// The desk.
pub struct Traders {
    random: Random,
    next_ns: u64,
    count: u64,
    /// Number of the last command of each client.
    last_request: [u64; 2],
    /// Commands in the rings, with their client.
    pub waiting: VecDeque<(usize, Received)>,
    /// Commands that were sent since the host was started.
    sent: Vec<(usize, Received)>,
    /// When the host was started: its boot clock numbers commands.
    booted_ns: u64,
    /// Number of the kill in the file of each client.
    pub kill_files: [Option<u64>; 2],
    /// Trades that the desk books without an order: command, pair, units and cash (1e-9).
    pub bookings: Vec<(Command, usize, i64, i128)>,
    /// Parents whose answer was lost with the host, and the time at which they are sent again.
    unanswered: (Vec<Command>, u64),
}

impl Traders {
    pub fn new(random: Random) -> Traders {
        Traders {
            random,
            next_ns: 30 * MS,
            count: 0,
            last_request: [0; 2],
            waiting: VecDeque::new(),
            sent: Vec::new(),
            booted_ns: 0,
            kill_files: [None; 2],
            bookings: Vec::new(),
            unanswered: (Vec::new(), 0),
        }
    }

    pub fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// Sends random commands at this time.
    pub fn work(&mut self, now_ns: u64, mids: &[i64], watch: &mut Watch) {
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + 2 * MS + self.random.below(40 * MS);
        if self.unanswered.1 <= now_ns {
            for command in std::mem::take(&mut self.unanswered.0) {
                self.send(now_ns, 0, command);
            }
        }
        match self.random.below(40) {
            0 => self.kill(now_ns),
            1 | 2 => self.enable_all(now_ns, watch),
            3..=5 => self.cancel_recent(now_ns),
            6 => self.again(now_ns),
            8 if self.random.chance(0.2) => self.book(now_ns, watch),
            7 => self.mistake(now_ns),
            _ => self.parent(now_ns, mids, watch),
        }
        if watch.is_killed && self.random.chance(0.4) {
            self.lift(now_ns);
        }
    }

    /// Sends bytes that are not a command, a command of another version, or one with bad terms.
    fn mistake(&mut self, now_ns: u64) {
        let order = Order::new(Id::EMPTY, Id::EMPTY, Side::Bid, 0);
        let mut bytes = Vec::new();
        Command::Parent(order).encode(&mut bytes);
        let cut = bytes.len() - 1;
        let bytes = *self.random.pick(&[&bytes[..cut], b"{", &bytes]);
        let request = self.number(now_ns, 0);
        let message = [&request.to_le_bytes(), bytes].concat();
        self.put(0, Received::read(&message));
    }

    /// Ends everything, through a ring or a file.
    pub fn kill(&mut self, now_ns: u64) {
        let client = self.random.index(2);
        if self.random.chance(0.4) {
            self.kill_files[client] = Some(self.number(now_ns, client));
            return;
        }
        self.send(now_ns, client, Command::Kill);
    }

    /// Another process of the engine reads the rings from where they begin. Returns how many commands that are.
    pub fn read_again(&mut self) -> usize {
        // Of the older commands only kills are kept, which a start may use.
        let old = self.sent.len().saturating_sub(RING_COMMANDS);
        let sent = self.sent.iter().enumerate();
        let left = sent.filter(|(at, (_, command))| *at >= old || is_kill(command));
        self.waiting = left.map(|(_, sent)| sent.clone()).collect();
        self.waiting.len()
    }

    /// Whether a kill waits that the journal lacks: `known` has the number of each client's last kill in it.
    pub fn is_kill_waiting(&self, known: [u64; 2]) -> bool {
        let in_ring = |(client, command): &(usize, Received)| {
            is_kill(command) && command.request > known[*client]
        };
        let in_file = |client: usize| self.kill_files[client] > Some(known[client]);
        self.waiting.iter().any(in_ring) || in_file(0) || in_file(1)
    }

    /// Resolves an order to the outcome that its bank has. The desk of the bank trades at the order's price.
    pub fn resolve_as<'a>(
        &mut self,
        now_ns: u64,
        terms: &Terms,
        precision: u8,
        mut deals: impl Iterator<Item = Deal<'a>>,
    ) {
        let deal = deals.find(|deal| deal.id == terms.id.as_str());
        let cum = deal.map_or(0, |deal| deal.cum);
        let price = price_text(terms.price, precision);
        let resolve = Command::Resolve {
            order: terms.id,
            cum,
            price: Some(text(&price)),
        };
        self.send(now_ns, 0, resolve);
    }

    /// Two people book a trade that no order explains.
    fn book(&mut self, now_ns: u64, watch: &Watch) {
        let random = &mut self.random;
        let pair = random.index(watch.pairs.len());
        let units = 1 + random.below(5_000_000) as i64;
        let price = 1 + random.below(200_000_000_000) as i64;
        let sign = if random.chance(0.5) { 1 } else { -1 };
        let booking = Command::Book(Booking {
            id: text(&format!("B{}", self.bookings.len())),
            pair: text(&watch.pairs[pair].0),
            side: if sign == 1 { Side::Bid } else { Side::Ask },
            quantity: units,
            price: text(&price_text(price, 9)),
            bank: None,
            value_date: text("20260107"),
        });
        let cash = -i128::from(sign * units) * i128::from(price);
        self.bookings.push((booking, pair, sign * units, cash));
        for client in [0, 1] {
            if self.random.chance(0.7) {
                self.send(now_ns, client, booking);
            }
        }
    }

    /// Sends each booking again from both clients, after any outcome of it.
    pub fn book_all(&mut self, now_ns: u64) {
        for (booking, ..) in self.bookings.clone() {
            for client in [0, 1] {
                self.send(now_ns, client, booking);
            }
        }
    }

    /// Cancels a parent.
    pub fn cancel(&mut self, now_ns: u64, id: &str) {
        self.send(now_ns, 0, Command::Cancel { id: text(id) });
    }

    /// Enables a pair of a bank. Returns the number of the command.
    pub fn enable(&mut self, now_ns: u64, bank: usize, symbol: &str) -> u64 {
        let enable = Command::Enable {
            bank: text(&format!("LP{}", bank + 1)),
            pair: text(symbol),
        };
        self.send(now_ns, 0, enable)
    }

    /// Notes that the host was lost until `start_ns`: the desk then sends the last parents again, as it lacks their
    /// answers.
    pub fn host_lost(&mut self, now_ns: u64, start_ns: u64) {
        // The rings and the files are lost, and the boot clock begins again.
        self.kill_files = [None; 2];
        self.waiting.clear();
        self.last_request = [0; 2];
        self.booted_ns = now_ns;
        let sent = self.sent.iter().rev();
        let sent = sent.filter_map(|(_, received)| received.command.as_ref().ok());
        let is_trade = |of: &&Command| match of {
            Command::Parent(order) => !order.id.is_empty(),
            other => matches!(other, Command::Book(_)),
        };
        let parents = sent.filter(is_trade).take(UNANSWERED_MAX).copied();
        let wait_ns = self.random.below(200 * MS);
        self.unanswered.0.extend(parents);
        self.unanswered.1 = start_ns + wait_ns;
        self.sent.clear();
    }

    /// Does not send this parent again.
    pub fn forget(&mut self, id: &str) {
        let is_it = |of: &Command| matches!(of, Command::Parent(order) if order.id.as_str() == id);
        let is_other =
            |(_, received): &(usize, Received)| !received.command.as_ref().is_ok_and(is_it);
        self.sent.retain(is_other);
        self.waiting.retain(is_other);
        self.unanswered.0.retain(|command| !is_it(command));
    }

    fn send(&mut self, now_ns: u64, client: usize, command: Command) -> u64 {
        let request = self.number(now_ns, client);
        let command = Ok(command);
        self.put(client, Received { request, command });
        request
    }

    fn put(&mut self, client: usize, received: Received) {
        self.sent.push((client, received.clone()));
        self.waiting.push_back((client, received));
    }

    fn number(&mut self, now_ns: u64, client: usize) -> u64 {
        let request = self.boot_ns(now_ns).max(self.last_request[client] + 1);
        self.last_request[client] = request;
        request
    }

    /// The boot clock of the host.
    pub fn boot_ns(&self, now_ns: u64) -> u64 {
        now_ns - self.booted_ns
    }

    fn lift(&mut self, now_ns: u64) {
        for client in [0, 1] {
            self.send(now_ns, client, Command::Lift);
        }
    }

    fn enable_all(&mut self, now_ns: u64, watch: &Watch) {
        for bank in 0..4 {
            for (symbol, _) in &watch.pairs {
                self.enable(now_ns, bank, symbol);
            }
        }
    }

    fn cancel_recent(&mut self, now_ns: u64) {
        let back = self.random.below(5);
        let id = self.count.saturating_sub(back);
        self.cancel(now_ns, &format!("P{id}"));
    }

    /// A command that was sent before: the same, or under a new number.
    fn again(&mut self, now_ns: u64) {
        if self.sent.is_empty() {
            return;
        }
        let (client, command) = self.random.pick(&self.sent).clone();
        match self.random.chance(0.5) {
            true => self.waiting.push_back((client, command)),
            false => {
                let request = self.number(now_ns, client);
                self.put(client, Received { request, ..command });
            }
        }
    }

    fn parent(&mut self, now_ns: u64, mids: &[i64], watch: &mut Watch) {
        let random = &mut self.random;
        let pair = random.index(mids.len());
        let precision = watch.pairs[pair].1;
        let quantity = 1_000 * (1 + random.below(6_000) as i64);
        let is_buy = random.chance(0.5);
        let limit = random
            .chance(0.5)
            .then(|| mids[pair] + random.between(-10, 10));
        let lifetime = *random.pick(&[
            Lifetime::Deadline,
            Lifetime::Deadline,
            Lifetime::Deadline,
            Lifetime::Immediate,
            Lifetime::AllOrNothing,
        ]);
        let style = *random.pick(&[Style::Best, Style::Best, Style::Full, Style::Sweep]);
        let (deadline_ms, urgency) = (20 + random.below(500), random.below(3) as u8);
        let side = if is_buy { Side::Bid } else { Side::Ask };
        self.count += 1;
        let id = format!("P{}", self.count);
        let order = Order {
            limit: limit.map(|ticks| text(&price_text(ticks, precision))),
            lifetime,
            deadline_ms,
            urgency,
            style,
            partial: random.chance(0.8),
            ..Order::new(text(&id), text(&watch.pairs[pair].0), side, quantity)
        };
        let parent = Parent {
            pair,
            is_buy,
            quantity,
            limit,
            // One attempt has no deadline.
            deadline_ms: match lifetime {
                Lifetime::Deadline => deadline_ms,
                _ => u64::MAX / MS / 2,
            },
            accepted: None,
        };
        watch.parents.insert(id, parent);
        self.send(now_ns, 0, Command::Parent(order));
    }
}

fn is_kill(received: &Received) -> bool {
    received.command == Ok(Command::Kill)
}

fn text(text: &str) -> Id {
    Id::new(text.as_bytes()).expect("a short text")
}

/// A price as text.
pub fn price_text(ticks: i64, precision: u8) -> String {
    let scale = 10_i64.pow(u32::from(precision));
    let width = usize::from(precision);
    format!("{}.{:0width$}", ticks / scale, ticks % scale)
}
