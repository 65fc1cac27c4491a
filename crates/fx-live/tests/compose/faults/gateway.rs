//! A bank's gateway as seen on its bus, and the end of each of its quotes.

use super::{GATEWAY_NS, SILENCE_NS};
use crate::world::{stale, stamped};
use std::collections::BTreeMap;
use touchline_lab::bank::bus::{self, TICK};
use touchline_lab::random::Random;
use touchline_transport::Publish;
use touchline_transport::boot_ns;
use touchline_transport::shm::{Activity, Publisher, Root, Settings};
use touchline_types::{
    ChannelState, Id, Price, Quantity, Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteUpdate,
    Side, Update,
};

/// A quote of a bank. No two have the same price.
#[derive(Debug, Clone, Copy)]
pub struct Issue {
    pub bank: usize,
    /// Time when it became void, by the host's clock.
    pub void_ns: Option<u64>,
    pub end: End,
}

/// Way in which a quote became void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The gateway of the bank reported the end.
    Withdrawn,
    /// The gateway of the bank was killed or frozen.
    Stopped,
    /// The bank is silent, and its gateway still waits for the feed timeout.
    Silent,
}

/// All quotes, by price.
#[derive(Debug, Default)]
pub struct Issues(BTreeMap<i64, Issue>);

impl Issues {
    /// Bids are below asks, independent of time.
    fn issue(&mut self, bank: usize, side: Side) -> i64 {
        let number = self.0.len() as i64 * 7_919 % 50_021;
        let ticks = match side {
            Side::Bid => 100_000 + number,
            Side::Ask => 200_000 + number,
        };
        let issue = Issue {
            bank,
            void_ns: None,
            end: End::Stopped,
        };
        let known = self.0.insert(ticks * TICK, issue);
        assert!(known.is_none(), "each quote has a price of its own");
        ticks * TICK
    }

    pub fn of(&self, price: i64) -> Issue {
        self.0[&price]
    }

    fn void(&mut self, price: i64, void_ns: u64, end: End) {
        let issue = self.0.get_mut(&price).expect("an issue");
        // A reported end stays reported.
        let is_reported = issue.void_ns.is_some() && issue.end == End::Withdrawn;
        if !is_reported {
            (issue.void_ns, issue.end) = (Some(void_ns), end);
        }
    }

    fn revive(&mut self, price: i64) {
        self.0.get_mut(&price).expect("an issue").void_ns = None;
    }
}

pub struct Gateway {
    bank: usize,
    publisher: Option<Publisher>,
    is_up: bool,
    is_frozen: bool,
    /// The bank sends nothing, on a session that is up.
    is_silent: bool,
    /// The gateway has noticed it.
    is_timed_out: bool,
    quotes: BTreeMap<u32, Quote>,
    age: u64,
    /// Time of its last activity statement.
    active_ns: u64,
    /// Time of the bank's last message, Heartbeats included.
    heard_ns: u64,
}

impl Gateway {
    /// The first gateway of a bank.
    pub fn start(root: &Root, bank: usize, issues: &mut Issues, random: &mut Random) -> Gateway {
        let mut gateway = Gateway {
            bank,
            publisher: None,
            is_up: false,
            is_frozen: false,
            is_silent: false,
            is_timed_out: false,
            quotes: BTreeMap::new(),
            age: 0,
            active_ns: boot_ns(),
            heard_ns: boot_ns(),
        };
        gateway.restart(root, issues, random);
        gateway
    }

    /// A gateway that replaces a possible predecessor, whose quotes are void.
    pub fn restart(&mut self, root: &Root, issues: &mut Issues, random: &mut Random) {
        self.kill(issues);
        let settings = Settings {
            ring_bytes: 131_072,
            instruments_max: 4,
            orders_max: 1,
            ..Settings::default()
        };
        let publisher = Publisher::open(root, &format!("lp{}", self.bank), &settings);
        self.publisher = Some(publisher.expect("a bus that nobody publishes"));
        self.is_frozen = false;
        self.publish(&Update::Channel(&stale()));
        self.publish(&Update::Definition(&bus::definition()));
        self.work(issues);
        self.connect(issues, random);
    }

    fn is_at_work(&self) -> bool {
        self.publisher.is_some() && !self.is_frozen
    }

    /// A round: it is active, and repeats its quotes like gateways.
    pub fn work(&mut self, issues: &mut Issues) {
        if !self.is_at_work() {
            return;
        }
        let now_ns = boot_ns();
        self.hear(issues, now_ns);
        if self.is_up && !self.is_timed_out && self.age.is_multiple_of(3) {
            self.snapshot();
        }
        self.age += 1;
        self.active_ns = now_ns;
        if let Some(publisher) = &mut self.publisher {
            publisher.commit();
            publisher.state_activity(Activity {
                at_ns: now_ns,
                timeout_ns: GATEWAY_NS,
            });
        }
    }

    /// The bank sends Heartbeats, or is silent: then its gateway makes the channel stale after the feed timeout, until the next message.
    fn hear(&mut self, issues: &mut Issues, now_ns: u64) {
        if !self.is_silent {
            self.heard_ns = now_ns;
            if std::mem::take(&mut self.is_timed_out) {
                self.publish(&Update::Channel(&ChannelState::LIVE));
                self.commit();
                let all = self.quotes.values();
                all.for_each(|quote| issues.revive(quote.price.0));
            }
        } else if self.is_up && !self.is_timed_out && now_ns - self.heard_ns >= SILENCE_NS {
            self.is_timed_out = true;
            self.publish(&Update::Channel(&stale()));
            self.commit();
            self.void_all(issues, boot_ns(), End::Withdrawn);
        }
    }

    fn void_all(&self, issues: &mut Issues, void_ns: u64, end: End) {
        let all = self.quotes.values();
        all.for_each(|quote| issues.void(quote.price.0, void_ns, end));
    }

    /// The bank sends nothing from its last message on.
    pub fn hush(&mut self, issues: &mut Issues) {
        if !self.is_up || std::mem::replace(&mut self.is_silent, true) {
            return;
        }
        // A gateway at rest does not notice, and its quotes are void already.
        if self.is_at_work() {
            self.void_all(issues, self.heard_ns, End::Silent);
        }
    }

    /// Whether the bank has sent nothing since before this time.
    pub fn is_silent_since(&self, at_ns: u64) -> bool {
        self.is_silent && self.heard_ns < at_ns
    }

    /// The bank sends again.
    pub fn speak(&mut self, issues: &mut Issues) {
        if !std::mem::take(&mut self.is_silent) || !self.is_at_work() {
            return;
        }
        self.hear(issues, boot_ns());
        for quote in self.quotes.values() {
            issues.revive(quote.price.0);
        }
    }

    pub fn kill(&mut self, issues: &mut Issues) {
        self.freeze(issues);
        self.publisher = None;
        self.quotes.clear();
        (self.is_up, self.is_silent, self.is_timed_out) = (false, false, false);
    }

    /// The quotes at its last activity may be void.
    pub fn freeze(&mut self, issues: &mut Issues) {
        if self.is_at_work() {
            self.void_all(issues, self.active_ns, End::Stopped);
            self.is_frozen = true;
        }
    }

    /// Processes the messages that the bank sent since the freeze: some quotes stay, others were replaced.
    pub fn thaw(&mut self, issues: &mut Issues, random: &mut Random) {
        if !std::mem::take(&mut self.is_frozen) || !self.is_up {
            return;
        }
        if self.is_silent {
            return self.void_all(issues, self.heard_ns, End::Silent);
        }
        self.hear(issues, boot_ns());
        let entries: Vec<u32> = self.quotes.keys().copied().collect();
        for entry in entries {
            match random.chance(0.5) {
                true => {
                    issues.revive(self.quotes[&entry].price.0);
                }
                false => self.replace(entry, issues, random),
            }
        }
    }

    /// The bank disconnects, and its gateway reports it.
    pub fn disconnect(&mut self, issues: &mut Issues) {
        if !self.is_at_work() || !std::mem::take(&mut self.is_up) {
            return;
        }
        self.publish(&Update::Channel(&stale()));
        self.commit();
        self.void_all(issues, boot_ns(), End::Withdrawn);
        self.quotes.clear();
        (self.is_silent, self.is_timed_out) = (false, false);
    }

    pub fn connect(&mut self, issues: &mut Issues, random: &mut Random) {
        if !self.is_at_work() || std::mem::replace(&mut self.is_up, true) {
            return;
        }
        self.publish(&Update::Channel(&ChannelState::LIVE));
        self.snapshot();
        for entry in 0..4 {
            self.replace(entry, issues, random);
        }
    }

    /// A bank replaces a quote, or withdraws one or all.
    pub fn quote(&mut self, issues: &mut Issues, random: &mut Random) {
        if !self.is_at_work() || !self.is_up || self.is_silent {
            return;
        }
        let entry = random.below(4) as u32;
        match random.below(8) {
            0 => {
                self.change(QuoteAction::Clear, Quote::NULL);
                self.void_all(issues, boot_ns(), End::Withdrawn);
                self.quotes.clear();
            }
            1 => {
                if let Some(quote) = self.quotes.remove(&entry) {
                    self.change(QuoteAction::Remove, quote);
                    issues.void(quote.price.0, boot_ns(), End::Withdrawn);
                }
            }
            _ => self.replace(entry, issues, random),
        }
    }

    fn replace(&mut self, entry: u32, issues: &mut Issues, random: &mut Random) {
        let side = Side::BOTH[entry as usize % 2];
        let quote = Quote {
            entry,
            side,
            price: Price(issues.issue(self.bank, side)),
            quantity: Quantity(1_000 * random.between(1, 5)),
            priority: self.age,
            quote_id: Id::new(b"q").expect("an id"),
            ..Quote::NULL
        };
        self.change(QuoteAction::Set, quote);
        if let Some(old) = self.quotes.insert(entry, quote) {
            issues.void(old.price.0, boot_ns(), End::Withdrawn);
        }
    }

    fn change(&mut self, action: QuoteAction, quote: Quote) {
        let changes = [QuoteChange { action, quote }];
        self.publish(&Update::Quotes(QuoteUpdate {
            stream: bus::stream(),
            changes: &changes,
        }));
        self.commit();
    }

    fn snapshot(&mut self) {
        let quotes: Vec<Quote> = self.quotes.values().copied().collect();
        self.publish(&Update::QuoteSnapshot(QuoteSnapshot {
            stream: bus::stream(),
            quotes: &quotes,
        }));
        self.commit();
    }

    fn publish(&mut self, update: &Update<'_>) {
        if let Some(publisher) = &mut self.publisher {
            publisher.publish(update, &stamped());
        }
    }

    fn commit(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.commit();
        }
    }
}
