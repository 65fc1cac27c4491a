//! Errors as sentences, and the reasons why a publication cannot send.

use crate::raw;
use std::ffi::CStr;
use std::path::PathBuf;

/// Error: what happened, where, and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A channel that is invalid, or that this crate rejects.
    #[error("{channel}: {why}")]
    Channel {
        /// The channel as given.
        channel: String,
        /// Problem and fix.
        why: String,
    },
    /// The folder of a driver is unusable.
    #[error("{}: {why}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Problem and fix.
        why: String,
    },
    /// The file system of the folder is too small.
    #[error("{}: the driver needs {} MiB there and {} MiB are free; make terms smaller, or the file system larger (containers: --shm-size)", folder.display(), needed_bytes.div_ceil(MIB), free_bytes / MIB)]
    Room {
        /// The folder.
        folder: PathBuf,
        /// Bytes that the driver and the streams need.
        needed_bytes: u64,
        /// Free bytes.
        free_bytes: u64,
    },
    /// A setting is out of its range.
    #[error("{0}")]
    Setting(String),
    /// Aeron itself reports an error.
    #[error("{what}: {said} (Aeron's error {code})")]
    Aeron {
        /// Operation.
        what: String,
        /// Aeron's text, in one line.
        said: String,
        /// Aeron's error code, or that of the operating system.
        code: i32,
    },
    /// The driver did not answer in time.
    #[error("{what}: no answer from the media driver within {seconds} s")]
    Timeout {
        /// Operation.
        what: String,
        /// Wait time, seconds.
        seconds: u64,
    },
}

const MIB: u64 = 1024 * 1024;

/// Aeron's code of a temporary failure: `AERON_ERROR_CODE_RESOURCE_TEMPORARILY_UNAVAILABLE`, negated.
const TEMPORARY: i32 = -10;

impl Error {
    /// Whether a retry of the same call can succeed: the driver is still closing a resource that was closed before.
    pub fn is_passing(&self) -> bool {
        matches!(self, Error::Aeron { code, .. } if *code == TEMPORARY)
    }

    /// Aeron's report on this thread about the last failed call.
    pub(crate) fn last(what: impl Into<String>) -> Error {
        // SAFETY: both read data that Aeron stores for this thread; the text is valid until the next call into Aeron, and is copied.
        let (code, said) = unsafe {
            let text = raw::aeron_errmsg();
            let said = match text.is_null() {
                true => String::new(),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            };
            (raw::aeron_errcode(), said)
        };
        Error::Aeron {
            what: what.into(),
            said: one_line(&said),
            code,
        }
    }
}

/// Aeron's messages are a stack: one line `[file, function:line] text` for each level. This keeps the texts.
pub(crate) fn one_line(said: &str) -> String {
    let texts = said.lines().filter_map(|line| {
        let text = line.rsplit_once("] ").map_or(line, |(_, text)| text).trim();
        let is_empty = text.is_empty() || text.starts_with('[') && text.ends_with(']');
        let is_code = text.starts_with('(') && text.contains(") ");
        (!is_empty && !is_code).then_some(text)
    });
    let texts: Vec<&str> = texts.collect();
    match texts.is_empty() {
        true => said
            .lines()
            .next()
            .unwrap_or("no reason given")
            .trim()
            .to_owned(),
        false => texts.join("; "),
    }
}

/// Why a publication did not take a message. Only [`Refused::Closed`], [`Refused::MaxPosition`], [`Refused::TooLong`] and
/// [`Refused::Failed`] are errors; the others pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No subscriber is connected. Not an error for a sender.
    #[error("no subscriber is connected")]
    NotConnected,
    /// Back pressure: a receiver is slow, or the driver did not run between two calls.
    #[error("back pressure: the receivers' window is full")]
    BackPressured,
    /// The log rotates to its next term; retry the same message at once.
    #[error("the log rotates to its next term; send the message again")]
    AdminAction,
    /// The publication is closed: its client or its driver has ended.
    #[error("the publication is closed; its client or media driver has ended")]
    Closed,
    /// The stream has reached its last position, 2^31 terms: add a new publication.
    #[error("the stream is at its last position; add the publication again")]
    MaxPosition,
    /// The message is longer than the publication allows.
    #[error("the message is longer than the publication allows")]
    TooLong,
    /// Aeron's own error, with its code.
    #[error("Aeron refused the message with error {0}")]
    Failed(i32),
}

impl Refused {
    /// Whether a retry of the same message on the same publication can succeed.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Refused::NotConnected | Refused::BackPressured | Refused::AdminAction
        )
    }

    /// Aeron's result: a position, or a negative error code.
    #[inline]
    pub(crate) fn of(answer: i64) -> Result<i64, Refused> {
        match answer {
            position if position >= 0 => Ok(position),
            raw::NOT_CONNECTED => Err(Refused::NotConnected),
            raw::BACK_PRESSURED => Err(Refused::BackPressured),
            raw::ADMIN_ACTION => Err(Refused::AdminAction),
            raw::CLOSED => Err(Refused::Closed),
            raw::MAX_POSITION_EXCEEDED => Err(Refused::MaxPosition),
            // SAFETY: reads a number that Aeron keeps for this thread.
            _ => Err(Refused::Failed(unsafe { raw::aeron_errcode() })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_messages_becomes_one_line() {
        let said = "(-1) unknown error\n[aeron_client_conductor_async_resource_poll, aeron_client_conductor.c:3805] registration \
                    error\nno endpoint\n[a, b.c:1] \n";
        assert_eq!(one_line(said), "registration error; no endpoint");
        assert_eq!(one_line("(22) Invalid argument"), "(22) Invalid argument");
        assert_eq!(one_line(""), "no reason given");
    }

    #[test]
    fn each_result_has_its_meaning() {
        assert_eq!(Refused::of(4096), Ok(4096));
        let passing = [-1, -2, -3, -4, -5].map(|answer| {
            let refused = Refused::of(answer).expect_err("negative");
            refused.is_passing()
        });
        assert_eq!(passing, [true, true, true, false, false]);
    }
}
