//! The disk under a journal: the calls that it needs of a directory, so that the crash model can stand in for it.

use std::io;
use touchline_shm::memory::has_room;

/// Files of one directory, by name. Offsets and lengths are bytes.
pub(crate) trait Disk {
    /// Names of all files.
    fn names(&mut self) -> io::Result<Vec<String>>;
    /// Length of a file.
    fn length(&mut self, name: &str) -> io::Result<u64>;
    /// Fills `buffer` from a file, as the page cache shows it.
    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// The whole file past the page cache; `None` if the file system cannot read so.
    fn read_direct(&mut self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Creates a file of `bytes` zeros whose space is allocated.
    fn create(&mut self, name: &str, bytes: u64) -> io::Result<()>;
    /// Writes all of `bytes`.
    fn write(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Content of a file to the disk.
    fn sync(&mut self, name: &str) -> io::Result<()>;
    /// Names of files to the disk.
    fn sync_names(&mut self) -> io::Result<()>;
    /// Renames a file, replacing another.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// A whole file, as the page cache shows it.
    fn read_all(&mut self, name: &str) -> io::Result<Vec<u8>> {
        let length = self.length(name)?;
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "the file is too long");
        if length > SEGMENT_BYTES_MAX {
            return Err(too_long());
        }
        let mut bytes = zeroed(usize::try_from(length).map_err(|_| too_long())?)?;
        let mut block = vec![0; BLOCK_BYTES.min(bytes.len())];
        let mut offset = 0;
        for part in bytes.chunks_mut(BLOCK_BYTES) {
            let block = &mut block[..part.len()];
            self.read(name, offset, block)?;
            put_block(part, block);
            offset += part.len() as u64;
        }
        Ok(bytes)
    }
}

/// Zeros for a file's content, which takes pages only where it is written; an error if this process has no room for it.
pub(crate) fn zeroed(bytes: usize) -> io::Result<Vec<u8>> {
    let why = || format!("no memory for {bytes} bytes: free memory, or raise `ulimit -v`");
    match has_room(bytes) {
        true => Ok(vec![0; bytes]),
        false => Err(io::Error::new(io::ErrorKind::OutOfMemory, why())),
    }
}

/// Copies a block of a file to memory that is zero. Zeros are not copied: the system takes no page for memory that was not
/// written, and most of an open segment is zeros.
pub(crate) fn put_block(zeroed: &mut [u8], block: &[u8]) {
    if !is_zero(block) {
        zeroed.copy_from_slice(block);
    }
}

/// Whether all bytes are zero, compared in pages and not one by one.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let mut pages = bytes.chunks(ZEROS.len());
    pages.all(|page| *page == ZEROS[..page.len()])
}

/// A page of zeros.
const ZEROS: &[u8; 4096] = &[0; 4096];
/// Bytes of a file that are read at once: as many as a near cache holds.
const BLOCK_BYTES: usize = 256 << 10;

/// Largest segment that is read, in bytes.
pub const SEGMENT_BYTES_MAX: u64 = 4 << 30;
