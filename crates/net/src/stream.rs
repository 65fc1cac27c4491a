//! TCP connection of a client, without waiting.
//!
//! For connections beside the path: each call does as much as is possible at once and returns.
//! Buffers and clock are the caller's; names are not resolved.

mod listener;
mod readiness;
#[allow(unsafe_code, reason = "a call of the kernel takes pointers")]
mod timestamp;

pub use listener::Listener;
pub use readiness::{Readiness, Watch};

use crate::tls::Refusal;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read};
use std::net::SocketAddrV4;

/// A connection, pending or established.
///
/// Dropping it closes it at once and discards unread and unsent bytes.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    /// Deadline of the connect; `None` once established.
    until_ns: Option<u64>,
    /// Whether the kernel was asked for receive timestamps.
    is_stamped: bool,
    kernel_ns: Option<u64>,
}

/// Error of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not established in time.
    #[error("connection timed out")]
    TimedOut,
    /// No process listens there.
    #[error("connection refused")]
    Refused,
    /// The other side has closed it.
    #[error("connection reset or closed by the other side")]
    Closed,
    /// TLS error.
    #[error("TLS: {0}")]
    Tls(Refusal),
    /// System error with this number.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Failed(i32),
}

impl Stream {
    /// Starts to connect. `until_ns` is the deadline, in the clock of [`Stream::is_connected`].
    ///
    /// # Errors
    /// There is no route, or the process has no free file descriptors.
    pub fn connect(to: SocketAddrV4, until_ns: u64) -> Result<Stream, Error> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::IPV4, kind, Some(Protocol::TCP)).map_err(error)?;
        // Messages are short and answered: they must not wait for more data.
        socket.set_tcp_nodelay(true).map_err(error)?;
        match socket.connect(&to.into()) {
            Err(failed) if failed.raw_os_error() != Some(libc::EINPROGRESS) => Err(error(failed)),
            _ => Ok(Stream {
                socket,
                until_ns: Some(until_ns),
                is_stamped: false,
                kernel_ns: None,
            }),
        }
    }

    /// Whether the connection is established.
    ///
    /// # Errors
    /// It failed or was not established in time.
    pub fn is_connected(&mut self, now_ns: u64) -> Result<bool, Error> {
        let Some(until_ns) = self.until_ns else {
            return Ok(true);
        };
        if let Some(failed) = self.socket.take_error().map_err(error)? {
            return Err(error(failed));
        }
        // An established connection has a peer.
        if self.socket.peer_addr().is_ok() {
            self.until_ns = None;
            return Ok(true);
        }
        match now_ns >= until_ns {
            true => Err(Error::TimedOut),
            false => Ok(false),
        }
    }

    /// Sends as many of the `bytes` as the system accepts now, and returns the number; 0 if none.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        // A connection closed by the peer must not end our process with SIGPIPE.
        at_once(self.socket.send_with_flags(bytes, libc::MSG_NOSIGNAL))
    }

    /// Reads pending bytes into `room` and returns the number; 0 if there are none, or no room.
    ///
    /// # Errors
    /// The connection has ended, or was closed by the peer and read to its end.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        if room.is_empty() {
            return Ok(0);
        }
        let read = match self.is_stamped {
            true => timestamp::read(&self.socket, room).map(|(read, kernel_ns)| {
                self.kernel_ns = kernel_ns;
                read
            }),
            false => (&self.socket).read(room),
        };
        match read {
            Ok(0) => Err(Error::Closed),
            read => at_once(read),
        }
    }

    /// Asks the kernel for receive timestamps from now on. Without them [`Stream::kernel_ns`] is `None`.
    pub fn request_timestamps(&mut self) {
        self.is_stamped = timestamp::request(&self.socket);
    }

    /// When the kernel received the last segment of which the last read took bytes, nanoseconds since 1970.
    pub fn kernel_ns(&self) -> Option<u64> {
        self.kernel_ns
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
