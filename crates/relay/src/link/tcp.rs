//! TCP, with TLS or without: the sender listens, receivers connect.
//!
//! A client's first bytes are a request, the head of a batch with [`HeadFlags::REQUEST`](crate::HeadFlags::REQUEST); then it is sent
//! every batch, each with its length before it, and a round of refreshes. A client that reads too slowly has its queue full one
//! day: it is disconnected, connects again, and starts from a refresh.

mod receive;
mod send;

pub use receive::TcpReceive;
pub use send::{Refusal, SendEvent, TcpSend, TcpSendSettings};
