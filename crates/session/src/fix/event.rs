//! What a session says to its owner.

use super::{ApplicationId, StoreError};
use std::fmt;
use touchline_wire::fix::{Header, Message};

/// What happened, or came.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides are logged on: messages may be sent.
    LoggedOn {
        /// Both numbers began at 1 again since the last time both were logged on.
        is_restarted: bool,
    },
    /// A counterparty's Logon waits for [`super::Session::accept_logon`] or [`super::Session::reject_logon`].
    Logon(Message<'a>),
    /// An application message, in sequence, and its application; `None`: its type is registered with none. It counts
    /// as processed with the next call of [`super::Session::poll`]; a process that dies before receives it again,
    /// marked as a possible duplicate.
    Application(Message<'a>, Header<'a>, Option<ApplicationId>),
    /// The counterparty rejected a message of ours (35=3).
    Rejected(Message<'a>),
    /// We rejected a message of the counterparty (35=3); no application sees it.
    Invalid(Message<'a>),
    /// Messages of the counterparty are missing. They are requested, and come in their order with what is kept behind them.
    Gap {
        /// The number that is expected.
        first: u64,
        /// The last number that is known to be missing.
        last: u64,
    },
    /// The counterparty left out numbers of its own: nothing will come for them.
    Skipped {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// Both numbers began at 1 again, in the middle of the session.
    Restarted,
    /// The counterparty has logged out, or answered our Logout.
    LoggedOut(Message<'a>),
}

/// Disconnect reason: why the connection is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// No Logon, or no answer to ours, in time.
    NoLogon,
    /// The first message is not a Logon, or is damaged or longer than the limit.
    NotLogon,
    /// The Logon is of another version, of other CompIDs, of another time, or lacks a field.
    BadLogon,
    /// The application does not know the counterparty.
    UnknownCounterparty,
    /// The counterparty answered our Logon with a Logout or a Reject.
    LogonRejected,
    /// The counterparty's number is lower than expected, and it does not say that it repeats itself.
    SequenceTooLow,
    /// A message without a number that can be read.
    NoSequence,
    /// Logged out by both sides.
    LoggedOut,
    /// Our Logout was not answered in time.
    NoLogout,
    /// The counterparty said nothing for too long, also not when it was asked.
    HeartbeatTimeout,
    /// Repeated resend requests were not answered.
    NoResend,
    /// The store failed: nothing more can be sent that could be sent again.
    Store(StoreError),
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DisconnectReason::NoLogon => "Logon timeout",
            DisconnectReason::NotLogon => "the first message is not a Logon",
            DisconnectReason::BadLogon => "the Logon is not of this session",
            DisconnectReason::UnknownCounterparty => "Logon refused: unknown counterparty",
            DisconnectReason::LogonRejected => "Logon rejected by the counterparty",
            DisconnectReason::SequenceTooLow => "the counterparty's MsgSeqNum is too low",
            DisconnectReason::NoSequence => "a message has no MsgSeqNum",
            DisconnectReason::LoggedOut => "logout",
            DisconnectReason::NoLogout => "logout: our Logout was not answered",
            DisconnectReason::HeartbeatTimeout => "heartbeat timeout: the counterparty is silent",
            DisconnectReason::NoResend => "sequence gap: the requested messages were not resent",
            DisconnectReason::Store(error) => return error.fmt(f),
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
            SendError::Down => "not logged on",
            SendError::Full => "too many messages wait to be sent",
            SendError::TooLong => "the message is too long",
            SendError::Store(error) => return error.fmt(f),
        })
    }
}

impl std::error::Error for SendError {}
