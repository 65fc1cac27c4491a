//! Last status that a copy received from its source: a file in the directory of the copy. A standby computes from it
//! the number of missing bytes, and so does the start that continues the copy.
//!
//! The file is one line of a fixed length with a checksum, replaced in place. It is not synced, and no start depends on
//! it.

use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::mark;
use std::path::Path;

/// Name of the file.
const NAME: &str = "copy.source";
/// Bytes of the file.
const BYTES: usize = 256;
/// Bytes of the checksum and the space behind it.
const SUM_BYTES: usize = 9;
/// Longest name of a source.
const SOURCE_BYTES_MAX: usize = 160;
/// Attempts of a reader that meets a line while it is written.
const ATTEMPTS: u32 = 10;

/// Last status that a copy received of its source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceStatus {
    /// Host and port of the source; empty if none was received.
    pub source: String,
    /// Position behind the last record of its journal.
    pub position: u64,
    /// Time of the status by the source's clock, nanoseconds since 1970; 0 if no status was received.
    pub said_ns: u64,
}

impl SourceStatus {
    /// Reads that of a directory; `None` if it is not a copy. Without a readable file no status was received.
    pub fn read(directory: &Path) -> Option<SourceStatus> {
        let mut folder = Folder::open(directory).ok()?;
        if !mark::is_copy(&mut folder).ok()? {
            return None;
        }
        let mut read = (0..ATTEMPTS).map(|_| read(&mut folder));
        Some(read.find(SourceStatus::is_heard).unwrap_or_default())
    }

    /// Whether a status was received.
    pub fn is_heard(&self) -> bool {
        self.said_ns > 0
    }

    /// Bytes that a copy lacks which ends at this position.
    pub fn missing(&self, position: u64) -> u64 {
        self.position.saturating_sub(position)
    }

    fn encode(&self) -> [u8; BYTES] {
        let letters = self.source.chars().filter(char::is_ascii_graphic);
        let source: String = letters.take(SOURCE_BYTES_MAX).collect();
        let rest = format!("{} {} {source}", self.position, self.said_ns);
        let rest = format!("{rest:<width$}\n", width = BYTES - SUM_BYTES - 1);
        let line = format!("{:08x} {rest}", crc32c::crc32c(rest.as_bytes()));
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(line.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<SourceStatus> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (sum, rest) = text.split_at_checked(SUM_BYTES)?;
        let sum = u32::from_str_radix(sum.trim_end(), 16).ok()?;
        if crc32c::crc32c(rest.as_bytes()) != sum {
            return None;
        }
        let mut words = rest.split_whitespace();
        Some(SourceStatus {
            position: words.next()?.parse().ok()?,
            said_ns: words.next()?.parse().ok()?,
            source: words.next().unwrap_or_default().to_owned(),
        })
    }
}

/// The status in a directory; without a readable file none was received.
pub(crate) fn read<D: Disk>(disk: &mut D) -> SourceStatus {
    let mut bytes = [0; BYTES];
    let is_read = disk.read(NAME, 0, &mut bytes).is_ok();
    let status = SourceStatus::decode(&bytes).filter(|_| is_read);
    status.unwrap_or_default()
}

/// Makes the file if it is missing.
pub(crate) fn make<D: Disk>(disk: &mut D) -> Result<(), Error> {
    match is_there(disk)? {
        true => Ok(()),
        false => disk
            .create(NAME, BYTES as u64)
            .map_err(Error::io("create", NAME)),
    }
}

/// Replaces the line.
pub(crate) fn write<D: Disk>(disk: &mut D, status: &SourceStatus) -> Result<(), Error> {
    let written = disk.write(NAME, 0, &status.encode());
    written.map_err(Error::io("write", NAME))
}

/// Removes the file: the journal is not a copy any more, or a copy of something else from now on.
pub(crate) fn remove<D: Disk>(disk: &mut D) -> Result<(), Error> {
    match is_there(disk)? {
        true => disk.remove(NAME).map_err(Error::io("remove", NAME)),
        false => Ok(()),
    }
}

fn is_there<D: Disk>(disk: &mut D) -> Result<bool, Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    Ok(names.iter().any(|name| name == NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that is torn is nothing; a name of any length and content fits.
    #[test]
    fn a_status_is_read_whole_or_not() {
        let status = SourceStatus {
            source: "10.0.0.1:7800".to_owned(),
            position: u64::MAX,
            said_ns: 7,
        };
        let bytes = status.encode();
        assert_eq!(SourceStatus::decode(&bytes), Some(status.clone()));
        let other = SourceStatus {
            source: "x y\n\u{e9}".repeat(200),
            ..SourceStatus::default()
        };
        let read = SourceStatus::decode(&other.encode()).expect("a line");
        assert_eq!(read.source.len(), SOURCE_BYTES_MAX);
        for place in 0..BYTES {
            let mut torn = bytes;
            torn[place..].copy_from_slice(&other.encode()[place..]);
            let is_whole = torn == bytes || torn == other.encode();
            assert_eq!(SourceStatus::decode(&torn).is_some(), is_whole, "{place}");
        }
        assert_eq!(SourceStatus::decode(&[0; BYTES]), None);
    }

    #[test]
    fn bytes_are_missing_only_behind_the_copy() {
        let status = SourceStatus {
            position: 100,
            ..SourceStatus::default()
        };
        assert_eq!([40, 100, 101].map(|end| status.missing(end)), [60, 0, 0]);
    }
}
