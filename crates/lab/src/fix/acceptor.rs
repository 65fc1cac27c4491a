//! Several connections on one port, each of one session.

use super::{Connection, Totals};
use crate::login_port::LoginPort;
use std::net::SocketAddrV4;
use touchline_net::Connection as Link;
use touchline_net::stream::Error;
use touchline_session::access_control::{Rules, Unauthenticated, place_of};
use touchline_session::fix::DisconnectReason;
use touchline_types::ReceiveTime;

/// A port and its sessions. One thread without blocking calls.
#[derive(Debug)]
pub struct Acceptor {
    port: LoginPort,
    connections: Vec<Connection>,
}

/// Decision about an unauthenticated connection.
enum Known {
    /// The bytes are not a Logon, or none arrived.
    NoLogon,
    /// The Logon belongs to no session, or comes from an address that its session does not list.
    NoSession,
    Connection(usize),
}

impl Acceptor {
    /// Listens for these sessions, each with its application.
    ///
    /// # Errors
    /// The address does not belong to the host, or is in use.
    pub fn listen(
        address: SocketAddrV4,
        connections: Vec<Connection>,
        rules: Rules,
    ) -> Result<Acceptor, Error> {
        Ok(Acceptor {
            port: LoginPort::listen(address, rules)?,
            connections,
        })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.port.address()
    }

    /// Sessions.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Number of connections that are not logged on.
    pub fn unauthenticated(&self) -> usize {
        self.port.queue.count()
    }

    /// Whether anybody is connected, logged on or not.
    pub fn is_connected(&self) -> bool {
        self.unauthenticated() > 0 || self.connections.iter().any(Connection::is_taken)
    }

    /// Starts the logout of all sessions.
    pub fn log_out(&mut self, time: ReceiveTime) {
        for connection in &mut self.connections {
            connection.log_out(time);
        }
    }

    /// Totals so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            connections: self.port.queue.connections(),
            turned_away: self.port.queue.turned_away(),
            ..Totals::default()
        };
        for connection in &self.connections {
            connection.add_to(&mut totals);
        }
        totals
    }

    /// Runs due work; returns whether there was any.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        let connections = &self.connections;
        let is_listed = |from| {
            connections
                .iter()
                .any(|connection| connection.peer().takes(from))
        };
        let mut is_busy = self.port.accept(0, time, is_listed);
        is_busy |= self.meet(time);
        for connection in &mut self.connections {
            if connection.is_taken() {
                is_busy |= connection.work(time);
            }
        }
        is_busy
    }

    /// Reads unauthenticated connections.
    fn meet(&mut self, time: ReceiveTime) -> bool {
        let (mut place, mut is_busy) = (0, false);
        while let Some(unauthenticated) = self.port.next(&mut place, time) {
            let known = who(&unauthenticated, &self.connections);
            self.decide(unauthenticated, known, time);
            is_busy = true;
        }
        is_busy
    }

    /// Accepts an unauthenticated connection, or closes it without an answer: unknown, too slow, or logged on already.
    /// A throttled address is closed even with a correct Logon; otherwise it could continue guessing over connections
    /// made before.
    fn decide(&mut self, unauthenticated: Unauthenticated<Link>, known: Known, time: ReceiveTime) {
        let Unauthenticated {
            stream,
            from,
            bytes,
            ..
        } = unauthenticated;
        let is_waiting = self.port.queue.is_waiting(from, time);
        match known {
            Known::Connection(connection)
                if !is_waiting && !self.connections[connection].is_taken() =>
            {
                self.connections[connection].connected(stream, &bytes, time);
                return;
            }
            Known::NoSession if !is_waiting => self.port.queue.failed(from, time),
            _ => {}
        }
        self.port.queue.turn_away();
    }
}

fn who(unauthenticated: &Unauthenticated<Link>, connections: &[Connection]) -> Known {
    match unauthenticated.names() {
        Ok(Some(names)) => {
            let peers = connections.iter().map(Connection::peer);
            place_of(peers, &names, unauthenticated.from)
                .map_or(Known::NoSession, Known::Connection)
        }
        // A Logon without CompIDs.
        Err(DisconnectReason::BadLogon) => Known::NoSession,
        _ => Known::NoLogon,
    }
}
