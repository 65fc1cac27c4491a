//! Slots of registered readers: taken by a reader, visible to the writer, free again when the reader dies.

use super::directory::GroupAccess;
use super::name::Name;
use super::ofd::LockFile;
use super::{Directory, Error, WriterLock};
use rustix::fs::OFlags;
use std::os::fd::AsFd;
use std::path::Path;

/// Permanent file, like the writer's. Byte `n` is locked by the reader in slot `n`.
const FILE: &str = "readers";

/// Reader slots of one bus, numbered from 0.
#[derive(Debug)]
pub struct SlotLocks {
    directory: Directory,
    file: LockFile,
    name: Name,
    slots: u32,
}

impl SlotLocks {
    /// For the writer: creates the file if it is missing. Readers that hold a slot keep it.
    pub fn create(lock: &WriterLock, slots: u32) -> Result<Self, Error> {
        let directory = lock.directory().clone();
        let file = directory.open_or_create_file(FILE, GroupAccess::Reports)?;
        directory.grant(file.as_fd(), FILE, GroupAccess::Reports)?;
        Self::new(directory, file.into(), slots)
    }

    /// For readers of the writer's user: the file must exist. The publication states the number of slots.
    pub fn open(directory: &Directory, slots: u32) -> Result<Self, Error> {
        Self::new(directory.clone(), open(directory, OFlags::RDWR)?, slots)
    }

    /// For everybody who may read the bus: which slots are held.
    pub fn open_to_look(directory: &Directory, slots: u32) -> Result<Self, Error> {
        Self::new(directory.clone(), open(directory, OFlags::RDONLY)?, slots)
    }

    fn new(directory: Directory, file: LockFile, slots: u32) -> Result<Self, Error> {
        let path = directory.path_of(FILE);
        let name = Name::new(path.clone(), &file).map_err(Error::system("examine", path))?;
        Ok(Self {
            directory,
            file,
            name,
            slots,
        })
    }

    /// Takes any free slot.
    ///
    /// # Errors
    /// [`Error::NoFreeSlot`].
    pub fn acquire(&self) -> Result<SlotGuard, Error> {
        // Locks of one open file do not exclude each other, so each guard opens its own.
        let file = open(&self.directory, OFlags::RDWR)?;
        for index in 0..self.slots {
            let taken = file.try_lock(u64::from(index));
            if taken.map_err(Error::system("lock", self.directory.path_of(FILE)))? {
                return Ok(SlotGuard { index, _file: file });
            }
        }
        Err(Error::NoFreeSlot {
            path: self.directory.path_of(FILE),
            slots: self.slots,
        })
    }

    /// The path of the file, if it no longer leads to it: slots taken there are not visible here. One system call.
    pub fn lost_name(&self) -> Option<&Path> {
        self.name.is_lost().then(|| self.name.path())
    }

    /// Whether a living reader has this slot. One system call.
    pub fn is_held(&self, index: u32) -> Result<bool, Error> {
        self.file
            .is_held(u64::from(index))
            .map_err(Error::system("look at", self.directory.path_of(FILE)))
    }
}

/// A slot, held until it is dropped or its process dies.
#[derive(Debug)]
pub struct SlotGuard {
    index: u32,
    /// The open file holds the lock.
    _file: LockFile,
}

impl SlotGuard {
    /// Number of the slot.
    pub fn index(&self) -> u32 {
        self.index
    }
}

fn open(directory: &Directory, access: OFlags) -> Result<LockFile, Error> {
    let (file, _) = directory.open_file(FILE, access, GroupAccess::Reports)?;
    Ok(file.into())
}
