//! What a session says to its owner.

use super::texts::names_of;
use touchline_session::fix::{MessageTooLong, SequenceFault};
use touchline_wire::fix::Message;

/// Output of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// No more output now.
    Nothing,
    /// Logged on; `true`: both numbers began again at 1.
    Up(bool),
    /// Everything that the bank sent without a connection has come. Banks that drop orders with a connection have it alone.
    Settled,
    /// As [`Said::Settled`], but the numbers began again: what the bank sent before is lost.
    Doubted,
    /// Lost, or at the end of its hours.
    Down {
        /// Why.
        why: String,
        /// Whose sequence numbers do not fit, if that is why.
        numbers: Option<SequenceFault>,
        /// Time until the next connection, milliseconds; none at the end of its hours.
        retry_ms: Option<u64>,
    },
    /// Attempts to connect fail: where, why, how many, and when the next one follows, milliseconds.
    NotConnected(String, u64),
    /// A message of the application is in [`OrderSession::message_mut`].
    Message,
    /// The bank rejected a message of ours (35=3), or we one of the bank: its text.
    Rejected(String),
    /// We rejected a malformed message of the bank, and its number counts: it will not come again.
    Invalid {
        /// Which message.
        text: String,
        /// Whether it is a report: what it says of an order is lost.
        is_report: bool,
    },
    /// A message of the bank is longer than the limit; it was skipped.
    TooLong(MessageTooLong),
    /// Messages of the bank are missing, and were requested again.
    Gap(Gap),
    /// The bank skipped numbers, or their messages are too long: none arrive for them.
    Skipped(Gap),
    /// Number of times that bytes of the bank were not a FIX message, or a message with a wrong length or checksum;
    /// they were skipped.
    Garbled(u64),
}

impl Said {
    /// We rejected this message.
    pub fn invalid(message: &Message<'_>) -> Said {
        Said::Invalid {
            text: names_of(message),
            is_report: message.msg_type() == b"8",
        }
    }
}

#[cfg(test)]
impl Said {
    /// The connection was lost.
    pub fn cut() -> Said {
        Said::Down {
            why: "cut".to_owned(),
            numbers: None,
            retry_ms: Some(1),
        }
    }
}

/// A gap in the numbers of the bank's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first number that is missing.
    pub first: u64,
    /// The last number that is known to be missing.
    pub last: u64,
    /// The Logon showed that messages of the time before it are missing.
    pub is_catching_up: bool,
}

impl Gap {
    /// A gap from one number to another.
    pub fn new(first: u64, last: u64, is_catching_up: bool) -> Gap {
        Gap {
            first,
            last,
            is_catching_up,
        }
    }
}
