//! FIX counterparties: acceptors and initiators with an echo application.
//!
//! The session is the one that gateways use (`touchline_session::fix`); the lab simulates a
//! counterparty's application and sockets. Scenarios and models in tests check the session.

mod acceptor;
mod connection;
mod counterparty;
mod echo;
mod initiator;
mod orders;
pub mod scenario;

pub use acceptor::Acceptor;
pub use connection::{Connection, End};
pub use counterparty::Counterparty;
pub use echo::Echo;
pub use initiator::{Initiator, News};
pub use orders::Orders;

/// Totals of a counterparty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Accepted or established connections.
    pub connections: u64,
    /// Connections closed before a logon.
    pub turned_away: u64,
    /// Sessions that were logged on.
    pub logons: u64,
    /// Messages received.
    pub received: u64,
    /// Messages sent, resent ones included.
    pub sent: u64,
    /// Bytes that are not a message, or a damaged message.
    pub garbled: u64,
    /// Messages that were answered with a Reject.
    pub rejected: u64,
}
