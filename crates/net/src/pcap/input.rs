//! The bytes of a file as they are stored, through one buffer.

use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::Range;

const BUFFER_BYTES: usize = 64 * 1024;

/// A buffered input that counts its bytes and can look ahead. The file is boxed, so that a capture has one type: it is
/// called once for each buffer.
pub(super) struct Input<'a> {
    file: Box<dyn Read + Send + 'a>,
    buffer: Box<[u8]>,
    /// Part of the buffer that was read and not consumed.
    unread: Range<usize>,
    /// Bytes read from the file.
    read_bytes: u64,
}

impl<'a> Input<'a> {
    pub(super) fn new(file: impl Read + Send + 'a) -> Self {
        Self {
            file: Box::new(file),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            unread: 0..0,
            read_bytes: 0,
        }
    }

    /// Bytes read from the file so far.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Lends the next bytes without consuming them: `N`, or fewer at the end of the file.
    pub(super) fn peek<const N: usize>(&mut self) -> io::Result<&[u8]> {
        if self.unread.len() < N {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        while self.unread.len() < N {
            match self.file.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => break,
                Ok(read) => {
                    self.unread.end += read;
                    self.read_bytes += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let end = self.unread.end.min(self.unread.start + N);
        Ok(&self.buffer[self.unread.start..end])
    }

    /// Consumes zeros; whether the file ends behind them.
    pub(super) fn ends_in_zeros(&mut self) -> io::Result<bool> {
        loop {
            let unread = match self.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                unread => unread?,
            };
            let (len, zeros) = (unread.len(), unread.iter().take_while(|byte| **byte == 0));
            let zeros = zeros.count();
            self.consume(zeros);
            if zeros < len || len == 0 {
                return Ok(len == 0);
            }
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A large read needs no copy through the buffer.
        if self.unread.is_empty() && buffer.len() >= BUFFER_BYTES {
            let read = self.file.read(buffer)?;
            self.read_bytes += read as u64;
            return Ok(read);
        }
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            self.unread = 0..0;
            let read = self.file.read(&mut self.buffer)?;
            self.unread.end = read;
            self.read_bytes += read as u64;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    fn consume(&mut self, len: usize) {
        self.unread.start += len;
        assert!(
            self.unread.start <= self.unread.end,
            "only buffered bytes can be consumed"
        );
    }
}
