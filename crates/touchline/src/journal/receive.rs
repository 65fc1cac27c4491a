//! `touchline journal receive`: a copy of a journal of another host.

use super::failed;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use touchline_journal::Error;
use touchline_journal::replica::Replica;
use touchline_journal::replica::message::{self, Message};
use touchline_net::Connection;
use touchline_net::tls::Client;
use touchline_relay::config::ReceiveTls;
use touchline_transport::boot_ns;

/// Connect timeout, TLS handshake included.
const CONNECT_NS: u64 = 3_000_000_000;
/// Wait before the next attempt.
const RETRY_NS: u64 = 500_000_000;
/// A source that says nothing for this time is gone.
const SILENCE_NS: u64 = 3_000_000_000;
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
    /// Print position and delay every N seconds.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every_s: u64,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
}

const AFTER_HELP: &str = "\
Every record is verified before it is written, and synced; the copy is a journal that every command reads. It continues
where it ended after a restart of either side. While this runs, no engine can start from the copy: stop it before
`touchline fx promote`.

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
    heard_ns: u64,
    alive_ns: u64,
}

/// Why a connection ends.
enum End {
    /// It is made again.
    Connection(String),
    /// Nothing can be done here.
    Copy(Failure),
}

/// Receives until it is stopped.
pub fn run(arguments: &Receive) -> Result<(), Failure> {
    let tls = client(arguments)?;
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let mut copy = Replica::open(&arguments.directory).map_err(failed)?;
    let place = arguments.directory.display().to_string();
    say(&format!(
        "{place}: a copy up to position {}\n",
        copy.position()
    ))?;
    let (mut link, mut retry_ns, mut source_position) = (None, 0, 0);
    let every_ns = arguments.every_s * 1_000_000_000;
    let mut said_ns = boot_ns();
    while !interrupt.is_asked() {
        let now_ns = boot_ns();
        if link.is_none() && now_ns >= retry_ns {
            retry_ns = now_ns + RETRY_NS;
            match Link::connect(&arguments.source, tls.as_ref(), now_ns) {
                Ok(connected) => link = Some(connected),
                Err(reason) => lost(&arguments.source, &reason),
            }
        }
        let worked = match &mut link {
            Some(link) => link.work(&mut copy, &mut source_position, now_ns),
            None => Ok(false),
        };
        match worked {
            Ok(true) => {}
            Ok(false) => std::thread::sleep(IDLE),
            Err(End::Connection(reason)) => {
                link = None;
                lost(&arguments.source, &reason);
            }
            Err(End::Copy(failure)) => return Err(failure),
        }
        if now_ns >= said_ns + every_ns {
            said_ns = now_ns;
            let behind = source_position.saturating_sub(copy.position());
            let state = match &link {
                Some(link) if link.has_begun => "connected",
                _ => "not connected",
            };
            say(&format!(
                "{place}: {state}, epoch {}, position {}, {behind} bytes behind, next record {}\n",
                copy.epoch(),
                copy.position(),
                copy.next_sequence(),
            ))?;
        }
    }
    copy.sync().map_err(failed)
}

fn lost(source: &str, reason: &str) {
    eprintln!("touchline: {source}: {reason}; trying again");
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
            heard_ns: now_ns,
            alive_ns: 0,
        })
    }

    /// Reads and writes what is there: whether there was something.
    fn work(
        &mut self,
        copy: &mut Replica,
        source_position: &mut u64,
        now_ns: u64,
    ) -> Result<bool, End> {
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
        } else if now_ns.saturating_sub(self.heard_ns) > SILENCE_NS {
            return Err(End::Connection("the source is silent".to_owned()));
        }
        let before = copy.position();
        self.apply(copy, source_position)?;
        if copy.position() != before || now_ns >= self.alive_ns {
            copy.sync().map_err(|error| End::Copy(failed(error)))?;
            self.alive_ns = now_ns + ALIVE_NS;
            self.out.extend(copy.position().to_le_bytes());
        }
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        Ok(count > 0 || sent > 0)
    }

    /// Writes what has come whole.
    fn apply(&mut self, copy: &mut Replica, source_position: &mut u64) -> Result<(), End> {
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
                Message::Position(position) => *source_position = position,
                Message::Refusal(text) => {
                    let text = format!("the source refuses this copy: {text}");
                    return Err(End::Copy(Failure::run(text)));
                }
            }
            at += length;
        }
        self.received.drain(..at);
        Ok(())
    }
}

/// What does not hold may have been damaged on its way, and is asked for again.
fn refused(error: Error) -> End {
    match error {
        Error::Copy { .. } => End::Connection(error.to_string()),
        error => End::Copy(failed(error)),
    }
}
