//! Received bytes of a connection, for a recorder.

use std::net::SocketAddrV4;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes of one read, before framing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TappedBytes {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// The other side.
    pub peer: SocketAddrV4,
    /// Place of the bytes in the stream.
    pub offset: u64,
    /// Time of the read, ns since the Unix epoch.
    pub receive_ns: u64,
    /// The bytes; without TLS.
    pub bytes: Vec<u8>,
}

/// Copies received bytes to a recorder, without the secrets of a login: those of the bytes that are sent, none of which it copies, and of
/// a venue that repeats them.
#[derive(Debug)]
pub struct Tap {
    bytes: Sender<TappedBytes>,
    connection: u64,
    peer: SocketAddrV4,
    offset: u64,
}

impl Tap {
    /// A tap, and its bytes.
    pub fn new() -> (Tap, Receiver<TappedBytes>) {
        let (bytes, receiver) = channel();
        let tap = Tap {
            bytes,
            connection: 0,
            peer: SocketAddrV4::new([0, 0, 0, 0].into(), 0),
            offset: 0,
        };
        (tap, receiver)
    }

    /// A connection to this address starts.
    pub(super) fn connect(&mut self, peer: SocketAddrV4) {
        self.connection += 1;
        (self.peer, self.offset) = (peer, 0);
    }

    /// Copies received bytes; those with a secret are left out, which their place in the stream shows.
    #[cold]
    pub(super) fn copy(&mut self, bytes: &[u8], receive_ns: u64, has_secret: bool) {
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        if has_secret {
            return;
        }
        // A recorder that ends takes no more.
        let _ = self.bytes.send(TappedBytes {
            connection: self.connection,
            peer: self.peer,
            offset,
            receive_ns,
            bytes: bytes.to_vec(),
        });
    }
}
