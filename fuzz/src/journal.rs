//! Segments of a journal.

use crate::Target;
use touchline_journal::format::{
    Alignment, FrameHead, HEAD_BYTES, HEADER_BYTES, HEADER_COPY_BYTES, NAME_BYTES, SegmentHeader,
    body_crc, kind, u32_at,
};
use touchline_journal::records::{Begin, End};
use touchline_journal::{Entry, Verdict, read_segments};

pub(crate) const TARGET: Target = Target {
    name: "journal",
    about: "any segments give records in order and from within, or are refused",
    run,
    seeds,
};

/// Bytes of a header that mean something; the others are zeros.
const HEADER_FIELDS: usize = 116;
/// Most segments of an input.
const SEGMENTS_MAX: usize = 3;

fn run(bytes: &[u8]) {
    let mut segments = segments(bytes);
    read(&segments);
    let mut end_crc = 0;
    for (number, segment) in segments.iter_mut().enumerate() {
        end_crc = correct(segment, number, end_crc);
    }
    read(&segments);
}

/// Segments of an input: for each the length of its frames, the fields of its header, the frames.
fn segments(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    while bytes.len() > 2 + HEADER_FIELDS && segments.len() < SEGMENTS_MAX {
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let (header, rest) = bytes[2..].split_at(HEADER_FIELDS);
        let (frames, rest) = rest.split_at(length.min(rest.len()));
        let mut segment = vec![0; HEADER_BYTES];
        for copy in segment.chunks_exact_mut(HEADER_COPY_BYTES) {
            copy[..HEADER_FIELDS].copy_from_slice(header);
        }
        segment.extend(frames);
        segments.push(segment);
        bytes = rest;
    }
    segments
}

/// Reads to the end or to the damage, and past it; both times the records before the damage are the same.
fn read(segments: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
    let mut before = Vec::new();
    let whole = read_segments(&slices, false, |entry| {
        before.push((entry.sequence, entry.position, entry.head));
    });
    let mut past = Vec::new();
    let report = read_segments(&slices, true, |entry| {
        check(segments, entry);
        past.push((entry.sequence, entry.position, entry.head));
    });
    assert_eq!(past.get(..before.len()), Some(&before[..]));
    let sequences: Vec<_> = before
        .iter()
        .filter_map(|(sequence, ..)| *sequence)
        .collect();
    assert_eq!(sequences.len(), before.len());
    assert!(sequences.windows(2).all(|pair| pair[1] == pair[0] + 1));
    let positions: Vec<_> = before
        .iter()
        .filter_map(|(_, position, _)| *position)
        .collect();
    assert!(positions.windows(2).all(|pair| pair[1] > pair[0]));
    if let Ok(report) = report {
        assert_eq!(report.frames, before.len() as u64);
        assert_eq!(whole.is_err(), report.verdict == Verdict::Damaged);
    }
}

/// Checks that a record has its bytes in its segment; a `Gap` made by the reader has no sequence.
fn check(segments: &[Vec<u8>], entry: &Entry<'_>) {
    if entry.head.kind == kind::GAP && entry.sequence.is_none() {
        return;
    }
    let length = HEAD_BYTES + entry.body.len();
    assert_eq!(length, entry.head.length as usize);
    assert_eq!(body_crc(entry.body), entry.head.body_crc);
    let segment = &segments[entry.segment as usize - 1];
    let mut places = segment[HEADER_BYTES..].windows(length);
    assert!(places.any(|bytes| &bytes[HEAD_BYTES..] == entry.body));
}

/// Makes lengths, numbers and checksums right, so that a search gets behind them. Returns the checksum of the last head.
fn correct(segment: &mut [u8], number: usize, end_crc: u32) -> u32 {
    let length = segment.len() as u64;
    for copy in segment[..HEADER_BYTES].chunks_exact_mut(HEADER_COPY_BYTES) {
        copy[24..32].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        copy[64..72].copy_from_slice(&length.to_le_bytes());
        let crc = body_crc(&[&copy[..12], &copy[16..]].concat());
        copy[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    let Ok((header, _)) = SegmentHeader::decode(segment) else {
        return 0;
    };
    let mut last_crc = 0;
    let (mut offset, mut frame) = (HEADER_BYTES, 0u32);
    while segment.len() - offset >= HEAD_BYTES {
        let length = u32_at(segment, offset) as usize;
        if length < HEAD_BYTES || length > segment.len() - offset {
            break;
        }
        let body = &mut segment[offset + HEAD_BYTES..offset + length];
        if frame == 0 && body.len() == Begin::BYTES {
            body[16..].copy_from_slice(&end_crc.to_le_bytes());
        }
        let crc = body_crc(body);
        let head = &mut segment[offset..offset + HEAD_BYTES];
        head[8..12].copy_from_slice(&crc.to_le_bytes());
        head[12..16].copy_from_slice(&frame.to_le_bytes());
        let bound: &[u8; HEAD_BYTES] = (&*head).try_into().expect("the bytes of a head");
        last_crc = touchline_journal::format::head_crc(bound, header.salt, offset as u64);
        head[4..8].copy_from_slice(&last_crc.to_le_bytes());
        offset += header.alignment.round_up(length as u64) as usize;
        offset = offset.min(segment.len());
        frame += 1;
    }
    last_crc
}

/// Two segments of small frames, whole; cut in the second; with one alone.
fn seeds() -> Vec<Vec<u8>> {
    let (first, next) = seed_segment(
        1,
        Begin {
            base: 0,
            first: 0,
            end_crc: 0,
        },
    );
    let (second, _) = seed_segment(2, next);
    let both = [first.clone(), second.clone()].concat();
    let cut = both[..both.len() - 100].to_vec();
    vec![first, both, cut]
}

/// A segment in the form of an input, and the `Begin` of the next one.
fn seed_segment(index: u64, begin: Begin) -> (Vec<u8>, Begin) {
    let bodies = [
        (16, b"message".to_vec()),
        (48, vec![7; 33]),
        (0x7001, Vec::new()),
    ];
    let lengths = [
        Begin::BYTES,
        bodies[0].1.len(),
        bodies[1].1.len(),
        0,
        End::BYTES,
    ];
    let frames_bytes: usize = lengths
        .iter()
        .map(|length| (HEAD_BYTES + length).next_multiple_of(8))
        .sum();
    let used = (HEADER_BYTES + frames_bytes) as u64;
    let header = SegmentHeader {
        salt: 0x5a17 + index,
        index,
        epoch: 1,
        made_ns: 1,
        journal: [9; 16],
        file_bytes: used + 40,
        required: 0,
        optional: 0,
        name: [0; NAME_BYTES],
        alignment: Alignment::PACKED,
    };
    let end = End {
        position: begin.base + used,
        next: begin.first + 5,
        set_aside: 0,
        cause: End::ROTATED,
    };
    let mut all = vec![(kind::BEGIN, begin.encode().to_vec())];
    all.extend(bodies);
    all.push((kind::END, end.encode().to_vec()));
    let mut frames = Vec::new();
    let mut end_crc = 0;
    for (number, (kind, body)) in all.into_iter().enumerate() {
        let offset = (HEADER_BYTES + frames.len()) as u64;
        let head = FrameHead {
            length: (HEAD_BYTES + body.len()) as u32,
            body_crc: body_crc(&body),
            number: number as u32,
            time_ns: 1,
            unsynced: 64,
            stream: 1,
            kind,
        };
        let head = head.encode(header.salt, offset);
        end_crc = u32_at(&head, 4);
        frames.extend(head);
        frames.extend(body);
        frames.resize(frames.len().next_multiple_of(8), 0);
    }
    frames.resize(frames.len() + 40, 0);
    let mut input = (frames.len() as u16).to_le_bytes().to_vec();
    input.extend(&header.encode()[..HEADER_FIELDS]);
    input.extend(frames);
    let next = Begin {
        base: end.position,
        first: end.next,
        end_crc,
    };
    (input, next)
}

/// The seeds are two complete segments.
#[test]
fn the_seeds_are_journals() {
    let verdicts = seeds().into_iter().map(|seed| {
        let segments = segments(&seed);
        let slices: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        read_segments(&slices, true, |_| {}).map(|report| (report.verdict, report.frames))
    });
    let verdicts: Vec<_> = verdicts
        .map(|verdict| verdict.expect("our format"))
        .collect();
    assert_eq!(verdicts[..2], [(Verdict::Clean, 5), (Verdict::Clean, 10)]);
    assert_eq!(
        verdicts[2].0,
        Verdict::Damaged,
        "a file shorter than its header says"
    );
}
