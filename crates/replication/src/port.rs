//! The port of a journal, which sends the journal to copies on other hosts.

#[cfg(test)]
mod tests;

use crate::counters::SourceCounters;
use crate::lag::{Ages, Change, Lag};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use touchline_journal::Error as JournalError;
use touchline_journal::replica::Source;
use touchline_journal::replica::message::{self, Foreign, HELLO_BYTES, Message};
use touchline_net::Connection;
use touchline_net::stream::Listener;
use touchline_net::tls::Server;
use touchline_types::ReceiveTime;

/// Most copies at a time. A connection counts as a copy from its hello on, which follows the TLS handshake.
const COPIES_MAX: usize = 8;
/// Most connections without a hello.
const PENDING_MAX: usize = 32;
/// Most connections of one address without a hello.
const PENDING_PER_ADDRESS_MAX: usize = 4;
/// Most connections that a round takes from the kernel.
const ACCEPTS_MAX: usize = 16;
/// Longest wait for the hello, TLS handshake included.
const HELLO_NS: u64 = 5_000_000_000;
/// Bytes that may wait for a slow copy; no more frames are added until they are sent.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Bytes of an acknowledgement.
const ACK_BYTES: usize = 8;
/// Most frames that one poll of the journal adds.
const FRAMES_MAX: usize = 256;
/// Interval at which the source sends its position, as a sign of life.
const ALIVE_NS: u64 = 100_000_000;
/// Time after which a silent copy is disconnected.
const SILENCE_NS: u64 = 5_000_000_000;

/// Event of a connection, for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceEvent {
    /// A copy connected, and continues at this position.
    Connected {
        /// Address of the copy.
        copy: SocketAddrV4,
        /// Position up to which the copy has the journal.
        position: u64,
    },
    /// The connection of a copy ended.
    Lost {
        /// Address of the copy.
        copy: SocketAddrV4,
        /// Reason.
        reason: String,
    },
    /// A host without permission connected.
    NotAllowed {
        /// Address of the host.
        copy: SocketAddrV4,
    },
    /// A connection was refused, or ended before its hello. Any host that reaches the port can cause many of these.
    Refused {
        /// Address of the host.
        copy: SocketAddrV4,
        /// Reason.
        reason: String,
    },
    /// A copy fell behind.
    Behind {
        /// Address of the copy.
        copy: SocketAddrV4,
        /// Bytes of the journal that are not on its disk.
        lag_bytes: u64,
    },
    /// A copy that was behind has caught up.
    CaughtUp {
        /// Address of the copy.
        copy: SocketAddrV4,
        /// Bytes of the journal that are not on its disk.
        lag_bytes: u64,
    },
}

/// The listening port of a journal, and its connections.
pub struct Port<'a> {
    directory: &'a Path,
    /// Hosts from which copies may connect; any host if empty.
    allow: &'a [Ipv4Addr],
    tls: Option<Server>,
    listener: Listener,
    copies: Vec<Copy>,
    /// Position behind the last record that was read for a copy.
    position: u64,
    lost: u64,
    refused: u64,
    events: Vec<SourceEvent>,
}

/// A connection; a copy from its hello on.
struct Copy {
    from: SocketAddrV4,
    connection: Connection,
    received: Vec<u8>,
    /// Reader of the journal for this copy, made after the copy's hello.
    source: Option<Source>,
    out: Vec<u8>,
    /// Reason of a refusal.
    refusal: Option<String>,
    /// Deadline of the hello.
    hello_until_ns: u64,
    heard_ns: u64,
    alive_ns: u64,
    /// Position up to which the journal is on the copy's disk.
    acknowledged: u64,
    ages: Ages,
    lag: Lag,
}

impl<'a> Port<'a> {
    /// Opens a port for the journal in a directory, which need not exist yet. Hosts that are not in `allow` are
    /// refused, unless it is empty; with TLS each copy shows a certificate.
    pub fn new(
        directory: &'a Path,
        allow: &'a [Ipv4Addr],
        tls: Option<Server>,
        listener: Listener,
    ) -> Port<'a> {
        Port {
            directory,
            allow,
            tls,
            listener,
            copies: Vec::new(),
            position: 0,
            lost: 0,
            refused: 0,
            events: Vec::new(),
        }
    }

    /// Events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<SourceEvent> {
        std::mem::take(&mut self.events)
    }

    /// Counters at a monotonic time.
    pub fn counters(&mut self, now_ns: u64) -> SourceCounters {
        let copies = self.copies.iter_mut().filter(|copy| !copy.is_pending());
        let (mut count, mut behind, mut behind_ns) = (0, 0, 0);
        for copy in copies {
            count += 1;
            behind = behind.max(copy.behind());
            behind_ns = behind_ns.max(copy.ages.age_ns(copy.acknowledged, now_ns));
        }
        SourceCounters {
            journal_source_position: self.position,
            journal_copies: count,
            journal_copies_behind: behind,
            journal_copies_behind_ns: behind_ns,
            journal_copies_lost: self.lost,
            journal_copies_refused: self.refused,
        }
    }

    /// Looks whether the directory is the one that is sent: a new journal at its path has another end.
    ///
    /// # Errors
    /// The directory was moved, removed or replaced.
    pub fn check_place(&mut self) -> Result<(), JournalError> {
        let mut sources = self
            .copies
            .iter_mut()
            .filter_map(|copy| copy.source.as_mut());
        sources.try_for_each(Source::check_place)
    }

    /// Accepts connections, and works on each. True if there was work.
    ///
    /// # Errors
    /// The journal cannot be read. Damage, and another format, end the connections of the copies that come there.
    pub fn round(&mut self, time: ReceiveTime) -> Result<bool, JournalError> {
        let now_ns = time.mono_ns;
        let mut is_busy = self.accept(now_ns);
        let mut place = 0;
        while place < self.copies.len() {
            let served = self.copies.iter().filter(|copy| !copy.is_pending()).count();
            let copy = &mut self.copies[place];
            let was_pending = copy.is_pending();
            match copy.work(self.directory, served, time) {
                Ok(did) => {
                    let end = copy.source.as_ref().map_or(0, Source::end);
                    self.position = self.position.max(end);
                    copy.tell(was_pending, &mut self.events);
                    is_busy |= did;
                    place += 1;
                }
                Err(End::Connection(reason)) => {
                    let copy = self.copies.swap_remove(place).from;
                    if was_pending {
                        self.refuse(SourceEvent::Refused { copy, reason });
                    } else {
                        self.lost += 1;
                        self.events.push(SourceEvent::Lost { copy, reason });
                    }
                }
                Err(End::Journal(error)) => return Err(error),
            }
        }
        Ok(is_busy)
    }

    /// Accepts connections of permitted hosts, within the limits of connections without a hello. True if there were
    /// any.
    fn accept(&mut self, now_ns: u64) -> bool {
        for taken in 0..ACCEPTS_MAX {
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            if !self.allow.is_empty() && !self.allow.contains(from.ip()) {
                self.refuse(SourceEvent::NotAllowed { copy: from });
                continue;
            }
            let refused = |reason| SourceEvent::Refused { copy: from, reason };
            if let Some(why) = self.shortage(*from.ip()) {
                self.refuse(refused(why));
                continue;
            }
            let until_ns = now_ns + HELLO_NS;
            match Connection::accept(stream, self.tls.as_ref(), until_ns) {
                Ok(connection) => self.copies.push(Copy {
                    from,
                    connection,
                    received: Vec::new(),
                    source: None,
                    out: Vec::new(),
                    refusal: None,
                    hello_until_ns: until_ns,
                    heard_ns: now_ns,
                    alive_ns: now_ns,
                    acknowledged: 0,
                    ages: Ages::default(),
                    lag: Lag::default(),
                }),
                Err(error) => self.refuse(refused(error.to_string())),
            }
        }
        true
    }

    fn refuse(&mut self, event: SourceEvent) {
        self.refused += 1;
        self.events.push(event);
    }

    /// Why the limits permit no further connection of this host without a hello.
    fn shortage(&self, from: Ipv4Addr) -> Option<String> {
        let pending = self.copies.iter().filter(|copy| copy.is_pending());
        let of_address = pending.clone().filter(|copy| *copy.from.ip() == from);
        if of_address.count() >= PENDING_PER_ADDRESS_MAX {
            return Some(format!(
                "{PENDING_PER_ADDRESS_MAX} connections of this host have not identified themselves yet"
            ));
        }
        (pending.count() >= PENDING_MAX)
            .then(|| format!("{PENDING_MAX} connections have not identified themselves yet"))
    }
}

/// Why the work on a connection ends.
enum End {
    Connection(String),
    Journal(JournalError),
}

impl Copy {
    /// Whether the copy has no place in the journal: its hello is missing, or it was refused.
    fn is_pending(&self) -> bool {
        self.source.is_none()
    }

    /// Reads acknowledgements, and sends the frames that the copy lacks. True if there was work. `served` is the number
    /// of copies.
    fn work(&mut self, directory: &Path, served: usize, time: ReceiveTime) -> Result<bool, End> {
        let now_ns = time.mono_ns;
        let lost = |error: touchline_net::stream::Error| End::Connection(error.to_string());
        if !self.connection.is_ready(now_ns).map_err(lost)? {
            return Ok(false);
        }
        let mut room = [0; 16 << 10];
        let count = self.connection.receive(&mut room).map_err(lost)?;
        self.received.extend(&room[..count]);
        if count > 0 {
            self.heard_ns = now_ns;
        } else if now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            return Err(End::Connection("it is silent".to_owned()));
        }
        self.begin(directory, served)?;
        self.take_acknowledgements()?;
        let frames = self.fill(time)?;
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        if let Some(why) = self.refusal.take_if(|_| self.out.is_empty()) {
            return Err(End::Connection(why));
        }
        // The deadline also holds for a connection that sends one byte every second.
        if self.is_pending() && now_ns >= self.hello_until_ns {
            return Err(End::Connection("it sent no hello in time".to_owned()));
        }
        Ok(count > 0 || frames > 0 || sent > 0)
    }

    /// Bytes of the journal that are not on its disk.
    fn behind(&self) -> u64 {
        let end = self.source.as_ref().map_or(0, Source::end);
        end.saturating_sub(self.acknowledged)
    }

    /// Notes events of a round.
    fn tell(&mut self, was_pending: bool, events: &mut Vec<SourceEvent>) {
        if self.is_pending() {
            return;
        }
        let (copy, lag_bytes) = (self.from, self.behind());
        if was_pending {
            let position = self.acknowledged;
            events.push(SourceEvent::Connected { copy, position });
        }
        match self.lag.change(lag_bytes) {
            Some(Change::FellBehind) => events.push(SourceEvent::Behind { copy, lag_bytes }),
            Some(Change::CaughtUp) => events.push(SourceEvent::CaughtUp { copy, lag_bytes }),
            None => {}
        }
    }

    /// Takes the last position that the copy has on its disk, as it acknowledged.
    fn take_acknowledgements(&mut self) -> Result<(), End> {
        let Some(source) = &self.source else {
            return Ok(());
        };
        let whole = self.received.len() / ACK_BYTES * ACK_BYTES;
        let Some(last) = self.received[..whole].last_chunk::<ACK_BYTES>() else {
            return Ok(());
        };
        let position = u64::from_le_bytes(*last);
        self.received.drain(..whole);
        if position > source.position() {
            return Err(End::Connection(
                "it acknowledges what was not sent".to_owned(),
            ));
        }
        self.acknowledged = position;
        Ok(())
    }

    /// Finds the position of the copy in the journal, after its hello.
    fn begin(&mut self, directory: &Path, served: usize) -> Result<(), End> {
        if self.refusal.is_some() {
            self.received.clear();
        }
        if self.source.is_some() || self.refusal.is_some() {
            return Ok(());
        }
        let Some(hello) = self.received.get(..HELLO_BYTES) else {
            return Ok(());
        };
        let end = match message::read_hello(hello) {
            Ok(end) => end,
            Err(Foreign::NoCopy) => {
                return Err(End::Connection("it is no copy of a journal".to_owned()));
            }
            Err(Foreign::Version) => {
                self.refuse("it is of another version: install the same release on both hosts");
                return Ok(());
            }
        };
        self.received.drain(..HELLO_BYTES);
        // The copy tries again; the refusal is not final.
        if served >= COPIES_MAX {
            return Err(End::Connection(format!(
                "there are {COPIES_MAX} copies already"
            )));
        }
        match Source::new(directory, end.as_ref()) {
            Ok(source) => {
                self.acknowledged = source.position();
                self.source = Some(source);
            }
            Err(error @ JournalError::Copy { .. }) => self.refuse(&error.to_string()),
            // This may pass, so the copy connects again.
            Err(error) => return Err(End::Connection(error.to_string())),
        }
        Ok(())
    }

    /// Sends the reason of a refusal; the connection ends when it is sent.
    fn refuse(&mut self, why: &str) {
        message::put(&mut self.out, Message::Refusal(why));
        self.refusal = Some(why.to_owned());
    }

    /// Adds the frames that the journal gained, after its new end position. Returns the number of frames.
    fn fill(&mut self, time: ReceiveTime) -> Result<usize, End> {
        let source = self.source.as_mut().filter(|_| self.refusal.is_none());
        let Some(source) = source else {
            return Ok(0);
        };
        let mut frames = 0;
        if self.out.len() > WAITING_BYTES_MAX {
            source.look_ahead();
        } else {
            match source.poll(FRAMES_MAX, time.wall_ns, &mut self.out) {
                Ok(polled) => frames = polled,
                Err(error @ JournalError::Copy { .. }) => {
                    self.refuse(&error.to_string());
                    return Ok(0);
                }
                // Other copies may be behind the damage. A start of the writer may mend it, so the copy connects again.
                // mutant: journal: damage that one copy meets ends all of them
                Err(error @ (JournalError::Damaged { .. } | JournalError::Foreign { .. })) => {
                    return Err(End::Connection(error.to_string()));
                }
                Err(error) => return Err(End::Journal(error)),
            }
            if time.mono_ns >= self.alive_ns {
                self.alive_ns = time.mono_ns + ALIVE_NS;
                source.announce_again(time.wall_ns, &mut self.out);
            }
        }
        self.ages.seen(source.end(), time.mono_ns);
        Ok(frames)
    }
}
