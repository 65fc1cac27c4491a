//! A TCP connection with or without TLS.

use crate::stream::{Error, Stream};
use crate::tls::{Client, Server, Tls};
use std::net::SocketAddrV4;

/// A connection of a client with or without TLS, with the same calls.
#[derive(Debug)]
pub enum Connection {
    /// Without TLS.
    Plain(Stream),
    /// With TLS, to a server whose certificate was verified.
    Tls(Box<Tls>),
}

impl Connection {
    /// Connection of an accepted client. With TLS, `until_ns` is the deadline of the handshake.
    ///
    /// # Errors
    /// The TLS library refuses to start.
    pub fn accept(
        stream: Stream,
        tls: Option<&Server>,
        until_ns: u64,
    ) -> Result<Connection, Error> {
        Ok(match tls {
            None => Connection::Plain(stream),
            Some(server) => Connection::Tls(Box::new(Tls::accept(stream, server, until_ns)?)),
        })
    }

    /// Starts to connect, with TLS if a client is given. `until_ns` is the deadline for everything,
    /// in the clock of [`Connection::is_ready`].
    ///
    /// # Errors
    /// There is no route, or the process has no free file descriptors.
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

    /// Whether the connection is usable: with TLS, after the server was verified.
    ///
    /// # Errors
    /// It failed, was not ready in time, or the TLS handshake failed.
    pub fn is_ready(&mut self, now_ns: u64) -> Result<bool, Error> {
        match self {
            Connection::Plain(stream) => stream.is_connected(now_ns),
            Connection::Tls(tls) => tls.is_ready(now_ns),
        }
    }

    /// Asks the kernel for receive timestamps from now on. Without them [`Connection::kernel_ns`] is `None`.
    pub fn request_timestamps(&mut self) {
        match self {
            Connection::Plain(stream) => stream.request_timestamps(),
            Connection::Tls(tls) => tls.request_timestamps(),
        }
    }

    /// When the kernel received the last segment of which the last read took bytes, nanoseconds since 1970.
    pub fn kernel_ns(&self) -> Option<u64> {
        match self {
            Connection::Plain(stream) => stream.kernel_ns(),
            Connection::Tls(tls) => tls.kernel_ns(),
        }
    }

    /// The connection below TLS, to watch it for bytes to read.
    pub fn stream(&self) -> &Stream {
        match self {
            Connection::Plain(stream) => stream,
            Connection::Tls(tls) => tls.stream(),
        }
    }

    /// Enters the kernel's path of a send without a byte: [`Stream::touch`].
    pub fn touch(&mut self) {
        match self {
            Connection::Plain(stream) => stream.touch(),
            Connection::Tls(tls) => tls.touch(),
        }
    }

    /// Whether TLS is still verifying the other side.
    pub fn is_handshaking(&self) -> bool {
        match self {
            Connection::Plain(_) => false,
            Connection::Tls(tls) => tls.is_handshaking(),
        }
    }

    /// Whether the connection has decrypted bytes that no read took yet. The socket is not readable because of them: a
    /// [`Readiness`](crate::stream::Readiness) does not report them, however long they wait.
    #[inline]
    pub fn has_unread(&self) -> bool {
        match self {
            Connection::Plain(_) => false,
            Connection::Tls(tls) => tls.has_unread(),
        }
    }

    /// Whether bytes that [`Connection::send`] accepted wait for the system: the next send or receive passes them on.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        match self {
            Connection::Plain(_) => false,
            Connection::Tls(tls) => tls.has_unsent(),
        }
    }

    /// Sends as many of the `bytes` as are accepted now, and returns the number; 0 if none.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        match self {
            Connection::Plain(stream) => stream.send(bytes),
            Connection::Tls(tls) => tls.send(bytes),
        }
    }

    /// Reads pending bytes into `room` and returns the number; 0 if there are none, or no room.
    ///
    /// # Errors
    /// The connection has ended, or was closed by the peer and read to its end.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        match self {
            Connection::Plain(stream) => stream.receive(room),
            Connection::Tls(tls) => tls.receive(room),
        }
    }
}
