//! A raw journal as pcapng.

use super::blocks::RecordBlocks;
use crate::reader::Error;
use crate::reader::rest::{check_overtaken, check_passed, check_rest};
use std::io;
use std::path::{Path, PathBuf};
use touchline_journal::{Follow, is_journal, writer};
use touchline_net::{PcapSource, pcap};

/// Bytes of blocks that are made at once.
const BLOCKS_BYTES: usize = 64 << 10;
/// Records read at once.
const RECORDS: usize = 64;

/// The packets of a raw journal as the bytes of a pcapng file, up to its present end.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    follow: Follow,
    made: RecordBlocks,
    /// Bytes that were handed out of the blocks.
    given: usize,
    is_ended: bool,
}

impl Capture {
    /// Opens a raw journal at its first segment.
    ///
    /// # Errors
    /// [`Error::NoTape`].
    pub fn open(directory: &Path) -> Result<Capture, Error> {
        let path = directory.to_owned();
        if !is_journal(directory).unwrap_or(false) {
            return Err(Error::NoTape { path });
        }
        Ok(Capture {
            path,
            follow: Follow::new(directory),
            made: RecordBlocks::default(),
            given: 0,
            is_ended: false,
        })
    }

    /// Reader of its packets.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn reader(self) -> Result<pcap::Reader<'static>, pcap::Error> {
        let name = self.path.display().to_string();
        pcap::Reader::named(&name, self)
    }

    /// Makes the next blocks; none at the end.
    fn fill(&mut self) -> Result<(), Error> {
        self.made.written();
        self.given = 0;
        while !self.is_ended && self.made.waiting().len() < BLOCKS_BYTES {
            if self.take()? > 0 {
                continue;
            }
            // The recorder may have written its last records just before it ended.
            let is_recorded = writer(&self.path).is_some();
            if !is_recorded && self.take()? > 0 {
                continue;
            }
            self.check_end(is_recorded)?;
            self.made.begin_section();
            self.made.end_section();
            self.is_ended = true;
        }
        Ok(())
    }

    fn take(&mut self) -> Result<usize, Error> {
        let made = &mut self.made;
        let taken = self.follow.poll(u64::MAX, RECORDS, |entry| {
            let head = &entry.head;
            made.record(head.stream, head.kind, head.time_ns, entry.body);
        })?;
        Ok(taken)
    }

    /// Refuses an end in the middle. Bytes behind the last record may not be written yet; without a recorder they are the end that a crash left,
    /// or damage.
    fn check_end(&mut self, is_recorded: bool) -> Result<(), Error> {
        // mutant: tape: a raw recording ends where segments were removed
        check_overtaken(&mut self.follow, &self.path)?;
        match is_recorded {
            true => check_passed(&mut self.follow, &self.path),
            false => check_rest(&self.follow, &self.path),
        }
    }
}

/// Packets of captures, and of the raw journals in directories, merged by time.
///
/// # Errors
/// An input is missing, or is neither.
pub fn packets<P: AsRef<Path>>(
    inputs: impl IntoIterator<Item = P>,
) -> Result<PcapSource<'static>, Error> {
    let reader = |input: P| match input.as_ref() {
        directory if directory.is_dir() => Ok(Capture::open(directory)?.reader()?),
        file => Ok(pcap::Reader::open(file)?),
    };
    let readers: Result<Vec<_>, Error> = inputs.into_iter().map(reader).collect();
    Ok(PcapSource::new(readers?))
}

impl io::Read for Capture {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        if self.given == self.made.waiting().len() {
            self.fill().map_err(io::Error::other)?;
        }
        let left = &self.made.waiting()[self.given..];
        let count = left.len().min(place.len());
        place[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}
