//! `touchline journal send`: gives a journal to copies on other hosts.

use super::failed;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
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

/// Most copies at a time.
const COPIES_MAX: usize = 8;
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
    /// Accept a copy on this host, without TLS; may be repeated.
    #[arg(long, value_name = "IP", conflicts_with = "certificate_file")]
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

/// A copy.
struct Copy {
    from: SocketAddrV4,
    connection: Connection,
    received: Vec<u8>,
    /// Known once it has said where it ends.
    source: Option<Source>,
    out: Vec<u8>,
    is_refused: bool,
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
    let mut listener = Listener::bind(listen)
        .map_err(|error| Failure::run(format!("cannot listen on {listen}: {error}")))?;
    let place = arguments.directory.display();
    say(&format!("{place}: listening on {}\n", listener.address()))?;
    let mut copies: Vec<Copy> = Vec::new();
    while !interrupt.is_asked() {
        let now_ns = boot_ns();
        if let Some(copy) = accept(&mut listener, arguments, tls.as_ref(), copies.len(), now_ns) {
            copies.push(copy);
        }
        let mut is_idle = true;
        let mut place = 0;
        while place < copies.len() {
            match copies[place].work(&arguments.directory, now_ns) {
                Ok(did) => {
                    is_idle &= !did;
                    place += 1;
                }
                Err(End::Connection(reason)) => {
                    let from = copies.swap_remove(place).from;
                    eprintln!("touchline: the copy at {from} is disconnected: {reason}");
                }
                Err(End::Journal(error)) => return Err(failed(error)),
            }
        }
        if is_idle {
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

/// The next connection, if its host may have the journal.
fn accept(
    listener: &mut Listener,
    arguments: &Send,
    tls: Option<&Server>,
    count: usize,
    now_ns: u64,
) -> Option<Copy> {
    let (stream, from) = listener.accept().ok()??;
    let is_allowed = tls.is_some() || arguments.allow.contains(from.ip());
    if !is_allowed || count >= COPIES_MAX {
        let why = match is_allowed {
            true => format!("there are {COPIES_MAX} copies already"),
            false => "not in --allow".to_owned(),
        };
        eprintln!("touchline: a copy at {from} was refused: {why}");
        return None;
    }
    let connection = Connection::accept(stream, tls, now_ns + SILENCE_NS).ok()?;
    Some(Copy {
        from,
        connection,
        received: Vec::new(),
        source: None,
        out: Vec::new(),
        is_refused: false,
        heard_ns: now_ns,
        alive_ns: now_ns,
    })
}

/// Why a round ends.
enum End {
    Connection(String),
    Journal(touchline_journal::Error),
}

impl Copy {
    /// Reads, and sends what the copy lacks: whether there was something to do.
    fn work(&mut self, directory: &Path, now_ns: u64) -> Result<bool, End> {
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
        self.begin(directory)?;
        let frames = self.fill(now_ns)?;
        let sent = self.connection.send(&self.out).map_err(lost)?;
        self.out.drain(..sent);
        if self.is_refused && self.out.is_empty() {
            return Err(End::Connection("it was refused".to_owned()));
        }
        Ok(count > 0 || frames > 0 || sent > 0)
    }

    /// Finds the place of the copy in the journal, once it has said where it ends. Later it acknowledges positions, which show
    /// that it lives.
    fn begin(&mut self, directory: &Path) -> Result<(), End> {
        if self.source.is_some() || self.is_refused {
            self.received.clear();
            return Ok(());
        }
        let Some(hello) = self.received.get(..HELLO_BYTES) else {
            return Ok(());
        };
        let end = message::read_hello(hello)
            .map_err(|_| End::Connection("it is no copy of a journal".to_owned()))?;
        match Source::new(directory, end.as_ref()) {
            Ok(source) => {
                eprintln!(
                    "touchline: the copy at {} continues at position {}",
                    self.from,
                    source.position()
                );
                self.source = Some(source);
            }
            Err(error) => {
                let text = error.to_string();
                eprintln!("touchline: the copy at {} is refused: {text}", self.from);
                message::put(&mut self.out, Message::Refusal(&text));
                self.is_refused = true;
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
