//! Cuts a journal after a crash: bytes behind the records are set aside, and the last segment gets its `End`.

use crate::disk::Disk;
use crate::error::Error;
use crate::format::{
    END_BYTES, FrameHead, HEAD_BYTES, HEADER_BYTES, SegmentHeader, body_crc, kind, segment_name,
    u32_at,
};
use crate::judge::{Judgement, PrefixEnd, SegmentState};
use crate::make::write_zeros;
use crate::records::End;
use crate::walk::SegmentBytes;

/// Unit in which a sector is compared and written again, in bytes.
const SECTOR_BYTES: usize = 512;

/// Result of a cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Names of the `.cut` files.
    pub files: Vec<String>,
    /// Bytes that were set aside.
    pub bytes: u64,
}

/// Brings the page cache of every kept segment that no claim shows as durable to the disk: sync, compare with the disk,
/// write again only the sectors that differ, sync. Returns the number of those sectors.
pub(crate) fn settle<D: Disk>(disk: &mut D, judgement: &Judgement) -> Result<u64, Error> {
    // mutant: simulation: files are not synced before they are continued
    disk.sync_names().map_err(Error::io("sync", ""))?;
    let last = judgement.end.as_ref().map_or(0, |end| end.header.index);
    let mut rewritten = 0;
    let kept = judgement.walked_from..=last;
    for segment in judgement
        .segments
        .iter()
        .filter(|segment| kept.contains(&segment.index))
    {
        let name = segment_name(segment.index);
        disk.sync(&name).map_err(Error::io("sync", &name))?;
        let shown = disk.read_all(&name).map_err(Error::io("read", &name))?;
        let Some(stored) = disk
            .read_direct(&name)
            .map_err(Error::io("read past the page cache from", &name))?
        else {
            continue;
        };
        let before = rewritten;
        let sectors = shown.chunks(SECTOR_BYTES).zip(stored.chunks(SECTOR_BYTES));
        // mutant: simulation: the page cache is not compared with the disk
        // mutant: simulation: every sector is written again
        for (number, (shown, _)) in sectors
            .enumerate()
            .filter(|(_, (shown, stored))| shown != stored)
        {
            disk.write(&name, (number * SECTOR_BYTES) as u64, shown)
                .map_err(Error::io("write", &name))?;
            rewritten += 1;
        }
        if rewritten > before {
            disk.sync(&name).map_err(Error::io("sync", &name))?;
        }
    }
    Ok(rewritten)
}

/// Sets aside the bytes behind the records, and ends the last segment. `judgement` has its new end afterwards.
pub(crate) fn cut<D: Disk>(
    disk: &mut D,
    judgement: &mut Judgement,
    cause: u64,
    now_ns: u64,
) -> Result<Cut, Error> {
    let mut done = Cut::default();
    set_segments_aside(disk, judgement, now_ns, &mut done)?;
    let Some(end) = judgement.end.as_mut().filter(|end| end.end_crc.is_none()) else {
        return Ok(done);
    };
    let name = segment_name(end.header.index);
    let offset = end.cursor.offset;
    let file_bytes = set_rest_aside(disk, end, now_ns, &mut done)?;
    // mutant: simulation: a start continues the last segment
    if file_bytes < end.header.file_bytes {
        disk.write(&name, end.header.file_bytes - 1, &[0])
            .map_err(Error::io("extend", &name))?;
    }
    let length = end.header.alignment.round_up(END_BYTES as u64);
    let body = End {
        position: end.position() + length,
        next: end.next_sequence() + 1,
        set_aside: done.bytes,
        cause: if done.bytes == 0 { End::ROTATED } else { cause },
    }
    .encode();
    let head = FrameHead {
        length: END_BYTES as u32,
        body_crc: body_crc(&body),
        number: end.cursor.number,
        time_ns: now_ns,
        unsynced: 0,
        stream: 0,
        kind: kind::END,
    }
    .encode(end.header.salt, offset);
    let mut frame = vec![0; length as usize];
    frame[..HEAD_BYTES].copy_from_slice(&head);
    frame[HEAD_BYTES..END_BYTES].copy_from_slice(&body);
    disk.write(&name, offset, &frame)
        .map_err(Error::io("write", &name))?;
    disk.sync(&name).map_err(Error::io("sync", &name))?;
    end.end_crc = Some(u32_at(&head, 4));
    end.cursor.offset += length;
    end.cursor.number += 1;
    Ok(done)
}

/// Takes everything behind the records of a copy away, and leaves zeros there: its source sends it again. The bytes stay in `.cut` files, for a
/// source that cannot.
pub(crate) fn clear<D: Disk>(
    disk: &mut D,
    judgement: &Judgement,
    now_ns: u64,
) -> Result<(), Error> {
    let mut done = Cut::default();
    set_segments_aside(disk, judgement, now_ns, &mut done)?;
    let end = judgement.end.as_ref();
    let Some(end) = end.filter(|end| end.end_crc.is_none()) else {
        return Ok(());
    };
    // mutant: journal: a copy clears records that are not set aside
    set_rest_aside(disk, end, now_ns, &mut done)?;
    let name = segment_name(end.header.index);
    write_zeros(disk, &name, end.cursor.offset, end.header.file_bytes)?;
    disk.sync(&name).map_err(Error::io("sync", &name))
}

/// Copies the bytes behind the records of the last segment to a `.cut` file, if there are any. Returns the length of the segment's file.
fn set_rest_aside<D: Disk>(
    disk: &mut D,
    end: &PrefixEnd,
    now_ns: u64,
    done: &mut Cut,
) -> Result<u64, Error> {
    let name = segment_name(end.header.index);
    let bytes = disk.read_all(&name).map_err(Error::io("read", &name))?;
    let segment = SegmentBytes {
        header: &end.header,
        bytes: &bytes,
    };
    let offset = end.cursor.offset;
    let used = segment.used_from(offset);
    if used > offset {
        let copy = format!("{name}.{now_ns}.cut");
        let rest = &bytes[offset as usize..used as usize];
        copy_aside(disk, &copy, &end.header, offset, rest)?;
        done.bytes += used - offset;
        done.files.push(copy);
    }
    Ok(bytes.len() as u64)
}

/// Takes the segments behind the last record away, last one first, so that none is ever missing in the middle. A
/// prepared one directly behind stays: the next segment replaces it, and until then it keeps the epoch of its run.
fn set_segments_aside<D: Disk>(
    disk: &mut D,
    judgement: &Judgement,
    now_ns: u64,
    done: &mut Cut,
) -> Result<(), Error> {
    // mutant: simulation: a segment behind a cut one is kept
    let last = judgement.end.as_ref().map_or(0, |end| end.header.index);
    for segment in judgement
        .segments
        .iter()
        .rev()
        .filter(|segment| segment.index > last)
    {
        let name = segment_name(segment.index);
        match segment.state {
            SegmentState::Prepared | SegmentState::Unfinished if segment.index == last + 1 => {
                continue;
            }
            SegmentState::Prepared | SegmentState::Unfinished => {
                disk.remove(&name).map_err(Error::io("remove", &name))?;
            }
            _ => {
                let bytes = disk.read_all(&name).map_err(Error::io("read", &name))?;
                let content = bytes.get(HEADER_BYTES..).unwrap_or_default();
                let used = content.iter().rposition(|byte| *byte != 0);
                done.bytes += used.map_or(0, |last| last as u64 + 1);
                let aside = format!("{name}.{now_ns}.cut");
                disk.rename(&name, &aside)
                    .map_err(Error::io("set aside", &name))?;
                done.files.push(aside);
            }
        }
        disk.sync_names()
            .map_err(Error::io("sync the directory of", &name))?;
    }
    Ok(())
}

/// A `.cut` file: the header of the segment, then the bytes at the offset that they had, so that their checksums can be
/// verified.
fn copy_aside<D: Disk>(
    disk: &mut D,
    name: &str,
    header: &SegmentHeader,
    offset: u64,
    bytes: &[u8],
) -> Result<(), Error> {
    let names = disk.names().map_err(Error::io("list", ""))?;
    if names.iter().any(|other| other == name) {
        disk.remove(name).map_err(Error::io("remove", name))?;
    }
    disk.create(name, offset + bytes.len() as u64)
        .map_err(Error::io("create", name))?;
    disk.write(name, 0, &header.encode())
        .map_err(Error::io("write", name))?;
    disk.write(name, offset, bytes)
        .map_err(Error::io("write", name))?;
    disk.sync(name).map_err(Error::io("sync", name))?;
    disk.sync_names()
        .map_err(Error::io("sync the directory of", name))
}
