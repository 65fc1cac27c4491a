//! Listening port.

use super::{Error, Stream, error};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

/// A listening port. Its calls never wait.
#[derive(Debug)]
pub struct Listener {
    pub(super) socket: Socket,
    address: SocketAddrV4,
}

/// Pending connections that the system queues.
const BACKLOG: i32 = 1_024;
/// TCP keepalive: silence of a connection before the first probe, interval of probes, and probes without an answer that end it.
const SILENCE: Duration = Duration::from_secs(30);
const PROBE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

impl Listener {
    /// Listens on an address of this host; port 0 is any free port.
    ///
    /// # Errors
    /// The address does not belong to this host or is in use.
    pub fn bind(address: SocketAddrV4) -> Result<Listener, Error> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::IPV4, kind, Some(Protocol::TCP)).map_err(error)?;
        // A port whose connections were just closed counts as free.
        socket.set_reuse_address(true).map_err(error)?;
        socket.bind(&address.into()).map_err(error)?;
        socket.listen(BACKLOG).map_err(error)?;
        let bound = socket.local_addr().map_err(error)?;
        Ok(Listener {
            address: bound.as_socket_ipv4().unwrap_or(address),
            socket,
        })
    }

    /// Local address with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// The next established connection and its source address. `None`: there is none at present.
    ///
    /// # Errors
    /// The process has no free file descriptors.
    pub fn accept(&mut self) -> Result<Option<(Stream, SocketAddrV4)>, Error> {
        let (socket, from) = match self.socket.accept() {
            Ok(accepted) => accepted,
            Err(failed) => {
                return match failed.kind() {
                    // A peer that disconnected before `accept` is skipped.
                    io::ErrorKind::WouldBlock
                    | io::ErrorKind::Interrupted
                    | io::ErrorKind::ConnectionAborted => Ok(None),
                    _ => Err(error(failed)),
                };
            }
        };
        socket.set_nonblocking(true).map_err(error)?;
        socket.set_tcp_nodelay(true).map_err(error)?;
        // A peer whose host is gone leaves its place within a minute, unless bytes are under way to it.
        let keepalive = TcpKeepalive::new().with_time(SILENCE);
        let keepalive = keepalive.with_interval(PROBE).with_retries(PROBES);
        socket.set_tcp_keepalive(&keepalive).map_err(error)?;
        let from = from.as_socket_ipv4().unwrap_or(self.address);
        let stream = Stream {
            socket,
            until_ns: None,
            is_stamped: false,
            kernel_ns: None,
            taken: None,
        };
        Ok(Some((stream, from)))
    }
}
