//! Why a store is not opened, and what to do then.

use std::fmt;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be used.
    #[error(
        "the session's store {path}: {reason}; give a folder of this user that nobody else may read"
    )]
    System {
        /// Which one.
        path: String,
        /// Why.
        reason: std::io::Error,
    },
    /// Others may read it, or it is another user's.
    #[error(
        "the session's store {path} can be read by others or is not ours; make it 0700 (a folder) or 0600 (a file) of this user"
    )]
    Open {
        /// Which one.
        path: String,
    },
    /// Another process has it.
    #[error("the session's store {path} is in use by another process; stop that one first")]
    InUse {
        /// Which one.
        path: String,
    },
    /// It was written by a version of this program that is not read any more.
    #[error(
        "the session's store {path} has format version {version}, and this program reads version 2; move the file away, agree with the counterparty that both numbers begin at 1 (a Logon with ResetSeqNumFlag), and start again"
    )]
    Version {
        /// Which one.
        path: String,
        /// The version of the file.
        version: u8,
    },
    /// It was changed, cut, or is not a store.
    #[error(
        "the session's store {path} is damaged at byte {at}: {damage}; move the file away, agree with the counterparty that both numbers begin at 1 (a Logon with ResetSeqNumFlag), and start again{numbers}"
    )]
    Damaged {
        /// Which one.
        path: String,
        /// Where.
        at: u64,
        /// What is wrong.
        damage: Damage,
        /// What the file still says of both numbers.
        numbers: Numbers,
    },
}

/// What is wrong with a damaged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file ends before its first record could begin.
    #[error("the file is cut short inside its head")]
    NoHead,
    /// The first bytes are not those of a store, or the version is one that never was.
    #[error("these are not the first bytes of a store")]
    Magic,
    /// The checksum of a slot is wrong.
    #[error("the checksum of the numbers in slot {slot} is wrong")]
    Slot {
        /// 1 or 2.
        slot: u8,
    },
    /// Both slots are sound, and were not written one after the other.
    #[error("the two slots of numbers do not follow each other")]
    Slots,
    /// The head of a record is not what was written.
    #[error("the checksum of the head of message {number} is wrong")]
    Head {
        /// The number that belongs here.
        number: u64,
    },
    /// A message is not what was written.
    #[error("the checksum of message {number} is wrong")]
    Message {
        /// The number that belongs here.
        number: u64,
    },
    /// A record that does not belong here.
    #[error("message {found} stands where message {number} belongs")]
    Order {
        /// The number that belongs here.
        number: u64,
        /// The number that stands there.
        found: u64,
    },
    /// The file ends before messages that were stored.
    #[error("the file ends here, and messages {first} to {last} are missing")]
    Missing {
        /// The first one that is missing.
        first: u64,
        /// The last one that is known to have been there.
        last: u64,
    },
}

/// What a damaged file still says of both numbers: for the talk with the counterparty.
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
