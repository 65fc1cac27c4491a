//! A root for each test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use touchline_shm::segment::{Access, Directory, Error, Mapping, Options, Root, WriterLock};

pub const BUS: &str = "cme-340";
pub const PAGE: usize = 4096;

/// A folder in memory that is removed with the test, with a root in it that does not exist yet.
pub struct Place {
    folder: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("touchline-test-{}-{number}", std::process::id());
        let folder = Path::new("/dev/shm").join(name);
        fs::create_dir(&folder).unwrap();
        // Every user may pass, so that the rule under test is what blocks others.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn root(&self) -> Root {
        root_in(&self.folder)
    }

    /// Path of a file of the bus.
    pub fn path_of(&self, file: &str) -> PathBuf {
        self.root().path().join(BUS).join(file)
    }

    /// The writer of the bus.
    pub fn writer(&self) -> WriterLock {
        WriterLock::acquire(self.root().create(BUS).unwrap()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub fn root_in(folder: &Path) -> Root {
    Root::at(folder.join("root"))
}

/// A published file of this size, all zeros.
pub fn publish(lock: &WriterLock, file: &str, bytes: usize) -> Mapping {
    let draft = Mapping::create(lock, file, bytes, &Options::default()).unwrap();
    draft.publish().unwrap()
}

pub fn open(directory: &Directory, file: &str) -> Result<Mapping, Error> {
    Mapping::open(directory, file, Access::Read, &Options::default())
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Permission bits of a path, whatever its type.
pub fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
