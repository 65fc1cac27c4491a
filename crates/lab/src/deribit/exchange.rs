//! The exchange on a port: one thread, several clients, no blocking calls.

use super::client::Client;
use super::venue::Venue;
use super::{SERVER, Totals};
use crate::cme::expected_books::BookState;
use crate::login_port::LoginPort;
use std::net::SocketAddrV4;
use touchline_net::Connection as Link;
use touchline_net::stream::Error;
use touchline_session::access_control::{Rules, ThrottleLimits, Unauthenticated};
use touchline_session::fix::Names;
use touchline_types::ReceiveTime;

/// A port, the venue, and its clients.
#[derive(Debug)]
pub struct Exchange {
    port: LoginPort,
    venue: Venue,
    connections: Vec<Connection>,
    given_up: u64,
    message_bytes_max: usize,
}

/// Totals of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Accepted connections.
    pub connections: u64,
    /// Connections closed because no session lists their address, because they sent no Logon, because there were too
    /// many, or because the Logons of their address have failed.
    pub turned_away: u64,
    /// Clients disconnected because they did not read fast enough.
    pub given_up: u64,
}

/// A client with its connection.
#[derive(Debug)]
struct Connection {
    client: Client,
    stream: Link,
    /// The client has closed the connection.
    is_gone: bool,
}

/// Largest number of clients and unauthenticated connections together.
const CLIENTS_MAX: usize = 64;
/// Largest number of unauthenticated connections of one address.
const UNAUTHENTICATED_PER_ADDRESS: usize = 16;
/// Reads per client and turn, so that no client delays the others.
const READS: usize = 16;
/// Events per turn, for the same reason.
const EVENTS: usize = 256;

impl Exchange {
    /// Listens on an address.
    ///
    /// # Errors
    /// The address does not belong to the host, or is in use.
    pub fn listen(
        address: SocketAddrV4,
        venue: Venue,
        throttle_limits: ThrottleLimits,
    ) -> Result<Exchange, Error> {
        let rules = Rules {
            unauthenticated_per_address: UNAUTHENTICATED_PER_ADDRESS,
            unauthenticated_max: CLIENTS_MAX,
            throttle_limits,
            ..Rules::default()
        };
        Ok(Exchange {
            port: LoginPort::listen(address, rules)?,
            message_bytes_max: venue.message_bytes_max(),
            venue,
            connections: Vec::new(),
            given_up: 0,
        })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.port.address()
    }

    /// The venue.
    pub fn venue(&self) -> &Venue {
        &self.venue
    }

    /// The venue, to change its faults.
    pub fn venue_mut(&mut self) -> &mut Venue {
        &mut self.venue
    }

    /// Clients.
    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.connections.iter().map(|connection| &connection.client)
    }

    /// Totals of connections so far.
    pub fn served(&self) -> Served {
        Served {
            connections: self.port.queue.connections(),
            turned_away: self.port.queue.turned_away(),
            given_up: self.given_up,
        }
    }

    /// Totals of the venue so far.
    pub fn totals(&self) -> Totals {
        self.venue.totals
    }

    /// States of books since the last call.
    pub fn take_states(&mut self) -> Vec<BookState> {
        self.venue.take_states()
    }

    /// Whether bytes wait: for a client that does not read, or for their time if a fault makes its connection slow.
    pub fn is_sending(&self) -> bool {
        let mut connections = self.connections.iter();
        connections.any(|connection| !connection.client.transport.is_empty())
    }

    /// Whether anybody is connected, logged on or not.
    pub fn is_connected(&self) -> bool {
        !self.connections.is_empty() || self.port.queue.count() > 0
    }

    /// Runs due work; returns whether there was any. Without connections events do not count as work, unless more of them
    /// are due than one call takes.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        let is_listed = |from| self.venue.credentials.takes(from);
        let mut is_busy = self.port.accept(self.connections.len(), time, is_listed);
        is_busy |= self.meet(time);
        for connection in &mut self.connections {
            is_busy |= connection.read(&mut self.venue, time);
        }
        let is_connected = self.is_connected();
        for _ in 0..EVENTS {
            let Some(occurrence) = self.venue.next(time.mono_ns) else {
                break;
            };
            is_busy |= is_connected;
            for connection in &mut self.connections {
                connection.client.hear(&occurrence, &mut self.venue, time);
            }
        }
        is_busy |= self.venue.due_ns() <= time.mono_ns;
        let (venue, given_up) = (&mut self.venue, &mut self.given_up);
        self.connections.retain_mut(|connection| {
            let stands = connection.write(venue, time);
            *given_up += u64::from(connection.client.is_given_up());
            stands
        });
        is_busy
    }

    /// Stops events and logs clients out.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.venue.close();
        for connection in &mut self.connections {
            connection.client.log_out(time);
        }
    }

    /// Reads unauthenticated connections: a Logon to this exchange creates a client.
    fn meet(&mut self, time: ReceiveTime) -> bool {
        let (mut place, mut is_busy) = (0, false);
        while let Some(unauthenticated) = self.port.next(&mut place, time) {
            is_busy = true;
            let queue = &mut self.port.queue;
            let name = match unauthenticated.names() {
                // A throttled address is disconnected even with a correct Logon; otherwise it could
                // continue guessing.
                Ok(Some(names)) if !queue.is_waiting(unauthenticated.from, time) => {
                    let name = client_name(&names);
                    if name.is_none() {
                        queue.failed(unauthenticated.from, time);
                    }
                    name
                }
                _ => None,
            };
            match name {
                Some(name) => self.serve(unauthenticated, &name, time),
                None => self.port.queue.turn_away(),
            }
        }
        is_busy
    }

    /// Creates a client for a Logon to this exchange.
    fn serve(&mut self, unauthenticated: Unauthenticated<Link>, name: &str, time: ReceiveTime) {
        let Unauthenticated {
            stream,
            from,
            bytes,
            ..
        } = unauthenticated;
        let mut client = Client::new(name, from, self.message_bytes_max, time);
        let room = client.room();
        room[..bytes.len()].copy_from_slice(&bytes);
        client.received(bytes.len(), &mut self.venue, time);
        if client.is_unknown() {
            self.port.queue.failed(from, time);
        }
        self.connections.push(Connection {
            client,
            stream,
            is_gone: false,
        });
    }
}

/// Name of the client that logs on to this exchange; `None` if the Logon is for another one.
fn client_name(names: &Names<'_>) -> Option<String> {
    let name = std::str::from_utf8(names.sender).ok().map(str::to_owned);
    name.filter(|_| names.target == SERVER.as_bytes())
}

impl Connection {
    fn read(&mut self, venue: &mut Venue, time: ReceiveTime) -> bool {
        for turn in 0..READS {
            if !self.client.transport.is_listening(time.mono_ns) {
                return turn > 0;
            }
            match self.stream.receive(self.client.room()) {
                Ok(bytes @ 1..) => self.client.received(bytes, venue, time),
                Ok(0) => return turn > 0,
                Err(_) => {
                    self.is_gone = true;
                    return true;
                }
            }
        }
        true
    }

    /// Sends waiting bytes. `false`: the connection has ended.
    fn write(&mut self, venue: &mut Venue, time: ReceiveTime) -> bool {
        self.client.advance(venue, time);
        while let bytes @ [_, ..] = self.client.transport.due(time.mono_ns) {
            match self.stream.send(bytes) {
                Ok(0) => break,
                Ok(sent) => self.client.transport.sent(sent, time.mono_ns),
                Err(_) => return false,
            }
        }
        !self.client.is_over() && !self.is_gone
    }
}
