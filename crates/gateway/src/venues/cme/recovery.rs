//! TCP replay client: requests packets that the feed awaits, beside the path.
//!
//! The feed states the packets it awaits ([`Request`]); this client requests them, over one
//! connection at a time, and passes them to the path. Each call does as much as is possible at
//! once. A failure is reported to the feed, which then uses snapshots.

mod counters;
mod pace;

pub use counters::RecoveryCounters;

use super::{ChannelConfig, CmeConfig};
use crate::Pipeline;
use crate::config::ConfigError;
use crate::host_time::Now;
use crate::retransmission::Retransmission;
use pace::Pace;
use std::net::SocketAddrV4;
use touchline_feed::Request;
use touchline_feed::cme::replay::{Credentials, End, Session, Step};
use touchline_feed::cme::{CmeFeed, FeedType, Line, Replay};
use touchline_net::stream::{self, Stream};
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_types::CounterInfo;

/// Maximum reads per call, so that packets of the lines are not delayed.
const READS_MAX: usize = 4;

/// TCP replay client of a channel.
#[derive(Debug)]
pub struct Recovery {
    reach: Replay,
    attempts_max: u32,
    hosts: Box<[SocketAddrV4]>,
    /// Index of the next host, modulo their number.
    turn: usize,
    session: Session,
    work: Option<Work>,
    stream: Option<Stream>,
    pace: Pace,
    counters: RecoveryCounters,
    failure: Option<Failure>,
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Work {
    request: Request,
    /// Number of connections for it.
    attempts: u32,
    /// Deadline of the present connection.
    until_ns: u64,
}

/// Reason why a connection did not bring the awaited packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The venue ended its answer too early.
    Short,
    /// The venue refused; [`Recovery::reason`] has its text.
    Refused,
    /// The connection failed or was lost.
    Unreachable(stream::Error),
    /// Timeout.
    TimedOut,
    /// The answer was invalid.
    Broken,
}

/// Progress of a connection.
enum Progress {
    Waiting,
    /// No packets are awaited any more.
    Done,
}

impl Recovery {
    /// The configured client; `None` if there is none. Allocates all memory, without
    /// a connection.
    ///
    /// # Errors
    /// No host, or no password.
    pub fn open(
        config: &CmeConfig,
        channel: &ChannelConfig,
    ) -> Result<Option<Recovery>, ConfigError> {
        let wanted = config.venue.replay.as_ref();
        let Some(replay) = wanted.filter(|replay| replay.enabled) else {
            return Ok(None);
        };
        let hosts = replay.hosts_of(&config.venue.config_xml, channel)?;
        let reach = Replay {
            wait_ns: replay.wait_ms * 1_000_000,
            packets_max: replay.packets_max,
        };
        let recovery = Recovery::new(
            reach,
            replay.credentials()?,
            channel.id,
            hosts,
            config.limits.packet_bytes_max,
        );
        let (attempts_max, per_day_max) = (replay.attempts_max, replay.requests_per_day_max);
        Ok(Some(recovery.with_limits(attempts_max, per_day_max)))
    }

    /// A client of these hosts with default limits. Without hosts every request fails.
    pub fn new(
        reach: Replay,
        credentials: Credentials,
        channel: u32,
        hosts: Vec<SocketAddrV4>,
        packet_bytes_max: usize,
    ) -> Recovery {
        Recovery {
            reach,
            attempts_max: 3,
            hosts: hosts.into(),
            turn: 0,
            session: Session::new(credentials, channel, packet_bytes_max),
            work: None,
            stream: None,
            pace: Pace::new(1_000),
            counters: RecoveryCounters::default(),
            failure: None,
        }
    }

    /// Sets the maximum number of connections per gap, at least 1, and per day.
    #[must_use]
    pub fn with_limits(mut self, attempts_max: u32, requests_per_day_max: u32) -> Recovery {
        self.attempts_max = attempts_max.max(1);
        self.pace = Pace::new(requests_per_day_max);
        self
    }

    /// Limits that the path must know.
    pub fn reach(&self) -> Replay {
        self.reach
    }

    /// Counters.
    pub fn counters(&self) -> &RecoveryCounters {
        &self.counters
    }

    /// Last failure of a connection.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Text of the venue's last refusal: arbitrary bytes, to be escaped for display.
    pub fn reason(&self) -> &[u8] {
        self.session.reason()
    }

    /// Ends a request that is filled or given up.
    fn settle<P: Publish>(&mut self, pipeline: &mut Pipeline<CmeFeed, P>, now: Now) {
        self.disconnect();
        let is_filled = pipeline.take_filled();
        if self.work.take().is_none() {
            return;
        }
        if is_filled {
            self.counters.replay_served += 1;
            self.pace.succeeded();
        } else {
            self.fall_back(pipeline, now);
        }
    }

    fn fall_back<P: Publish>(&mut self, pipeline: &mut Pipeline<CmeFeed, P>, now: Now) {
        self.counters.replay_fell_back += 1;
        let backoff_ns = self.pace.failed();
        self.work = None;
        pipeline.request_failed(now.time.mono_ns.saturating_add(backoff_ns));
    }

    /// Connects to the next host, if the limits allow it.
    fn connect<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<CmeFeed, P>,
        now: Now,
    ) -> Result<Progress, Failure> {
        let Some(count) = self.hosts.len().checked_sub(1) else {
            return Err(Failure::Unreachable(stream::Error::Refused));
        };
        if !self.pace.take(now.steady_ns) {
            self.counters.replay_over_budget += 1;
            self.counters.replay_fell_back += 1;
            self.work = None;
            let backoff_ns = self.pace.until_next_day_ns(now.steady_ns);
            pipeline.request_failed(now.time.mono_ns.saturating_add(backoff_ns));
            return Ok(Progress::Waiting);
        }
        let host = self.hosts[self.turn % (count + 1)];
        self.turn = self.turn.wrapping_add(1);
        let work = self.work.as_mut();
        let work = work.expect("a connection is made for a request");
        work.attempts += 1;
        // Each attempt has its share of the time, so that a silent host leaves time for the next.
        work.until_ns = now.steady_ns + self.reach.wait_ns / u64::from(self.attempts_max);
        self.counters.replay_requests += 1;
        let stream = Stream::connect(host, work.until_ns).map_err(Failure::Unreachable)?;
        self.stream = Some(stream);
        let Request::Retransmit { first, last } = work.request;
        let number = |sequence: u64| u32::try_from(sequence).expect("cme-sequence-has-32-bits");
        self.session.begin(number(first), number(last));
        Ok(Progress::Waiting)
    }

    /// Sends and receives as much as is possible at once.
    fn converse<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<CmeFeed, P>,
        work: Work,
        now: Now,
    ) -> Result<Progress, Failure> {
        let Recovery {
            session,
            stream,
            counters,
            ..
        } = self;
        let stream = stream.as_mut();
        let stream = stream.expect("packets are requested over a connection");
        if now.steady_ns >= work.until_ns {
            return Err(Failure::TimedOut);
        }
        if !stream.is_connected(now.steady_ns)? {
            return Ok(Progress::Waiting);
        }
        for _ in 0..READS_MAX {
            let sent = stream.send(session.output())?;
            session.sent(sent);
            let received = stream.receive(session.room())?;
            session.received(received);
            if received == 0 {
                break;
            }
            while let Some(step) = session.step() {
                let packet = match step {
                    Step::Packet(packet) => packet,
                    Step::Over(end) => return Err(Failure::of(end)),
                };
                counters.replay_packets += 1;
                pipeline.packet_at((FeedType::Replay, Line::A), packet, now.time, ticks());
                if pipeline.request() != Some(work.request) {
                    return Ok(Progress::Done);
                }
            }
        }
        Ok(Progress::Waiting)
    }

    /// Handles a failed connection: the next one, or none.
    fn failed<P: Publish>(
        &mut self,
        failure: Failure,
        pipeline: &mut Pipeline<CmeFeed, P>,
        now: Now,
    ) {
        self.disconnect();
        self.failure = Some(failure);
        let counters = &mut self.counters;
        *match failure {
            Failure::Short => &mut counters.replay_short,
            Failure::Refused => &mut counters.replay_rejected,
            Failure::Unreachable(_) => &mut counters.replay_unreachable,
            Failure::TimedOut => &mut counters.replay_timed_out,
            Failure::Broken => &mut counters.replay_broken,
        } += 1;
        let work = self
            .work
            .expect("a connection fails that was for a request");
        if work.attempts >= self.attempts_max || self.hosts.is_empty() {
            self.fall_back(pipeline, now);
        }
    }

    fn disconnect(&mut self) {
        self.stream = None;
        self.session.cancel();
    }
}

impl Retransmission<CmeFeed> for Recovery {
    const TABLE: &'static [CounterInfo] = RecoveryCounters::TABLE;

    fn counted(this: Option<&Recovery>) -> impl Iterator<Item = u64> {
        let counters = this.map(Recovery::counters).copied();
        counters.unwrap_or_default().counts()
    }

    fn poll<P: Publish>(&mut self, pipeline: &mut Pipeline<CmeFeed, P>, now: Now) {
        let wanted = pipeline.request();
        if self.work.map(|work| work.request) != wanted {
            self.settle(pipeline, now);
            // Ending the old request may give up the present one.
            self.work = pipeline.request().map(|request| Work {
                request,
                attempts: 0,
                until_ns: 0,
            });
        }
        let Some(work) = self.work else { return };
        let progress = match self.stream.is_some() {
            true => self.converse(pipeline, work, now),
            false => self.connect(pipeline, now),
        };
        match progress {
            Ok(Progress::Waiting) => {}
            Ok(Progress::Done) => self.settle(pipeline, now),
            Err(failure) => self.failed(failure, pipeline, now),
        }
    }
}

impl Failure {
    fn of(end: End) -> Failure {
        match end {
            End::Served => Failure::Short,
            End::Refused => Failure::Refused,
            End::Broken(_) => Failure::Broken,
        }
    }
}

impl From<stream::Error> for Failure {
    fn from(error: stream::Error) -> Failure {
        match error {
            stream::Error::TimedOut => Failure::TimedOut,
            other => Failure::Unreachable(other),
        }
    }
}
