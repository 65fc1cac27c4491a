//! Errors of journals.

use std::io;
use std::path::Path;

/// Why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A call to the system failed.
    #[error("{name}: cannot {action}: {source}")]
    Io {
        /// The attempted operation.
        action: &'static str,
        /// File or directory.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A format that this version does not read.
    #[error("{name}: {what}; use the version of touchline that wrote it")]
    Foreign {
        /// File.
        name: String,
        /// The unknown version, feature or kind, by its number.
        what: String,
    },
    /// The tail of the last run has no bytes.
    #[error(
        "{name}: the tail of the journal has no bytes: it was truncated, or a start was cut short; records that were in it alone are lost: \
         remove the file, and the next start asks each bank for its orders, as after a loss of power"
    )]
    EmptyTail {
        /// The file.
        name: String,
    },
    /// The last run on this bus wrote another journal.
    #[error(
        "{name}: it is another journal than the last run on this bus has written, whose id is {}: give the directory of that one, or an empty one; \
         if this one is meant, remove the bus (`touchline rm BUS`), and what is in its shared memory alone is lost to the other",
        hex(.other)
    )]
    Other {
        /// Directory.
        name: String,
        /// Id of the journal of the last run.
        other: [u8; 16],
    },
    /// Another process writes the journal.
    #[error("{name}: {} writes this journal; stop it first", process(*.pid))]
    Locked {
        /// Directory.
        name: String,
        /// Process id of the writer; 0 before it is written, or if the file `lock` was removed.
        pid: u32,
    },
    /// A copy of a journal does not fit the journal that it should continue.
    #[error("{name}: {what}")]
    Copy {
        /// Directory.
        name: String,
        /// The reason.
        what: String,
    },
    /// A directory, or a file of a copy, lost its name while it was used.
    #[error(
        "{name}: it was moved, removed or replaced while this process used it, and what is written to it has no name: put it back, and start \
         the command again with the directory that is meant"
    )]
    Replaced {
        /// Directory or file.
        name: String,
    },
    /// Durable records are missing or wrong.
    #[error(
        "{name}: the journal is damaged ({what}); copy the directory, run `touchline journal verify`, and cut with \
         `touchline journal repair --accept-loss` if the loss is acceptable"
    )]
    Damaged {
        /// Directory.
        name: String,
        /// The damage, with segment and position.
        what: String,
    },
    /// A setting out of its range.
    #[error("journal setting {setting}: {what}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Valid range, and the given value.
        what: String,
    },
    /// Shared memory of the tail.
    #[error("tail of the journal: {0}")]
    Tail(#[from] touchline_shm::segment::Error),
}

impl Error {
    /// For `map_err`: a system call that failed on a file.
    pub(crate) fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            name: name.to_owned(),
            source,
        }
    }

    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::OutOfMemory,
            Self::Tail(error) => error.is_out_of_memory(),
            _ => false,
        }
    }

    /// Whether a file or directory does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The same error with the directory before the name of a file in it.
    pub(crate) fn within(self, directory: &Path) -> Self {
        let path = |name: String| directory.join(name).display().to_string();
        match self {
            Self::Io {
                action,
                name,
                source,
            } => Self::Io {
                action,
                name: path(name),
                source,
            },
            Self::Foreign { name, what } => Self::Foreign {
                name: path(name),
                what,
            },
            Self::Other { other, .. } => Self::Other {
                name: directory.display().to_string(),
                other,
            },
            Self::Damaged { what, .. } => Self::Damaged {
                name: directory.display().to_string(),
                what,
            },
            other => other,
        }
    }
}

fn hex(id: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*id))
}

fn process(pid: u32) -> String {
    match pid {
        0 => "a process whose file `lock` was removed or is being written".to_owned(),
        pid => format!("process {pid}"),
    }
}
