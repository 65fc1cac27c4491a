//! Cause of a batch.

use touchline_fx_events::command::Command;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::event::{Answer, Message, OrderEvent, OrderLine, SessionChange};
use touchline_fx_events::setup::Bank;

/// Cause of a batch; the batch's record begins with it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cause<'a> {
    /// A timer, the engine itself, or quotes, which are in no journal.
    None,
    /// A message of a bank about orders.
    Received(Bank, &'a [u8]),
    /// An order session changed.
    Session(Bank, SessionChange),
    /// A command.
    Command(Commanded<'a>),
    /// A client's ring was refused, so its commands are not read.
    Answer(Answer<'a>),
}

/// A command that was handled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Commanded<'a> {
    /// The person of its client.
    pub person: &'a str,
    /// The received message: the command, or bytes that cannot be read as one.
    pub received: Result<&'a Command, &'a [u8]>,
    /// Number in the journal.
    pub request: u64,
    /// Decision that a restart handles again.
    pub decision: Option<&'a Desk>,
    /// The answer.
    pub answer: Answer<'a>,
    /// Whether its record must be in the journal to execute it.
    pub needs_record: bool,
}

/// The message of a line that is sent.
pub(super) fn sent(line: &OrderLine) -> Option<&Message> {
    let message = line.message.as_ref();
    message.filter(|_| line.what == OrderEvent::Sent)
}
