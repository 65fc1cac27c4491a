//! What a raw recording is of: sockets of packets, or a session.

use std::net::SocketAddrV4;
use touchline_journal::records::Stream;
use touchline_net::LiveSource;

/// Source of a raw recording.
#[allow(
    clippy::large_enum_variant,
    reason = "a process has one, and no pointer lies on its path"
)]
pub enum Source {
    /// Sockets of packets.
    Packets(LiveSource),
    /// A session.
    Session(Session),
}

/// A session, whose owner keeps it up.
pub struct Session {
    /// Its name, without spaces.
    pub id: String,
    /// One round of its owner.
    pub work: Box<SessionWork>,
}

/// A round of a session: passes on received bytes, and returns the amount of work. With true the run ends, and `None` says that the
/// session has.
pub type SessionWork =
    dyn FnMut(bool, &mut dyn FnMut(SessionBytes<'_>)) -> Result<Option<usize>, String>;

/// Received bytes of a session, before framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBytes<'a> {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// The other side.
    pub peer: SocketAddrV4,
    /// Place of the bytes in the stream of the connection; bytes before it that were not passed on are withheld.
    pub offset: u64,
    /// Time of the read, ns since the Unix epoch.
    pub receive_ns: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl SessionBytes<'_> {
    /// The record that describes the stream of their connection.
    pub(super) fn stream(&self, id: &str) -> Stream {
        let SessionBytes {
            connection, peer, ..
        } = self;
        Stream {
            content: super::SESSION,
            schema: super::LINK.0,
            version: super::VERSION,
            name: format!("{id} connection={connection} peer={peer}"),
        }
    }
}
