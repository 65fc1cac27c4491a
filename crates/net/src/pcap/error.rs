//! Errors of captures, with place and fix.

use std::borrow::Cow;
use std::fmt;

/// Error of opening or reading a capture.
///
/// Printed as one line with file, problem, fix, byte offset, and the number of packets read before.
#[derive(Debug)]
pub struct Error {
    /// File name as given, or `<stream>`.
    pub file: String,
    /// Number of packets read before.
    pub packets: u64,
    /// The fault; boxed, so that the result of each packet stays small.
    fault: Box<Fault>,
}

/// Kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The operating system refused to open or read it.
    Io,
    /// Its start is not that of a known capture format.
    NotCapture,
    /// Its format or version is not supported.
    Unsupported,
    /// The file ends in the middle of a record: an interrupted capture or an unfinished copy.
    Truncated,
    /// Its lengths or fields contradict each other, or its compressed data is damaged.
    Malformed,
    /// The file needs more memory or work than a valid capture.
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

    /// Kind.
    pub fn kind(&self) -> ErrorKind {
        self.fault.kind
    }

    /// Byte offset from the start of the file, after decompression.
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

/// An error without the file name.
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
            fix: "copy the file again, unless its capture was interrupted",
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
