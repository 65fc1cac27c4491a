//! Golden bytes of the format: header and each kind of frame, as constants that no code of the crate made.
//!
//! A failure here is a change of the format: it needs a new version, and readers of the old one.

use crate::place::{Place, append, options, private};
use crate::second_reader;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use touchline_journal::format::{
    Alignment, FrameHead, HEAD_BYTES, HEADER_BYTES, HEADER_COPY_BYTES, NAME_BYTES, NO_CLAIM,
    SegmentHeader, body_crc, kind, segment_name,
};
use touchline_journal::records::{Begin, Clock, End, Gap, Stream};
use touchline_journal::{Error, Journal, Verdict, read, repair, verify};

const GOLDEN: &str = include_str!("golden.txt");
const SALT: u64 = 0x1122_3344_5566_7788;
const TIME_NS: u64 = 1_764_067_200_000_000_100;
const SEGMENT_BYTES: usize = 64 << 10;

/// Name and bytes of each line of the file.
fn golden() -> Vec<(&'static str, Vec<u8>)> {
    let lines = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    let of_line = |line: &'static str| {
        let (name, digits) = line.split_once(' ').expect("a name and bytes");
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
        (name, (0..digits.len()).step_by(2).map(byte).collect())
    };
    lines.map(of_line).collect()
}

/// The segment with all of it.
pub fn golden_segment() -> Vec<u8> {
    let mut segment = vec![0; SEGMENT_BYTES];
    let mut offset = HEADER_BYTES;
    for (name, bytes) in golden() {
        if name == "header" {
            for copy in segment[..HEADER_BYTES].chunks_exact_mut(HEADER_COPY_BYTES) {
                copy[..bytes.len()].copy_from_slice(&bytes);
            }
            continue;
        }
        segment[offset..offset + bytes.len()].copy_from_slice(&bytes);
        offset += bytes.len().next_multiple_of(8);
    }
    segment
}

fn header() -> SegmentHeader {
    let mut name = [0; NAME_BYTES];
    name[..10].copy_from_slice(b"fx-orders1");
    SegmentHeader {
        salt: SALT,
        index: 1,
        epoch: 7,
        made_ns: 1_764_067_200_000_000_001,
        journal: std::array::from_fn(|at| 0xa0 + at as u8),
        file_bytes: SEGMENT_BYTES as u64,
        required: 0,
        optional: 0x8000_0000,
        name,
        alignment: Alignment::PACKED,
    }
}

/// Name, stream, kind, `unsynced` and body of each frame, in order.
fn frames() -> Vec<(&'static str, u16, u16, u32, Vec<u8>)> {
    let begin = Begin {
        base: 0,
        first: 0,
        end_crc: 0,
    };
    let stream = Stream {
        content: 4,
        schema: 321,
        version: 2,
        name: "orders".to_owned(),
    };
    let gap = Gap {
        cause: 4,
        first: 17,
        last: 19,
        count: 3,
        from_ns: 1_764_067_100_000_000_000,
        to_ns: 1_764_067_150_000_000_000,
    };
    let clock = Clock {
        ticks: 987_654_321,
        wall_ns: 1_764_067_200_000_000_000,
        uncertainty_ns: 250,
        state: 3,
    };
    let end = End {
        position: 0x12e0,
        next: 13,
        set_aside: 0,
        cause: End::ROTATED,
    };
    let note = "written by hand: é".as_bytes().to_vec();
    let definitions = b"\x0e\0\0\0definition one\x03\0\0\0two".to_vec();
    let messages = b"\x07\0\0\0message".to_vec();
    let mut packet = vec![1, 2, 1, 0, 0xdc, 5, 0, 0];
    packet.extend(1_764_067_200_000_000_002_u64.to_le_bytes());
    packet.extend(1_764_067_200_000_000_003_u64.to_le_bytes());
    packet.extend(0..20);
    let mut bytes = vec![1, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(123_456_789_u64.to_le_bytes());
    bytes.extend(b"8=FIX.4.4\x01");
    vec![
        ("begin", 0, kind::BEGIN, 4096, begin.encode().to_vec()),
        ("stream", 0, kind::STREAM, NO_CLAIM, stream.encode()),
        ("gap", 1, kind::GAP, 200, gap.encode().to_vec()),
        ("note", 0, kind::NOTE, 300, note),
        ("clock", 0, kind::CLOCK, 0, clock.encode().to_vec()),
        ("definitions", 2, kind::DEFINITIONS, 0, definitions),
        ("messages", 2, kind::MESSAGES, 0, messages),
        ("packet", 3, kind::PACKET, 0, packet),
        ("bytes", 3, kind::BYTES, 0, bytes),
        ("order", 4, 48, 1, b"an order".to_vec()),
        ("empty", 4, 79, 0, Vec::new()),
        ("unknown", 4, 0x7fff, 0, b"stepped over".to_vec()),
        ("end", 0, kind::END, 0, end.encode().to_vec()),
    ]
}

#[test]
fn a_header_is_the_golden_bytes_and_is_read_from_them() {
    let segment = golden_segment();
    assert_eq!(header().encode()[..], segment[..HEADER_BYTES]);
    assert_eq!(SegmentHeader::decode(&segment), Ok((header(), [true; 2])));
    assert_eq!(header().name(), "fx-orders1");
}

#[test]
fn each_kind_of_frame_is_the_golden_bytes_and_is_read_from_them() {
    let golden: BTreeMap<_, _> = golden().into_iter().collect();
    assert_eq!(golden.len(), frames().len() + 1);
    let mut offset = HEADER_BYTES as u64;
    for (number, (name, stream, kind, unsynced, body)) in frames().into_iter().enumerate() {
        let head = FrameHead {
            length: (HEAD_BYTES + body.len()) as u32,
            body_crc: body_crc(&body),
            number: number as u32,
            time_ns: TIME_NS + number as u64,
            unsynced,
            stream,
            kind,
        };
        let bytes = [&head.encode(SALT, offset)[..], &body].concat();
        assert_eq!(bytes, golden[name], "{name}");
        assert_eq!(FrameHead::decode(&golden[name], SALT, offset), Some(head));
        offset = (offset + bytes.len() as u64).next_multiple_of(8);
    }
}

#[test]
fn both_readers_read_the_golden_segment() {
    let place = Place::new("golden");
    private(&place.journal());
    std::fs::write(place.journal().join(segment_name(1)), golden_segment()).expect("our folder");
    let mut found = Vec::new();
    let report = read(&place.journal(), false, |entry| {
        let head = entry.head;
        found.push((head.stream, head.kind, head.unsynced, entry.body.to_vec()));
    })
    .expect("a journal");
    let expected: Vec<_> = frames()
        .into_iter()
        .map(|(_, stream, kind, unsynced, body)| (stream, kind, unsynced, body))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    assert_eq!((report.unknown_kinds, report.position), (1, 0x12e0));
    let second = second_reader::read(&place.journal()).expect("the second reader agrees");
    assert_eq!((second.position, second.next_sequence), (0x12e0, 13));
}

/// Formats that a reader of this version does not know, and the text of the refusal.
#[test]
fn unknown_formats_are_refused_by_their_numbers_in_one_line() {
    let crc_of_header = |copy: &mut [u8]| {
        let crc = body_crc(&[&copy[..12], &copy[16..]].concat());
        copy[12..16].copy_from_slice(&crc.to_le_bytes());
    };
    let last = HEADER_BYTES + 64;
    let cases: [(usize, &[u8], &str); 7] = [
        (8, &[0, 0], "format version 0, this program reads 1"),
        (8, &[2, 0], "format version 2, this program reads 1"),
        (
            8,
            &[0xff, 0xff],
            "format version 65535, this program reads 1",
        ),
        (
            10,
            &[0, 0x20],
            "a header of 8192 bytes, this program reads 4096",
        ),
        (72, &[8, 0, 1, 0], "unknown required features 0x10008"),
        (
            112,
            &[16, 0, 0, 0],
            "alignment 16, this program reads 8, 512 and 4096",
        ),
        (
            last,
            &[0, 0x80],
            "a frame of kind 32768 at offset 4152, which a reader must know",
        ),
    ];
    for (at, bytes, words) in cases {
        let place = Place::new("unknown");
        private(&place.journal());
        let path = place.journal().join(segment_name(1));
        let mut segment = golden_segment();
        if at == last {
            // The second frame becomes one of this kind.
            let offset = HEADER_BYTES + 56;
            let mut head =
                FrameHead::decode(&segment[offset..], SALT, offset as u64).expect("a head");
            head.kind = u16::from_le_bytes([bytes[0], bytes[1]]);
            segment[offset..offset + HEAD_BYTES].copy_from_slice(&head.encode(SALT, offset as u64));
        } else {
            for copy in segment[..HEADER_BYTES].chunks_exact_mut(HEADER_COPY_BYTES) {
                copy[at..at + bytes.len()].copy_from_slice(bytes);
                crc_of_header(copy);
            }
        }
        std::fs::write(&path, &segment).expect("our folder");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("our file");
        let errors = [
            verify(&place.journal()).expect_err(words),
            repair(&place.journal(), true, 5).expect_err(words),
            Journal::open(&place.journal(), &place.bus(), &options(), 5).expect_err(words),
        ];
        for error in errors {
            assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
            let line = error.to_string();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
            assert!(line.starts_with(&path.display().to_string()), "{line}");
        }
        assert_eq!(std::fs::read(&path).expect("a segment"), segment, "{words}");
    }
}

/// The records of a run that an unknown tail belongs to may be in it alone.
#[test]
fn a_tail_of_an_unknown_version_is_refused() {
    let place = Place::new("unknown-tail");
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    (0..3).for_each(|number| append(&mut journal, number));
    drop(journal);
    let tail = bus.directory().path().join("tail");
    let mut bytes = std::fs::read(&tail).expect("a tail");
    bytes[8] = 2;
    std::fs::write(&tail, &bytes).expect("our folder");
    let error = Journal::open(&place.journal(), &bus, &options(), 2).expect_err("unknown");
    let words = "tail: version 2 of the tail, this program reads 1";
    assert!(error.to_string().contains(words), "{error}");
    bytes[8] = 1;
    std::fs::write(&tail, &bytes).expect("our folder");
    Journal::open(&place.journal(), &bus, &options(), 3).expect("a journal");
}
