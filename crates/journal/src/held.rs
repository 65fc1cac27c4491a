//! The position of a program that is done with whole segments, in the journal that it reads.

use crate::disk::Disk;
use crate::error::Error;
use crate::folder::Folder;
use crate::follow::Follow;
use crate::format::segment_name;
use crate::judge::segment_indexes;
use crate::oldest::begin_of;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// Begin of the segment that a crash of the host has cut below this position, which was the end of a segment; of a position beyond all segments
/// that of the oldest one. `None` if a segment still begins or ends there, or if every segment is behind it.
///
/// # Errors
/// A segment cannot be read.
pub fn cut_below(directory: &Path, position: u64) -> Result<Option<u64>, Error> {
    let name = directory.display().to_string();
    let mut folder = Folder::open(directory).map_err(Error::io("open", &name))?;
    let (mut oldest, mut cut, mut last) = (None, None, 0);
    for index in segment_indexes(&mut folder)? {
        let Some((base, _)) = begin_of(directory, index)? else {
            continue;
        };
        let first = *oldest.get_or_insert(base);
        if base == position || position < first {
            return Ok(None);
        }
        last = index;
        if cut.is_none() {
            // The whole file was written before it was cut.
            let name = segment_name(index);
            let length = folder.length(&name).map_err(Error::io("examine", &name));
            let end = base + length.map_err(|error| error.within(directory))?;
            cut = Some(base).filter(|_| (base..=end).contains(&position));
            folder.close(&name);
        }
    }
    // mutant: journal: a holder beyond the end of the journal is at its end
    match end_of(directory, last)? == Some(position) {
        true => Ok(None),
        false => Ok(cut.or(oldest)),
    }
}

/// Position behind a segment that has its `End`.
fn end_of(directory: &Path, index: u64) -> Result<Option<u64>, Error> {
    let mut follow = Follow::from_segment(directory, index);
    while follow.segment() == index {
        if follow.poll(u64::MAX, 1, |_| {})? == 0 {
            return Ok(None);
        }
    }
    Ok(follow.closed().map(|closed| closed.next.base))
}

/// Waits until the disk has what a segment has. A compressed one was synced before it got its name.
///
/// # Errors
/// The file cannot be opened, or the disk fails.
pub fn sync_segment(directory: &Path, index: u64) -> Result<(), Error> {
    let path = directory.join(segment_name(index));
    let synced = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.and_then(|file| file.sync_data()),
    };
    synced.map_err(Error::io("sync", &path.display().to_string()))
}
