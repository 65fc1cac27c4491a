//! Segments in memory, to be read only.

use crate::disk::Disk;
use crate::format::{segment_index, segment_name};
use std::io;

/// Segments with the indexes 1, 2 and on.
#[derive(Debug)]
pub(crate) struct InMemory<'a> {
    segments: &'a [&'a [u8]],
}

impl<'a> InMemory<'a> {
    pub fn new(segments: &'a [&'a [u8]]) -> Self {
        Self { segments }
    }

    fn bytes(&self, name: &str) -> io::Result<&'a [u8]> {
        let index = segment_index(name).ok_or(io::ErrorKind::NotFound)?;
        let found = self.segments.get(index as usize - 1);
        Ok(found.ok_or(io::ErrorKind::NotFound)?)
    }
}

fn read_only<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for InMemory<'_> {
    fn names(&mut self) -> io::Result<Vec<String>> {
        let indexes = 1..=self.segments.len() as u64;
        Ok(indexes.map(segment_name).collect())
    }

    fn length(&mut self, name: &str) -> io::Result<u64> {
        Ok(self.bytes(name)?.len() as u64)
    }

    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes(name)?;
        let range = offset as usize..offset as usize + buffer.len();
        let bytes = bytes.get(range).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn read_direct(&mut self, _: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn create(&mut self, _: &str, _: u64) -> io::Result<()> {
        read_only()
    }

    fn write(&mut self, _: &str, _: u64, _: &[u8]) -> io::Result<()> {
        read_only()
    }

    fn sync(&mut self, _: &str) -> io::Result<()> {
        read_only()
    }

    fn sync_names(&mut self) -> io::Result<()> {
        read_only()
    }

    fn rename(&mut self, _: &str, _: &str) -> io::Result<()> {
        read_only()
    }

    fn remove(&mut self, _: &str) -> io::Result<()> {
        read_only()
    }
}
