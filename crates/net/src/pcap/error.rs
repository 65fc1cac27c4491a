//! What is wrong with a capture, where, and what to do about it.

use std::borrow::Cow;
use std::fmt;

/// Why a capture cannot be opened or read further.
///
/// Printed, it is one line with the file, what is wrong, what to do, and, behind its start, the byte
/// offset and how many packets were read before.
#[derive(Debug)]
pub struct Error {
    /// The file's name as the caller gave it, or `<stream>`.
    pub file: String,
    /// How many packets were read before.
    pub packets: u64,
    /// The fault; boxed, so that the result of each packet stays small.
    fault: Box<Fault>,
}

/// The kinds of trouble with a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The operating system refused to open or read it.
    Io,
    /// It starts like no capture that we know.
    NotCapture,
    /// It is of a kind or version that we do not read.
    Unsupported,
    /// It ends in the middle of a record: an interrupted capture or an unfinished copy.
    Truncated,
    /// Its lengths or fields contradict each other, or its compressed data is damaged.
    Malformed,
    /// It needs more memory or work than a valid capture.
    Limit,
}

impl Error {
    pub(super) fn new(file: &str, packets: u64, fault: Fault) -> Self {
        Self {
            file: file.to_owned(),
            packets,
            fault: Box::new(fault),
        }
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> ErrorKind {
        self.fault.kind
    }

    /// Where it was noticed: bytes from the start of the file, after decompression.
    pub fn offset(&self) -> u64 {
        self.fault.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            offset, what, fix, ..
        } = &*self.fault;
        let Self { file, packets, .. } = self;
        write!(out, "{file}: {what}")?;
        if (*offset, *packets) != (0, 0) {
            write!(out, " (at byte {offset}, after {packets} packets)")?;
        }
        write!(out, "; {fix}")
    }
}

impl std::error::Error for Error {}

/// An error before anybody knows the name of the file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) offset: u64,
    pub(super) what: Cow<'static, str>,
    pub(super) fix: &'static str,
}

impl Fault {
    pub(super) fn io(offset: u64, doing: &str, error: &std::io::Error) -> Self {
        Self {
            kind: ErrorKind::Io,
            offset,
            what: format!("{doing}: {error}").into(),
            fix: "check the path, its permissions and the disk",
        }
    }

    /// The file ended inside `what`.
    pub(super) fn truncated(offset: u64, what: &'static str) -> Self {
        Self {
            kind: ErrorKind::Truncated,
            offset,
            what: format!("the file ends in the middle of {what}").into(),
            fix: "copy the file again; if its capture was interrupted, `editcap FILE NEW` keeps the whole packets",
        }
    }

    pub(super) fn malformed(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: ErrorKind::Malformed,
            offset,
            what: what.into(),
            fix: "the file is damaged here; copy it again from where it was captured",
        }
    }

    pub(super) fn unsupported(
        offset: u64,
        what: impl Into<Cow<'static, str>>,
        fix: &'static str,
    ) -> Self {
        Self {
            kind: ErrorKind::Unsupported,
            offset,
            what: what.into(),
            fix,
        }
    }

    pub(super) fn limit(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: ErrorKind::Limit,
            offset,
            what: what.into(),
            fix: "no capture tool writes this: take the file as damaged or hostile and capture again",
        }
    }
}
