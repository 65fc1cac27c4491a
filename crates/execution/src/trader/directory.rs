//! The directory of the journal: whether what is written there can be found again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use touchline_journal::format::segment_name;

/// Directory of the journal, as it was at the start: device and inode.
pub(super) struct Directory {
    pub path: PathBuf,
    id: Option<(u64, u64)>,
    /// The segment that is written: its number and path, device and inode, and its bytes, when it was seen first.
    segment: Option<(u64, PathBuf, (u64, u64), u64)>,
}

impl Directory {
    pub fn at(path: &Path) -> Directory {
        let path = path.to_owned();
        let id = Directory::id_of(&path);
        Directory {
            path,
            id,
            segment: None,
        }
    }

    pub fn is_there(&self) -> bool {
        Directory::id_of(&self.path) == self.id
    }

    /// Whether the segment that is written, of this number, is still there, as long as it was made. Allocates for a new one.
    pub fn has(&mut self, number: u64) -> bool {
        let about = |path: &Path| {
            let about = std::fs::symlink_metadata(path).ok()?;
            Some(((about.dev(), about.ino()), about.len()))
        };
        if let Some((seen, path, id, made)) = &self.segment
            && *seen == number
        {
            return about(path).is_some_and(|(now, bytes)| now == *id && bytes >= *made);
        }
        let path = self.path.join(segment_name(number));
        let Some((id, bytes)) = about(&path) else {
            return false;
        };
        self.segment = Some((number, path, id, bytes));
        true
    }

    fn id_of(path: &Path) -> Option<(u64, u64)> {
        let about = std::fs::metadata(path).ok()?;
        Some((about.dev(), about.ino()))
    }
}
