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
    /// Error of the socket that a touch took from it: the kernel reports it once.
    taken: Option<Error>,
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
                taken: None,
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
        if let Some(failed) = self.taken {
            return Err(failed);
        }
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
            .map_err(|error| self.ended(error))
    }

    /// Enters the kernel's path of a send without a byte, so that its code and the socket are in the processor's caches.
    pub fn touch(&mut self) {
        let sent = self.socket.send_with_flags(&[], libc::MSG_NOSIGNAL);
        if let Err(failed) = at_once(sent) {
            // The next send or receive reports that the connection has ended, without this reason.
            self.taken.get_or_insert(failed);
        }
    }

    /// The reason of an end: that of a touch, if one took it.
    #[cold]
    fn ended(&self, error: Error) -> Error {
        match error {
            Error::Closed => self.taken.unwrap_or(error),
            other => other,
        }
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
        .map_err(|error| self.ended(error))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;
    use touchline_testing::{PATIENCE, until};

    /// The kernel reports the error of a socket once, to a touch too: the end has that reason all the same. A listener with a full queue
    /// does not answer.
    #[test]
    fn an_error_that_a_touch_met_is_the_reason_of_the_end() {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let listener = Listener::bind(any).expect("a free port");
        listener.socket.listen(0).expect("a short queue");
        let mut queued = Vec::new();
        let mut stream = until("a full queue", PATIENCE, || {
            let mut stream = Stream::connect(listener.address(), 100).expect("it begins");
            std::thread::sleep(Duration::from_millis(20));
            match stream.is_connected(0).expect("nobody refuses") {
                true => {
                    queued.push(stream);
                    None
                }
                false => Some(stream),
            }
        });
        let soon = Some(Duration::from_millis(10));
        stream.socket.set_tcp_user_timeout(soon).expect("an option");
        until("an end", PATIENCE, || {
            stream.touch();
            stream.taken
        });
        assert_eq!(stream.is_connected(0), Err(Error::TimedOut));
        assert_eq!(stream.receive(&mut [0; 16]), Err(Error::TimedOut));
        assert_eq!(stream.send(b"late"), Err(Error::TimedOut));
        assert_eq!(stream.receive(&mut [0; 16]), Err(Error::TimedOut));
    }
}
