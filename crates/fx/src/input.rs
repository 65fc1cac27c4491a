//! Inputs: the banks' sessions and the desk.

use crate::quotes::BusQuotes;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::event::SessionChange;
use touchline_fx_events::setup::Bank;

/// An input.
#[expect(
    clippy::large_enum_variant,
    reason = "inputs are passed by reference, and a box would be an allocation on the path"
)]
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// Input from a bank's pricing session.
    Pricing(Bank, Session<'a>),
    /// Input from a bank's order session.
    Orders(Bank, Session<'a>),
    /// Input from the desk.
    Desk(Desk),
}

/// Input from a session.
#[derive(Debug, Clone, Copy)]
pub enum Session<'a> {
    /// Logged on; the session layer is synchronized.
    Up,
    /// Lost.
    Down,
    /// Its quotes are not known to a reader of a bus, which lost messages or doubts the gateway, or whose gateway calls them stale: the session
    /// itself may be up, and the bank may not have set them again when they are known; from pricing sessions only.
    Missed,
    /// Everything that was sent without a connection has come; from order sessions of banks that drop orders with a connection.
    Settled,
    /// Messages are missing and will not come; from the same sessions.
    Doubted,
    /// Its end is near, behind which the bank's numbers begin again; from order sessions only.
    Closing,
    /// Its hours are over, and it is not down yet; from order sessions only.
    Closed,
    /// A complete FIX message as received.
    Message(&'a [u8]),
    /// Quotes of a pair from a bus; from pricing sessions only.
    Quotes(BusQuotes<'a>),
    /// A quote message of a recording that a gateway received before it was read, with the receive time.
    QuotedAt(u64, &'a [u8]),
    /// A snapshot of a recording, at which a reader of a bus joined a pair, with the time of the pair's last quote
    /// message.
    TakenUp(u64, &'a [u8]),
    /// Quotes of a recording that the bank withdrew singly, as a message other than a quote message.
    Withdrawn(&'a [u8]),
    /// Activity without quotes, such as a Heartbeat.
    Heard,
}

impl From<SessionChange> for Session<'_> {
    fn from(change: SessionChange) -> Self {
        match change {
            SessionChange::Down => Session::Down,
            SessionChange::Up => Session::Up,
            SessionChange::Settled => Session::Settled,
            SessionChange::Doubted => Session::Doubted,
            SessionChange::Closing => Session::Closing,
            SessionChange::Closed => Session::Closed,
        }
    }
}
