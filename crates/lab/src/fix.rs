//! FIX counterparties: acceptors and initiators with an echo behind them.
//!
//! The session is the one that gateways use (`touchline_session::fix`): what is simulated here is a
//! counterparty's application and its sockets. Scenarios and models in tests judge the session.

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

/// What a counterparty did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Connections taken, or made.
    pub connections: u64,
    /// Connections that were closed before anybody was logged on.
    pub turned_away: u64,
    /// Sessions that were logged on.
    pub logons: u64,
    /// Messages received.
    pub received: u64,
    /// Messages sent, the first time and again.
    pub sent: u64,
    /// Bytes that were no message, or a damaged one.
    pub garbled: u64,
    /// Messages that were answered with a Reject.
    pub rejected: u64,
}
