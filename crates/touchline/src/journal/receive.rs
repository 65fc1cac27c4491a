//! `touchline journal receive`: a copy of a journal of another host.

use super::counters::{CopyCounters, Counted};
use super::lag::{Change, Lag};
use super::{LogLine, failed};
use crate::interrupt::Interrupt;
use crate::log::{Log, LogArguments, events};
use crate::output::{Failure, say};
use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use touchline_journal::Error;
use touchline_journal::replica::message::{self, Message};
use touchline_journal::replica::{Replica, SourceStatus};
use touchline_net::Connection;
use touchline_net::tls::Client;
use touchline_relay::config::ReceiveTls;
use touchline_transport::boot_ns;
use touchline_wire::sbe::UtcTime;

/// Connect timeout, TLS handshake included.
const CONNECT_NS: u64 = 3_000_000_000;
/// Wait before the next attempt.
const RETRY_NS: u64 = 500_000_000;
/// A source that says nothing for this time is gone.
const SILENCE_NS: u64 = 3_000_000_000;
/// Longest time for one message: a source that sends a byte now and then would hold the copy for ever.
const MESSAGE_NS: u64 = 10_000_000_000;
/// The copy says at this interval that it is alive.
const ALIVE_NS: u64 = 100_000_000;
/// Bytes of one read.
const READ_BYTES: usize = 256 << 10;
/// Wait of a round without work.
const IDLE: Duration = Duration::from_micros(200);

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Receive {
    /// Host and port of `touchline journal send`.
    #[arg(value_name = "HOST:PORT")]
    source: String,
    /// Directory of the copy; created if it is missing.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// TLS: trusted issuers of the source's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["certificate_file", "key_file"])]
    roots_file: Option<PathBuf>,
    /// TLS: the certificate of this host, followed by its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "roots_file")]
    certificate_file: Option<PathBuf>,
    /// TLS: the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "roots_file")]
    key_file: Option<PathBuf>,
    /// TLS: name in the source's certificate; by default the host.
    #[arg(long, value_name = "NAME", requires = "roots_file")]
    server_name: Option<String>,
    /// Print position and distance from the source every N seconds.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every_s: u64,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
    #[command(flatten)]
    counted: Counted,
    #[command(flatten)]
    log: LogArguments,
}

/// Name of its counters.
const NAME: &str = "journal-receive";

const AFTER_HELP: &str = "\
Example:
  touchline journal receive 127.0.0.1:7800 copy

Every record is verified before it is written, and synced; the copy is a journal that every command reads. It continues
where it ended after a restart of either side. While this runs, no engine can start from the copy: stop it before
`touchline fx promote`.

`touchline stat journal-receive` shows how many bytes of the journal are not on the disk here. The source says where its journal
ends before it sends the records up to there. Its last status stays in the directory, for `touchline fx promote --check`.

Exit status:
  0  stopped by SIGTERM, Ctrl-C or --until-eof
  1  the source refuses this copy, another process writes it, or a file cannot be written
  2  bad arguments";

/// A connection to the source.
struct Link {
    connection: Connection,
    received: Vec<u8>,
    out: Vec<u8>,
    has_begun: bool,
    /// Whether the source has said where its journal ends.
    is_heard: bool,
    heard_ns: u64,
    alive_ns: u64,
    /// When the message that has come in part was begun.
    begun_ns: Option<u64>,
}

/// Why a connection ends.
enum End {
    /// It is made again.
    Connection(String),
    /// Nothing can be done here.
    Copy(Failure),
}

/// A copy, its connection, and what is known of its source.
pub(super) struct Receiver<'a> {
    source: &'a str,
    tls: Option<Client>,
    pub(super) copy: Replica,
    link: Option<Link>,
    retry_ns: u64,
    word: LastWord,
    connections: u64,
    /// Reason of the last line about a lost connection, since the source was heard.
    lost: Option<String>,
    lag: Lag,
    /// Lines for the log.
    pub(super) said: Vec<LogLine>,
}

/// What the source said last.
#[derive(Default)]
struct LastWord {
    status: SourceStatus,
    /// When it was received, or the start.
    heard_ns: u64,
    /// Whether it was received since it was noted in the directory.
    is_new: bool,
}

/// Receives until it is stopped.
pub fn run(arguments: &Receive) -> Result<(), Failure> {
    let tls = client(arguments)?;
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
    arguments: &Receive,
    tls: Option<Client>,
    interrupt: &Interrupt,
    log: &mut Log,
) -> Result<(), Failure> {
    let mut counters = arguments.counted.create(NAME, CopyCounters::TABLE)?;
    let copy = Replica::open(&arguments.directory).map_err(failed)?;
    let place = arguments.directory.display().to_string();
    say(&format!(
        "{place}: a copy up to position {}\n",
        copy.position()
    ))?;
    let mut receiver = Receiver::new(&arguments.source, tls, copy);
    let every_ns = arguments.every_s * 1_000_000_000;
    let mut said_ns = boot_ns();
    while !interrupt.is_asked() {
        let now_ns = boot_ns();
        if !receiver.round(now_ns)? {
            std::thread::sleep(IDLE);
        }
        for (event, fields) in receiver.said.drain(..) {
            log.write(event, fields);
        }
        if counters.is_due(now_ns) {
            counters.show(receiver.counters(now_ns).counts());
            receiver.note()?;
            log.flush();
        }
        if now_ns >= said_ns + every_ns {
            said_ns = now_ns;
            say(&format!("{place}: {}\n", receiver.state()))?;
        }
    }
    receiver.note()?;
    receiver.copy.sync().map_err(failed)
}

impl<'a> Receiver<'a> {
    pub(super) fn new(source: &'a str, tls: Option<Client>, mut copy: Replica) -> Receiver<'a> {
        let word = LastWord {
            status: copy.source_status(),
            heard_ns: boot_ns(),
            is_new: false,
        };
        Receiver {
            source,
            tls,
            copy,
            link: None,
            retry_ns: 0,
            word,
            connections: 0,
            lost: None,
            lag: Lag::default(),
            said: Vec::new(),
        }
    }

    /// Connects if it is not connected, and works on the connection: whether there was something to do.
    pub(super) fn round(&mut self, now_ns: u64) -> Result<bool, Failure> {
        if self.link.is_none() && now_ns >= self.retry_ns {
            self.retry_ns = now_ns + RETRY_NS;
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
                self.copy.sync().map_err(failed)?;
                Ok(false)
            }
            Err(End::Copy(failure)) => Err(failure),
        }
    }

    fn connected(&mut self) {
        self.connections += 1;
        self.lost = None;
        let fields = [
            ("source", self.source.into()),
            ("position", self.copy.position().into()),
            ("source_position", self.word.status.position.into()),
        ];
        let line = (&events::JOURNAL_RECEIVE_CONNECTED, fields.into());
        self.said.push(line);
    }

    /// One line for each reason: it is tried twice a second.
    fn lose(&mut self, reason: String) {
        if self.lost.as_ref() == Some(&reason) {
            return;
        }
        let fields = [
            ("source", self.source.into()),
            ("reason", reason.as_str().into()),
            ("retry_ms", (RETRY_NS / 1_000_000).into()),
        ];
        self.said
            .push((&events::JOURNAL_RECEIVE_LOST, fields.into()));
        self.lost = Some(reason);
    }

    fn look_at_lag(&mut self) {
        let behind = self.behind();
        let event = match self.lag.change(behind) {
            Some(Change::FellBehind) => &events::JOURNAL_RECEIVE_BEHIND,
            Some(Change::CaughtUp) => &events::JOURNAL_RECEIVE_CAUGHT_UP,
            None => return,
        };
        let fields = [("source", self.source.into()), ("lag_bytes", behind.into())];
        self.said.push((event, fields.into()));
    }

    /// Notes the last status of the source in the directory of the copy.
    pub(super) fn note(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.word.is_new) {
            self.word.status.source = self.source.to_owned();
            let noted = self.copy.note_source(&self.word.status);
            noted.map_err(failed)?;
        }
        Ok(())
    }

    /// Bytes that the source had as of its last status, and that are not on the disk here.
    fn behind(&self) -> u64 {
        self.word.status.missing(self.copy.position())
    }

    fn is_connected(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_heard)
    }

    pub(super) fn counters(&self, now_ns: u64) -> CopyCounters {
        CopyCounters {
            journal_copy_connected: u64::from(self.is_connected()),
            journal_copy_connections: self.connections,
            journal_copy_position: self.copy.position(),
            journal_copy_source_position: self.word.status.position,
            journal_copy_behind: self.behind(),
            journal_copy_silent_ns: now_ns.saturating_sub(self.word.heard_ns),
        }
    }

    /// State as a line.
    pub(super) fn state(&self) -> String {
        let (status, behind) = (&self.word.status, self.behind());
        let (state, distance) = match (self.is_connected(), status.is_heard()) {
            (true, _) => ("connected", format!("{behind} bytes behind")),
            (false, true) => {
                let said = UtcTime(status.said_ns);
                (
                    "not connected",
                    format!("{behind} bytes behind the source of {said}"),
                )
            }
            (false, false) => ("not connected", "its source was never heard".to_owned()),
        };
        format!(
            "{state}, epoch {}, position {}, {distance}, next record {}",
            self.copy.epoch(),
            self.copy.position(),
            self.copy.next_sequence(),
        )
    }
}

fn client(arguments: &Receive) -> Result<Option<Client>, Failure> {
    let files = (
        &arguments.roots_file,
        &arguments.certificate_file,
        &arguments.key_file,
    );
    let (Some(roots), Some(certificate), Some(key)) = files else {
        return Ok(None);
    };
    let tls = ReceiveTls {
        server_name: arguments.server_name.clone(),
        roots_file: roots.clone(),
        pins: Vec::new(),
        certificate_file: certificate.clone(),
        key_file: key.clone(),
    };
    let host = arguments.source.rsplit_once(':');
    let host = host.map_or(arguments.source.as_str(), |(host, _)| host);
    tls.client(host).map(Some).map_err(Failure::usage)
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

    /// Reads and writes what is there: whether there was something.
    fn work(&mut self, copy: &mut Replica, word: &mut LastWord, now_ns: u64) -> Result<bool, End> {
        let lost = |error: touchline_net::stream::Error| End::Connection(error.to_string());
        if !self.connection.is_ready(now_ns).map_err(lost)? {
            return Ok(false);
        }
        if !self.has_begun {
            self.has_begun = true;
            let end = copy.end().map_err(|error| End::Copy(failed(error)))?;
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
            word.heard_ns = now_ns;
        } else if now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            return Err(End::Connection("the source is silent".to_owned()));
        }
        let before = copy.position();
        let is_whole = self.apply(copy, word)?;
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
            copy.sync().map_err(|error| End::Copy(failed(error)))?;
            self.alive_ns = now_ns + ALIVE_NS;
            self.out.extend(copy.position().to_le_bytes());
        }
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        Ok(count > 0 || sent > 0)
    }

    /// Writes what has come whole: whether there was a message.
    fn apply(&mut self, copy: &mut Replica, word: &mut LastWord) -> Result<bool, End> {
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
                    (word.status.position, word.status.said_ns) = (position, time_ns);
                }
                Message::Refusal(text) => {
                    let text = format!("the source refuses this copy: {text}");
                    return Err(End::Copy(Failure::run(text)));
                }
            }
            at += length;
        }
        self.received.drain(..at);
        Ok(at > 0)
    }
}

/// What does not hold may have been damaged on its way, and is asked for again.
fn refused(error: Error) -> End {
    match error {
        Error::Copy { .. } => End::Connection(error.to_string()),
        error => End::Copy(failed(error)),
    }
}
