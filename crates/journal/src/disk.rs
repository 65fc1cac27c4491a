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

    /// Fills `buffer` from the start of a file that is set aside: a person may have looked after it, so it has no owner and mode.
    fn read_aside(&mut self, name: &str, buffer: &mut [u8]) -> io::Result<()> {
        self.read(name, 0, buffer)
    }

    /// A whole file, as the page cache shows it.
    fn read_all(&mut self, name: &str) -> io::Result<Vec<u8>> {
        let mut buffer = SegmentBuffer::default();
        buffer.read(self, name)?;
        Ok(buffer.bytes)
    }
}

/// Memory for one file after the other: the system gives its pages once.
#[derive(Default)]
pub(crate) struct SegmentBuffer {
    bytes: Vec<u8>,
    /// Bytes behind this offset are zero.
    written: usize,
    block: Vec<u8>,
}

impl SegmentBuffer {
    /// A whole file, as the page cache shows it.
    pub(crate) fn read<D: Disk + ?Sized>(&mut self, disk: &mut D, name: &str) -> io::Result<&[u8]> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "the file is too long");
        let length = disk.length(name)?;
        if length > SEGMENT_BYTES_MAX {
            return Err(too_long());
        }
        let length = usize::try_from(length).map_err(|_| too_long())?;
        if self.bytes.len() < length {
            self.bytes = Vec::new();
            (self.bytes, self.written) = (zeroed(length)?, 0);
        }
        self.block.resize(BLOCK_BYTES.min(length), 0);
        let mut end = 0;
        for part in self.bytes[..length].chunks_mut(BLOCK_BYTES) {
            let offset = end;
            end += part.len();
            if end <= self.written {
                disk.read(name, offset as u64, part)?;
                continue;
            }
            let block = &mut self.block[..part.len()];
            disk.read(name, offset as u64, block)?;
            // mutant: journal: a block of zeros leaves those of the file before
            if offset < self.written || !is_zero(block) {
                part.copy_from_slice(block);
                self.written = end;
            }
        }
        Ok(&self.bytes[..length])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::segment_name;
    use crate::in_memory::InMemory;

    /// Files of all lengths around the size of a block, with blocks of zeros at other places, one after the other in one buffer.
    #[test]
    fn a_buffer_has_nothing_of_the_file_before() {
        let mut files = vec![vec![0; 5 * BLOCK_BYTES], vec![1; BLOCK_BYTES + 1]];
        let lengths = [2, 3, 1, 4, 5].map(|blocks| blocks * BLOCK_BYTES);
        for (number, length) in lengths.into_iter().chain([7, 0]).enumerate() {
            let mut file = vec![number as u8 + 2; length];
            if let Some(zeros) = file.chunks_mut(BLOCK_BYTES).nth(1 + number % 2) {
                zeros.fill(0);
            }
            files.push(file);
        }
        let parts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let mut disk = InMemory::new(&parts);
        let mut buffer = SegmentBuffer::default();
        for first in 0..files.len() {
            for index in (first..files.len()).chain(0..first) {
                let name = segment_name(index as u64 + 1);
                let read = buffer.read(&mut disk, &name).expect("the file");
                assert!(read == files[index], "file {index} after another");
            }
        }
    }
}
