//! Zip archives: deflated files of one time and mode, from the specification of the format (APPNOTE.TXT 6.3).

use anyhow::{Context, Result};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

/// An archive.
#[derive(Default)]
pub struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// 1 January 1980, the first day of the format.
const DATE: u16 = 1 << 5 | 1;

impl Zip {
    /// Adds a file that all users can read.
    ///
    /// # Errors
    /// It is larger than the format allows.
    pub fn file(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(content)?;
        let packed = packed.finish()?;
        let mut crc = Crc::new();
        crc.update(content);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).context("a file of 4 GiB");

        // Fields that the local header and the central directory share.
        let mut fields = Vec::new();
        for short in [20, 0, 8, 0, DATE] {
            fields.extend(u16::to_le_bytes(short));
        }
        for long in [crc.sum(), length(&packed)?, length(content)?] {
            fields.extend(long.to_le_bytes());
        }
        fields.extend(u16::try_from(name.len())?.to_le_bytes());
        fields.extend([0; 2]);

        let offset = length(&self.bytes)?;
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&fields);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(packed);

        self.directory.extend(b"PK\x01\x02");
        // Made by version 2.0 on Unix, so that the upper half of the attributes is a mode.
        self.directory.extend([20, 3]);
        self.directory.extend(&fields);
        self.directory.extend([0; 6]);
        self.directory.extend((0o100_644_u32 << 16).to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// The bytes of the archive.
    pub fn finish(self) -> Vec<u8> {
        let (offset, length) = (self.bytes.len() as u32, self.directory.len() as u32);
        let mut bytes = self.bytes;
        bytes.extend(self.directory);
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 4]);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_has_the_bytes_of_the_specification() {
        let mut zip = Zip::default();
        zip.file("a", b"").unwrap();
        let bytes = zip.finish();
        let local =
            b"PK\x03\x04\x14\0\0\0\x08\0\0\0\x21\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0a\x03\0";
        assert_eq!(bytes[..local.len()], local[..]);
        let central = &bytes[local.len()..];
        assert_eq!(central[..6], *b"PK\x01\x02\x14\x03");
        assert_eq!(central[6..32], bytes[4..30]);
        assert_eq!(central.len(), 46 + 1 + 22);
        let end = &central[47..];
        assert_eq!(end[12..20], [47, 0, 0, 0, local.len() as u8, 0, 0, 0]);
    }
}
