//! Events of a session for its owner.

use super::{ApplicationId, StoreError};
use std::fmt;
use touchline_wire::fix::{Header, Message};

/// Event of a session.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides are logged on: messages may be sent.
    LoggedOn {
        /// Both sequence numbers restarted at 1 since the last logon.
        is_restarted: bool,
    },
    /// A counterparty's Logon waits for [`super::Session::accept_logon`] or [`super::Session::reject_logon`].
    Logon(Message<'a>),
    /// An application message in sequence, and its application; `None` if its type is not registered. It counts as
    /// processed at the next call of [`super::Session::poll`]; a process that ends before that receives it again,
    /// marked as a possible duplicate.
    Application(Message<'a>, Header<'a>, Option<ApplicationId>),
    /// The counterparty rejected one of our messages (35=3).
    Rejected(Message<'a>),
    /// We rejected a message of the counterparty (35=3); applications do not see it.
    Invalid(Message<'a>),
    /// Messages of the counterparty are missing. They are requested, and arrive in order with the messages buffered
    /// behind them.
    Gap {
        /// The expected number.
        first: u64,
        /// The last number known to be missing.
        last: u64,
    },
    /// A message is longer than the limit: it is skipped, and its number will be missing. If it is longer also when it is sent again,
    /// [`Event::Skipped`] follows.
    TooLong(MessageTooLong),
    /// The counterparty skipped numbers of its own, or its messages of these numbers were too long twice: none will arrive for them.
    Skipped {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// Both sequence numbers restarted at 1 during the session.
    Restarted {
        /// The first and the last number of the counterparty that were missing, or waited behind a gap: these messages will not arrive.
        lost: Option<(u64, u64)>,
    },
    /// The counterparty has logged out, or answered our Logout.
    LoggedOut(Message<'a>),
}

/// A message that is longer than the limit of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTooLong {
    /// Length of the message, as BodyLength (9) states it, bytes.
    pub bytes: usize,
    /// The limit: [`super::Limits::message_bytes_max`], or of an acceptor's first message [`super::Limits::logon_bytes_max`].
    pub bytes_max: usize,
    /// MsgType (35), zeros behind it.
    msg_type: [u8; 4],
}

impl MessageTooLong {
    /// A message of this type; more than four bytes of it are left out.
    pub fn new(msg_type: &[u8], bytes: usize, bytes_max: usize) -> MessageTooLong {
        let mut kept = [0; 4];
        for (place, byte) in kept.iter_mut().zip(msg_type) {
            *place = *byte;
        }
        MessageTooLong {
            bytes,
            bytes_max,
            msg_type: kept,
        }
    }
}

/// Bytes of the counterparty that are not printable are shown as `?`.
impl fmt::Display for MessageTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message (35=")?;
        for byte in self.msg_type.iter().take_while(|byte| **byte != 0) {
            let is_printable = byte.is_ascii_graphic();
            fmt::Write::write_char(f, if is_printable { char::from(*byte) } else { '?' })?;
        }
        let (bytes, bytes_max) = (self.bytes, self.bytes_max);
        write!(
            f,
            ") of {bytes} bytes is longer than the limit of {bytes_max} bytes"
        )
    }
}

/// Reason to close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// No Logon, or no answer to ours, in time.
    NoLogon,
    /// The first message is not a Logon, or is damaged.
    NotLogon,
    /// The first message is longer than the limit.
    TooLong(MessageTooLong),
    /// The Logon has another version, other CompIDs or an invalid time, or lacks a field.
    BadLogon,
    /// We refused the counterparty's Logon with this text.
    LogonRefused(&'static str),
    /// The application rejected the counterparty.
    UnknownCounterparty,
    /// The counterparty answered our Logon with a Logout or a Reject.
    LogonRejected,
    /// The counterparty's number is lower than expected, without PossDupFlag.
    SequenceTooLow,
    /// A message without a readable number.
    NoSequence,
    /// Logged out by both sides.
    LoggedOut,
    /// Our Logout was not answered in time.
    NoLogout,
    /// No message of the counterparty, even after a TestRequest.
    HeartbeatTimeout,
    /// Repeated resend requests were not answered.
    NoResend,
    /// The store failed: messages can no longer be stored for resends.
    Store(StoreError),
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DisconnectReason::NoLogon => "Logon timeout",
            DisconnectReason::NotLogon => "the first message is not a Logon",
            DisconnectReason::TooLong(message) => return message.fmt(f),
            DisconnectReason::BadLogon => "the Logon is not of this session",
            DisconnectReason::LogonRefused(why) => return write!(f, "Logon refused: {why}"),
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

/// Reason why a message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Not logged on, and messages are not queued.
    Down,
    /// The output buffer is full.
    Full,
    /// The message is longer than the limit.
    TooLong,
    /// The message cannot be stored, so it is not sent.
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
