//! TLS over a [`Stream`], of a client or of a server, without waiting, with mandatory verification of the other side.
//!
//! TLS 1.2 and 1.3. The server's certificate is verified against the roots, the host's name and the host's time; no
//! setting disables that. If pins are given, its key must be one of them. A server that has issuers of clients accepts no client
//! without a certificate of one of them. Sessions are not resumed: each connection is verified.
//!
//! Meant for sessions outside the path: each record allocates memory in the TLS library for a
//! moment.

mod client;
mod refusal;
mod server;
mod setup;
mod verify;

pub use client::Client;
pub use refusal::Refusal;
pub use server::{Server, ServerSettings};
pub use setup::{Identity, Pin, Settings, SetupError};

use crate::stream::{Error, Stream};
use rustls::Connection;
use std::io::{self, Read, Write};

/// Maximum number of encrypted bytes waiting for the system.
const UNSENT_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of records without application data per call.
const EMPTY_RECORDS_MAX: usize = 16;

/// A connection whose server is verified, or being verified.
#[derive(Debug)]
pub struct Tls {
    stream: Stream,
    session: Connection,
    /// Deadline of the handshake.
    until_ns: u64,
    /// Decrypted bytes that no read took yet.
    unread: usize,
}

impl Tls {
    /// Starts TLS on a pending connection. `until_ns` is the deadline of connect and handshake.
    ///
    /// # Errors
    /// The TLS library refuses to start.
    pub(crate) fn over(stream: Stream, client: &Client, until_ns: u64) -> Result<Tls, Error> {
        let session = client.session().map_err(refused)?;
        Ok(Tls::speaking(stream, session.into(), until_ns))
    }

    /// Starts TLS on the connection of an accepted client. `until_ns` is the deadline of the handshake.
    ///
    /// # Errors
    /// The TLS library refuses to start.
    pub fn accept(stream: Stream, server: &Server, until_ns: u64) -> Result<Tls, Error> {
        let session = server.session().map_err(refused)?;
        Ok(Tls::speaking(stream, session.into(), until_ns))
    }

    fn speaking(stream: Stream, mut session: Connection, until_ns: u64) -> Tls {
        session.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        Tls {
            stream,
            session,
            until_ns,
            unread: 0,
        }
    }

    /// The connection below.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) fn touch(&mut self) {
        self.stream.touch();
    }

    /// Whether the handshake is still in progress.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Whether there are decrypted bytes that no read took yet.
    pub(crate) fn has_unread(&self) -> bool {
        self.unread > 0
    }

    /// Whether encrypted bytes wait for the system.
    pub(crate) fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    /// Whether the connection is established and the server is verified.
    ///
    /// # Errors
    /// As for [`Stream::is_connected`], and the reason of a failed handshake.
    pub fn is_ready(&mut self, now_ns: u64) -> Result<bool, Error> {
        if !self.stream.is_connected(now_ns)? {
            return Ok(false);
        }
        if !self.session.is_handshaking() {
            return Ok(true);
        }
        self.flush()?;
        while self.session.is_handshaking() && self.fill()? {
            self.flush()?;
        }
        match self.session.is_handshaking() {
            false => Ok(true),
            true if now_ns >= self.until_ns => Err(Error::TimedOut),
            true => Ok(false),
        }
    }

    /// Accepts as many of the `bytes` as there is room for, and returns the number. Bytes that the system does not
    /// accept now are sent by the next call of this or [`Tls::receive`].
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.flush()?;
        if self.session.is_handshaking() || self.session.wants_write() {
            return Ok(0);
        }
        let taken = self.session.writer().write(bytes).map_err(failed)?;
        self.flush()?;
        Ok(taken)
    }

    /// Asks the kernel for receive timestamps from now on.
    pub(crate) fn request_timestamps(&mut self) {
        self.stream.request_timestamps();
    }

    /// When the kernel received the last segment of which the last read took bytes.
    pub(crate) fn kernel_ns(&self) -> Option<u64> {
        self.stream.kernel_ns()
    }

    /// Reads pending bytes into `room` and returns the number; 0 if there are none, or no room.
    ///
    /// # Errors
    /// The connection has ended, was truncated or closed by the peer, or data was altered.
    pub fn receive(&mut self, room: &mut [u8]) -> Result<usize, Error> {
        if room.is_empty() {
            return Ok(0);
        }
        for _ in 0..EMPTY_RECORDS_MAX {
            match self.session.reader().read(room) {
                Ok(0) => return Err(Error::Closed),
                Ok(bytes) => {
                    self.unread = self.unread.saturating_sub(bytes);
                    return Ok(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(Error::Tls(Refusal::Cut)),
            }
            let came = self.fill()?;
            self.flush()?;
            if !came {
                break;
            }
        }
        Ok(0)
    }

    /// Receives and decrypts pending bytes; false if there were none.
    fn fill(&mut self) -> Result<bool, Error> {
        let mut wire = Wire::over(&mut self.stream);
        match self.session.read_tls(&mut wire) {
            Ok(0) if self.session.is_handshaking() => return Err(Error::Closed),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(_) => return Err(wire.error.unwrap_or(Error::Closed)),
        }
        match self.session.process_new_packets() {
            Ok(state) => {
                self.unread = state.plaintext_bytes_to_read();
                Ok(true)
            }
            Err(error) => {
                // Sends the alert with the reason, if the peer still reads.
                let _ = self.flush();
                Err(self.refused(&error))
            }
        }
    }

    /// Sends pending encrypted bytes.
    fn flush(&mut self) -> Result<(), Error> {
        while self.session.wants_write() {
            let mut wire = Wire::over(&mut self.stream);
            match self.session.write_tls(&mut wire) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    let error = wire.error.unwrap_or(Error::Closed);
                    return Err(self.said_before(error));
                }
            }
        }
        Ok(())
    }

    /// Reads an alert that a peer sent just before it closed the connection.
    fn said_before(&mut self, error: Error) -> Error {
        while let Ok(1..) = self.session.read_tls(&mut Wire::over(&mut self.stream)) {
            if let Err(refusal) = self.session.process_new_packets() {
                return self.refused(&refusal);
            }
        }
        error
    }

    /// Error of this side, client or server.
    fn refused(&self, error: &rustls::Error) -> Error {
        Error::Tls(match &self.session {
            Connection::Client(_) => Refusal::of(error),
            Connection::Server(_) => Refusal::of_client(error),
        })
    }
}

/// Sends close_notify, if the system accepts it at once.
impl Drop for Tls {
    fn drop(&mut self) {
        if !self.session.is_handshaking() {
            self.session.send_close_notify();
            let _ = self.flush();
        }
    }
}

/// Adapter to the standard library's I/O traits: no data is the error `WouldBlock`, and the end is a read of 0 bytes.
struct Wire<'a> {
    stream: &'a mut Stream,
    error: Option<Error>,
}

impl Wire<'_> {
    fn over(stream: &mut Stream) -> Wire<'_> {
        Wire {
            stream,
            error: None,
        }
    }

    fn said<T>(&mut self, done: Result<T, Error>) -> io::Result<T> {
        done.map_err(|error| {
            self.error = Some(error);
            io::ErrorKind::ConnectionAborted.into()
        })
    }
}

impl Read for Wire<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.stream.receive(room) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            Err(Error::Closed) => Ok(0),
            done => self.said(done),
        }
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stream.send(bytes) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            done => self.said(done),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn refused(error: rustls::Error) -> Error {
    Error::Tls(Refusal::of(&error))
}

fn failed(_: io::Error) -> Error {
    Error::Closed
}
