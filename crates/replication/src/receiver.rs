//! The receiver of a copy: connects to the port of the journal's host, again after each loss.

use crate::counters::CopyCounters;
use crate::lag::{Change, Lag};
use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use touchline_journal::replica::message::{self, Message};
use touchline_journal::replica::{Replica, SourceStatus};
use touchline_net::tls::Client;
use touchline_net::{Backoff, Connection};

/// Connect timeout, TLS handshake included.
const CONNECT_NS: u64 = 3_000_000_000;
/// Wait before the next attempt.
const RETRY_NS: u64 = 500_000_000;
/// Time after which a silent source is disconnected.
const SILENCE_NS: u64 = 3_000_000_000;
/// Longest time for one message: a source that sends single bytes could otherwise block the copy for ever.
const MESSAGE_NS: u64 = 10_000_000_000;
/// Interval at which the copy acknowledges its position, as a sign of life.
const ALIVE_NS: u64 = 100_000_000;
/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// A connection to the source.
struct Link {
    connection: Connection,
    received: Vec<u8>,
    out: Vec<u8>,
    has_begun: bool,
    /// Whether the source sent the position of its journal's end.
    is_heard: bool,
    heard_ns: u64,
    alive_ns: u64,
    /// Time since which a message is incomplete.
    begun_ns: Option<u64>,
}

/// Why a connection ends.
enum End {
    /// The receiver connects again.
    Connection(String),
    /// The copy cannot continue.
    Copy(Error),
}

/// Why a copy cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The copy cannot be read or written.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// The source refuses to send the journal to this copy.
    #[error("the source refuses this copy: {0}")]
    Refused(String),
}

/// Event of the connection, for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyEvent {
    /// The source answered.
    Connected {
        /// Position up to which the copy has the journal.
        position: u64,
        /// Position after the last record of the source's journal.
        source_position: u64,
    },
    /// The connection was lost, or cannot be made: one event for each new reason.
    Lost {
        /// Reason.
        reason: String,
        /// Time between two attempts, milliseconds.
        retry_ms: u64,
    },
    /// The copy fell behind.
    Behind {
        /// Bytes of the journal that are missing on the disk of the copy.
        lag_bytes: u64,
    },
    /// The copy was behind and has caught up.
    CaughtUp {
        /// Bytes of the journal that are missing on the disk of the copy.
        lag_bytes: u64,
    },
}

/// A copy, its connection, and the last status of its source.
pub struct Receiver<'a> {
    source: &'a str,
    tls: Option<Client>,
    copy: Replica,
    link: Option<Link>,
    /// Backoff of the connection attempts.
    retry: Backoff,
    word: LastWord,
    connections: u64,
    /// Reason of the last reported loss; cleared when the source answers.
    lost: Option<String>,
    lag: Lag,
    events: Vec<CopyEvent>,
}

/// Last status of the source.
#[derive(Default)]
struct LastWord {
    status: SourceStatus,
    /// Time at which the status was received, or of the start. A frame alone does not count.
    heard_ns: u64,
    /// Whether the directory of the copy lacks this status.
    is_new: bool,
}

impl<'a> Receiver<'a> {
    /// Makes the receiver of a copy, whose source is a host and port. `now_ns` is by the clock of the receiver's
    /// rounds.
    pub fn new(
        source: &'a str,
        tls: Option<Client>,
        mut copy: Replica,
        now_ns: u64,
    ) -> Receiver<'a> {
        let word = LastWord {
            status: copy.source_status(),
            heard_ns: now_ns,
            is_new: false,
        };
        Receiver {
            source,
            tls,
            copy,
            link: None,
            retry: Backoff::new(RETRY_NS, RETRY_NS),
            word,
            connections: 0,
            lost: None,
            lag: Lag::default(),
            events: Vec::new(),
        }
    }

    /// Connects if necessary, and works on the connection. True if there was work.
    ///
    /// # Errors
    /// The source refuses this copy, or the copy cannot be written.
    pub fn round(&mut self, now_ns: u64) -> Result<bool, Error> {
        if self.link.is_none() && self.retry.is_due(now_ns) {
            self.retry.failed(now_ns);
            match Link::connect(self.source, self.tls.as_ref(), now_ns) {
                Ok(connected) => self.link = Some(connected),
                Err(reason) => self.lose(reason),
            }
        }
        let Some(link) = &mut self.link else {
            return Ok(false);
        };
        let was_heard = link.is_heard;
        match link.work(&mut self.copy, &mut self.word, now_ns) {
            Ok(did) => {
                if link.is_heard && !was_heard {
                    self.connected();
                }
                self.look_at_lag();
                Ok(did)
            }
            Err(End::Connection(reason)) => {
                self.link = None;
                self.lose(reason);
                self.copy.sync()?;
                Ok(false)
            }
            Err(End::Copy(error)) => Err(error),
        }
    }

    fn connected(&mut self) {
        self.connections += 1;
        self.lost = None;
        self.events.push(CopyEvent::Connected {
            position: self.copy.position(),
            source_position: self.word.status.position,
        });
    }

    /// Notes one event for each reason: there are two attempts a second.
    fn lose(&mut self, reason: String) {
        if self.lost.as_ref() == Some(&reason) {
            return;
        }
        self.events.push(CopyEvent::Lost {
            reason: reason.clone(),
            retry_ms: RETRY_NS / 1_000_000,
        });
        self.lost = Some(reason);
    }

    fn look_at_lag(&mut self) {
        let lag_bytes = self.behind();
        match self.lag.change(lag_bytes) {
            Some(Change::FellBehind) => self.events.push(CopyEvent::Behind { lag_bytes }),
            Some(Change::CaughtUp) => self.events.push(CopyEvent::CaughtUp { lag_bytes }),
            None => {}
        }
    }

    /// Writes the last status of the source to the directory of the copy, which must have its name still.
    ///
    /// # Errors
    /// The copy was moved, removed or replaced, or cannot be written.
    pub fn note(&mut self) -> Result<(), Error> {
        self.copy.check_place()?;
        if std::mem::take(&mut self.word.is_new) {
            self.word.status.source = self.source.to_owned();
            self.copy.note_source(&self.word.status)?;
        }
        Ok(())
    }

    /// Writes the last status of the source, and syncs the copy.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.note()?;
        Ok(self.copy.sync()?)
    }

    /// Events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<CopyEvent> {
        std::mem::take(&mut self.events)
    }

    /// The copy.
    pub fn copy(&self) -> &Replica {
        &self.copy
    }

    /// Last status of the source, also from an earlier receiver of this copy.
    pub fn source_status(&self) -> &SourceStatus {
        &self.word.status
    }

    /// Bytes that the source had at its last status and that are missing on the disk of the copy.
    pub fn behind(&self) -> u64 {
        self.word.status.missing(self.copy.position())
    }

    /// Whether the source answered on this connection.
    pub fn is_connected(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_heard)
    }

    /// Counters at a time.
    pub fn counters(&self, now_ns: u64) -> CopyCounters {
        CopyCounters {
            journal_copy_connected: u64::from(self.is_connected()),
            journal_copy_connections: self.connections,
            journal_copy_position: self.copy.position(),
            journal_copy_source_position: self.word.status.position,
            journal_copy_behind: self.behind(),
            journal_copy_silent_ns: now_ns.saturating_sub(self.word.heard_ns),
        }
    }
}

fn address(source: &str) -> Result<SocketAddrV4, String> {
    let found = source
        .to_socket_addrs()
        .map_err(|error| error.to_string())?;
    let mut found = found.filter_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    found
        .next()
        .ok_or_else(|| "it has no IPv4 address".to_owned())
}

impl Link {
    fn connect(source: &str, tls: Option<&Client>, now_ns: u64) -> Result<Link, String> {
        let connection = Connection::connect(address(source)?, tls, now_ns + CONNECT_NS);
        Ok(Link {
            connection: connection.map_err(|error| error.to_string())?,
            received: Vec::new(),
            out: Vec::new(),
            has_begun: false,
            is_heard: false,
            heard_ns: now_ns,
            alive_ns: 0,
            begun_ns: None,
        })
    }

    /// Reads and writes available bytes. True if there were any.
    fn work(&mut self, copy: &mut Replica, word: &mut LastWord, now_ns: u64) -> Result<bool, End> {
        let lost = |error: touchline_net::stream::Error| End::Connection(error.to_string());
        if !self.connection.is_ready(now_ns).map_err(lost)? {
            return Ok(false);
        }
        if !self.has_begun {
            self.has_begun = true;
            let end = copy.end().map_err(stop)?;
            self.out = message::hello(end.as_ref());
            self.heard_ns = now_ns;
            self.alive_ns = now_ns + ALIVE_NS;
        }
        let filled = self.received.len();
        self.received.resize(filled + READ_BYTES, 0);
        let count = self.connection.receive(&mut self.received[filled..]);
        self.received
            .truncate(filled + *count.as_ref().unwrap_or(&0));
        let count = count.map_err(lost)?;
        if count > 0 {
            self.heard_ns = now_ns;
        } else if now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            return Err(End::Connection("the source is silent".to_owned()));
        }
        let before = copy.position();
        let is_whole = self.apply(copy, word, now_ns)?;
        self.begun_ns = match (self.received.is_empty(), self.begun_ns) {
            (true, _) => None,
            (false, Some(begun_ns)) if !is_whole => Some(begun_ns),
            (false, _) => Some(now_ns),
        };
        let took_ns = self
            .begun_ns
            .map_or(0, |begun_ns| now_ns.saturating_sub(begun_ns));
        if took_ns > MESSAGE_NS {
            let seconds = MESSAGE_NS / 1_000_000_000;
            let reason = format!("a message did not come whole in {seconds} s");
            return Err(End::Connection(reason));
        }
        if copy.position() != before || now_ns >= self.alive_ns {
            copy.sync().map_err(stop)?;
            self.alive_ns = now_ns + ALIVE_NS;
            self.out.extend(copy.position().to_le_bytes());
        }
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        Ok(count > 0 || sent > 0)
    }

    /// Writes complete messages to the copy. True if there was a message.
    fn apply(&mut self, copy: &mut Replica, word: &mut LastWord, now_ns: u64) -> Result<bool, End> {
        let mut at = 0;
        loop {
            let taken = message::take(&self.received[at..]);
            let taken =
                taken.map_err(|_| End::Connection("it is no source of a journal".into()))?;
            let Some((message, length)) = taken else {
                break;
            };
            match message {
                Message::Segment(header) => copy.segment(header).map_err(refused)?,
                Message::Frame(frame) => copy.frame(frame).map_err(refused)?,
                Message::Position { position, time_ns } => {
                    self.is_heard = true;
                    word.is_new = true;
                    word.heard_ns = now_ns;
                    (word.status.position, word.status.said_ns) = (position, time_ns);
                }
                Message::Refusal(text) => {
                    return Err(End::Copy(Error::Refused(text.to_owned())));
                }
            }
            at += length;
        }
        self.received.drain(..at);
        Ok(at > 0)
    }
}

fn stop(error: touchline_journal::Error) -> End {
    End::Copy(error.into())
}

/// Data that fails verification may have been damaged in transit, and is requested again.
fn refused(error: touchline_journal::Error) -> End {
    match error {
        touchline_journal::Error::Copy { .. } => End::Connection(error.to_string()),
        error => stop(error),
    }
}
