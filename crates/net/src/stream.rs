//! A TCP connection of a client that never waits.
//!
//! For conversations beside the path: each call does what can be done at once and returns. The
//! buffers are the caller's, and so is the clock; names are not resolved.

mod listener;

pub use listener::Listener;

use crate::tls::{Client, Refusal, Tls};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::net::SocketAddrV4;

/// A connection that is being made, or made.
///
/// Dropped, it is closed at once, with whatever was not read or sent.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Until when the connection must stand; `None` once it does.
    until_ns: Option<u64>,
}

/// Why a connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It did not stand in time.
    #[error("connection timed out")]
    TimedOut,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// The other side has closed it.
    #[error("connection reset or closed by the other side")]
    Closed,
    /// Of TLS.
    #[error("TLS: {0}")]
    Tls(Refusal),
    /// The system's error of this number.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Failed(i32),
}

impl Stream {
    /// Begins to connect. The connection must stand at `until_ns`, of whatever clock
    /// [`Stream::is_connected`] is given.
    ///
    /// # Errors
    /// There is no route, or the process cannot open more sockets.
    pub fn connect(to: SocketAddrV4, until_ns: u64) -> Result<Stream, Error> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::IPV4, kind, Some(Protocol::TCP)).map_err(error)?;
        // What is sent is short, and answered: it need not wait to be more.
        socket.set_tcp_nodelay(true).map_err(error)?;
        match socket.connect(&to.into()) {
            Err(failed) if failed.raw_os_error() != Some(libc::EINPROGRESS) => Err(error(failed)),
            _ => Ok(Stream {
                socket,
                until_ns: Some(until_ns),
            }),
        }
    }

    /// Whether the connection stands.
    ///
    /// # Errors
    /// It cannot be made, or did not stand in time.
    pub fn is_connected(&mut self, now_ns: u64) -> Result<bool, Error> {
        let Some(until_ns) = self.until_ns else {
            return Ok(true);
        };
        if let Some(failed) = self.socket.take_error().map_err(error)? {
            return Err(error(failed));
        }
        // A connection has another end once it stands.
        if self.socket.peer_addr().is_ok() {
            self.until_ns = None;
            return Ok(true);
        }
        match now_ns >= until_ns {
            true => Err(Error::TimedOut),
            false => Ok(false),
        }
    }

    /// Hands over as much of `bytes` as the system takes now, and says how many; 0 if none.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        // A connection closed by the peer must not end our process with SIGPIPE.
        at_once(self.socket.send_with_flags(bytes, libc::MSG_NOSIGNAL))
    }

    /// Reads what is there into `room`, and says how much; 0 if nothing is there, or no room.
    ///
    /// # Errors
    /// The connection is gone, or closed by the other side and read to its end.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        if room.is_empty() {
            return Ok(0);
        }
        match (&self.socket).read(room) {
            Ok(0) => Err(Error::Closed),
            read => at_once(read),
        }
    }
}

/// No data at present is not an error.
fn at_once(done: io::Result<usize>) -> Result<usize, Error> {
    match done {
        Err(failed) => match failed.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
            _ => Err(error(failed)),
        },
        Ok(bytes) => Ok(bytes),
    }
}

fn error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Error::Refused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Error::Closed,
        io::ErrorKind::TimedOut => Error::TimedOut,
        _ => Error::Failed(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// A connection of a client, with TLS or without, in the same calls.
#[derive(Debug)]
pub enum Connection {
    /// As the bytes are.
    Plain(Stream),
    /// Encrypted, to a server that has proved its name.
    Tls(Box<Tls>),
}

impl Connection {
    /// Begins to connect, with TLS if there is a client for it. All must stand at `until_ns`, of
    /// whatever clock [`Connection::is_ready`] is given.
    ///
    /// # Errors
    /// There is no route, or the process cannot open more sockets.
    pub fn connect(
        to: SocketAddrV4,
        tls: Option<&Client>,
        until_ns: u64,
    ) -> Result<Connection, Error> {
        let stream = Stream::connect(to, until_ns)?;
        Ok(match tls {
            None => Connection::Plain(stream),
            Some(client) => Connection::Tls(Box::new(Tls::over(stream, client, until_ns)?)),
        })
    }

    /// Whether it can be talked on: with TLS, the other side has proved who it is.
    ///
    /// # Errors
    /// It cannot be made, did not stand in time, or the two sides do not talk.
    pub fn is_ready(&mut self, now_ns: u64) -> Result<bool, Error> {
        match self {
            Connection::Plain(stream) => stream.is_connected(now_ns),
            Connection::Tls(tls) => tls.is_ready(now_ns),
        }
    }

    /// Hands over as much of `bytes` as is taken now, and says how many; 0 if none.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        match self {
            Connection::Plain(stream) => stream.send(bytes),
            Connection::Tls(tls) => tls.send(bytes),
        }
    }

    /// Reads what is there into `room`, and says how much; 0 if nothing is there, or no room.
    ///
    /// # Errors
    /// The connection is gone, or closed by the other side and read to its end.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        match self {
            Connection::Plain(stream) => stream.receive(room),
            Connection::Tls(tls) => tls.receive(room),
        }
    }
}
