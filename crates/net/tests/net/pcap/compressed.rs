//! gzip and Zstandard, detected by their first bytes.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::pcap::build::{Bytes, NANOSECONDS, Order};
use crate::pcap::{Taken, read, read_sound};
use touchline_net::pcap::{ErrorKind, Reader};
use touchline_testing::Folder;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).expect("a vector takes everything")
}

/// A capture larger than any buffer on the way, so that refilling is part of each test.
fn capture() -> (Vec<u8>, Vec<Taken>) {
    let mut capture = Bytes::classic(Order::Little, NANOSECONDS, 1);
    let mut expected = Vec::new();
    for index in 1..4000u32 {
        let frame: Vec<u8> = (0..index % 700).map(|at| (at * index) as u8).collect();
        capture = capture.record(index, 0, &frame, frame.len() as u32);
        expected.push(Taken::whole(u64::from(index) * 1_000_000_000, &frame));
    }
    assert!(capture.bytes.len() > 1 << 20);
    (capture.bytes, expected)
}

#[test]
fn each_compression_gives_the_same_packets() {
    let (plain, expected) = capture();
    for packed in [plain.clone(), gzip(&plain), zstd(&plain)] {
        assert_eq!(read_sound(&packed[..]), expected);
    }
}

#[test]
fn several_members_and_frames_are_one_stream() {
    let (plain, expected) = capture();
    let (first, second) = plain.split_at(plain.len() / 3);
    assert_eq!(
        read_sound(&[gzip(first), gzip(second)].concat()[..]),
        expected
    );
    assert_eq!(
        read_sound(&[zstd(first), zstd(second)].concat()[..]),
        expected
    );
}

/// Zeros behind the last member fill a block of a tape or of a copy; other bytes are an error, after all packets.
#[test]
fn zeros_behind_compressed_data_are_padding_and_other_bytes_an_error() {
    let (plain, expected) = capture();
    for (packed, name) in [(gzip(&plain), "gzip"), (zstd(&plain), "Zstandard")] {
        for zeros in [1, 9, 512, 200_000] {
            let padded = [&packed[..], &vec![0; zeros]].concat();
            assert_eq!(read_sound(&padded[..]), expected, "{name}, {zeros} zeros");
        }
        for rest in [
            &b"x"[..],
            b"\0\0x",
            b"garbage behind the data",
            &packed[1..],
        ] {
            let (taken, error) = read(&[&packed[..], rest].concat()[..]);
            let error = error.expect("bytes behind the data");
            assert_eq!(taken, expected, "{error}");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            let words = format!("its {name} data is followed by bytes that are neither");
            assert!(error.to_string().contains(&words), "{error}");
        }
    }
}

/// A second member that is truncated, at each of its first bytes too, is a truncation; all packets before are read.
#[test]
fn a_truncated_member_is_a_truncation() {
    let (plain, expected) = capture();
    let (first, second) = plain.split_at(24 + 16);
    for pack in [gzip, zstd] {
        let (first, second) = (pack(first), pack(second));
        for len in [1, 2, 3, 4, 9, second.len() / 2, second.len() - 1] {
            let (taken, error) = read(&[&first[..], &second[..len]].concat()[..]);
            assert_eq!(error.expect("cut").kind(), ErrorKind::Truncated, "{len}");
            assert_eq!(taken, expected[..taken.len()]);
        }
    }
}

/// `pzstd` writes a skippable frame in front of each frame.
#[test]
fn skippable_frames_are_skipped() {
    let (plain, expected) = capture();
    let skippable = b"\x5c\x2a\x4d\x18\x04\0\0\0size";
    let packed = [&skippable[..], &zstd(&plain), skippable].concat();
    assert_eq!(read_sound(&packed[..]), expected);
}

/// An input that gives one byte at a time and is interrupted between them.
struct Drip<'a> {
    bytes: &'a [u8],
    interrupted: bool,
}

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.bytes.read(&mut buffer[..len])
    }
}

#[test]
fn how_the_input_is_cut_up_does_not_matter() {
    let (plain, expected) = capture();
    for packed in [&plain[..], &gzip(&plain), &zstd(&plain)] {
        assert_eq!(
            read_sound(Drip {
                bytes: packed,
                interrupted: false
            }),
            expected
        );
    }
}

#[test]
fn a_cut_or_damaged_compression_is_named_after_the_packets_before_it() {
    let (plain, expected) = capture();
    for packed in [gzip(&plain), zstd(&plain)] {
        let (taken, error) = read(&packed[..packed.len() - 1]);
        assert_eq!(error.expect("cut").kind(), ErrorKind::Truncated);
        assert_eq!(taken, expected[..taken.len()]);

        let (taken, error) = read(&packed[..packed.len() / 2]);
        assert_eq!(error.expect("cut").kind(), ErrorKind::Truncated);
        assert!(!taken.is_empty() && taken.len() < expected.len());
        assert_eq!(taken, expected[..taken.len()]);
    }
    let mut damaged = gzip(&plain);
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    let error = read(&damaged[..]).1.expect("the sum is wrong");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("gzip"), "{error}");
}

#[test]
fn the_largest_zstd_window_that_is_read_is_32_mib() {
    for (window_log, sound) in [(25, true), (26, false)] {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("an encoder");
        encoder
            .set_parameter(zstd::zstd_safe::CParameter::WindowLog(window_log))
            .expect("a window");
        // Larger than one zstd block, so that the encoder cannot shrink the window to the content.
        let capture =
            Bytes::classic(Order::Little, NANOSECONDS, 1).record(0, 0, &vec![1; 200_000], 1);
        encoder
            .write_all(&capture.bytes)
            .expect("a vector takes everything");
        let file = encoder.finish().expect("a vector takes everything");
        assert_eq!(
            read(&file[..]).1.is_none(),
            sound,
            "window of 2^{window_log} bytes"
        );
    }
}

#[test]
fn progress_counts_the_packed_bytes() {
    let (plain, _) = capture();
    let folder = Folder::new("net");
    // The name has no suffix of a compression: the content determines it.
    let path = folder.join("progress.bin");
    let packed = zstd(&plain);
    std::fs::write(&path, &packed).expect("a temporary file");

    let mut reader = Reader::open(&path).expect("a capture");
    let mut consumed_before = 0;
    while reader.next().expect("a sound capture").is_some() {
        let progress = reader.progress();
        assert_eq!(progress.total_bytes, Some(packed.len() as u64));
        assert!(progress.consumed_bytes >= consumed_before);
        consumed_before = progress.consumed_bytes;
    }
    assert_eq!(consumed_before, packed.len() as u64);
}

#[test]
fn a_missing_file_and_a_folder_are_named() {
    for path in ["/nowhere/session.pcap", "/"] {
        let Err(error) = Reader::open(path) else {
            panic!("{path} is no file")
        };
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().starts_with(path), "{error}");
    }
}
