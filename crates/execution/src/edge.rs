//! The edge of the engine: journal and drop copy, which it writes, and the connection of each bank. What is decided,
//! written and sent does not depend on what stands behind the edge: files and sockets, or their simulation.

use crate::drop_copy::DropCopy;
use std::net::SocketAddrV4;
use touchline_journal::{Appended, Journal, Record, Refused, State};
use touchline_net::Stream;
use touchline_net::stream::Watch;
use touchline_transport::boot_ns;

/// What the engine writes.
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
    /// Publishes a line on the drop copy.
    fn publish(&mut self, kind: u8, number: u64, line: &str);
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

    fn publish(&mut self, kind: u8, number: u64, line: &str) {
        self.drop_copy.publish(kind, number, line);
    }

    #[inline]
    fn since_ns(&self, mono_ns: u64) -> u64 {
        boot_ns().saturating_sub(mono_ns)
    }
}

/// The connection is over, or was not made.
#[derive(Debug)]
pub(crate) struct Lost;

/// Connections to a bank, one after the other.
pub(crate) trait Link {
    /// Begins to connect; it must be done at `until_ns`.
    fn connect(&mut self, until_ns: u64) -> Result<(), Lost>;
    /// Whether the connection is made.
    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost>;
    /// Receives what came; 0 bytes: nothing now.
    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost>;
    /// Sends as much as it takes; 0 bytes: nothing now.
    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost>;
    /// Ends the connection, made or not.
    fn close(&mut self);
}

/// Connections over TCP.
pub(crate) struct Socket {
    to: SocketAddrV4,
    watch: Watch,
    stream: Option<Stream>,
}

impl Socket {
    /// Connections to an address, each of them watched for bytes to read.
    pub fn new(to: SocketAddrV4, watch: Watch) -> Socket {
        Socket {
            to,
            watch,
            stream: None,
        }
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Stream) -> Result<T, touchline_net::stream::Error>,
    ) -> Result<T, Lost> {
        work(self.stream.as_mut().ok_or(Lost)?).map_err(|_| Lost)
    }
}

impl Link for Socket {
    fn connect(&mut self, until_ns: u64) -> Result<(), Lost> {
        let stream = Stream::connect(self.to, until_ns).map_err(|_| Lost)?;
        self.watch.begin(&stream).map_err(|_| Lost)?;
        self.stream = Some(stream);
        Ok(())
    }

    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost> {
        self.with(|stream| stream.is_connected(now_ns))
    }

    #[inline]
    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost> {
        self.with(|stream| stream.receive(room))
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost> {
        self.with(|stream| stream.send(bytes))
    }

    fn close(&mut self) {
        self.stream = None;
    }
}
