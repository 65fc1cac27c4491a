//! The desk: two people who send, cancel, kill, lift, enable and resolve.

use super::watch::{Parent, Watch};
use crate::desk::{Command, KILL};
use std::collections::VecDeque;
use touchline_fx::orders::Terms;
use touchline_lab::bank::Deal;
use touchline_lab::random::Random;

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
    pub waiting: VecDeque<(usize, Command)>,
    /// Commands that were sent since the host was started.
    sent: Vec<(usize, Command)>,
    /// When the host was started: its boot clock numbers commands.
    booted_ns: u64,
    /// Number of the kill in the file of each client.
    pub kill_files: [Option<u64>; 2],
    /// Trades that the desk books without an order: command, pair, units and cash (1e-9).
    pub bookings: Vec<(String, usize, i64, i128)>,
    /// Parents whose answer was lost with the host, and when they are sent again.
    unanswered: (Vec<String>, u64),
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

    /// Sends what somebody thinks of at this time.
    pub fn work(&mut self, now_ns: u64, mids: &[i64], watch: &mut Watch) {
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + 2 * MS + self.random.below(40 * MS);
        if self.unanswered.1 <= now_ns {
            for text in std::mem::take(&mut self.unanswered.0) {
                self.send(now_ns, 0, text);
            }
        }
        match self.random.below(40) {
            0 => self.kill(now_ns),
            1 | 2 => self.enable_all(now_ns, watch),
            3..=5 => self.cancel_recent(now_ns),
            6 => self.again(now_ns),
            8 if self.random.chance(0.2) => self.book(now_ns, watch),
            7 => {
                let text = (*self
                    .random
                    .pick(&["{", "{\"op\":\"end\"}", "{\"op\":\"parent\"}"]))
                .to_owned();
                self.send(now_ns, 0, text);
            }
            _ => self.parent(now_ns, mids, watch),
        }
        if watch.is_killed && self.random.chance(0.4) {
            self.lift(now_ns);
        }
    }

    /// Ends everything, through a ring or a file.
    pub fn kill(&mut self, now_ns: u64) {
        let client = self.random.index(2);
        if self.random.chance(0.4) {
            self.kill_files[client] = Some(self.number(now_ns, client));
            return;
        }
        self.send(now_ns, client, KILL.to_owned());
    }

    /// Another process of the engine reads the rings from where they begin. Returns how many commands that are.
    pub fn read_again(&mut self) -> usize {
        // Of the older ones only kills, for which a start may have a use.
        let old = self.sent.len().saturating_sub(RING_COMMANDS);
        let sent = self.sent.iter().enumerate();
        let left = sent.filter(|(at, (_, command))| *at >= old || command.text == KILL);
        self.waiting = left.map(|(_, sent)| sent.clone()).collect();
        self.waiting.len()
    }

    /// Whether a kill waits that the journal has not: `known` has the number of each client's last kill in it.
    pub fn is_kill_waiting(&self, known: [u64; 2]) -> bool {
        let in_ring = |(client, command): &(usize, Command)| {
            command.text == KILL && command.request > known[*client]
        };
        let in_file = |client: usize| self.kill_files[client] > Some(known[client]);
        self.waiting.iter().any(in_ring) || in_file(0) || in_file(1)
    }

    /// Says what became of an order, as its bank has it. The desk of the bank trades at the order's price.
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
        self.resolve(now_ns, terms.id.as_str(), cum, &price);
    }

    fn resolve(&mut self, now_ns: u64, id: &str, cum: i64, price: &str) {
        let text = format!(r#"{{"op":"resolve","clordid":"{id}","cum":{cum},"price":"{price}"}}"#);
        self.send(now_ns, 0, text);
    }

    /// Two people book a trade that no order explains.
    fn book(&mut self, now_ns: u64, watch: &Watch) {
        let random = &mut self.random;
        let pair = random.index(watch.pairs.len());
        let units = 1 + random.below(5_000_000) as i64;
        let price = 1 + random.below(200_000_000_000) as i64;
        let sign = if random.chance(0.5) { 1 } else { -1 };
        let (id, symbol) = (self.bookings.len(), &watch.pairs[pair].0);
        let side = if sign == 1 { "buy" } else { "sell" };
        let price_text = price_text(price, 9);
        let text = format!(
            r#"{{"op":"book","id":"B{id}","pair":"{symbol}","side":"{side}","qty":{units},"price":"{price_text}","bank":null,"value_date":"20260107"}}"#
        );
        let cash = -i128::from(sign * units) * i128::from(price);
        self.bookings.push((text.clone(), pair, sign * units, cash));
        for client in [0, 1] {
            if self.random.chance(0.7) {
                self.send(now_ns, client, text.clone());
            }
        }
    }

    /// Both send each booking again, whatever became of it.
    pub fn book_all(&mut self, now_ns: u64) {
        for (text, ..) in self.bookings.clone() {
            for client in [0, 1] {
                self.send(now_ns, client, text.clone());
            }
        }
    }

    /// Cancels a parent.
    pub fn cancel(&mut self, now_ns: u64, id: &str) {
        self.send(now_ns, 0, format!(r#"{{"op":"cancel","id":"{id}"}}"#));
    }

    /// Enables a pair of a bank. Returns the number of the command.
    pub fn enable(&mut self, now_ns: u64, bank: usize, symbol: &str) -> u64 {
        let bank = bank + 1;
        let text = format!(r#"{{"op":"enable","bank":"LP{bank}","pair":"{symbol}"}}"#);
        self.send(now_ns, 0, text)
    }

    /// The host was lost until `start_ns`: the desk sends the last parents again then, as it has no answer to them.
    pub fn host_lost(&mut self, now_ns: u64, start_ns: u64) {
        // The rings and the files are lost, and the boot clock begins again.
        self.kill_files = [None; 2];
        self.waiting.clear();
        self.last_request = [0; 2];
        self.booted_ns = now_ns;
        let sent = self.sent.iter().rev().map(|(_, command)| &command.text);
        let parents = sent.filter(|text| text.contains("\"qty\""));
        let parents = parents.take(UNANSWERED_MAX).cloned();
        let wait_ns = self.random.below(200 * MS);
        self.unanswered.0.extend(parents);
        self.unanswered.1 = start_ns + wait_ns;
        self.sent.clear();
    }

    /// Does not send this parent again.
    pub fn forget(&mut self, id: &str) {
        let id = format!(r#""op":"parent","id":"{id}","#);
        let is_other = |text: &String| !text.contains(&id);
        self.sent.retain(|(_, command)| is_other(&command.text));
        self.waiting.retain(|(_, command)| is_other(&command.text));
        self.unanswered.0.retain(is_other);
    }

    fn send(&mut self, now_ns: u64, client: usize, text: String) -> u64 {
        let request = self.number(now_ns, client);
        let command = Command { request, text };
        self.sent.push((client, command.clone()));
        self.waiting.push_back((client, command));
        request
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
            self.send(now_ns, client, r#"{"op":"lift"}"#.to_owned());
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
                self.send(now_ns, client, command.text);
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
        let limit_text = limit.map_or("null".to_owned(), |ticks| {
            format!("\"{}\"", price_text(ticks, precision))
        });
        let tif = *random.pick(&["gtd", "gtd", "gtd", "ioc", "fok"]);
        let style = *random.pick(&["best", "best", "full", "sweep"]);
        let (deadline_ms, urgency) = (20 + random.below(500), random.below(3));
        let (symbol, side) = (&watch.pairs[pair].0, if is_buy { "buy" } else { "sell" });
        self.count += 1;
        let id = format!("P{}", self.count);
        let text = format!(
            r#"{{"op":"parent","id":"{id}","pair":"{symbol}","side":"{side}","qty":{quantity},"limit":{limit_text},"tif":"{tif}","deadline_ms":{deadline_ms},"urgency":{urgency},"style":"{style}","partial":{}}}"#,
            random.chance(0.8)
        );
        let parent = Parent {
            pair,
            is_buy,
            quantity,
            limit,
            // One attempt has no deadline.
            deadline_ms: if tif == "gtd" {
                deadline_ms
            } else {
                u64::MAX / MS / 2
            },
            accepted: None,
        };
        watch.parents.insert(id, parent);
        self.send(now_ns, 0, text);
    }
}

/// A price as text.
pub fn price_text(ticks: i64, precision: u8) -> String {
    let scale = 10_i64.pow(u32::from(precision));
    let width = usize::from(precision);
    format!("{}.{:0width$}", ticks / scale, ticks % scale)
}
