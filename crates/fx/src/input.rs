//! Inputs: the banks' sessions and the desk.

use crate::quotes::BusQuotes;
use touchline_fx_events::desk::Desk;
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
    /// A complete FIX message as received.
    Message(&'a [u8]),
    /// Quotes of a pair from a bus; from pricing sessions only.
    Quotes(BusQuotes<'a>),
    /// A snapshot of a recording, at which a reader of a bus joined a pair, with the time of the pair's last quote
    /// message.
    TakenUp(u64, &'a [u8]),
    /// Quotes of a recording that the bank withdrew singly, as a message other than a quote message.
    Withdrawn(&'a [u8]),
    /// Activity without quotes, such as a Heartbeat.
    Heard,
}
