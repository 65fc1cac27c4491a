//! The bytes of a capture after decompression, through one fixed buffer.

use std::io::{self, Read};
use std::ops::Range;

use super::error::{ErrorKind, Fault};
use super::input::Input;
use super::unpack::Unpacked;

/// Size of the read buffer, and so the largest record or block that is parsed. Skipped blocks may
/// be longer.
pub const BLOCK_BYTES_MAX: usize = 512 * 1024;

/// Ratio of unpacked to packed bytes above which a file is refused as a decompression bomb. A
/// capture that repeats one full packet stays below a hundred, because time and sequence differ.
const EXPANSION_MAX: u64 = 500;

/// Unpacked size below which the ratio is not checked.
const EXPANSION_FREE_BYTES: u64 = 64 * 1024 * 1024;

/// A buffered, decompressed stream of bytes.
///
/// `peek` reads bytes into the buffer without advancing; `consume` advances without changing the
/// buffer. So a peeked slice stays readable by its position (`held`) until the next peek.
pub(super) struct Stream<'a> {
    source: Unpacked<'a>,
    buffer: Box<[u8]>,
    /// Part of the buffer that was read and not consumed.
    unread: Range<usize>,
    /// Offset of `buffer[0]` in the decompressed stream.
    base: u64,
    ended: bool,
}

impl<'a> Stream<'a> {
    /// Starts to read; the first bytes determine the compression.
    pub(super) fn new(input: impl Read + Send + 'a) -> Result<Self, Fault> {
        let source = Unpacked::new(Input::new(input))
            .map_err(|error| Fault::io(0, "cannot read it", &error))?;
        Ok(Self {
            source,
            buffer: vec![0; BLOCK_BYTES_MAX].into_boxed_slice(),
            unread: 0..0,
            base: 0,
            ended: false,
        })
    }

    /// Offset of the next unread byte, counted after decompression.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.unread.start as u64
    }

    /// Position of the next unread byte in the buffer, for [`Self::held`].
    pub(super) fn position(&self) -> usize {
        self.unread.start
    }

    /// Bytes of the file taken so far, before decompression.
    pub(super) fn consumed_bytes(&self) -> u64 {
        self.source.read_bytes()
    }

    /// Lends the next `len` bytes (at most [`BLOCK_BYTES_MAX`]), fewer only at the end of the file.
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8], Fault> {
        if self.unread.len() < len {
            self.fill(len)?;
        }
        let end = self.unread.end.min(self.unread.start + len);
        Ok(&self.buffer[self.unread.start..end])
    }

    /// Advances by `len` peeked bytes.
    pub(super) fn consume(&mut self, len: usize) {
        assert!(
            len <= self.unread.len(),
            "only peeked bytes can be consumed"
        );
        self.unread.start += len;
    }

    /// Advances by `len` bytes; `false` if the file ends before.
    pub(super) fn skip(&mut self, mut len: usize) -> Result<bool, Fault> {
        while len > 0 {
            let step = self.peek(len.min(BLOCK_BYTES_MAX))?.len();
            if step == 0 {
                return Ok(false);
            }
            self.consume(step);
            len -= step;
        }
        Ok(true)
    }

    /// Peeked bytes at these positions, consumed or not; valid until the next peek.
    pub(super) fn held(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Consumes the zeros from `offset` to the end of the stream; an error if it has other bytes.
    #[cold]
    pub(super) fn padding(&mut self, offset: u64) -> Result<(), Fault> {
        loop {
            let bytes = self.peek(BLOCK_BYTES_MAX)?;
            let len = bytes.len();
            if bytes.iter().any(|byte| *byte != 0) {
                return Err(Fault::malformed(
                    offset,
                    "zeros are followed by other bytes",
                ));
            }
            if len == 0 {
                return Ok(());
            }
            self.consume(len);
        }
    }

    /// Offset behind the last byte read.
    fn end_offset(&self) -> u64 {
        self.base + self.unread.end as u64
    }

    #[cold]
    fn fill(&mut self, len: usize) -> Result<(), Fault> {
        assert!(
            len <= self.buffer.len(),
            "a peek is never longer than the buffer"
        );
        self.buffer.copy_within(self.unread.clone(), 0);
        self.base += self.unread.start as u64;
        self.unread = 0..self.unread.len();
        while self.unread.len() < len && !self.ended {
            match self.source.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => {
                    self.ended = true;
                    self.source.check_end(self.end_offset())?;
                }
                Ok(read) => self.unread.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.source_fault(&error)),
            }
            self.refuse_bomb()?;
        }
        Ok(())
    }

    fn refuse_bomb(&self) -> Result<(), Fault> {
        let unpacked = self.end_offset();
        let packed = self.consumed_bytes();
        if unpacked > EXPANSION_FREE_BYTES && unpacked / EXPANSION_MAX > packed {
            let what = format!("{packed} compressed bytes have unpacked to {unpacked}");
            return Err(Fault::limit(unpacked, what));
        }
        Ok(())
    }

    fn source_fault(&self, error: &io::Error) -> Fault {
        let offset = self.end_offset();
        let (Some(format), None) = (self.source.compression(), error.raw_os_error()) else {
            return Fault::io(offset, "cannot read it", error);
        };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Fault::truncated(offset, "its compressed data");
        }
        Fault {
            kind: ErrorKind::Malformed,
            offset,
            what: format!("its {format} data cannot be unpacked: {error}").into(),
            fix: "copy the file again; if it was packed with a window of more than 32 MiB, pack it with less",
        }
    }
}
