//! A root for each test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use touchline_shm::segment::{Access, Directory, Error, Mapping, Options, Root, WriterLock};
use touchline_testing::Folder;

pub const BUS: &str = "cme-340";
pub const PAGE: usize = 4096;

/// A folder in memory, with a root in it that does not exist yet.
pub struct Place {
    folder: Folder,
}

impl Place {
    pub fn new() -> Self {
        // The rule under test is what blocks others.
        let folder = Folder::in_memory("test").for_every_user();
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

/// Permission bits of a path of any type.
pub fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
