//! `touchline journal send`: gives a journal to copies on other hosts.

mod log_lines;
#[cfg(test)]
mod tests;

use super::failed;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use log_lines::LogLines;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_journal::replica::Source;
use touchline_journal::replica::message::{self, HELLO_BYTES, Message};
use touchline_net::Connection;
use touchline_net::stream::Listener;
use touchline_net::tls::Server;
use touchline_relay::config::SendTls;
use touchline_transport::boot_ns;

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
}

const AFTER_HELP: &str = "\
Reads the files of the journal and needs nothing of its writer, which never waits for a copy. Records arrive at a copy after
they were written to the files here, also before the disk of this host has them. A record that was not sent when this host
was lost is not in the copy.

Exit status:
  0  stopped by SIGTERM, Ctrl-C or --until-eof
  1  the address cannot be used, or a file cannot be read
  2  bad arguments
  4  the journal is damaged";

/// The listening port and its connections.
struct Port<'a> {
    directory: &'a Path,
    /// Hosts of copies; any if empty.
    allow: &'a [Ipv4Addr],
    tls: Option<Server>,
    listener: Listener,
    copies: Vec<Copy>,
    log_lines: LogLines,
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
    let listen = arguments.listen;
    let listener = Listener::bind(listen)
        .map_err(|error| Failure::run(format!("cannot listen on {listen}: {error}")))?;
    let place = arguments.directory.display();
    say(&format!("{place}: listening on {}\n", listener.address()))?;
    let mut port = Port {
        directory: &arguments.directory,
        allow: &arguments.allow,
        tls,
        listener,
        copies: Vec::new(),
        log_lines: LogLines::default(),
    };
    while !interrupt.is_asked() {
        let now_ns = boot_ns();
        let is_busy = port.round(now_ns).map_err(failed)?;
        while let Some(line) = port.log_lines.next(now_ns) {
            eprintln!("touchline: {line}");
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

impl Port<'_> {
    /// Accepts connections, and works on each: whether there was something to do.
    fn round(&mut self, now_ns: u64) -> Result<bool, touchline_journal::Error> {
        let mut is_busy = self.accept(now_ns);
        let mut place = 0;
        while place < self.copies.len() {
            let served = self.copies.iter().filter(|copy| !copy.is_pending()).count();
            let copy = &mut self.copies[place];
            let was_pending = copy.is_pending();
            match copy.work(self.directory, served, now_ns) {
                Ok(did) => {
                    if was_pending && let Some(source) = &copy.source {
                        let (from, position) = (copy.from, source.position());
                        let line = format!("the copy at {from} continues at position {position}");
                        self.log_lines.of_copy(line);
                    }
                    is_busy |= did;
                    place += 1;
                }
                Err(End::Connection(reason)) => {
                    let copy = self.copies.swap_remove(place);
                    let line = format!("the copy at {} is disconnected: {reason}", copy.from);
                    match was_pending {
                        true => self.log_lines.of_pending(line),
                        false => self.log_lines.of_copy(line),
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
                let line = format!("a copy at {from} was refused: {why}");
                self.log_lines.of_pending(line);
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
                }),
                Err(error) => {
                    let line = format!("a copy at {from} was refused: {error}");
                    self.log_lines.of_pending(line);
                }
            }
        }
        true
    }

    /// Why a connection of this host is not accepted.
    fn refusal(&self, from: Ipv4Addr) -> Option<String> {
        // mutant: journal send: with TLS every address is accepted
        if !self.allow.is_empty() && !self.allow.contains(&from) {
            return Some("not in --allow".to_owned());
        }
        let pending = self.copies.iter().filter(|copy| copy.is_pending());
        // mutant: journal send: one address can take every place of pending connections
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
        let frames = self.fill(now_ns)?;
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        if let Some(why) = self.refusal.take_if(|_| self.out.is_empty()) {
            return Err(End::Connection(format!("it was refused: {why}")));
        }
        // Also a connection that sends one byte every second.
        if self.is_pending() && now_ns >= self.hello_until_ns {
            return Err(End::Connection("it sent no hello in time".to_owned()));
        }
        Ok(count > 0 || frames > 0 || sent > 0)
    }

    /// Finds the place of the copy in the journal, once it has said where it ends. Later it acknowledges positions, which show
    /// that it lives.
    fn begin(&mut self, directory: &Path, served: usize) -> Result<(), End> {
        if self.source.is_some() || self.refusal.is_some() {
            self.received.clear();
            return Ok(());
        }
        let Some(hello) = self.received.get(..HELLO_BYTES) else {
            return Ok(());
        };
        let end = message::read_hello(hello)
            .map_err(|_| End::Connection("it is no copy of a journal".to_owned()))?;
        // It tries again, and is not refused for good.
        if served >= COPIES_MAX {
            return Err(End::Connection(format!(
                "there are {COPIES_MAX} copies already"
            )));
        }
        match Source::new(directory, end.as_ref()) {
            Ok(source) => self.source = Some(source),
            Err(error) => {
                let text = error.to_string();
                message::put(&mut self.out, Message::Refusal(&text));
                self.refusal = Some(text);
            }
        }
        Ok(())
    }

    /// Adds what was written meanwhile: the number of frames.
    fn fill(&mut self, now_ns: u64) -> Result<usize, End> {
        let Some(source) = &mut self.source else {
            return Ok(0);
        };
        if self.out.len() > WAITING_BYTES_MAX {
            return Ok(0);
        }
        let frames = source
            .poll(FRAMES_MAX, &mut self.out)
            .map_err(End::Journal)?;
        if now_ns >= self.alive_ns {
            self.alive_ns = now_ns + ALIVE_NS;
            message::put(&mut self.out, Message::Position(source.position()));
        }
        Ok(frames)
    }
}
