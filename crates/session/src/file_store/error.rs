//! Errors of opening a store, with the fix.

use std::fmt;

/// Error of opening a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be used.
    #[error(
        "the session's store {path}: {reason}; give a folder of this user that no other user may read"
    )]
    System {
        /// Path.
        path: String,
        /// Reason.
        reason: std::io::Error,
    },
    /// Other users may read it, or it belongs to another user.
    #[error(
        "the session's store {path} can be read by others or is not ours; make it 0700 (a folder) or 0600 (a file) of this user"
    )]
    Open {
        /// Path.
        path: String,
    },
    /// Another process has it open.
    #[error("the session's store {path} is in use by another process; stop that one first")]
    InUse {
        /// Path.
        path: String,
    },
    /// The file has a format version that this program no longer reads.
    #[error(
        "the session's store {path} has format version {version}, and this program reads version 2; move the file away, agree with the counterparty that both numbers begin at 1 (a Logon with ResetSeqNumFlag), and start again"
    )]
    Version {
        /// Path.
        path: String,
        /// The version of the file.
        version: u8,
    },
    /// The file was changed or truncated, or is not a store.
    #[error(
        "the session's store {path} is damaged at byte {at}: {damage}; move the file away, agree with the counterparty that both numbers begin at 1 (a Logon with ResetSeqNumFlag), and start again{numbers}"
    )]
    Damaged {
        /// Path.
        path: String,
        /// Position.
        at: u64,
        /// Kind of damage.
        damage: Damage,
        /// Numbers that the file still states.
        numbers: Numbers,
    },
}

/// Kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file is shorter than its header.
    #[error("the file is truncated in its header")]
    NoHead,
    /// The first bytes are not those of a store, or the version is unknown.
    #[error("not the file of a store, or of an unknown version")]
    Magic,
    /// The checksum of a slot is wrong.
    #[error("the checksum of the numbers in slot {slot} is wrong")]
    Slot {
        /// 1 or 2.
        slot: u8,
    },
    /// Both slots are valid, but their turns are not consecutive.
    #[error("the two slots of numbers are not of consecutive writes")]
    Slots,
    /// The checksum of a record's header is wrong.
    #[error("the checksum of the header of message {number} is wrong")]
    Head {
        /// The expected number.
        number: u64,
    },
    /// The checksum of a message is wrong.
    #[error("the checksum of message {number} is wrong")]
    Message {
        /// The expected number.
        number: u64,
    },
    /// A record with an unexpected number.
    #[error("message {found} in the place of message {number}")]
    Order {
        /// The expected number.
        number: u64,
        /// The number in the file.
        found: u64,
    },
    /// The file ends before messages that were stored.
    #[error("the file ends here, and messages {first} to {last} are missing")]
    Missing {
        /// The first missing one.
        first: u64,
        /// The last one known to have been stored.
        last: u64,
    },
}

/// Numbers that a damaged file still states, for the discussion with the counterparty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The next number in, and the lower bound of the next number out.
    pub known: Option<(u64, u64)>,
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known {
            Some((next_in, next_out)) => write!(
                f,
                " (its last numbers: next in {next_in}, next out {next_out} or more)"
            ),
            None => Ok(()),
        }
    }
}
