//! Where the records of a raw recording go: a journal, or files of pcapng.

use super::files::{CaptureFiles, FileError};
use touchline_journal::{Journal, Record, Refused};

/// A journal, or files.
#[derive(Debug)]
pub(super) enum Output {
    Journal(Journal),
    /// A journal that has failed, until it is open again: takes no record.
    Left,
    Files(CaptureFiles),
}

/// An output that takes no further record.
#[derive(Debug)]
pub(super) enum Failed {
    Journal(Refused),
    Files(FileError),
}

impl Output {
    /// The journal that is open.
    pub fn journal(&self) -> Option<&Journal> {
        match self {
            Output::Journal(journal) => Some(journal),
            Output::Left | Output::Files(_) => None,
        }
    }

    /// Takes the journal out, whose place is empty then.
    pub fn leave(&mut self) -> Option<Journal> {
        match std::mem::replace(self, Output::Left) {
            Output::Journal(journal) => Some(journal),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Whether the present segment, or file, has room for a record.
    pub fn has_room(&self, bytes: usize) -> bool {
        match self {
            Output::Journal(journal) => journal.segment_has_room(bytes),
            Output::Left => false,
            Output::Files(files) => files.has_room(bytes),
        }
    }

    /// Begins the next segment, or file: false if there is none now.
    pub fn begin_segment(&mut self, time_ns: u64) -> Result<bool, Failed> {
        match self {
            Output::Journal(journal) => taken(journal.begin_segment(time_ns)),
            Output::Left => Ok(false),
            Output::Files(files) => files.begin().map(|()| true).map_err(Failed::Files),
        }
    }

    /// Appends a record: false if the caller must give it again later.
    pub fn append(&mut self, record: &Record<'_>) -> Result<bool, Failed> {
        match self {
            Output::Journal(journal) => taken(journal.append(record).map(drop)),
            Output::Left => Ok(false),
            Output::Files(files) => {
                let Record {
                    stream,
                    kind,
                    time_ns,
                    body,
                } = *record;
                files.append(stream, kind, time_ns, body);
                match files.is_due() {
                    true => files.flush().map(|()| true).map_err(Failed::Files),
                    false => Ok(true),
                }
            }
        }
    }

    /// Hands on what waits for further records.
    pub fn flush(&mut self) -> Result<(), Failed> {
        match self {
            Output::Journal(_) | Output::Left => Ok(()),
            Output::Files(files) => files.flush().map_err(Failed::Files),
        }
    }
}

/// A journal that is behind its disk, or has no next segment, takes the record later.
fn taken(result: Result<(), Refused>) -> Result<bool, Failed> {
    match result {
        Ok(()) => Ok(true),
        Err(Refused::TailFull { .. } | Refused::NoSegment) => Ok(false),
        Err(other) => Err(Failed::Journal(other)),
    }
}
