//! The directory of the journal: whether what is written there can be found again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directory of the journal, as it was at the start: device and inode.
pub(super) struct Directory {
    pub path: PathBuf,
    id: Option<(u64, u64)>,
    /// The segment that is written: its name, device and inode, and its bytes, when it was seen first.
    segment: Option<(String, (u64, u64), u64)>,
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

    /// Whether the segment that is written is still there, as long as it was made.
    pub fn has(&mut self, name: &str) -> bool {
        let Ok(about) = std::fs::symlink_metadata(self.path.join(name)) else {
            return false;
        };
        let (id, bytes) = ((about.dev(), about.ino()), about.len());
        match &self.segment {
            Some((seen, as_seen, made)) if seen == name => id == *as_seen && bytes >= *made,
            _ => {
                self.segment = Some((name.to_owned(), id, bytes));
                true
            }
        }
    }

    fn id_of(path: &Path) -> Option<(u64, u64)> {
        let about = std::fs::metadata(path).ok()?;
        Some((about.dev(), about.ino()))
    }
}
