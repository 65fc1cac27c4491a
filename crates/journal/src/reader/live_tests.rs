//! Judgements beside a writer that writes while the segment is read.

use super::judge_beside_writer;
use crate::disk::Disk;
use crate::format::{
    Alignment, FrameHead, HEAD_BYTES, HEADER_BYTES, NAME_BYTES, SegmentHeader, body_crc, kind,
    segment_name,
};
use crate::in_memory::InMemory;
use crate::judge::Verdict;
use crate::records::Begin;
use std::io;
use std::time::Duration;

const SALT: u64 = 7;
const FRAMES: usize = 20;
const FRAME_BYTES: usize = 48;
const FILE_BYTES: usize = 8 << 10;

/// A segment with `FRAMES` frames, each of which claims all before it.
fn segment() -> Vec<u8> {
    let header = SegmentHeader {
        salt: SALT,
        index: 1,
        epoch: 1,
        made_ns: 1,
        journal: [3; 16],
        file_bytes: FILE_BYTES as u64,
        required: 0,
        optional: 0,
        name: [0; NAME_BYTES],
        alignment: Alignment::PACKED,
    };
    let mut bytes = header.encode().to_vec();
    for number in 0..FRAMES {
        let begin = Begin {
            base: 0,
            first: 0,
            end_crc: 0,
        };
        let (kind, body) = match number {
            0 => (kind::BEGIN, begin.encode().to_vec()),
            _ => (48, vec![number as u8; FRAME_BYTES - HEAD_BYTES]),
        };
        let head = FrameHead {
            length: (HEAD_BYTES + body.len()) as u32,
            body_crc: body_crc(&body),
            number: number as u32,
            time_ns: 1,
            unsynced: 0,
            stream: 1,
            kind,
        };
        bytes.extend(head.encode(SALT, bytes.len() as u64));
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes.resize(FILE_BYTES, 0);
    bytes
}

/// Offset of a frame behind `Begin`.
fn offset_of(frame: usize) -> usize {
    HEADER_BYTES + 56 + (frame - 1) * FRAME_BYTES
}

/// A disk with one segment; each read misses one frame, or none, as scripted.
struct Racing {
    segment: Vec<u8>,
    misses: Vec<Option<usize>>,
    reads: usize,
}

impl Racing {
    fn new(misses: &[Option<usize>]) -> Self {
        Self {
            segment: segment(),
            misses: misses.to_vec(),
            reads: 0,
        }
    }
}

impl Disk for Racing {
    fn names(&mut self) -> io::Result<Vec<String>> {
        Ok(vec![segment_name(1)])
    }

    fn length(&mut self, _: &str) -> io::Result<u64> {
        Ok(FILE_BYTES as u64)
    }

    fn read(&mut self, name: &str, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut bytes = self.segment.clone();
        // The last turn stays.
        let turn = self.reads.min(self.misses.len() - 1);
        self.reads += 1;
        if let Some(frame) = self.misses[turn] {
            bytes[offset_of(frame)..offset_of(frame + 1)].fill(0);
        }
        InMemory::new(&[&bytes]).read(name, offset, buffer)
    }

    fn read_direct(&mut self, _: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn create(&mut self, _: &str, _: u64) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }

    fn write(&mut self, _: &str, _: u64, _: &[u8]) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }

    fn sync(&mut self, _: &str) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }

    fn sync_names(&mut self) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }

    fn rename(&mut self, _: &str, _: &str) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }

    fn remove(&mut self, _: &str) -> io::Result<()> {
        unreachable!("a judgement changes nothing")
    }
}

fn verdict(misses: &[Option<usize>]) -> (Verdict, u64) {
    let judged = judge_beside_writer(&mut Racing::new(misses), Duration::ZERO);
    let judgement = judged.expect("a journal");
    (judgement.verdict, judgement.position())
}

#[test]
fn frames_that_a_walk_misses_are_not_damage_once_they_are_there() {
    let end = offset_of(FRAMES) as u64;
    assert_eq!(verdict(&[None]), (Verdict::Clean, end));
    assert_eq!(verdict(&[Some(3), None]), (Verdict::Clean, end));
    assert_eq!(
        verdict(&[Some(3), Some(7), Some(9), None]),
        (Verdict::Clean, end)
    );
}

#[test]
fn a_break_that_stays_is_damage() {
    assert_eq!(verdict(&[Some(3)]), (Verdict::Damaged, offset_of(3) as u64));
    assert_eq!(
        verdict(&[Some(3), Some(5)]),
        (Verdict::Damaged, offset_of(5) as u64)
    );
}

#[test]
fn a_break_that_moves_with_every_walk_is_a_fast_writer() {
    let turns: Vec<_> = (0..100).map(|turn| Some(1 + turn % 18)).collect();
    assert_eq!(verdict(&turns).0, Verdict::Clean);
}
