//! The sending end: a listening port, and a queue for each client.

use crate::SenderCounters;
use crate::batch::Batch;
use crate::head::{BadHead, HEAD_BYTES, Head, HeadFlags};
use crate::link::{Kind, SendLink};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use touchline_net::Connection;
use touchline_net::stream::{Error, Listener};
use touchline_net::tls::Server;

/// Settings of the sending end.
#[derive(Clone, Copy, Debug)]
pub struct TcpSendSettings {
    /// Most clients.
    pub clients_max: usize,
    /// Most bytes queued for a client; beyond this it is disconnected.
    pub queue_bytes_max: usize,
    /// Timeout for the request of a new client.
    pub request_ns_max: u64,
}

impl Default for TcpSendSettings {
    fn default() -> TcpSendSettings {
        TcpSendSettings {
            clients_max: 64,
            queue_bytes_max: 8 * 1024 * 1024,
            request_ns_max: 2_000_000_000,
        }
    }
}

/// Event of a client, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// The client was accepted.
    Connected {
        /// Its address.
        address: SocketAddrV4,
    },
    /// The client disconnected.
    Disconnected {
        /// Its address.
        address: SocketAddrV4,
        /// Reason.
        reason: Error,
    },
    /// Its queue was full.
    TooSlow {
        /// Its address.
        address: SocketAddrV4,
        /// Bytes in the queue.
        queued_bytes: usize,
    },
    /// A receiver on a link without connections is slow: it has not received what was sent a second ago, or reports
    /// nothing.
    Behind {
        /// Its address.
        address: SocketAddrV4,
        /// Messages that it has not received.
        messages: u64,
    },
    /// The client was rejected.
    Refused {
        /// Its address.
        address: SocketAddrV4,
        /// Reason.
        reason: Refusal,
    },
}

/// Reason why a client was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No request before the timeout.
    #[error("no request in time")]
    Silent,
    /// No complete TLS handshake before the timeout.
    #[error("no TLS handshake in time")]
    Handshake,
    /// The received bytes are not a request of this version.
    #[error("its request: {0}")]
    Request(BadHead),
    /// The limit of clients is reached.
    #[error("clients_max clients are connected already")]
    TooMany,
    /// Connection error, mostly of TLS.
    #[error("{0}")]
    Connection(Error),
}

/// Interval of the checks for connections and requests.
const LOOK_NS: u64 = 1_000_000;
/// Events stored for the log; further ones are dropped.
const EVENTS_MAX: usize = 64;

/// The sending end.
#[derive(Debug)]
pub struct TcpSend {
    listener: Listener,
    tls: Option<Server>,
    settings: TcpSendSettings,
    clients: Vec<Client>,
    /// Clients that connected or sent a request since the last call.
    asked: u32,
    looked_ns: u64,
    events: VecDeque<SendEvent>,
    slow: u64,
    /// The last client that was disconnected because its queue was full.
    last_slow: Option<SocketAddrV4>,
    refused: u64,
}

/// A receiver.
#[derive(Debug)]
struct Client {
    connection: Connection,
    address: SocketAddrV4,
    /// Timeout of its request; `None` once it was received.
    request_until_ns: Option<u64>,
    /// Received bytes of its request.
    request: [u8; HEAD_BYTES],
    requested: usize,
    refresh: RefreshState,
    /// Bytes that the socket has not accepted.
    queue: VecDeque<u8>,
    /// Reason of its end.
    end: Option<SendEvent>,
}

/// Refreshes that a client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefreshState {
    /// The next complete round.
    Wanted,
    /// The current round.
    InRound,
    /// None.
    Done,
}

impl TcpSend {
    /// Listens; with TLS, clients need a certificate.
    ///
    /// # Errors
    /// The address is not of this host, or is in use.
    pub fn bind(
        address: SocketAddrV4,
        tls: Option<Server>,
        settings: TcpSendSettings,
    ) -> Result<TcpSend, Error> {
        Ok(TcpSend {
            listener: Listener::bind(address)?,
            tls,
            clients: Vec::with_capacity(settings.clients_max),
            settings,
            asked: 0,
            looked_ns: 0,
            events: VecDeque::with_capacity(EVENTS_MAX),
            slow: 0,
            last_slow: None,
            refused: 0,
        })
    }

    /// Listening address.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Client with the longest queue, and its bytes; `None` if all queues are empty.
    pub fn slowest(&self) -> Option<(SocketAddrV4, usize)> {
        let waiting = self
            .clients
            .iter()
            .filter(|client| !client.queue.is_empty());
        let slowest = waiting.max_by_key(|client| client.queue.len())?;
        Some((slowest.address, slowest.queue.len()))
    }

    fn accept(&mut self, now_ns: u64) -> usize {
        let mut accepted = 0;
        // An error of accept concerns one connection, or the limit of open files: the next check retries.
        while let Ok(Some((stream, address))) = self.listener.accept() {
            accepted += 1;
            if self.clients.len() >= self.settings.clients_max {
                let reason = Refusal::TooMany;
                self.end(SendEvent::Refused { address, reason });
                continue;
            }
            let until_ns = now_ns + self.settings.request_ns_max;
            let connection = match Connection::accept(stream, self.tls.as_ref(), until_ns) {
                Ok(connection) => connection,
                Err(reason) => {
                    let reason = Refusal::Connection(reason);
                    self.end(SendEvent::Refused { address, reason });
                    continue;
                }
            };
            self.clients.push(Client {
                connection,
                address,
                request_until_ns: Some(until_ns),
                request: [0; HEAD_BYTES],
                requested: 0,
                refresh: RefreshState::Wanted,
                queue: VecDeque::with_capacity(64 * 1024),
                end: None,
            });
        }
        accepted
    }

    /// Removes disconnected clients.
    fn sweep(&mut self) {
        let mut index = 0;
        while index < self.clients.len() {
            match self.clients[index].end.take() {
                None => index += 1,
                Some(event) => {
                    self.clients.swap_remove(index);
                    self.end(event);
                }
            }
        }
    }

    fn end(&mut self, event: SendEvent) {
        match event {
            SendEvent::TooSlow { address, .. } => {
                self.slow += 1;
                self.last_slow = Some(address);
            }
            SendEvent::Refused { .. } => self.refused += 1,
            _ => {}
        }
        self.tell(event);
    }

    fn tell(&mut self, event: SendEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }
}

impl SendLink for TcpSend {
    #[inline]
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool {
        let frame = batch.frame();
        let mut has_ended = false;
        for client in &mut self.clients {
            if client.wants(kind) {
                client.send(frame, self.settings.queue_bytes_max);
                has_ended |= client.end.is_some();
            }
        }
        if has_ended {
            self.sweep();
        }
        true
    }

    /// Not while a client that waits for a refresh has not read the previous one.
    fn has_room(&self) -> bool {
        let mut waiting = self
            .clients
            .iter()
            .filter(|client| client.refresh != RefreshState::Done);
        waiting.all(|client| client.queue.is_empty())
    }

    fn asked(&mut self) -> u32 {
        std::mem::take(&mut self.asked)
    }

    fn work(&mut self, now_ns: u64) -> usize {
        let mut work = 0;
        for client in &mut self.clients {
            if !client.queue.is_empty() {
                work += client.flush();
            }
        }
        if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
            return work;
        }
        self.looked_ns = now_ns;
        work += self.accept(now_ns);
        let mut connected = Vec::new();
        for client in &mut self.clients {
            let was_waiting = client.request_until_ns.is_some();
            self.asked += client.listen(now_ns);
            if was_waiting && client.request_until_ns.is_none() {
                connected.push(client.address);
            }
        }
        for address in connected {
            self.tell(SendEvent::Connected { address });
        }
        self.sweep();
        work
    }

    fn count(&self, counters: &mut SenderCounters) {
        let clients = self.clients.iter();
        let receivers = clients.filter(|client| client.request_until_ns.is_none());
        counters.relay_receivers = receivers.count() as u64;
        counters.relay_receivers_slow = self.slow;
        counters.relay_receivers_refused = self.refused;
        let slowest = self.slowest();
        counters.relay_queued_bytes = slowest.map_or(0, |(_, bytes)| bytes as u64);
        let slow = slowest.map(|(address, _)| address).or(self.last_slow);
        counters.relay_slow_receiver = slow.map_or(0, number);
    }

    fn event(&mut self) -> Option<SendEvent> {
        self.events.pop_front()
    }
}

/// An address as a number, for a counter.
pub(in crate::link) fn number(address: SocketAddrV4) -> u64 {
    u64::from(u32::from(*address.ip())) << 16 | u64::from(address.port())
}

impl Client {
    /// Whether a client receives a batch; tracks the start and the end of its refresh round.
    #[inline]
    fn wants(&mut self, kind: Kind) -> bool {
        if self.request_until_ns.is_some() || self.end.is_some() {
            return false;
        }
        let Kind::Refresh { begins, ends } = kind else {
            return true;
        };
        if begins && self.refresh == RefreshState::Wanted {
            self.refresh = RefreshState::InRound;
        }
        let wants = self.refresh == RefreshState::InRound;
        if ends && wants {
            self.refresh = RefreshState::Done;
        }
        wants
    }

    /// Sends a frame, or queues the part that the socket does not accept.
    #[inline]
    fn send(&mut self, frame: &[u8], queue_bytes_max: usize) {
        let mut sent = 0;
        if self.queue.is_empty() {
            match self.connection.send(frame) {
                Ok(bytes) => sent = bytes,
                Err(reason) => return self.disconnect(reason),
            }
        }
        let rest = &frame[sent..];
        if self.queue.len() + rest.len() > queue_bytes_max {
            self.end = Some(SendEvent::TooSlow {
                address: self.address,
                queued_bytes: self.queue.len(),
            });
            return;
        }
        self.queue.extend(rest);
    }

    /// Sends queued bytes; returns whether any were sent.
    fn flush(&mut self) -> usize {
        let mut work = 0;
        while !self.queue.is_empty() {
            let (front, _) = self.queue.as_slices();
            match self.connection.send(front) {
                Ok(0) => break,
                Ok(bytes) => {
                    self.queue.drain(..bytes);
                    work = 1;
                }
                Err(reason) => {
                    self.disconnect(reason);
                    break;
                }
            }
        }
        work
    }

    /// Reads requests; returns their number.
    fn listen(&mut self, now_ns: u64) -> u32 {
        let mut requests = 0;
        if self.end.is_some() || !self.is_ready(now_ns) {
            return 0;
        }
        loop {
            match self.connection.receive(&mut self.request[self.requested..]) {
                Ok(0) => break,
                Ok(bytes) => self.requested += bytes,
                Err(reason) => {
                    self.disconnect(reason);
                    return requests;
                }
            }
            if self.requested < HEAD_BYTES {
                continue;
            }
            self.requested = 0;
            match Head::read(&self.request) {
                Ok(head) if head.flags.has(HeadFlags::REQUEST) => {
                    self.request_until_ns = None;
                    self.refresh = RefreshState::Wanted;
                    requests += 1;
                }
                Ok(_) => return self.refuse(Refusal::Request(BadHead::Flags)),
                Err(bad) => return self.refuse(Refusal::Request(bad)),
            }
        }
        if self.request_until_ns.is_some_and(|until| now_ns >= until) {
            return self.refuse(Refusal::Silent);
        }
        requests
    }

    /// Whether the TLS handshake, if there is one, is complete.
    fn is_ready(&mut self, now_ns: u64) -> bool {
        match self.connection.is_ready(now_ns) {
            Ok(is_ready) => is_ready,
            Err(Error::TimedOut) => {
                self.refuse(Refusal::Handshake);
                false
            }
            Err(reason) => {
                self.refuse(Refusal::Connection(reason));
                false
            }
        }
    }

    fn refuse(&mut self, reason: Refusal) -> u32 {
        let address = self.address;
        self.end = Some(SendEvent::Refused { address, reason });
        0
    }

    fn disconnect(&mut self, reason: Error) {
        let address = self.address;
        self.end = Some(match self.request_until_ns {
            None => SendEvent::Disconnected { address, reason },
            Some(_) => SendEvent::Refused {
                address,
                reason: Refusal::Connection(reason),
            },
        });
    }
}
