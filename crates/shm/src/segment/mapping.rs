//! A mapped file of a bus.

use super::directory::{self, GroupAccess};
use super::name::{Identity, Name};
use super::writer_lock::{LOOK, WriterLock, unfinished_name};
use super::{Directory, Error, Length, fault, flock, space};
use crate::atomic::{AtomicU64, Ordering};
use crate::{Process, Words};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum time that a file may still be in use by a dead process.
const IN_USE_AFTER_DEATH: Duration = Duration::from_secs(1);

/// Access of a process to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Load only. A store ends the process by SIGSEGV.
    Read,
    /// Load and store.
    Write,
}

/// Locking of pages in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lock {
    /// Not locked.
    No,
    /// Locked if the limits of the process allow it; otherwise there is a [`Warning`].
    #[default]
    IfAllowed,
    /// Locked, or an error.
    Required,
}

/// Mapping options of a segment.
#[derive(Debug, Clone)]
pub struct Options {
    /// Asks for huge pages. On a `hugetlbfs` mount all pages are huge, with or without this option; elsewhere
    /// the kernel may refuse, and a refusal that it reports is a [`Warning`].
    pub huge_pages: bool,
    /// Maps every page before the call returns, so that no access waits for a page later.
    pub prefault: bool,
    /// Locks pages in memory.
    pub lock: Lock,
    /// A new file takes only the memory that [`Mapping::reserve`] requests. Not compatible with
    /// prefaulting.
    pub sparse: bool,
    /// Access of the group of a shared bus.
    pub group_access: GroupAccess,
    /// Length that an existing file must have.
    pub length: Length,
}

impl Default for Options {
    /// Every page present and, if the limits allow it, locked; pages of normal size.
    fn default() -> Self {
        Self {
            huge_pages: false,
            prefault: true,
            lock: Lock::IfAllowed,
            sparse: false,
            group_access: GroupAccess::Read,
            length: Length::Any,
        }
    }
}

impl Options {
    /// Options of a large file of which only parts are used.
    pub fn sparse() -> Self {
        Self {
            prefault: false,
            sparse: true,
            ..Self::default()
        }
    }
}

/// A rejected request without which everything works, but slower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Memory is not locked and may be swapped out.
    NotLocked {
        /// Size to be locked.
        needed_bytes: u64,
        /// `RLIMIT_MEMLOCK`; `None`: unlimited.
        limit_bytes: Option<u64>,
    },
    /// The pages are of normal size.
    NoHugePages {
        /// The setting of the system.
        setting: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLocked {
                needed_bytes,
                limit_bytes,
            } => write!(
                out,
                "{needed_bytes} bytes are not locked in memory, the limit is {}; raise 'ulimit -l'",
                limit_bytes.map_or("none".to_owned(), |bytes| bytes.to_string())
            ),
            Self::NoHugePages { setting } => write!(
                out,
                "no huge pages, the system has shmem_enabled = {setting}; write 'advise' to \
                 /sys/kernel/mm/transparent_hugepage/shmem_enabled, or use a directory on hugetlbfs"
            ),
        }
    }
}

/// Result of a look at the name of a mapped file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The file, with the length that was mapped.
    Whole,
    /// The file, longer or shorter; or it was shorter once.
    OtherLength,
    /// Another file, or none.
    NameLost,
}

/// A mapped file as words. A clone is the same mapping; the last one unmaps it.
#[derive(Clone)]
pub struct Mapping {
    /// The pointer of the region, stored here for speed.
    words: NonNull<[AtomicU64]>,
    region: Arc<Region>,
}

/// Owner of the mapped memory.
struct Region {
    words: NonNull<[AtomicU64]>,
    entry: &'static fault::Entry,
    file: OwnedFd,
    /// Path of the file.
    name: Name,
    /// The process that has locked the file.
    locked_by: Option<Process>,
    warnings: Vec<Warning>,
}

// SAFETY: the memory belongs to the process, not to a thread, and `munmap` may be called by any thread.
// Everything else in it may be sent.
unsafe impl Send for Region {}
// SAFETY: through a shared reference the memory is reached only as `&[AtomicU64]`, which threads may
// share; everything else in it may be shared.
unsafe impl Sync for Region {}
// SAFETY: it adds to the region only a copy of its pointer, to which the same applies.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Words for Mapping {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: as in `Region::words`; the region lives as long as `self`, so as long as the borrow.
        unsafe { self.words.as_ref() }
    }
}

impl Mapping {
    /// Creates a file of `bytes` zeros, mapped for reading and writing, which readers cannot find
    /// before [`Draft::publish`].
    ///
    /// # Errors
    /// Among others [`Error::NoSpace`]: all its memory is reserved here, unless the file is sparse.
    pub fn create<'lock>(
        lock: &'lock WriterLock,
        file: &str,
        bytes: usize,
        options: &Options,
    ) -> Result<Draft<'lock>, Error> {
        Self::create_in(lock.directory(), file, bytes, options)
    }

    /// [`Mapping::create`] in a directory without a lock.
    pub(super) fn create_in<'lock>(
        directory: &'lock Directory,
        file: &str,
        bytes: usize,
        options: &Options,
    ) -> Result<Draft<'lock>, Error> {
        directory::check_name("file", file)?;
        let path = directory.path_of(file);
        let length = bytes as u64;
        space::check_size(directory.handle(), &path, length, "choose another size")?;
        space::check_room(directory.handle(), &path, length, options.sparse)?;
        let unfinished = Unfinished {
            directory,
            name: unfinished_name(file),
        };
        directory.remove_file(&unfinished.name)?;
        let handle = directory.create_file(&unfinished.name, options.group_access)?;
        rustix::fs::ftruncate(&handle, length).map_err(Error::system("size", &path))?;
        if !options.sparse {
            space::allocate(&handle, &path, 0..length)?;
        }
        lock_file(&handle, &path, options)?;
        Ok(Draft {
            mapping: Self::map(handle, path, bytes, Access::Write, options)?,
            file: file.to_owned(),
            unfinished,
        })
    }

    /// Maps an existing file of the bus. Its size is read once.
    ///
    /// # Errors
    /// [`Error::Length`]: it has another length than [`Options::length`] asks for.
    ///
    /// Among others [`Error::InUse`]: opened for writing while another mapping writes it, and still does after a
    /// second.
    pub fn open(
        directory: &Directory,
        file: &str,
        access: Access,
        options: &Options,
    ) -> Result<Self, Error> {
        directory::check_name("file", file)?;
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
        };
        let (handle, stat) = directory.open_file(file, flags, options.group_access)?;
        let path = directory.path_of(file);
        let length = stat.st_size as u64;
        space::check_size(directory.handle(), &path, length, "start its writer again")?;
        // First, so that a file in use is reported as in use, with any length.
        if access == Access::Write {
            lock_file(&handle, &path, options)?;
        }
        let of_file = options.length;
        let length = of_file.of(handle.as_fd(), &path, length, directory.handle())?;
        Self::map(handle, path, length as usize, access, options)
    }

    /// Maps a file that an earlier writer of the bus left, for its next writer, whose group and mode it gets.
    ///
    /// # Errors
    /// As for [`Mapping::open`].
    pub fn take_over(lock: &WriterLock, file: &str, options: &Options) -> Result<Self, Error> {
        let directory = lock.directory();
        let mapping = Self::open(directory, file, Access::Write, options)?;
        directory.grant(mapping.region.file.as_fd(), file, options.group_access)?;
        Ok(mapping)
    }

    /// False once the file was found to be truncated: from then on the memory is private to this
    /// process, and was zeroed. One relaxed load.
    #[inline]
    pub fn intact(&self) -> bool {
        !self.region.entry.is_damaged()
    }

    /// Whether the file's name is missing or leads to another file: the file, or a directory above it, was removed or
    /// replaced. One system call.
    pub fn is_replaced(&self) -> bool {
        self.lost_name().is_some()
    }

    /// The path, if it no longer leads to this file. One system call.
    pub fn lost_name(&self) -> Option<&Path> {
        let name = &self.region.name;
        name.is_lost().then(|| name.path())
    }

    /// Looks at the file that the path leads to; for the writer, which mapped the whole file. One system call.
    pub fn look(&self) -> Look {
        match self.region.name.bytes() {
            None => Look::NameLost,
            Some(Some(bytes)) if bytes != self.region.bytes() as u64 => Look::OtherLength,
            Some(_) if !self.intact() => Look::OtherLength,
            Some(_) => Look::Whole,
        }
    }

    /// Reserves the memory for a range of a sparse file, so that no access can fail later. Cheap if
    /// the memory is reserved already.
    ///
    /// # Errors
    /// [`Error::NoSpace`]; the file is unchanged.
    ///
    /// # Panics
    /// The range is not inside the mapping.
    pub fn reserve(&self, bytes: Range<usize>) -> Result<(), Error> {
        assert!(
            bytes.start <= bytes.end && bytes.end <= size_of_val(self.words()),
            "only what is mapped can be reserved"
        );
        if bytes.is_empty() {
            return Ok(());
        }
        let range = bytes.start as u64..bytes.end as u64;
        space::allocate(&self.region.file, self.path(), range)
    }

    /// Whether the file system has this much free memory, as far as it states that: a quick look before
    /// [`Mapping::reserve`], whose refusal can take milliseconds.
    pub fn has_room(&self, bytes: usize) -> bool {
        space::has_room(&self.region.file, bytes as u64)
    }

    /// Rejected requests.
    pub fn warnings(&self) -> &[Warning] {
        &self.region.warnings
    }

    /// Path, for messages.
    pub fn path(&self) -> &Path {
        self.region.name.path()
    }

    fn map(
        file: OwnedFd,
        path: PathBuf,
        bytes: usize,
        access: Access,
        options: &Options,
    ) -> Result<Self, Error> {
        let mut region = Region::map(file, path, bytes, access)?;
        let is_locked = access == Access::Write && options.group_access != GroupAccess::Reports;
        region.locked_by = is_locked.then(Process::this);
        region.prepare(access, options)?;
        Ok(Self {
            words: region.words,
            region: Arc::new(region),
        })
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Mapping")
            .field("path", &self.path())
            .field("words", &self.words.len())
            .finish_non_exhaustive()
    }
}

/// A new file that its writer fills before it is visible. If dropped instead of published, it is removed.
#[must_use = "no reader can find the file until it is published"]
#[derive(Debug)]
pub struct Draft<'lock> {
    mapping: Mapping,
    file: String,
    unfinished: Unfinished<'lock>,
}

impl Draft<'_> {
    /// The memory to fill.
    pub fn mapping(&self) -> Mapping {
        self.mapping.clone()
    }

    /// Gives the file its name, replacing an older file. Readers of the older one keep it, and detect the replacement
    /// by [`Mapping::is_replaced`].
    pub fn publish(self) -> Result<Mapping, Error> {
        let Unfinished { directory, name } = &self.unfinished;
        rustix::fs::renameat(directory.handle(), name, directory.handle(), &self.file)
            .map_err(Error::system("publish", directory.path_of(&self.file)))?;
        Ok(self.mapping())
    }
}

/// Removes the unfinished file, unless it was published.
#[derive(Debug)]
struct Unfinished<'lock> {
    directory: &'lock Directory,
    name: String,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // If this fails, the next start removes it.
        let _ = self.directory.remove_file(&self.name);
    }
}

impl Region {
    fn map(file: OwnedFd, path: PathBuf, bytes: usize, access: Access) -> Result<Self, Error> {
        let name = Name::new(path.clone(), &file).map_err(Error::system("examine", &path))?;
        let writable = access == Access::Write;
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        let (anywhere, shared) = (ptr::null_mut(), MapFlags::SHARED);
        // SAFETY: the system chooses the place, so that nothing that is mapped is replaced. The memory
        // goes to one `Region`, or is given back below.
        let base = unsafe { rustix::mm::mmap(anywhere, bytes, protection, shared, &file, 0) };
        let base = base.map_err(Error::system("map", &path))?;
        let failure = match fault::guard(base as usize, bytes, writable) {
            Ok(Some(entry)) => {
                let first =
                    NonNull::new(base.cast()).expect("the system maps nothing at 0 unasked");
                return Ok(Self {
                    words: NonNull::slice_from_raw_parts(first, bytes / size_of::<AtomicU64>()),
                    entry,
                    file,
                    name,
                    locked_by: None,
                    warnings: Vec::new(),
                });
            }
            Ok(None) => Error::TooManyMappings {
                path,
                mappings_max: fault::MAPPINGS_MAX,
            },
            Err(error) => Error::system("install the fault handler for", path)(error),
        };
        // SAFETY: it was mapped above with this length, and no reference to it exists.
        let _ = unsafe { rustix::mm::munmap(base, bytes) };
        Err(failure)
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the pointer is to a mapping of this many words, aligned to a page, which stays until
        // `self` is dropped, after every borrow. Its bytes are initialised: a file's pages, or zeros.
        // Other processes change them at any time, which is what atomics are for; nothing in this
        // process accesses them in another way. In a mapping for reading, loads of 64 bits are plain
        // loads on the systems that we build for; a store, for which there is no reason, is stopped by
        // the processor and changes nothing. A file that is made shorter gives zeros, see `fault`.
        unsafe { self.words.as_ref() }
    }

    fn base(&self) -> *mut c_void {
        self.words.as_ptr().cast()
    }

    fn bytes(&self) -> usize {
        size_of_val(self.words())
    }

    fn prepare(&mut self, access: Access, options: &Options) -> Result<(), Error> {
        if options.huge_pages && !space::is_hugetlbfs(&self.file) {
            self.ask_for_huge_pages();
        }
        if options.prefault && !options.sparse {
            self.prefault(access)?;
        }
        match options.lock {
            Lock::No => Ok(()),
            lock => self.lock(lock == Lock::Required),
        }
    }

    fn ask_for_huge_pages(&mut self) {
        let advised = self.advise(Advice::LinuxHugepage);
        let setting = space::huge_page_setting();
        if advised.is_err() || matches!(setting.as_str(), "never" | "deny") {
            self.warnings.push(Warning::NoHugePages { setting });
        }
    }

    fn prefault(&self, access: Access) -> Result<(), Error> {
        let advice = match access {
            Access::Read => Advice::LinuxPopulateRead,
            Access::Write => Advice::LinuxPopulateWrite,
        };
        match self.advise(advice) {
            // A kernel before 5.14.
            Err(Errno::INVAL) => self.touch(access),
            other => other.map_err(Error::system("prefault", self.name.path()))?,
        }
        Ok(())
    }

    /// Accesses each page without changing it. The results are used, so that the compiler keeps the accesses.
    fn touch(&self, access: Access) {
        let page_words = rustix::param::page_size() / size_of::<AtomicU64>();
        for word in self.words().iter().step_by(page_words) {
            let value = match access {
                Access::Read => word.load(Ordering::Relaxed),
                Access::Write => word
                    .compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed)
                    .unwrap_or_else(|other| other),
            };
            std::hint::black_box(value);
        }
    }

    fn lock(&mut self, required: bool) -> Result<(), Error> {
        // Takes no memory for unused parts of a sparse file.
        let on_fault = MlockFlags::ONFAULT;
        // SAFETY: the range is this mapping. Locking changes no contents.
        let locked = unsafe { rustix::mm::mlock_with(self.base(), self.bytes(), on_fault) };
        let needed_bytes = self.bytes() as u64;
        let limit_bytes = getrlimit(Resource::Memlock).current;
        match locked {
            Ok(()) => Ok(()),
            Err(source) if required => Err(Error::NotLocked {
                path: self.name.path().to_owned(),
                needed_bytes,
                limit_bytes: limit_bytes.unwrap_or(u64::MAX),
                source,
            }),
            Err(_) => {
                self.warnings.push(Warning::NotLocked {
                    needed_bytes,
                    limit_bytes,
                });
                Ok(())
            }
        }
    }

    fn advise(&self, advice: Advice) -> Result<(), Errno> {
        // SAFETY: the range is this mapping, and the advice that comes here (huge pages, populate)
        // changes how its pages are kept and not what they contain.
        unsafe { rustix::mm::madvise(self.base(), self.bytes(), advice) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let (base, bytes) = (self.base(), self.bytes());
        self.entry.release();
        if let Some(owner) = self.locked_by {
            flock::unlock(&self.file, owner);
        }
        // SAFETY: the range was mapped by `Region::map`, for this region alone. Dropping it ends all
        // borrows of its words; a `Mapping` with a copy of the pointer keeps the region from dropping.
        let _ = unsafe { rustix::mm::munmap(base, bytes) };
    }
}

/// Locks a file that one process writes: a process that finds it in use, under a new lock file or in a new directory,
/// must not write to it.
fn lock_file(file: &OwnedFd, path: &Path, options: &Options) -> Result<(), Error> {
    // mutant: names: a file in use is written by a second one
    if options.group_access == GroupAccess::Reports {
        return Ok(());
    }
    // The system releases the files of a dead process before its memory, and the memory only when no tool reads its
    // maps any more.
    let deadline = Instant::now() + IN_USE_AFTER_DEATH;
    while !flock::try_lock(file).map_err(Error::system("lock", path))? {
        if Instant::now() >= deadline {
            let process = Identity::of(file).ok().and_then(flock::holder);
            let path = path.to_owned();
            return Err(Error::InUse { path, process });
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::segment::Root;
    use std::os::unix::fs::MetadataExt;

    /// The replacement for a system call that older kernels lack.
    #[test]
    fn prefaulting_maps_every_page_and_changes_none() {
        let folder = touchline_testing::Folder::in_memory("touch");
        let lock = WriterLock::acquire(Root::at(&folder).create("bus").unwrap()).unwrap();
        let draft = Mapping::create(&lock, "ring", 16 * 4096, &Options::sparse()).unwrap();
        let mapping = draft.publish().unwrap();
        let blocks = || std::fs::metadata(mapping.path()).unwrap().blocks();
        mapping.words()[512].store(7, Ordering::Relaxed);
        assert_eq!(blocks(), 8);
        mapping.region.touch(Access::Write);
        assert_eq!(blocks(), 16 * 8);
        let sum: u64 = mapping
            .words()
            .iter()
            .map(|word| word.load(Ordering::Relaxed))
            .sum();
        assert_eq!(sum, 7);
    }
}
