//! What a session says to its owner.

use super::StoreError;
use std::fmt;
use touchline_wire::fix::{Header, Message};

/// What happened, or came.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides are logged on: messages may be sent.
    LoggedOn,
    /// A counterparty's Logon waits for [`super::Session::admit`] or [`super::Session::refuse`].
    Logon(Message<'a>),
    /// An application message, in its order. It counts as processed with the next call of
    /// [`super::Session::next`]; whoever dies before gets it again, marked as a possible duplicate.
    Application(Message<'a>, Header<'a>),
    /// The counterparty rejected a message of ours (35=3).
    Rejected(Message<'a>),
    /// The counterparty has logged out, or answered our Logout.
    LoggedOut(Message<'a>),
}

/// Why the connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// No Logon, or no answer to ours, in time.
    NoLogon,
    /// The first message is no Logon, or is damaged or longer than a Logon may be.
    NotLogon,
    /// The Logon is of another version, of other CompIDs, of another time, or lacks a field.
    BadLogon,
    /// The application does not know the counterparty.
    Refused,
    /// The counterparty answered our Logon with a Logout or a Reject.
    LogonRefused,
    /// The counterparty's number is lower than expected, and it does not say that it repeats itself.
    TooLow,
    /// A message without a number that can be read.
    NoSequence,
    /// Logged out by both sides.
    LoggedOut,
    /// Our Logout was not answered in time.
    NoLogout,
    /// The counterparty said nothing for too long, also not when it was asked.
    Silent,
    /// What we asked for again and again did not come.
    NoResend,
    /// The store failed: nothing more can be sent that could be sent again.
    Store(StoreError),
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Closing::NoLogon => "no Logon in time",
            Closing::NotLogon => "the first message is no Logon",
            Closing::BadLogon => "the Logon is not of this session",
            Closing::Refused => "the Logon was refused",
            Closing::LogonRefused => "the counterparty refused our Logon",
            Closing::TooLow => "the counterparty's MsgSeqNum is too low",
            Closing::NoSequence => "a message has no MsgSeqNum",
            Closing::LoggedOut => "logged out",
            Closing::NoLogout => "our Logout was not answered",
            Closing::Silent => "the counterparty is silent",
            Closing::NoResend => "what was asked for again did not come",
            Closing::Store(error) => return error.fmt(f),
        })
    }
}

/// Why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Nobody is logged on, and messages are not queued.
    Down,
    /// Too much waits to be sent already.
    Full,
    /// The message is longer than the limit.
    TooLong,
    /// It cannot be stored, so it is not sent.
    Store(StoreError),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Down => "nobody is logged on",
            SendError::Full => "too much waits to be sent",
            SendError::TooLong => "the message is too long",
            SendError::Store(error) => return error.fmt(f),
        })
    }
}

impl std::error::Error for SendError {}
