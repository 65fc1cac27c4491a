//! A compressed segment: zstd frames of one block each, with a seek table behind them.
//!
//! The format is zstd's seekable format, which `zstd -d` reads as a whole. A block that cannot be decompressed reads as
//! zeros, and a file without a right seek table as empty: the judgement finds that records are missing.

use crate::disk::SEGMENT_BYTES_MAX;
use crate::format::{BODY_BYTES_MAX, HEADER_BYTES, u32_at};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Ending of the file name, behind that of the segment.
pub(crate) const SUFFIX: &str = ".zst";
/// Bytes of a block before compression.
const BLOCK_BYTES: usize = 256 << 10;
/// Largest block that is read: another writer may begin blocks at frames.
const BLOCK_BYTES_MAX: usize = BLOCK_BYTES + BODY_BYTES_MAX + HEADER_BYTES;
/// Level of compression: higher ones take more time than they save space.
const LEVEL: i32 = 1;
/// First bytes of the frame with the seek table.
const TABLE_MAGIC: u32 = 0x184d_2a5e;
/// Last bytes of the file.
const FOOTER_MAGIC: u32 = 0x8f92_eab1;
/// Bytes before the entries: magic, length.
const TABLE_HEAD_BYTES: usize = 8;
/// Bytes behind the entries: number of blocks, descriptor, magic.
const FOOTER_BYTES: usize = 9;
/// Bit of the descriptor: entries have a checksum.
const HAS_CHECKSUMS: u8 = 0x80;

/// Name of the compressed form of a segment before it is whole.
pub(crate) fn unfinished_name(name: &str) -> String {
    format!("{name}{SUFFIX}.new")
}

/// Writes the frames of a segment and their seek table.
pub(crate) fn write(segment: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    // Other bytes of a header would make the segment one of another format.
    compressor.include_checksum(true)?;
    let mut entries = Vec::new();
    for block in segment.chunks(BLOCK_BYTES) {
        let frame = compressor.compress(block)?;
        out.write_all(&frame)?;
        entries.extend((frame.len() as u32).to_le_bytes());
        entries.extend((block.len() as u32).to_le_bytes());
    }
    let blocks = segment.len().div_ceil(BLOCK_BYTES) as u32;
    out.write_all(&TABLE_MAGIC.to_le_bytes())?;
    out.write_all(&((entries.len() + FOOTER_BYTES) as u32).to_le_bytes())?;
    out.write_all(&entries)?;
    out.write_all(&blocks.to_le_bytes())?;
    out.write_all(&[0])?;
    out.write_all(&FOOTER_MAGIC.to_le_bytes())
}

/// A block in the file and in the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    file_offset: u64,
    file_bytes: usize,
    offset: u64,
    bytes: usize,
}

/// An open compressed segment.
#[derive(Debug)]
pub(crate) struct Compressed {
    file: File,
    blocks: Vec<Block>,
    /// The block that was read last, and its bytes.
    last: Option<(usize, Vec<u8>)>,
}

impl Compressed {
    /// Opens a file by its seek table.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(file: File) -> io::Result<Self> {
        let blocks = blocks(&file)?.unwrap_or_default();
        Ok(Self {
            file,
            blocks,
            last: None,
        })
    }

    /// Bytes of the segment.
    pub fn length(&self) -> u64 {
        self.blocks
            .last()
            .map_or(0, |block| block.offset + block.bytes as u64)
    }

    /// Fills `buffer` from the segment.
    ///
    /// # Errors
    /// The file cannot be read, or the range is outside.
    pub fn read(&mut self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let behind = self.blocks.partition_point(|block| block.offset <= offset);
            let number = behind.checked_sub(1).ok_or(io::ErrorKind::UnexpectedEof)?;
            let within = (offset - self.blocks[number].offset) as usize;
            let bytes = self.block(number)?;
            let bytes = bytes.get(within..).filter(|rest| !rest.is_empty());
            let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
            let count = bytes.len().min(buffer.len());
            buffer[..count].copy_from_slice(&bytes[..count]);
            buffer = &mut buffer[count..];
            offset += count as u64;
        }
        Ok(())
    }

    fn block(&mut self, number: usize) -> io::Result<&[u8]> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let block = self.blocks[number];
            let mut frame = vec![0; block.file_bytes];
            self.file.read_exact_at(&mut frame, block.file_offset)?;
            let bytes = zstd::bulk::decompress(&frame, block.bytes).ok();
            let whole = bytes.filter(|bytes| bytes.len() == block.bytes);
            self.last = Some((number, whole.unwrap_or_else(|| vec![0; block.bytes])));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

/// The blocks of the seek table; `None` if the file has no table that fits it.
fn blocks(file: &File) -> io::Result<Option<Vec<Block>>> {
    let length = file.metadata()?.len();
    let Some(footer_at) = length.checked_sub(FOOTER_BYTES as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, footer_at)?;
    let entry_bytes = match footer[4] & HAS_CHECKSUMS {
        0 => 8,
        _ => 12,
    };
    let table_bytes = u64::from(u32_at(&footer, 0)) * entry_bytes;
    let table_at = footer_at.checked_sub(table_bytes + TABLE_HEAD_BYTES as u64);
    let Some(table_at) = table_at.filter(|_| u32_at(&footer, 5) == FOOTER_MAGIC) else {
        return Ok(None);
    };
    let mut table = vec![0; TABLE_HEAD_BYTES + table_bytes as usize];
    file.read_exact_at(&mut table, table_at)?;
    let is_table = u32_at(&table, 0) == TABLE_MAGIC
        && u64::from(u32_at(&table, 4)) == table_bytes + FOOTER_BYTES as u64;
    if !is_table {
        return Ok(None);
    }
    let mut blocks = Vec::new();
    let (mut file_offset, mut offset) = (0, 0);
    for entry in table[TABLE_HEAD_BYTES..].chunks_exact(entry_bytes as usize) {
        let block = Block {
            file_offset,
            file_bytes: u32_at(entry, 0) as usize,
            offset,
            bytes: u32_at(entry, 4) as usize,
        };
        file_offset += block.file_bytes as u64;
        offset += block.bytes as u64;
        if block.bytes == 0 || block.bytes > BLOCK_BYTES_MAX || file_offset > table_at {
            return Ok(None);
        }
        blocks.push(block);
    }
    let fits = file_offset == table_at && offset <= SEGMENT_BYTES_MAX;
    Ok(fits.then_some(blocks))
}
