//! Making of a segment: its space is allocated, and its header synced, before it has its name.

use crate::disk::Disk;
use crate::error::Error;
use crate::format::{SegmentHeader, segment_name};

/// Bytes of zeros in one write.
const ZERO_BYTES: usize = 256 << 10;

/// Creates a segment under another name, with its space and its header, syncs it, and gives it its name, in place of a
/// prepared one that was not used.
///
/// # Errors
/// After an error no new file has the name of the segment.
pub(crate) fn make_segment<D: Disk>(disk: &mut D, header: &SegmentHeader) -> Result<(), Error> {
    let name = segment_name(header.index);
    let unfinished = format!("{name}.new");
    let names = disk.names().map_err(Error::io("list", ""))?;
    if names.contains(&unfinished) {
        disk.remove(&unfinished)
            .map_err(Error::io("remove", &unfinished))?;
    }
    disk.create(&unfinished, header.file_bytes)
        .map_err(Error::io("create", &unfinished))?;
    let written = write_header(disk, &unfinished, header);
    if written.is_err() {
        // The space is needed again; the error states the failure.
        let _ = disk.remove(&unfinished);
    }
    written?;
    disk.rename(&unfinished, &name)
        .map_err(Error::io("rename", &unfinished))?;
    // mutant: simulation: names of files are not synced
    disk.sync_names()
        .map_err(Error::io("sync the directory of", &name))
}

fn write_header<D: Disk>(disk: &mut D, name: &str, header: &SegmentHeader) -> Result<(), Error> {
    disk.write(name, 0, &header.encode())
        .map_err(Error::io("write the header of", name))?;
    disk.sync(name).map_err(Error::io("sync", name))
}

/// Writes zeros to a part of a file.
pub(crate) fn write_zeros<D: Disk>(
    disk: &mut D,
    name: &str,
    from: u64,
    to: u64,
) -> Result<(), Error> {
    let zeros = vec![0; ZERO_BYTES];
    let mut offset = from;
    while offset < to {
        let count = (to - offset).min(ZERO_BYTES as u64);
        disk.write(name, offset, &zeros[..count as usize])
            .map_err(Error::io("write zeros to", name))?;
        offset += count;
    }
    Ok(())
}
