//! Creation of a store file: a new store, or the old one without its oldest messages.
//!
//! After a crash at any step the name refers to the old or the new file, complete; the next start removes the other
//! one.

use super::layout::{HEAD, MAGIC, RECORD_HEAD, RecordHead, Slot};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

/// Content of the new file.
#[derive(Debug)]
pub struct Rewrite<'a> {
    folder: &'a File,
    name: &'a str,
    slot: Slot,
    /// Kept records: the old file, and their range in it.
    kept: Option<(&'a File, std::ops::Range<u64>)>,
    /// Number of the first one.
    first: u64,
    new: Option<File>,
}

type Step<'a> = fn(&mut Rewrite<'a>) -> std::io::Result<()>;

impl<'a> Rewrite<'a> {
    /// Order: the bytes of a file are on the disk before it gets its name.
    pub fn steps() -> [Step<'a>; 6] {
        [
            Rewrite::create,
            // mutant: fix store: the file is renamed before its bytes are written
            Rewrite::write_head,
            Rewrite::write_records,
            Rewrite::synchronise,
            Rewrite::rename,
            Rewrite::synchronise_name,
        ]
    }

    /// A new store.
    pub fn begin(folder: &'a File, name: &'a str) -> Rewrite<'a> {
        Rewrite {
            folder,
            name,
            slot: Slot::FIRST,
            kept: None,
            first: 1,
            new: None,
        }
    }

    /// A store with these numbers that keeps a range of the old file. The first message in it is `first`.
    pub fn keep(
        folder: &'a File,
        name: &'a str,
        slot: Slot,
        old: &'a File,
        range: std::ops::Range<u64>,
        first: u64,
    ) -> Rewrite<'a> {
        Rewrite {
            folder,
            name,
            slot,
            kept: Some((old, range)),
            first,
            new: None,
        }
    }

    /// Runs all steps and returns the new, locked file. No other process opens or rewrites a store in this folder
    /// meanwhile.
    pub fn run(mut self) -> std::io::Result<(File, Slot)> {
        for step in Self::steps() {
            step(&mut self)?;
        }
        let slot = self.slots()[1];
        Ok((self.new.ok_or(Errno::BADF)?, slot))
    }

    fn create(&mut self) -> std::io::Result<()> {
        remove_unfinished(self.folder, self.name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let file = open_inside(self.folder, &unfinished(self.name), flags)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        self.new = Some(file);
        Ok(())
    }

    /// Two slots with the same numbers and consecutive turns.
    fn slots(&self) -> [Slot; 2] {
        [0, 1].map(|more| Slot {
            turn: self.slot.turn.wrapping_add(more),
            ..self.slot
        })
    }

    fn write_head(&mut self) -> std::io::Result<()> {
        let mut head = [0; HEAD as usize];
        head[..8].copy_from_slice(&MAGIC);
        for slot in self.slots() {
            let (bytes, at) = slot.encode();
            head[at as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.file()?.write_all_at(&head, 0)
    }

    fn write_records(&mut self) -> std::io::Result<()> {
        let Some((old, range)) = &self.kept else {
            return Ok(());
        };
        let new = self.file()?;
        let mut to = HEAD;
        if self.first > 1 {
            let skipped = RecordHead::of(self.first - 1, self.slot.epoch, &[]);
            new.write_all_at(&skipped.encode(), to)?;
            to += RECORD_HEAD as u64;
        }
        let mut room = vec![0; 1 << 16];
        let mut from = range.start;
        while from < range.end {
            let bytes = (range.end - from).min(room.len() as u64) as usize;
            old.read_exact_at(&mut room[..bytes], from)?;
            new.write_all_at(&room[..bytes], to)?;
            (from, to) = (from + bytes as u64, to + bytes as u64);
        }
        Ok(())
    }

    fn synchronise(&mut self) -> std::io::Result<()> {
        self.file()?.sync_all()
    }

    fn rename(&mut self) -> std::io::Result<()> {
        match &self.kept {
            // A file that replaced ours is not overwritten.
            Some((old, _)) if !has_name(old, self.folder, self.name)? => {
                return Err(Errno::STALE.into());
            }
            _ => {}
        }
        let from = unfinished(self.name);
        Ok(rustix::fs::renameat(
            self.folder,
            from,
            self.folder,
            self.name,
        )?)
    }

    fn synchronise_name(&mut self) -> std::io::Result<()> {
        self.folder.sync_all()
    }

    fn file(&self) -> std::io::Result<&File> {
        Ok(self.new.as_ref().ok_or(Errno::BADF)?)
    }
}

/// Name of a file during its creation.
pub fn unfinished(name: &str) -> String {
    format!("{name}.new")
}

/// Removes the file of a killed rewrite.
pub fn remove_unfinished(folder: &File, name: &str) -> std::io::Result<()> {
    match rustix::fs::unlinkat(folder, unfinished(name), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file of the folder without following links.
pub fn open_inside(folder: &File, name: &str, flags: OFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mode = match flags.contains(OFlags::CREATE) {
        true => Mode::RUSR | Mode::WUSR,
        false => Mode::empty(),
    };
    rustix::fs::openat2(folder, name, flags, mode, inside).map(File::from)
}

fn has_name(file: &File, folder: &File, name: &str) -> std::io::Result<bool> {
    let ours = file.metadata()?;
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (ours.dev(), ours.ino())),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
