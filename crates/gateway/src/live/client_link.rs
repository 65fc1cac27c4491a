//! Link to a venue over a connection of its own.
//!
//! It connects, passes received bytes to the path, and sends the feed's output. When the connection is lost, or the
//! feed closes it, it connects again: to the next host, after an increasing backoff with a random part, so that clients
//! of one venue do not reconnect together.

mod day;
mod host;

use super::feed_link::{FeedLink, Work};
use super::{Error, Pause, Tap};
use crate::host_time::{Clocks, Now};
use crate::incident::{ConnectionError, Incident, RepeatedFailure};
use crate::pipeline::Pipeline;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::net::SocketAddrV4;
use std::thread::JoinHandle;
use touchline_feed::{ReceiveTime, SessionFeed, Warning};
use touchline_fx_days::Hours;
use touchline_net::Backoff;
use touchline_net::Connection;
use touchline_net::stream::Error as Broken;
use touchline_net::udp::Totals;
use touchline_session::Failures;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::CounterInfo;

use day::Day;
pub use host::Host;
use host::{Failed, resolve};

/// Connection settings.
#[derive(Debug)]
pub struct Dial {
    /// Hosts, tried in turn; at least one. A name with several addresses gives another one each
    /// time.
    pub hosts: Vec<Host>,
    /// Connect timeout.
    pub connect_ns: u64,
    /// Backoff after a first failed or lost connection.
    pub backoff_ns: u64,
    /// Maximum backoff.
    pub backoff_ns_max: u64,
}

touchline_types::counters! {
    /// Counters of the connection to a venue. A unit that ends in `now` goes up and down.
    pub struct ClientLinkCounters {
        connected: "yes/no now" = "The connection to the venue is established.",
        connection_closed_until: "ns now" = "Start of the venue's next session, nanoseconds since 1970, while it is closed by its hours; else 0.",
        sessions_ended_by_hours: "times" = "Sessions with the venue that ended by its hours.",
        connections: "connections" = "Connections to the venue that were established.",
        connections_failed: "connections" = "Connections that failed: the host is unknown, refused, or did not answer.",
        connections_lost: "connections" = "Connections that the venue or the network closed without a Logout.",
        connections_closed: "connections" = "Connections that the session closed: after a Logout of either side, or an error that the feed detected.",
        bytes_sent: "bytes" = "Bytes that were sent to the venue.",
    }
}

/// State of the connection.
#[derive(Debug)]
enum Line {
    /// Backoff.
    BackingOff,
    /// A name is looked up on a separate thread, because the system call blocks.
    Resolving(JoinHandle<Result<SocketAddrV4, Failed>>),
    /// Connecting.
    Connecting(Connection),
    /// Established.
    Up(Connection),
}

/// Phase of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// None, during the backoff.
    BackingOff,
    /// Name lookup of the host.
    Resolving,
    /// Connecting, with TLS if configured.
    Connecting,
    /// Established.
    Up,
}

/// Client link: a connection to a venue that is established again after each loss.
#[derive(Debug)]
pub struct ClientLink<F> {
    dial: Dial,
    line: Line,
    /// Index of the next host.
    turn: usize,
    /// Number of rounds over all hosts.
    rounds: usize,
    /// Its longest pause is as configured, or longer while the session fails for the same reason.
    backoff: Backoff,
    chance: u64,
    room: Box<[u8]>,
    counters: ClientLinkCounters,
    /// Error found on the connection; the next call handles it.
    broken: Option<Broken>,
    /// Time at which the connection was established.
    up_ns: u64,
    /// Time from which the link closes the connection.
    over_ns: Option<u64>,
    /// Pending incident for the log.
    incident: Option<Incident>,
    /// Further pending incidents, logged after the first: a venue may reject a message and end the connection, again.
    behind: VecDeque<Incident>,
    failures: Failures,
    day: Day,
    bytes_received: u64,
    reads: u64,
    tap: Option<Tap>,
    feed: PhantomData<F>,
}

/// Maximum time to send the remaining output of a closing connection.
const FLUSH_TIMEOUT_NS: u64 = 2_000_000_000;

/// Maximum time for a venue to send the data that was blocked while we did not read: several round trips.
const SETTLE_NS: u64 = 500_000_000;

/// Size of one read, bytes.
const READ_BYTES: usize = 64 * 1024;

impl<F: SessionFeed<Source = ()>> ClientLink<F> {
    /// No connection yet. `chance` is a random seed, which should differ between starts.
    pub fn new(dial: Dial, chance: u64) -> ClientLink<F> {
        ClientLink {
            line: Line::BackingOff,
            turn: dial.hosts.len() - 1,
            rounds: 0,
            backoff: Backoff::new(dial.backoff_ns, dial.backoff_ns_max),
            dial,
            chance,
            room: vec![0; READ_BYTES].into(),
            counters: ClientLinkCounters::default(),
            broken: None,
            up_ns: 0,
            over_ns: None,
            incident: None,
            behind: VecDeque::new(),
            failures: Failures::default(),
            day: Day::default(),
            bytes_received: 0,
            reads: 0,
            tap: None,
            feed: PhantomData,
        }
    }

    /// The link, of a session with these hours.
    #[must_use]
    pub fn with_hours(mut self, hours: Option<Hours>) -> ClientLink<F> {
        self.day = Day::new(hours);
        self
    }

    /// Looks at the hours: at the end of a session it logs out; outside of them it does not connect, and reports no failure.
    /// True: the session is closed.
    fn is_closed<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) -> bool {
        // The next session may start at once: the last one is logged out first.
        let is_ending = self.day.is_closed() && matches!(self.line, Line::Up(_));
        let was_open = self.day.was_open();
        if !is_ending && let Some(turn) = self.day.turn(now.time.wall_ns) {
            self.counters.connection_closed_until = turn.unwrap_or(0);
            self.backoff.succeeded();
            self.failures = Failures::default();
            if let Some(until_ns) = turn {
                self.behind.push_back(Incident::SessionClosed { until_ns });
                // A start outside the hours ends no session.
                // mutant: gateway: a start outside the hours is an end of a session
                self.counters.sessions_ended_by_hours += u64::from(was_open);
                if matches!(self.line, Line::Up(_)) {
                    pipeline.log_out(now.time);
                    self.over_ns = Some(now.steady_ns);
                } else {
                    self.line = Line::BackingOff;
                }
            }
        }
        if !self.day.is_closed() {
            return false;
        }
        if !matches!(self.line, Line::Up(_)) {
            return true;
        }
        self.send(pipeline, now.time);
        let since_ns = *self.over_ns.get_or_insert(now.steady_ns);
        let is_late = now.steady_ns.saturating_sub(since_ns) >= FLUSH_TIMEOUT_NS;
        if pipeline.feed().is_over() || is_late || self.broken.is_some() {
            self.counters.connections_closed += 1;
            self.counters.connected = 0;
            (self.broken, self.over_ns) = (None, None);
            self.line = Line::BackingOff;
            pipeline.disconnected(now.time);
        }
        true
    }

    /// Phase of the connection.
    pub fn phase(&self) -> Phase {
        match self.line {
            Line::BackingOff => Phase::BackingOff,
            Line::Resolving(_) => Phase::Resolving,
            Line::Connecting(_) => Phase::Connecting,
            Line::Up(_) => Phase::Up,
        }
    }

    /// Sends as much of the feed's output as possible at once.
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

    /// Ends the connection.
    fn disconnect<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        reason: String,
        now: Now,
    ) -> ConnectionError {
        self.broken = None;
        self.over_ns = None;
        let is_up = matches!(self.line, Line::Up(_));
        let (evidence, lasted_ns) = match is_up {
            true => (
                pipeline.feed().evidence(),
                now.steady_ns.saturating_sub(self.up_ns),
            ),
            false => (String::new(), 0),
        };
        self.fail(&reason, evidence, lasted_ns, is_up);
        if is_up {
            self.counters.connected = 0;
            pipeline.disconnected(now.time);
        }
        let chance = self.next_chance();
        let backoff_ns = self.backoff.failed_with(now.steady_ns, chance);
        self.line = Line::BackingOff;
        ConnectionError {
            host: self.dial.hosts[self.turn].name.clone(),
            reason,
            retry_ms: backoff_ns / 1_000_000,
        }
    }

    /// Counts a failure, which is logged if it repeats.
    fn fail(&mut self, reason: &str, message: String, lasted_ns: u64, was_up: bool) {
        if let Some(count) = self.failures.add(reason, lasted_ns) {
            let repeated = RepeatedFailure {
                host: self.dial.hosts[self.turn].name.clone(),
                reason: reason.to_owned(),
                count,
                message,
            };
            self.behind.push_back(Incident::FailureRepeated(repeated));
        }
        // A venue that cannot be reached may be back at any time. A venue that ends each connection does so again, whether it says
        // why or just closes.
        self.backoff.set_longest_ns(match was_up {
            true => self.failures.pause_max_ns(self.dial.backoff_ns_max),
            false => self.dial.backoff_ns_max,
        });
    }

    /// Passes on the feed's warnings for the log.
    fn take_warning<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>) {
        let warning = pipeline.take_warning().map(|warning| match warning {
            Warning::Rejected(message) => Incident::Rejected { message },
            Warning::BookFails {
                reason,
                count,
                message,
            } => Incident::FailureRepeated(RepeatedFailure {
                host: self.dial.hosts[self.turn].name.clone(),
                reason,
                count,
                message,
            }),
        });
        self.behind.extend(warning);
    }

    /// Advances the connect.
    fn connect<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<F, P>,
        now: Now,
    ) -> Result<(), Failed> {
        match &mut self.line {
            Line::Up(_) => {}
            Line::BackingOff if !self.backoff.is_due(now.steady_ns) => {}
            Line::BackingOff => self.look_up()?,
            Line::Resolving(resolving) if !resolving.is_finished() => {}
            Line::Resolving(_) => {
                let line = std::mem::replace(&mut self.line, Line::BackingOff);
                let Line::Resolving(resolving) = line else {
                    unreachable!("it resolves, as matched above");
                };
                let address = resolving.join().map_err(|_| Failed::NoThread)??;
                let until_ns = now.steady_ns + self.dial.connect_ns;
                let host = &self.dial.hosts[self.turn];
                let mut connecting = Connection::connect(address, host.tls.as_ref(), until_ns)?;
                connecting.request_timestamps();
                if let Some(tap) = &mut self.tap {
                    tap.connect(address);
                }
                self.line = Line::Connecting(connecting);
            }
            Line::Connecting(stream) => {
                if stream.is_ready(now.steady_ns)? {
                    self.up(pipeline, now);
                }
            }
        }
        Ok(())
    }

    /// Starts the lookup of the next host.
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
        let line = std::mem::replace(&mut self.line, Line::BackingOff);
        let Line::Connecting(stream) = line else {
            unreachable!("a connection is established while it connects");
        };
        self.line = Line::Up(stream);
        self.counters.connected = 1;
        self.up_ns = now.steady_ns;
        self.counters.connections += 1;
        pipeline.connected(now.time);
        let host = self.dial.hosts[self.turn].name.clone();
        self.incident = Some(Incident::Connected { host });
    }

    /// xorshift: needs to differ between gateways, not to be unpredictable.
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
        let wall_ns = clocks.wall_ns(polled);
        // Of the last segment: the time of the bytes before it is not known, so sessions have the time of the read.
        let waited_ns = stream
            .kernel_ns()
            .map(|kernel_ns| wall_ns.saturating_sub(kernel_ns));
        let time = clocks.receive_time(wall_ns);
        if let Some(tap) = &mut self.tap {
            let bytes = &self.room[..received];
            tap.copy(bytes, wall_ns, pipeline.feed().has_secret(bytes));
        }
        pipeline.packet_at((), &self.room[..received], time, polled);
        self.send(pipeline, time);
        Ok(Work::Packet {
            polled,
            waited_ns,
            is_latest: true,
        })
    }

    fn control<P: Publish>(&mut self, pipeline: &mut Pipeline<F, P>, now: Now) {
        if pipeline.feed().is_over() {
            self.day.ends_early(now.time.wall_ns);
        }
        // mutant: gateway: a session outside its hours is connected again
        if self.is_closed(pipeline, now) {
            return;
        }
        if !matches!(self.line, Line::Up(_)) {
            if let Err(failed) = self.connect(pipeline, now) {
                self.counters.connections_failed += 1;
                let error = self.disconnect(pipeline, failed.to_string(), now);
                self.incident = Some(Incident::ConnectionFailed(error));
            }
            return;
        }
        self.send(pipeline, now.time);
        if self.behind.is_empty() {
            self.take_warning(pipeline);
        }
        if pipeline.feed().is_over() {
            let since_ns = *self.over_ns.get_or_insert(now.steady_ns);
            let is_late = now.steady_ns.saturating_sub(since_ns) >= FLUSH_TIMEOUT_NS;
            if is_late || self.broken.is_some() || pipeline.feed().outgoing().is_empty() {
                // Also if the venue closed first: its message has more information than the close.
                let reason = pipeline.feed().reason();
                self.counters.connections_closed += 1;
                let error = self.disconnect(pipeline, reason, now);
                self.incident = Some(Incident::ConnectionClosed(error));
            }
        } else if let Some(broken) = self.broken {
            self.counters.connections_lost += 1;
            let error = self.disconnect(pipeline, broken.to_string(), now);
            self.incident = Some(Incident::ConnectionLost(error));
        } else if now.steady_ns.saturating_sub(self.up_ns) >= self.backoff.longest_ns() {
            // The connection has lasted: the next backoff is short again. A successful logon is not enough, or a venue
            // that accepts a logon and then fails would be flooded.
            self.backoff.succeeded();
        }
    }

    fn take_incident(&mut self) -> Option<Incident> {
        self.incident.take().or_else(|| self.behind.pop_front())
    }

    /// Whether all received data is processed, and data blocked at the venue has had time to arrive.
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

    fn tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
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

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_feed::fx_bank::FxBankFeed;

    /// A reported failure does not replace the earlier words of the venue.
    #[test]
    fn incidents_of_one_moment_are_all_logged() {
        let host = Host {
            name: "venue:1".to_owned(),
            tls: None,
        };
        let dial = Dial {
            hosts: vec![host],
            connect_ns: 1,
            backoff_ns: 1,
            backoff_ns_max: 1,
        };
        let mut link = ClientLink::<FxBankFeed>::new(dial, 1);
        let rejected = Incident::Rejected {
            message: "35=3".to_owned(),
        };
        link.behind.push_back(rejected.clone());
        (0..3).for_each(|_| link.fail("refused", String::new(), 0, true));
        assert_eq!(link.take_incident(), Some(rejected));
        let repeated = link.take_incident();
        let is_repeated = matches!(repeated, Some(Incident::FailureRepeated(_)));
        assert!(is_repeated, "{repeated:?}");
        assert_eq!(link.take_incident(), None);
    }
}
