//! Reservation of memory before its use: missing memory is an error here instead of a later fault.

use super::Error;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// Checks that a size is a multiple of the file system's page size.
pub fn check_size(
    directory: BorrowedFd<'_>,
    path: &Path,
    bytes: u64,
    advice: &'static str,
) -> Result<(), Error> {
    let page_bytes = page_bytes(directory).map_err(Error::system("examine", path))?;
    if bytes != 0 && bytes.is_multiple_of(page_bytes) && usize::try_from(bytes).is_ok() {
        return Ok(());
    }
    Err(Error::Size {
        path: path.to_owned(),
        bytes,
        page_bytes,
        advice,
    })
}

/// Checks that a file of this size is allowed and has room.
pub fn check_room(
    directory: BorrowedFd<'_>,
    path: &Path,
    bytes: u64,
    sparse: bool,
) -> Result<(), Error> {
    // Exceeding the limit raises a signal that ends the process.
    if let Some(limit_bytes) = getrlimit(Resource::Fsize).current
        && bytes > limit_bytes
    {
        return Err(Error::FileSizeLimit {
            path: path.to_owned(),
            needed_bytes: bytes,
            limit_bytes,
        });
    }
    match free_bytes(directory) {
        Some(free_bytes) if !sparse && bytes > free_bytes => Err(no_space(path, bytes, free_bytes)),
        _ => Ok(()),
    }
}

/// Reserves memory for a range of a file without changing its content.
pub fn allocate(file: impl AsFd, path: &Path, bytes: Range<u64>) -> Result<(), Error> {
    let length = bytes.end - bytes.start;
    let none = FallocateFlags::empty();
    match retry_on_intr(|| rustix::fs::fallocate(&file, none, bytes.start, length)) {
        Err(Errno::NOSPC | Errno::NOMEM) if is_hugetlbfs(&file) => Err(Error::NoHugePages {
            path: path.to_owned(),
            needed_bytes: length,
        }),
        Err(Errno::NOSPC | Errno::NOMEM) => {
            Err(no_space(path, length, free_bytes(&file).unwrap_or(0)))
        }
        other => other.map_err(Error::system("reserve memory for", path)),
    }
}

/// Whether the file system has room for this number of bytes more, or states no limit.
pub fn has_room(file: impl AsFd, bytes: u64) -> bool {
    free_bytes(file).is_none_or(|free_bytes| bytes <= free_bytes)
}

/// Whether the file system has only huge pages.
pub fn is_hugetlbfs(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type as u64 == HUGETLBFS_MAGIC)
}

/// The system's setting of huge pages in shared memory.
pub fn huge_page_setting() -> String {
    const ALL: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    const OF_2_MIB: &str = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/shmem_enabled";
    let chosen = |path| {
        let text = std::fs::read_to_string(path).ok()?;
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    };
    match chosen(OF_2_MIB) {
        Some(setting) if setting != "inherit" => setting,
        _ => chosen(ALL).unwrap_or_else(|| "unknown".to_owned()),
    }
}

/// The unit in which memory is mapped.
pub fn page_bytes(directory: BorrowedFd<'_>) -> Result<u64, Errno> {
    if is_hugetlbfs(directory) {
        return Ok(rustix::fs::fstatfs(directory)?.f_bsize as u64);
    }
    Ok(rustix::param::page_size() as u64)
}

/// Free bytes; `None` if the file system has no limit.
fn free_bytes(file: impl AsFd) -> Option<u64> {
    let system = rustix::fs::fstatvfs(file).ok()?;
    (system.f_blocks != 0).then(|| system.f_bavail.saturating_mul(system.f_frsize))
}

fn no_space(path: &Path, needed_bytes: u64, free_bytes: u64) -> Error {
    Error::NoSpace {
        path: path.to_owned(),
        needed_bytes,
        free_bytes,
    }
}
