//! Length of a file of a bus as those who open it expect it: another process may have changed it.

use super::{Error, space};
use crate::atomic::AtomicU64;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Bytes at the beginning of a file that state its length.
const HEAD_BYTES: usize = 4096;

/// Length that a file must have to be mapped. A longer one would fill the memory of the host with zeros.
#[derive(Debug, Clone, Copy, Default)]
pub enum Length {
    /// Any.
    #[default]
    Any,
    /// At most this many bytes.
    AtMost(usize),
    /// Words of the content; the file ends with the page of the last one.
    Words(usize),
    /// As many words as the file's own head states, as far as its page; `None`: it states none, and the head alone is
    /// mapped, for the error of those who read it.
    Stated(fn(&[AtomicU64]) -> Option<usize>),
}

impl Length {
    /// Bytes to map of an open file of `found` bytes.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub(super) fn of(
        self,
        file: BorrowedFd<'_>,
        path: &Path,
        found: u64,
        directory: BorrowedFd<'_>,
    ) -> Result<u64, Error> {
        let system = || Error::system("examine", path);
        let page_bytes = space::page_bytes(directory).map_err(system())?;
        let of_words = |words: usize| (words as u64).saturating_mul(8);
        let stated = match self {
            Length::Any => return Ok(found),
            Length::AtMost(bytes) => found.min(bytes as u64),
            Length::Words(words) => of_words(words),
            Length::Stated(words) => match words(&head(file).map_err(system())?) {
                Some(words) => of_words(words),
                None => return Ok(found.min(page_bytes)),
            },
        };
        match stated.checked_next_multiple_of(page_bytes) {
            Some(stated_bytes) if stated_bytes == found => Ok(found),
            stated_bytes => Err(Error::Length {
                path: path.to_owned(),
                bytes: found,
                stated_bytes: stated_bytes.unwrap_or(u64::MAX),
            }),
        }
    }
}

/// First words of a file, zeros behind its end. Read instead of mapped, because a mapping would allocate memory for unwritten pages.
fn head(file: impl AsFd) -> Result<Vec<AtomicU64>, Errno> {
    let mut bytes = [0; HEAD_BYTES];
    rustix::io::pread(file, &mut bytes, 0)?;
    let words = bytes.as_chunks::<8>().0.iter();
    Ok(words
        .map(|word| AtomicU64::new(u64::from_ne_bytes(*word)))
        .collect())
}
