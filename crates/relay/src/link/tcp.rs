//! TCP, with TLS or without: the sender listens, receivers connect.
//!
//! The first bytes of a client are a request: a batch header with [`HeadFlags::REQUEST`](crate::HeadFlags::REQUEST).
//! The sender then sends every batch, preceded by its length, and a round of refreshes. A client that reads too slowly
//! fills its queue: it is disconnected, reconnects, and starts from a refresh.

mod lookup;
mod receive;
mod send;

pub use receive::TcpReceive;
#[cfg(feature = "aeron")]
pub(in crate::link) use send::number;
pub use send::{TcpSend, TcpSendSettings};
