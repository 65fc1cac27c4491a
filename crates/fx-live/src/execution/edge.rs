//! The edge of the engine: journal and drop copy, which the engine writes, and the connection of each bank. Decisions,
//! records and messages do not depend on the implementation behind the edge: files and sockets, or their simulation.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use std::net::SocketAddrV4;
use touchline_fx_desk::DropCopy;
use touchline_journal::{Appended, Journal, Record, Refused, State};
use touchline_net::Connection;
use touchline_net::stream::{Error, Watch};
use touchline_net::tls::Client;
use touchline_transport::boot_ns;

/// Output of the engine.
pub(crate) trait Output {
    /// Appends a record to the journal.
    ///
    /// # Errors
    /// The journal cannot be written.
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused>;
    /// Waits until a record may be acted upon. False: it took longer than `wait_ns`, or failed.
    fn wait_until_safe(&mut self, record: &Appended, wait_ns: u64) -> bool;
    /// State of the journal, with the error number of a failure.
    fn state(&self) -> (State, u64);
    /// Error number of the last failed preparation of a segment; 0: none.
    fn alarm(&self) -> u64;
    /// Marks the journal as failed: messages leave from now on that it lacks.
    fn give_up(&mut self);
    /// Notes that the journal has the consequence of an earlier run's failure.
    fn failure_recorded(&mut self);
    /// A run begins: it begins with this batch.
    fn begin_run(&mut self, run: &[u8]);
    /// Publishes a part of a batch on the drop copy.
    fn publish(&mut self, part: &[u8]);
    /// Time since a time of the host's steady clock.
    fn since_ns(&self, mono_ns: u64) -> u64;
}

/// Journal and drop copy of a process.
pub(crate) struct Host {
    pub journal: Journal,
    pub drop_copy: DropCopy,
}

impl Output for Host {
    #[inline]
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        self.journal.append(record)
    }

    fn wait_until_safe(&mut self, record: &Appended, wait_ns: u64) -> bool {
        let until_ns = boot_ns() + wait_ns;
        while !self.journal.is_safe(record) {
            if boot_ns() >= until_ns || self.journal.state().0 == State::Failed {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }

    fn state(&self) -> (State, u64) {
        self.journal.state()
    }

    fn alarm(&self) -> u64 {
        self.journal.alarm()
    }

    fn give_up(&mut self) {
        self.journal.give_up();
    }

    fn failure_recorded(&mut self) {
        self.journal.failure_recorded();
    }

    fn begin_run(&mut self, run: &[u8]) {
        self.drop_copy.begin_run(run);
    }

    fn publish(&mut self, part: &[u8]) {
        self.drop_copy.publish(part);
    }

    #[inline]
    fn since_ns(&self, mono_ns: u64) -> u64 {
        boot_ns().saturating_sub(mono_ns)
    }
}

/// The connection is over, or was not made, for this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost(pub Error);

impl Lost {
    /// The bank or the network closed the connection, or there is none.
    pub const CLOSED: Lost = Lost(Error::Closed);
}

impl From<Error> for Lost {
    fn from(error: Error) -> Lost {
        Lost(error)
    }
}

/// Connections to a bank, one after the other.
pub(crate) trait Link {
    /// Begins to connect; it must be done at `until_ns`.
    fn connect(&mut self, until_ns: u64) -> Result<(), Lost>;
    /// Whether the connection is made; with TLS, the bank is verified then.
    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost>;
    /// Receives bytes that have arrived; 0 bytes: none have arrived.
    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost>;
    /// Sends as many bytes as the connection accepts; 0 bytes: none at present.
    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost>;
    /// Prepares the next call of send while there is nothing to send; a simulated connection needs none.
    fn touch(&mut self) {}
    /// Whether received bytes wait in the connection and not in the socket, so that the socket's readiness does not
    /// show them.
    fn has_unread(&self) -> bool;
    /// Whether accepted bytes wait in the connection: the next call of receive or send passes them on.
    fn has_unsent(&self) -> bool;
    /// Ends the connection, made or not.
    fn close(&mut self);
}

/// Connections over TCP, with or without TLS.
pub(crate) struct Socket {
    to: SocketAddrV4,
    tls: Option<Client>,
    watch: Watch,
    connection: Option<Connection>,
}

impl Socket {
    /// Connections to an address, each of them watched for bytes to read; with TLS if a client is given.
    pub fn new(to: SocketAddrV4, tls: Option<Client>, watch: Watch) -> Socket {
        Socket {
            to,
            tls,
            watch,
            connection: None,
        }
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Lost> {
        let connection = self.connection.as_mut().ok_or(Lost::CLOSED)?;
        work(connection).map_err(Lost)
    }
}

impl Link for Socket {
    fn connect(&mut self, until_ns: u64) -> Result<(), Lost> {
        let connection = Connection::connect(self.to, self.tls.as_ref(), until_ns)?;
        self.watch.begin(connection.stream())?;
        self.connection = Some(connection);
        Ok(())
    }

    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost> {
        self.with(|connection| connection.is_ready(now_ns))
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost> {
        self.with(|connection| connection.receive(room))
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost> {
        self.with(|connection| connection.send(bytes))
    }

    fn touch(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.touch();
        }
    }

    #[inline]
    fn has_unread(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::has_unread)
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::has_unsent)
    }

    fn close(&mut self) {
        self.connection = None;
    }
}
