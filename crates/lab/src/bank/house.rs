//! The banks on their ports: one thread, and no client waits for another.

use super::client::{Client, Delivery, FLOOD, Quoting};
use super::config::{BankConfig, Config, Profile};
use super::day::Day;
use super::dealer::{Books, Dealer, Desk};
use super::folder::{Folder, OpenError};
use super::ladder::Ladder;
use super::market::Market;
use super::messages::Fault;
use super::shown::{Best, best};
use crate::login_port::LoginPort;
use crate::random::Random;
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::path::Path;
use std::time::Duration;
use touchline_net::stream::Readiness;
use touchline_net::tls::Server;
use touchline_session::access_control::Rules;
use touchline_types::ReceiveTime;

/// Moves of mids of one turn.
const MOVES: usize = 64;
/// Longest sleep, which bounds the delay of commands and of signals.
const SLEEP_NS_MAX: u64 = 50_000_000;
/// Longest sleep with clients: their heartbeats, and bytes that a full socket refused.
const SLEEP_NS_MAX_WITH_CLIENTS: u64 = 5_000_000;
/// Sleep when a socket is ready but cannot be served: a silent bank closes no connection.
const SLEEP_NS_MIN: u64 = 100_000;

/// Banks with their ports, and the mids that they quote around.
#[derive(Debug)]
pub struct Banks {
    config: Config,
    market: Market,
    banks: Vec<Bank>,
    is_sound: bool,
    arrivals: Readiness,
    /// The last sleep ended because a socket was ready.
    was_ready: bool,
}

/// A bank.
#[derive(Debug)]
pub struct Bank {
    place: usize,
    config: BankConfig,
    port: LoginPort,
    clients: Vec<Client>,
    dealer: Option<Dealer>,
    random: Random,
    /// Quotes on their way: when they go, of which pair, around which mid.
    waiting: VecDeque<(u64, usize, i64)>,
    /// Its quotes of each pair.
    shown: Vec<Option<Ladder>>,
    silent_until_ns: u64,
    closed_until_ns: u64,
    day: Day,
    number: u64,
    totals: Totals,
}

/// Counts of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Clients that logged on, and quotes to clients.
    pub clients: u64,
    /// Quotes to clients that are gone.
    pub quotes: u64,
    /// Silences.
    pub silences: u64,
    /// Connections that it closed.
    pub disconnects: u64,
    /// Outages.
    pub outages: u64,
    /// Inverted quotes.
    pub inverted: u64,
    /// Malformed quotes.
    pub malformed: u64,
    /// Quotes with a wrong checksum.
    pub bad_checksums: u64,
    /// Quotes that never came.
    pub sequence_gaps: u64,
    /// Quotes with 10,000 further entries.
    pub floods: u64,
}

impl Banks {
    /// Listens for every bank, with TLS on its ports if a server is given. With a folder, dealing desks keep their orders, books and sessions in it, and the banks
    /// listen on the ports that they had before.
    ///
    /// # Errors
    /// An address is not ours, or taken; a file of the folder cannot be read or written.
    pub fn listen(
        config: Config,
        tls: Option<&Server>,
        store: Option<&Path>,
    ) -> Result<Banks, OpenError> {
        let folder = store.map(Folder::open).transpose()?;
        let mut chance = Random::from_seed(config.seed ^ 0x000B_A4C5);
        // A bank's pricing sessions, and its order session.
        let arrivals = Readiness::new(2 * config.banks.len())?;
        let mut banks = Vec::new();
        for (place, bank) in config.banks.iter().enumerate() {
            let before = folder.as_ref().and_then(|folder| folder.ports(&bank.name));
            let port = match (config.port, before) {
                (0, before) => before.map_or(0, |ports| ports[0]),
                (first, _) => first + place as u16,
            };
            let address = SocketAddrV4::new(config.address, port);
            let mut random = chance.split();
            let dealer = bank.orders.as_ref().map(|orders| {
                let port = match (orders.port, before) {
                    (0, before) => before.map_or(0, |ports| ports[1]),
                    (port, _) => port,
                };
                let desk = Desk::new(&bank.name, orders, config.pairs.len(), random.split());
                let desk = desk.with_day(bank.day.as_ref());
                let desk = match &folder {
                    Some(folder) => folder.restore(&bank.name, desk)?,
                    None => desk,
                };
                let address = SocketAddrV4::new(config.address, port);
                let watch = arrivals.watch(2 * place + 1);
                Ok::<_, OpenError>(Dealer::listen(desk, address, tls.cloned(), watch)?)
            });
            banks.push(Bank {
                place,
                config: bank.clone(),
                port: LoginPort::listen(address, Rules::default())?
                    .with_tls(tls.cloned())
                    .watched(arrivals.watch(2 * place))?,
                clients: Vec::new(),
                dealer: dealer.transpose()?,
                random,
                waiting: VecDeque::new(),
                shown: vec![None; config.pairs.len()],
                silent_until_ns: 0,
                closed_until_ns: 0,
                day: Day::new(bank.day.as_ref()),
                number: 0,
                totals: Totals::default(),
            });
        }
        let banks = Banks {
            market: Market::open(&config),
            config,
            banks,
            is_sound: false,
            arrivals,
            was_ready: false,
        };
        if let Some(mut folder) = folder {
            let ports = banks.banks.iter().map(|bank| {
                let orders = bank.orders_address().map_or(0, |address| address.port());
                (bank.config().name.clone(), [bank.address().port(), orders])
            });
            folder.write(ports)?;
        }
        Ok(banks)
    }

    /// Why a desk that keeps its books in a file has stopped: it cannot write them.
    pub fn failure(&self) -> Option<&str> {
        let mut dealers = self.banks.iter().filter_map(|bank| bank.dealer.as_ref());
        dealers.find_map(Dealer::failure)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The banks, in the order of the configuration.
    pub fn banks(&self) -> &[Bank] {
        &self.banks
    }

    /// Time of the next timer, monotonic clock; input of clients may arrive before it.
    pub fn due_ns(&self) -> u64 {
        let waiting = self.banks.iter().filter_map(|bank| bank.waiting.front());
        let due = waiting.map(|(due_ns, ..)| *due_ns);
        let dealers = self.banks.iter().filter_map(|bank| bank.dealer.as_ref());
        let orders = dealers.map(Dealer::due_ns);
        let due = due.chain(orders).chain([self.market.due_ns()]);
        due.min().unwrap_or(u64::MAX)
    }

    /// Runs due timers. True if any was due.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        let mut is_busy = false;
        for _ in 0..MOVES {
            let Some(pair) = self.market.step(time.mono_ns) else {
                break;
            };
            is_busy = true;
            let mid = self.market.mid(pair);
            for bank in &mut self.banks {
                bank.follow(&self.config, (pair, mid), time.mono_ns);
            }
        }
        let (config, market, is_sound) = (&self.config, &self.market, self.is_sound);
        // One call of the system for all ports.
        self.arrivals.look();
        for (place, bank) in self.banks.iter_mut().enumerate() {
            let is_ready = [2 * place, 2 * place + 1].map(|number| self.arrivals.is_ready(number));
            is_busy |= bank.work(config, market, (is_sound, is_ready), time);
        }
        is_busy
    }

    /// Sleeps until a timer is due, or a client connects or sends something. Call it when [`Banks::work`] had nothing to do.
    pub fn sleep(&mut self, now_ns: u64) {
        let longest_ns = match self.is_empty() {
            true => SLEEP_NS_MAX,
            false => SLEEP_NS_MAX_WITH_CLIENTS,
        };
        let ns = self.due_ns().saturating_sub(now_ns).min(longest_ns);
        if std::mem::take(&mut self.was_ready) {
            std::thread::sleep(Duration::from_nanos(ns.min(SLEEP_NS_MIN)));
        } else {
            self.was_ready = self.arrivals.wait(ns);
        }
    }

    /// Stops all faults, freezes the mids, and lets every bank quote every pair once more.
    pub fn heal(&mut self, time: ReceiveTime) {
        self.is_sound = true;
        self.market.close();
        for bank in &mut self.banks {
            bank.silent_until_ns = 0;
            bank.closed_until_ns = 0;
            // A client that reconnects requests quotes again.
            for (pair, about) in self.config.pairs.iter().enumerate() {
                if bank.config.pairs.contains(&about.symbol) {
                    let mid = self.market.mid(pair);
                    bank.waiting.push_back((time.mono_ns, pair, mid));
                }
            }
        }
    }

    /// Closes all connections of a bank at once, and rejects new ones for this time. False if there is no bank of this
    /// name.
    pub fn outage(&mut self, name: &str, ms: u64, time: ReceiveTime) -> bool {
        let mut banks = self.banks.iter_mut();
        let Some(bank) = banks.find(|bank| bank.config.name == name) else {
            return false;
        };
        bank.totals.outages += 1;
        bank.totals.quotes += bank.clients.iter().map(Client::quotes).sum::<u64>();
        bank.clients.clear();
        bank.closed_until_ns = time.mono_ns.saturating_add(ms.saturating_mul(1_000_000));
        if let Some(dealer) = &mut bank.dealer {
            dealer.close(bank.closed_until_ns);
        }
        true
    }

    /// Best bid and ask of a pair over the quotes of banks with a client.
    pub fn best(&self, pair: usize) -> [Option<Best>; 2] {
        let shown: Vec<_> = self.banks.iter().map(|bank| bank.shown(pair)).collect();
        best(&self.config, &shown)
    }

    /// Starts to log out all clients.
    pub fn log_out(&mut self, time: ReceiveTime) {
        for bank in &mut self.banks {
            let at = bank.clock(time);
            bank.clients
                .iter_mut()
                .for_each(|client| client.log_out(at));
            if let Some(dealer) = &mut bank.dealer {
                dealer.log_out(at);
            }
        }
    }

    /// Whether no client is connected.
    pub fn is_empty(&self) -> bool {
        let is_empty = |bank: &Bank| {
            bank.clients.is_empty() && bank.dealer.as_ref().is_none_or(Dealer::is_empty)
        };
        self.banks.iter().all(is_empty)
    }
}

impl Bank {
    /// Its part of the configuration.
    pub fn config(&self) -> &BankConfig {
        &self.config
    }

    /// Its address, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.port.address()
    }

    /// Address on which its dealing desk listens, with the real port.
    pub fn orders_address(&self) -> Option<SocketAddrV4> {
        self.dealer.as_ref().map(Dealer::address)
    }

    /// Ledger of its dealing desk.
    pub fn books(&self) -> Option<&Books> {
        self.dealer.as_ref().map(Dealer::books)
    }

    /// Clients that are logged on.
    pub fn clients(&self) -> usize {
        self.clients.iter().filter(|client| client.is_up()).count()
    }

    /// Its counts.
    pub fn totals(&self) -> Totals {
        let quotes = self.clients.iter().map(Client::quotes).sum::<u64>();
        Totals {
            quotes: self.totals.quotes + quotes,
            ..self.totals
        }
    }

    /// Its quotes of a pair to a client; none without a client.
    pub fn shown(&self, pair: usize) -> Option<&Ladder> {
        let ladder = self.shown[pair].as_ref();
        ladder.filter(|_| self.clients.iter().any(Client::is_up))
    }

    /// The time by its own clock.
    fn clock(&self, time: ReceiveTime) -> ReceiveTime {
        let ahead_ns = self.config.clock_ms.saturating_mul(1_000_000);
        ReceiveTime {
            wall_ns: time.wall_ns.saturating_add_signed(ahead_ns),
            ..time
        }
    }

    /// A mid moved.
    fn follow(&mut self, config: &Config, (pair, mid): (usize, i64), now_ns: u64) {
        let symbol = &config.pairs[pair].symbol;
        let is_calm = config.profile == Profile::Calm;
        let follows = !is_calm || self.random.chance(self.config.follows);
        if follows && self.config.pairs.contains(symbol) {
            let due_ns = now_ns + self.config.latency_ms * 1_000_000;
            self.waiting.push_back((due_ns, pair, mid));
        }
    }

    fn work(
        &mut self,
        config: &Config,
        market: &Market,
        (is_sound, [is_ready, is_dealer_ready]): (bool, [bool; 2]),
        time: ReceiveTime,
    ) -> bool {
        let at = self.clock(time);
        if self.day.closes(at.wall_ns) {
            for client in &mut self.clients {
                client.log_out(at);
            }
        }
        if let Some(dealer) = &mut self.dealer {
            dealer.set_closed(self.day.is_closed(), at);
        }
        let mut is_busy = self.meet(is_ready, at);
        let mut asked = Vec::new();
        for client in &mut self.clients {
            is_busy |= client.read(config, &self.config, at, &mut asked);
        }
        for pair in asked {
            let now = (time.mono_ns, pair, market.mid(pair));
            self.waiting.push_front(now);
        }
        if let Some(dealer) = &mut self.dealer {
            let is_ready = is_dealer_ready;
            is_busy |= dealer.work(config, &self.shown, (is_sound, is_ready), at);
        }
        let is_silent = time.mono_ns < self.silent_until_ns;
        while let Some((due_ns, pair, mid)) = self.waiting.front().copied()
            && due_ns <= time.mono_ns
        {
            self.waiting.pop_front();
            is_busy = true;
            if !is_silent {
                self.quote(config, (pair, mid), is_sound, at);
            }
        }
        if !is_silent {
            let mut gone = 0;
            self.clients.retain_mut(|client| {
                let stands = client.write(at);
                gone += if stands { 0 } else { client.quotes() };
                stands
            });
            self.totals.quotes += gone;
        }
        is_busy
    }

    /// Takes connections, if there may be any; a Logon to this bank makes a client.
    fn meet(&mut self, is_ready: bool, at: ReceiveTime) -> bool {
        let is_open = at.mono_ns >= self.closed_until_ns && !self.day.is_closed();
        let served = self.clients.len();
        let mut is_busy = is_ready && self.port.accept(served, at, |_| is_open);
        let mut place = 0;
        while let Some(unauthenticated) = self.port.next(&mut place, at) {
            is_busy = true;
            let name = match unauthenticated.names() {
                Ok(Some(names)) if is_open && names.target == self.config.name.as_bytes() => {
                    std::str::from_utf8(names.sender).ok().map(str::to_owned)
                }
                _ => None,
            };
            match name {
                Some(name) => {
                    let (stream, bytes) = (unauthenticated.stream, unauthenticated.bytes);
                    let client = Client::new(&self.config, &name, stream, &bytes, at);
                    self.clients.push(client);
                    self.totals.clients += 1;
                }
                None => self.port.queue.turn_away(),
            }
        }
        is_busy
    }

    /// Quotes a pair to all clients, with faults.
    fn quote(
        &mut self,
        config: &Config,
        (pair, mid): (usize, i64),
        is_sound: bool,
        at: ReceiveTime,
    ) {
        let mut chance = |share: f64| !is_sound && self.random.chance(share);
        let (is_inverted, is_malformed) =
            (chance(self.config.inverted), chance(self.config.malformed));
        let (goes_silent, disconnects, goes_out) = (
            chance(self.config.silence),
            chance(self.config.disconnect),
            chance(self.config.outage),
        );
        let (is_damaged, is_missing) = (
            chance(self.config.bad_checksum),
            chance(self.config.sequence_gap),
        );
        let is_flood = chance(self.config.flood);
        let delivery = match (is_damaged, is_missing) {
            (true, _) => Delivery::BadChecksum,
            (false, true) => Delivery::Missing,
            (false, false) => Delivery::Sound,
        };
        self.totals.bad_checksums += u64::from(delivery == Delivery::BadChecksum);
        self.totals.sequence_gaps += u64::from(delivery == Delivery::Missing);
        self.totals.floods += u64::from(is_flood);
        let mut ladder = Ladder::around(mid, &self.config);
        if is_inverted {
            self.totals.inverted += 1;
            ladder = ladder.inverted();
        }
        let fault = is_malformed.then(|| Fault::any(&mut self.random));
        self.totals.malformed += u64::from(is_malformed);
        self.number += 1;
        let quoting = Quoting {
            config,
            bank: &self.config,
            pair,
            ladder: &ladder,
            fault,
            number: (self.place as u64 + 1) * 1_000_000_000 + self.number,
            delivery,
            flood: if is_flood { FLOOD } else { 0 },
        };
        for client in &mut self.clients {
            client.quote(&quoting, at);
        }
        let is_void = fault.is_some_and(|fault| fault.is_void(self.config.dialect));
        self.shown[pair] = (!is_void).then_some(ladder);
        if goes_silent {
            self.totals.silences += 1;
            self.silent_until_ns = at.mono_ns + self.config.silence_ms * 1_000_000;
        }
        if disconnects || goes_out {
            self.totals.disconnects += u64::from(disconnects);
            self.clients.iter_mut().for_each(Client::cut);
        }
        if goes_out {
            self.totals.outages += 1;
            self.closed_until_ns = at.mono_ns + self.config.outage_ms * 1_000_000;
        }
    }
}
