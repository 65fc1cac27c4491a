//! `touchline journal send`: gives a journal to copies on other hosts.

#[cfg(test)]
mod tests;

use super::counters::{Counted, CountersAtInterval, SourceCounters};
use super::lag::{Ages, Change, Lag};
use super::{LogLine, failed};
use crate::interrupt::Interrupt;
use crate::log::{Field, Log, LogArguments, events};
use crate::output::{Failure, say};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_journal::replica::Source;
use touchline_journal::replica::message::{self, Foreign, HELLO_BYTES, Message};
use touchline_net::Connection;
use touchline_net::stream::Listener;
use touchline_net::tls::Server;
use touchline_relay::config::SendTls;
use touchline_transport::boot_ns;
use touchline_transport::clock::wall_ns;

/// Most copies at a time. A connection is a copy from its hello on, which follows the TLS handshake.
const COPIES_MAX: usize = 8;
/// Most connections without a hello.
const PENDING_MAX: usize = 32;
/// Most connections of one address without a hello.
const PENDING_PER_ADDRESS_MAX: usize = 4;
/// Most connections that a round takes from the kernel.
const ACCEPTS_MAX: usize = 16;
/// Longest wait for the hello, TLS handshake included.
const HELLO_NS: u64 = 5_000_000_000;
/// Bytes that may wait for a slow copy; it gets no more until they are sent.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Bytes of an acknowledgement.
const ACK_BYTES: usize = 8;
/// Most frames in one look at the journal.
const FRAMES_MAX: usize = 256;
/// The source says at this interval that it is alive.
const ALIVE_NS: u64 = 100_000_000;
/// A copy that says nothing for this time is disconnected.
const SILENCE_NS: u64 = 5_000_000_000;
/// Wait of a round without work.
const IDLE: Duration = Duration::from_micros(200);

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Send {
    /// Directory of the journal; it need not exist yet.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Listen for copies on this address.
    #[arg(long, value_name = "IP:PORT")]
    listen: SocketAddrV4,
    /// Accept copies on this host only; may be repeated. Required without TLS, possible with it.
    #[arg(long, value_name = "IP")]
    allow: Vec<Ipv4Addr>,
    /// TLS: the certificate of this host, followed by its chain (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["key_file", "client_roots_file"])]
    certificate_file: Option<PathBuf>,
    /// TLS: the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate_file")]
    key_file: Option<PathBuf>,
    /// TLS: issuers of the copies' certificates (PEM); a copy without one is refused.
    #[arg(long, value_name = "FILE", requires = "certificate_file")]
    client_roots_file: Option<PathBuf>,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    counted: Counted,
    #[command(flatten)]
    log: LogArguments,
}

/// Name of its counters.
const NAME: &str = "journal-send";

const AFTER_HELP: &str = "\
Example:
  touchline journal send orders --listen 127.0.0.1:7800 --allow 127.0.0.1

Reads the files of the journal and needs nothing of its writer, which never waits for a copy. Records arrive at a copy after
they were written to the files here, also before the disk of this host has them. A record that was not sent when this host
was lost is not in the copy. `touchline stat journal-send` shows the copies, and how many bytes of the journal are not on the disk
of the one that is most behind.

Exit status:
  0  stopped by SIGTERM, Ctrl-C or --until-eof
  1  the address cannot be used, or a file cannot be read
  2  bad arguments
  4  the journal is damaged";

/// The listening port and its connections.
pub(super) struct Port<'a> {
    directory: &'a Path,
    /// Hosts of copies; any if empty.
    allow: &'a [Ipv4Addr],
    tls: Option<Server>,
    listener: Listener,
    copies: Vec<Copy>,
    /// Position behind the last record that was read for a copy.
    position: u64,
    lost: u64,
    refused: u64,
    /// Lines for the log.
    pub(super) said: Vec<LogLine>,
}

/// A connection; a copy from its hello on.
struct Copy {
    from: SocketAddrV4,
    connection: Connection,
    received: Vec<u8>,
    /// Known once it has said where it ends.
    source: Option<Source>,
    out: Vec<u8>,
    /// Why it gets nothing.
    refusal: Option<String>,
    /// Deadline of the hello.
    hello_until_ns: u64,
    heard_ns: u64,
    alive_ns: u64,
    /// Position up to which it is on the copy's disk.
    acknowledged: u64,
    ages: Ages,
    lag: Lag,
}

/// Sends until it is stopped.
pub fn run(arguments: &Send) -> Result<(), Failure> {
    let tls = server(arguments)?;
    if tls.is_none() && arguments.allow.is_empty() {
        return Err(Failure::usage(
            "who may have the journal? Give --certificate-file, --key-file and --client-roots-file, or --allow IP without TLS",
        ));
    }
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let mut log = Log::to_stderr(arguments.log, Vec::new());
    let outcome = serve(arguments, tls, &interrupt, &mut log);
    log.finish();
    outcome.map_err(|failure| failure.logged(&mut log))
}

fn serve(
    arguments: &Send,
    tls: Option<Server>,
    interrupt: &Interrupt,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut counters = arguments.counted.create(NAME, SourceCounters::TABLE)?;
    let listen = arguments.listen;
    let listener = Listener::bind(listen)
        .map_err(|error| Failure::run(format!("cannot listen on {listen}: {error}")))?;
    let place = arguments.directory.display();
    say(&format!("{place}: listening on {}\n", listener.address()))?;
    let mut port = Port::new(&arguments.directory, &arguments.allow, tls, listener);
    while !interrupt.is_asked() {
        let now_ns = boot_ns();
        let is_busy = port.round(now_ns).map_err(failed)?;
        for (event, fields) in port.said.drain(..) {
            log.write(event, fields);
        }
        if counters.is_due(now_ns) {
            port.show(&mut counters, now_ns);
            log.flush();
        }
        if !is_busy {
            std::thread::sleep(IDLE);
        }
    }
    Ok(())
}

fn server(arguments: &Send) -> Result<Option<Server>, Failure> {
    let files = (
        &arguments.certificate_file,
        &arguments.key_file,
        &arguments.client_roots_file,
    );
    let (Some(certificate), Some(key), Some(roots)) = files else {
        return Ok(None);
    };
    let tls = SendTls {
        certificate_file: certificate.clone(),
        key_file: key.clone(),
        client_roots_file: roots.clone(),
    };
    tls.server().map(Some).map_err(Failure::usage)
}

impl<'a> Port<'a> {
    pub(super) fn new(
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
            said: Vec::new(),
        }
    }

    /// Writes the counters.
    fn show(&mut self, counters: &mut CountersAtInterval, now_ns: u64) {
        counters.show(self.counters(now_ns).counts());
    }

    pub(super) fn counters(&mut self, now_ns: u64) -> SourceCounters {
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

    /// Accepts connections, and works on each: whether there was something to do.
    pub(super) fn round(&mut self, now_ns: u64) -> Result<bool, touchline_journal::Error> {
        let mut is_busy = self.accept(now_ns);
        let mut place = 0;
        while place < self.copies.len() {
            let served = self.copies.iter().filter(|copy| !copy.is_pending()).count();
            let copy = &mut self.copies[place];
            let was_pending = copy.is_pending();
            match copy.work(self.directory, served, now_ns) {
                Ok(did) => {
                    let end = copy.source.as_ref().map_or(0, Source::end);
                    self.position = self.position.max(end);
                    self.said.extend(copy.events(was_pending));
                    is_busy |= did;
                    place += 1;
                }
                Err(End::Connection(reason)) => {
                    let copy = self.copies.swap_remove(place);
                    match was_pending {
                        true => self.refuse(copy.from, reason),
                        false => {
                            self.lost += 1;
                            let fields = vec![of_copy(copy.from), ("reason", reason.into())];
                            self.said.push((&events::JOURNAL_SEND_LOST, fields));
                        }
                    }
                }
                Err(End::Journal(error)) => return Err(error),
            }
        }
        Ok(is_busy)
    }

    /// Accepts connections of hosts that may have the journal, within the limits of those without a hello: whether there were
    /// any.
    fn accept(&mut self, now_ns: u64) -> bool {
        for taken in 0..ACCEPTS_MAX {
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            if let Some(why) = self.refusal(*from.ip()) {
                self.refuse(from, why);
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
                Err(error) => self.refuse(from, error.to_string()),
            }
        }
        true
    }

    /// Counts a connection that was refused or ended before it was that of a copy. Any host that reaches the port can cause this, so
    /// the event is a limited one.
    fn refuse(&mut self, from: SocketAddrV4, reason: String) {
        self.refused += 1;
        let fields = vec![of_copy(from), ("reason", reason.into())];
        self.said.push((&events::JOURNAL_SEND_REFUSED, fields));
    }

    /// Why a connection of this host is not accepted.
    fn refusal(&self, from: Ipv4Addr) -> Option<String> {
        if !self.allow.is_empty() && !self.allow.contains(&from) {
            return Some("not in --allow".to_owned());
        }
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

fn of_copy(from: SocketAddrV4) -> Field {
    ("copy", from.to_string().into())
}

/// Why a round ends.
enum End {
    Connection(String),
    Journal(touchline_journal::Error),
}

impl Copy {
    /// Whether it has not said yet where it ends, or is refused.
    fn is_pending(&self) -> bool {
        self.source.is_none()
    }

    /// Reads, and sends what the copy lacks: whether there was something to do. `served` is the number of copies.
    fn work(&mut self, directory: &Path, served: usize, now_ns: u64) -> Result<bool, End> {
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
        let frames = self.fill(now_ns)?;
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        if let Some(why) = self.refusal.take_if(|_| self.out.is_empty()) {
            return Err(End::Connection(why));
        }
        // Also a connection that sends one byte every second.
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

    /// What the log gets of a round.
    fn events(&mut self, was_pending: bool) -> Vec<LogLine> {
        let mut said = Vec::new();
        if self.is_pending() {
            return said;
        }
        let (from, behind) = (of_copy(self.from), self.behind());
        if was_pending {
            let fields = vec![from.clone(), ("position", self.acknowledged.into())];
            said.push((&events::JOURNAL_SEND_CONNECTED, fields));
        }
        let event = match self.lag.change(behind) {
            Some(Change::FellBehind) => &events::JOURNAL_SEND_BEHIND,
            Some(Change::CaughtUp) => &events::JOURNAL_SEND_CAUGHT_UP,
            None => return said,
        };
        said.push((event, vec![from, ("lag_bytes", behind.into())]));
        said
    }

    /// The last position that the copy says it has on its disk.
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

    /// Finds the place of the copy in the journal, once it has said where it ends.
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
        // It tries again, and is not refused for good.
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
            Err(error) => self.refuse(&error.to_string()),
        }
        Ok(())
    }

    /// Says why it gets nothing, and ends when that is sent.
    fn refuse(&mut self, why: &str) {
        message::put(&mut self.out, Message::Refusal(why));
        self.refusal = Some(why.to_owned());
    }

    /// Adds what was written meanwhile, behind the position of the journal's end: the number of frames.
    fn fill(&mut self, now_ns: u64) -> Result<usize, End> {
        let Some(source) = &mut self.source else {
            return Ok(0);
        };
        let mut frames = 0;
        if self.out.len() > WAITING_BYTES_MAX {
            source.look_ahead();
        } else {
            let time_ns = wall_ns();
            let polled = source.poll(FRAMES_MAX, time_ns, &mut self.out);
            frames = polled.map_err(End::Journal)?;
            if now_ns >= self.alive_ns {
                self.alive_ns = now_ns + ALIVE_NS;
                source.announce_again(time_ns, &mut self.out);
            }
        }
        self.ages.seen(source.end(), now_ns);
        Ok(frames)
    }
}
