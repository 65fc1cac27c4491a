//! Connections that have not said who they are.

use super::{LoginThrottle, ThrottleLimits};
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_feed::ReceiveTime;
use touchline_feed::fix::{DisconnectReason, Names, first_message};
use touchline_net::Stream;
use touchline_net::stream::{Error, Listener};

/// Limits of unauthenticated connections.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Connections that are not logged on, from one address.
    pub unauthenticated_per_address: usize,
    /// Connections that are not logged on, in all.
    pub unauthenticated_max: usize,
    /// Bytes of the first message.
    pub logon_bytes_max: usize,
    /// The first message must have come by then.
    pub logon_wait_ns: u64,
    /// How many failed Logons are tolerated.
    pub throttle_limits: ThrottleLimits,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            unauthenticated_per_address: 256,
            unauthenticated_max: 1_024,
            logon_bytes_max: 4 * 1_024,
            logon_wait_ns: 10_000_000_000,
            throttle_limits: ThrottleLimits::default(),
        }
    }
}

/// Login queue: a port, and its unauthenticated connections.
#[derive(Debug)]
pub struct LoginQueue {
    listener: Listener,
    rules: Rules,
    all: Vec<Unauthenticated>,
    /// The addresses that wait.
    pub login_throttle: LoginThrottle,
    connections: u64,
    /// Connections that were closed for no session to be theirs.
    pub turned_away: u64,
}

/// A connection that has not logged on.
#[derive(Debug)]
pub struct Unauthenticated {
    /// The connection.
    pub stream: Stream,
    /// Where it comes from.
    pub from: Ipv4Addr,
    /// What it has said.
    pub bytes: Vec<u8>,
    bytes_max: usize,
    until_ns: u64,
}

/// Connections taken in one turn.
const ACCEPTS: usize = 64;
/// Bytes of one read from an unauthenticated connection.
const READ: usize = 1_024;

impl LoginQueue {
    /// Listens.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(address: SocketAddrV4, rules: Rules) -> Result<LoginQueue, Error> {
        Ok(LoginQueue {
            listener: Listener::bind(address)?,
            login_throttle: LoginThrottle::new(rules.throttle_limits),
            rules,
            all: Vec::new(),
            connections: 0,
            turned_away: 0,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Connections taken so far.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Takes new connections; answers whether there were any. `served` others count as unauthenticated connections do, and
    /// nobody is expected from an address that is not listed.
    pub fn accept(
        &mut self,
        served: usize,
        time: ReceiveTime,
        is_listed: impl Fn(Ipv4Addr) -> bool,
    ) -> bool {
        // mutant: door: a turn takes as many connections as come
        for taken in 0..ACCEPTS {
            // Out of sockets: it passes.
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            self.connections += 1;
            let from = *from.ip();
            let is_full = self.is_full(from, served);
            // Or those whom nobody expects would take the places of those who are.
            // mutant: door: whoever is on no list is heard
            // mutant: door: what comes in a pause prolongs it
            if !is_listed(from) || is_full || self.login_throttle.is_waiting(from, time.mono_ns) {
                self.turned_away += 1;
                continue;
            }
            self.all.push(Unauthenticated {
                stream,
                from,
                bytes: Vec::new(),
                bytes_max: self.rules.logon_bytes_max,
                until_ns: time.mono_ns + self.rules.logon_wait_ns,
            });
        }
        true
    }

    fn is_full(&self, from: Ipv4Addr, served: usize) -> bool {
        let of_address = self.all.iter().filter(|other| other.from == from);
        self.all.len() + served >= self.rules.unauthenticated_max
            || of_address.count() >= self.rules.unauthenticated_per_address
    }

    /// The next one, from `place` on, who has said who he is, or that he is nobody; who has gone, or took too
    /// long. He is an unauthenticated connection no more.
    pub fn next(&mut self, place: &mut usize, time: ReceiveTime) -> Option<Unauthenticated> {
        while let Some(unauthenticated) = self.all.get_mut(*place) {
            let is_there = unauthenticated.read() && time.mono_ns < unauthenticated.until_ns;
            if !is_there || !unauthenticated.may_go_on() {
                // In the order in which they came, since times of Logons must go up.
                return Some(self.all.remove(*place));
            }
            *place += 1;
        }
        None
    }
}

impl Unauthenticated {
    /// Who he says he is; `None`, if he has not said it yet.
    ///
    /// # Errors
    /// What he says is no Logon, or has no CompIDs.
    pub fn names(&self) -> Result<Option<Names<'_>>, DisconnectReason> {
        first_message(&self.bytes, self.bytes_max)
    }

    fn may_go_on(&self) -> bool {
        self.bytes.len() < self.bytes_max && matches!(self.names(), Ok(None))
    }

    /// Reads what is there. `false`: the other side has gone.
    fn read(&mut self) -> bool {
        let mut room = [0; READ];
        while self.bytes.len() < self.bytes_max {
            let most = READ.min(self.bytes_max - self.bytes.len());
            match self.stream.receive(&mut room[..most]) {
                Ok(0) => return true,
                Ok(bytes) => self.bytes.extend_from_slice(&room[..bytes]),
                Err(_) => return false,
            }
        }
        true
    }
}
