//! Events of links, for the log.

use crate::head::BadHead;
use std::net::SocketAddrV4;
use touchline_net::stream::Error;

/// Event of the carrier itself, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CarrierEvent {
    /// A setting of the channel or a limit of the host costs data or time. The text has the fix.
    Warning(String),
    /// An error outside of a call.
    Error(String),
}

/// Events of a receiving link beside batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The sender is connected.
    Connected,
    /// The sender is disconnected, or could not be reached.
    Disconnected,
}

/// Event of a client, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// The client was accepted.
    Connected {
        /// Address of the client.
        address: SocketAddrV4,
    },
    /// The client disconnected.
    Disconnected {
        /// Address of the client.
        address: SocketAddrV4,
        /// Reason.
        reason: Error,
    },
    /// The client's queue was full.
    TooSlow {
        /// Address of the client.
        address: SocketAddrV4,
        /// Bytes in the queue.
        queued_bytes: usize,
    },
    /// The client's queue is old: the stream to it was interrupted. Reported at most every ten seconds.
    Held {
        /// Address of the client.
        address: SocketAddrV4,
        /// Age of its queue, nanoseconds.
        queued_ns: u64,
    },
    /// A receiver on a link without connections is slow: it lacks messages sent a second ago, or sends no reports.
    Behind {
        /// Address of the receiver.
        address: SocketAddrV4,
        /// Messages that the receiver lacks.
        messages: u64,
    },
    /// The client was rejected.
    Refused {
        /// Address of the client.
        address: SocketAddrV4,
        /// Reason.
        reason: Refusal,
    },
}

/// Reason why a client was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client sent no request before the timeout.
    #[error("no request in time")]
    Silent,
    /// The TLS handshake was incomplete at the timeout.
    #[error("no TLS handshake in time")]
    Handshake,
    /// The received bytes are not a request of this version.
    #[error("its request: {0}")]
    Request(BadHead),
    /// The client sent requests without end.
    #[error("requests without end")]
    Flood,
    /// The limit of clients is reached.
    #[error("clients_max clients are connected already")]
    TooMany,
    /// Connection error, mostly of TLS.
    #[error("{0}")]
    Connection(Error),
}
