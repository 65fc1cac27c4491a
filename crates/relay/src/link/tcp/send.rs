//! The sending end: a listening port, and a queue for each client.

mod client;

use crate::SenderCounters;
use crate::batch::Batch;
use crate::head::Head;
use crate::link::window::Change;
use crate::link::{Kind, Refusal, SendEvent, SendLink};
use client::{Client, answer};
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
    /// Longest age of books at receivers; a client whose queue is older than half of this age gets the newest state
    /// instead.
    pub lag_ns_max: u64,
    /// Timeout for the request of a new client.
    pub request_ns_max: u64,
}

impl Default for TcpSendSettings {
    fn default() -> TcpSendSettings {
        TcpSendSettings {
            clients_max: 64,
            queue_bytes_max: 8 * 1024 * 1024,
            lag_ns_max: 500_000_000,
            request_ns_max: 2_000_000_000,
        }
    }
}

/// Interval of the checks for connections and requests.
const LOOK_NS: u64 = 1_000_000;
/// Connections accepted in one check: more wait in the kernel.
const ACCEPTED_MAX: usize = 16;
/// Interval of reports of one client's queue.
const HELD_REPORT_NS: u64 = 10_000_000_000;
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
    /// Time of the last call of `work`.
    now_ns: u64,
    events: VecDeque<SendEvent>,
    slow: u64,
    held: u64,
    dropped: u64,
    /// The last client that was disconnected because its queue was full.
    last_slow: Option<SocketAddrV4>,
    refused: u64,
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
            now_ns: 0,
            events: VecDeque::with_capacity(EVENTS_MAX),
            slow: 0,
            held: 0,
            dropped: 0,
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
        while accepted < ACCEPTED_MAX
            && let Ok(Some((stream, address))) = self.listener.accept()
        {
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
            let lag_ns_max = self.settings.lag_ns_max;
            self.clients
                .push(Client::new(connection, address, until_ns, lag_ns_max));
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

    /// Interrupts the stream to clients whose queue is old; a client that has caught up gets the newest state.
    fn hold(&mut self, now_ns: u64) {
        for index in 0..self.clients.len() {
            let client = &mut self.clients[index];
            let address = client.address;
            match client.flow.change(now_ns) {
                None => {}
                Some(Change::Held) => {
                    let queued_ns = client.flow.queued_ns(now_ns);
                    let is_due = client
                        .held_reported_ns
                        .is_none_or(|at_ns| now_ns.saturating_sub(at_ns) > HELD_REPORT_NS);
                    self.held += 1;
                    self.last_slow = Some(address);
                    if is_due {
                        client.held_reported_ns = Some(now_ns);
                        self.tell(SendEvent::Held { address, queued_ns });
                    }
                }
                Some(Change::Resumed) => self.asked += 1,
                Some(Change::GivenUp) => {
                    let queued_bytes = client.queue.len();
                    client.end = Some(SendEvent::TooSlow {
                        address,
                        queued_bytes,
                    });
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
            if client.wants(kind, self.now_ns) {
                client.send(frame, self.settings.queue_bytes_max);
                has_ended |= client.end.is_some();
            }
        }
        if has_ended {
            self.sweep();
        }
        true
    }

    /// Whether a refresh may be sent: every client that waits for one has processed the previous one. A client that
    /// does not read delays no other.
    fn has_room(&self) -> bool {
        let now_ns = self.now_ns;
        let mut waiting = self
            .clients
            .iter()
            .filter(|client| client.flow.is_waiting());
        waiting.all(|client| client.has_room(now_ns) || client.is_stuck(now_ns))
    }

    fn answer(&mut self, head: &Head) {
        let mut has_ended = false;
        for client in &mut self.clients {
            if client.request_until_ns.is_none()
                && let Some(sent_ns) = client.flow.answer(self.now_ns)
            {
                client.send(
                    &answer(&Head { sent_ns, ..*head }),
                    self.settings.queue_bytes_max,
                );
                has_ended |= client.end.is_some();
            }
        }
        if has_ended {
            self.sweep();
        }
    }

    fn asked(&mut self) -> u32 {
        std::mem::take(&mut self.asked)
    }

    fn work(&mut self, now_ns: u64) -> usize {
        let mut work = 0;
        self.now_ns = now_ns;
        for client in &mut self.clients {
            if !client.queue.is_empty() {
                work += client.flush();
            }
            client.blocked_ns = match client.queue.is_empty() {
                true => None,
                false => client.blocked_ns.or(Some(now_ns)),
            };
        }
        if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
            return work;
        }
        self.looked_ns = now_ns;
        work += self.accept(now_ns);
        let mut connected = Vec::new();
        for client in &mut self.clients {
            let was_waiting = client.request_until_ns.is_some();
            let dropped = client.flow.dropped();
            self.asked += client.listen(now_ns);
            self.dropped += client.flow.dropped() - dropped;
            if was_waiting && client.request_until_ns.is_none() {
                connected.push(client.address);
            }
        }
        for address in connected {
            self.tell(SendEvent::Connected { address });
        }
        self.hold(now_ns);
        self.sweep();
        work
    }

    fn count(&self, counters: &mut SenderCounters) {
        let clients = self.clients.iter();
        let receivers = clients.filter(|client| client.request_until_ns.is_none());
        counters.relay_receivers = receivers.count() as u64;
        counters.relay_receivers_slow = self.slow;
        counters.relay_receivers_held = self.held;
        counters.relay_requests_dropped = self.dropped;
        let ages = self
            .clients
            .iter()
            .map(|client| client.flow.queued_ns(self.now_ns));
        counters.relay_queued_ns = ages.max().unwrap_or(0);
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
