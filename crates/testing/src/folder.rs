//! Temporary folders.

use std::fmt;
use std::fs::{DirBuilder, Permissions, remove_dir_all, set_permissions};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Folder of one test: empty at first, private to this user, removed with its files when dropped.
pub struct Folder {
    path: PathBuf,
    is_kept_on_failure: bool,
}

impl Folder {
    /// A folder for temporary files whose name contains `name` and this process; each call makes another one.
    ///
    /// # Panics
    /// The folder cannot be made.
    #[must_use]
    #[track_caller]
    pub fn new(name: &str) -> Folder {
        Folder::below(&std::env::temp_dir(), name)
    }

    /// [`Folder::new`] in memory, as the directory of buses.
    ///
    /// # Panics
    /// The folder cannot be made.
    #[must_use]
    #[track_caller]
    pub fn in_memory(name: &str) -> Folder {
        Folder::below(Path::new("/dev/shm"), name)
    }

    #[track_caller]
    fn below(parent: &Path, name: &str) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("touchline-{name}-{}-{number}", std::process::id());
        let path = parent.join(name);
        // An earlier process of this number may have been killed.
        let _ = remove_dir_all(&path);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Folder {
            path,
            is_kept_on_failure: false,
        }
    }

    /// Every user may pass and list it, for tests of its contents.
    ///
    /// # Panics
    /// The mode of the folder cannot be changed.
    #[must_use]
    #[track_caller]
    pub fn for_every_user(self) -> Folder {
        let mode = Permissions::from_mode(0o755);
        set_permissions(&self.path, mode).expect("our folder");
        self
    }

    /// The folder of a failed test stays, and its path is printed.
    #[must_use]
    pub fn kept_on_failure(mut self) -> Folder {
        self.is_kept_on_failure = true;
        self
    }
}

/// Prints the path.
impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_kept_on_failure && std::thread::panicking() {
            eprintln!("files of the failed test: {}", self.path.display());
        } else {
            // The test may have removed it.
            let _ = remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn folders_are_different_private_and_removed_with_their_files() {
        let (one, other) = (Folder::new("same"), Folder::new("same"));
        assert_ne!(*one, *other);
        let mode = one.metadata().expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(one.join("file"), "text").expect("our folder");
        let path = one.to_path_buf();
        drop(one);
        assert!(!path.exists() && other.exists());
    }

    #[test]
    fn a_failed_test_keeps_its_folder_only_on_request() {
        for is_kept in [false, true] {
            let mut path = PathBuf::new();
            let failed = catch_unwind(AssertUnwindSafe(|| {
                let folder = Folder::new("failed");
                path = folder.to_path_buf();
                let _folder = if is_kept {
                    folder.kept_on_failure()
                } else {
                    folder
                };
                panic!("on purpose");
            }));
            assert!(failed.is_err());
            assert_eq!(path.exists(), is_kept);
            let _ = remove_dir_all(&path);
        }
    }
}
