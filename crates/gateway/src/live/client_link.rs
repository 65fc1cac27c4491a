//! The link to a venue that is spoken with over a connection of its own.
//!
//! It connects, hands what comes to the path, and sends what the feed wants sent. When the connection is
//! lost, or the feed wants it closed, it connects again: to the next host, after a backoff that
//! grows and depends on chance, so that nobody who lost the same venue comes back at the same moment.

mod host;

use super::feed_link::{FeedLink, Work};
use super::{Error, Pause};
use crate::host_time::{Clocks, Now};
use crate::incident::{ConnectionError, Incident};
use crate::pipeline::Pipeline;
use std::marker::PhantomData;
use std::net::SocketAddrV4;
use std::thread::JoinHandle;
use touchline_feed::{ReceiveTime, SessionFeed};
use touchline_net::stream::{Connection, Error as Broken};
use touchline_net::udp::Totals;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::CounterInfo;

pub use host::Host;
use host::{Failed, resolve};

/// How a venue is reached.
#[derive(Debug)]
pub struct Dial {
    /// Tried in turn; at least one. A name with several addresses gives another one each time.
    pub hosts: Vec<Host>,
    /// A connection must stand by then.
    pub connect_ns: u64,
    /// The backoff after a first connection that failed or was lost.
    pub backoff_ns: u64,
    /// The longest backoff.
    pub backoff_ns_max: u64,
}

touchline_types::counters! {
    /// Counters of the connection to a venue. A unit that ends in `now` goes up and down.
    pub struct ClientLinkCounters {
        connected: "yes/no now" = "The connection to the venue stands.",
        connections: "connections" = "Connections to the venue that were established.",
        connections_failed: "connections" = "Connections that failed: the host is unknown, refused, or did not answer.",
        connections_lost: "connections" = "Connections that the venue or the network closed without a Logout.",
        connections_closed: "connections" = "Connections that were closed by the session: a Logout of either side, or an error that the feed found.",
        bytes_sent: "bytes" = "Bytes that were sent to the venue.",
    }
}

/// The connection, or what is done to have one.
#[derive(Debug)]
enum Line {
    /// Until then nothing is done.
    BackingOff { until_ns: u64 },
    /// A name is looked up, on a thread of its own: the system takes its time.
    Resolving(JoinHandle<Result<SocketAddrV4, Failed>>),
    /// It must stand soon.
    Connecting(Connection),
    /// It stands.
    Up(Connection),
}

/// How far the connection to a venue has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is none, until the backoff is over.
    BackingOff,
    /// The name of its host is looked up.
    Resolving,
    /// It is being made, with TLS where that is wanted.
    Connecting,
    /// It stands: what is sent and received goes over it.
    Up,
}

/// Client link: a connection to a venue, made again after each loss.
#[derive(Debug)]
pub struct ClientLink<F> {
    dial: Dial,
    line: Line,
    /// Whose turn it is.
    turn: usize,
    /// How often all hosts had their turn.
    rounds: usize,
    /// The longest that the next backoff can be.
    backoff_ns: u64,
    chance: u64,
    room: Box<[u8]>,
    counters: ClientLinkCounters,
    /// The connection was found to be gone; the next look carries it out.
    broken: Option<Broken>,
    /// When the connection stood.
    up_ns: u64,
    /// Since when it is to be closed.
    over_ns: Option<u64>,
    /// What became of the connection, for the log.
    incident: Option<Incident>,
    bytes_received: u64,
    reads: u64,
    feed: PhantomData<F>,
}

/// How long a connection that is to be closed may take to send what is to be sent.
const FLUSH_TIMEOUT_NS: u64 = 2_000_000_000;

/// How long a venue takes at most to send what had no room on its way while nobody read it: some round trips.
const SETTLE_NS: u64 = 500_000_000;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

impl<F: SessionFeed<Source = ()>> ClientLink<F> {
    /// Nothing is connected yet. `chance` is any number, best another one with each start.
    pub fn new(dial: Dial, chance: u64) -> ClientLink<F> {
        ClientLink {
            line: Line::BackingOff { until_ns: 0 },
            turn: dial.hosts.len() - 1,
            rounds: 0,
            backoff_ns: dial.backoff_ns,
            dial,
            chance,
            room: vec![0; READ_BYTES].into(),
            counters: ClientLinkCounters::default(),
            broken: None,
            up_ns: 0,
            over_ns: None,
            incident: None,
            bytes_received: 0,
            reads: 0,
            feed: PhantomData,
        }
    }

    /// How far the connection has come.
    pub fn phase(&self) -> Phase {
        match self.line {
            Line::BackingOff { .. } => Phase::BackingOff,
            Line::Resolving(_) => Phase::Resolving,
            Line::Connecting(_) => Phase::Connecting,
            Line::Up(_) => Phase::Up,
        }
    }

    /// Sends what the feed wants sent, as far as it can be sent at once.
    fn send<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, time: ReceiveTime) {
        let Line::Up(stream) = &mut self.line else {
            return;
        };
        while self.broken.is_none() && !pipeline.feed().outgoing().is_empty() {
            match stream.send(pipeline.feed().outgoing()) {
                Ok(0) => return,
                Ok(sent) => {
                    self.counters.bytes_sent += sent as u64;
                    pipeline.sent(sent, time);
                }
                Err(broken) => self.broken = Some(broken),
            }
        }
    }

    /// The connection is gone, or is given up.
    fn disconnect<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        reason: String,
        now: Now,
    ) -> ConnectionError {
        self.broken = None;
        self.over_ns = None;
        if matches!(self.line, Line::Up(_)) {
            self.counters.connected = 0;
            pipeline.disconnected(now.time);
        }
        // Half of the backoff is certain, the other half is chance.
        let backoff_ns = self.backoff_ns / 2 + self.next_chance() % (self.backoff_ns / 2).max(1);
        self.backoff_ns = (2 * self.backoff_ns).min(self.dial.backoff_ns_max);
        let until_ns = now.steady_ns + backoff_ns;
        self.line = Line::BackingOff { until_ns };
        ConnectionError {
            host: self.dial.hosts[self.turn].name.clone(),
            reason,
            retry_ms: backoff_ns / 1_000_000,
        }
    }

    /// Steps on to a connection.
    fn connect<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        now: Now,
    ) -> Result<(), Failed> {
        match &mut self.line {
            Line::Up(_) => {}
            Line::BackingOff { until_ns } if now.steady_ns < *until_ns => {}
            Line::BackingOff { .. } => self.look_up()?,
            Line::Resolving(resolving) if !resolving.is_finished() => {}
            Line::Resolving(_) => {
                let backing_off = Line::BackingOff { until_ns: 0 };
                let Line::Resolving(resolving) = std::mem::replace(&mut self.line, backing_off)
                else {
                    return Ok(());
                };
                let address = resolving.join().map_err(|_| Failed::NoThread)??;
                let until_ns = now.steady_ns + self.dial.connect_ns;
                let host = &self.dial.hosts[self.turn];
                let connecting = Connection::connect(address, host.tls.as_ref(), until_ns);
                self.line = Line::Connecting(connecting?);
            }
            Line::Connecting(stream) => {
                if stream.is_ready(now.steady_ns)? {
                    self.up(pipeline, now);
                }
            }
        }
        Ok(())
    }

    /// It is the next host's turn.
    fn look_up(&mut self) -> Result<(), Failed> {
        self.turn = (self.turn + 1) % self.dial.hosts.len();
        self.rounds += usize::from(self.turn == 0);
        let (name, round) = (self.dial.hosts[self.turn].name.clone(), self.rounds - 1);
        let resolver = std::thread::Builder::new().name("resolver".to_owned());
        let resolving = resolver.spawn(move || resolve(&name, round));
        self.line = Line::Resolving(resolving.map_err(|_| Failed::NoThread)?);
        Ok(())
    }

    fn up<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) {
        let backing_off = Line::BackingOff { until_ns: 0 };
        if let Line::Connecting(stream) = std::mem::replace(&mut self.line, backing_off) {
            self.line = Line::Up(stream);
            self.counters.connected = 1;
            self.up_ns = now.steady_ns;
            self.counters.connections += 1;
            pipeline.connected(now.time);
            let host = self.dial.hosts[self.turn].name.clone();
            self.incident = Some(Incident::Connected { host });
        }
    }

    /// xorshift: nobody has to guess it, two gateways must only differ.
    fn next_chance(&mut self) -> u64 {
        let mut word = self.chance | 1;
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        self.chance = word;
        word
    }
}

impl<F: SessionFeed<Source = ()>> FeedLink for ClientLink<F> {
    type Feed = F;

    const TABLES: &'static [&'static [CounterInfo]] = &[ClientLinkCounters::TABLE];

    const GAP_FIELDS: &'static [(&'static str, &'static str)] = &[("action", "reconnect")];

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.counters.counts()
    }

    #[inline]
    fn receive<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        clocks: &Clocks,
    ) -> Result<Work, Error> {
        let Line::Up(stream) = &mut self.line else {
            return Ok(Work::None);
        };
        let received = match stream.receive(&mut self.room) {
            Ok(0) => return Ok(Work::None),
            Ok(received) => received,
            Err(broken) => {
                self.broken = Some(broken);
                return Ok(Work::None);
            }
        };
        let polled = ticks();
        self.reads += 1;
        self.bytes_received += received as u64;
        let time = clocks.receive_time(clocks.wall_ns(polled));
        pipeline.packet_at((), &self.room[..received], time, polled);
        self.send(pipeline, time);
        Ok(Work::Packet {
            polled,
            waited_ns: None,
        })
    }

    fn control<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) {
        if !matches!(self.line, Line::Up(_)) {
            if let Err(failed) = self.connect(pipeline, now) {
                self.counters.connections_failed += 1;
                let error = self.disconnect(pipeline, failed.to_string(), now);
                self.incident = Some(Incident::ConnectionFailed(error));
            }
            return;
        }
        self.send(pipeline, now.time);
        if pipeline.feed().is_over() {
            let since_ns = *self.over_ns.get_or_insert(now.steady_ns);
            let is_late = now.steady_ns.saturating_sub(since_ns) >= FLUSH_TIMEOUT_NS;
            if is_late || self.broken.is_some() || pipeline.feed().outgoing().is_empty() {
                // Also where the venue hung up first: what it said tells more than that it did.
                let reason = pipeline.feed().reason();
                self.counters.connections_closed += 1;
                let error = self.disconnect(pipeline, reason, now);
                self.incident = Some(Incident::ConnectionClosed(error));
            }
        } else if let Some(broken) = self.broken {
            self.counters.connections_lost += 1;
            let error = self.disconnect(pipeline, broken.to_string(), now);
            self.incident = Some(Incident::ConnectionLost(error));
        } else if now.steady_ns.saturating_sub(self.up_ns) >= self.dial.backoff_ns_max {
            // It has stood for a while: the next backoff is short again. To be let in is not enough, or a venue
            // that lets us in and fails each time would be stormed.
            self.backoff_ns = self.dial.backoff_ns;
        }
    }

    fn take_incident(&mut self) -> Option<Incident> {
        self.incident.take()
    }

    /// What was received is processed, and what the venue could not send meanwhile had the time to come.
    fn is_caught_up(&mut self, pause: &Pause) -> bool {
        !matches!(self.line, Line::Up(_)) || pause.is_drained && pause.ran_ns >= SETTLE_NS
    }

    fn log_out<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) -> bool {
        if !matches!(self.line, Line::Up(_)) {
            return true;
        }
        pipeline.log_out(now.time);
        self.send(pipeline, now.time);
        self.broken.is_some() || pipeline.feed().is_over()
    }

    fn tally(&mut self) -> Totals {
        Totals {
            packets: self.reads,
            bytes: self.bytes_received,
            timestamps_missing: self.reads,
            ..Totals::default()
        }
    }
}
