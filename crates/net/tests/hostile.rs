//! Malicious files: each is refused for the right reason, within limits of time and memory.
//!
//! This test is alone in its process, so that the process's peak memory is the reader's.

#[path = "net/pcap/build.rs"]
#[allow(dead_code, reason = "shared with the tests of sound captures")]
mod build;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use build::{Bytes, NANOSECONDS, Order};
use touchline_net::pcap::{Error, ErrorKind, Reader};

const TIME_MAX: Duration = Duration::from_secs(1);
const MEMORY_MAX_BYTES: u64 = 64 << 20;

const ENHANCED: u32 = 6;
const UNKNOWN: u32 = 0xbad;

struct Case {
    name: &'static str,
    expected: ErrorKind,
    file: Vec<u8>,
}

fn case(name: &'static str, expected: ErrorKind, file: Vec<u8>) -> Case {
    Case {
        name,
        expected,
        file,
    }
}

#[test]
fn hostile_files_are_refused_in_time_and_in_little_memory() {
    let idle_bytes = peak_memory_bytes();
    let groups = [
        classic_lies(),
        block_lies(),
        packet_lies(),
        interface_lies(),
        bombs(),
    ];
    let cases: Vec<Case> = groups.into_iter().flatten().collect();
    assert!(cases.len() >= 25);
    for Case {
        name,
        expected,
        file,
    } in cases
    {
        // The host may stop one of them.
        let tries = (0..3).map(|_| {
            let started = Instant::now();
            let error = read_to_error(&file[..]);
            (started.elapsed(), error)
        });
        let mut taken = Duration::MAX;
        let mut error = None;
        for (time, found) in tries {
            (taken, error) = (taken.min(time), found);
            if taken < TIME_MAX {
                break;
            }
        }
        let error = error.unwrap_or_else(|| panic!("{name}: was read as if it were sound"));
        assert_eq!(error.kind(), expected, "{name}: {error}");
        assert!(
            taken < TIME_MAX,
            "{name}: took {taken:?} to refuse: {error}"
        );
        let grown_bytes = peak_memory_bytes() - idle_bytes;
        assert!(
            grown_bytes < MEMORY_MAX_BYTES,
            "{name}: memory grew by {grown_bytes} bytes"
        );
    }
}

/// Peak memory of this process, from the kernel's count.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("Linux tells");
    let kib = peak
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .expect("a number of KiB");
    kib * 1024
}

fn read_to_error(file: impl Read + Send) -> Option<Error> {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return Some(error),
    };
    loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

fn classic() -> Bytes {
    Bytes::classic(Order::Little, NANOSECONDS, 1)
}

fn described() -> Bytes {
    Bytes::section(Order::Little).interface(1, 0, &[])
}

/// Records with false lengths.
fn classic_lies() -> Vec<Case> {
    let claims = |len| {
        classic()
            .u32(0)
            .u32(0)
            .u32(len)
            .u32(len)
            .raw(&[0; 64])
            .bytes
    };
    let swapped = Bytes::classic(Order::Big, NANOSECONDS, 1).u32(0).u32(0);
    vec![
        case(
            "captured length 2^32 - 1",
            ErrorKind::Limit,
            claims(u32::MAX),
        ),
        case("captured length 2^31", ErrorKind::Limit, claims(1 << 31)),
        case(
            "captured length over 256 KiB",
            ErrorKind::Limit,
            claims(256 * 1024 + 1),
        ),
        case(
            "captured length past the end",
            ErrorKind::Truncated,
            claims(65),
        ),
        case(
            "a length in the other byte order",
            ErrorKind::Limit,
            swapped.raw(&60u32.to_le_bytes()).raw(&[0; 64]).bytes,
        ),
    ]
}

/// Blocks whose lengths would stop the reader or move it far away.
fn block_lies() -> Vec<Case> {
    let claims = |kind, len| described().u32(kind).u32(len).raw(&[0; 64]).bytes;
    let end = described().bytes.len();
    let trailer = described()
        .block(UNKNOWN, &[0; 8])
        .with_u32(end + 16, 8)
        .bytes;
    let unaligned = described().u32(UNKNOWN).u32(13).raw(&[0]).u32(13);
    let no_magic = Bytes::section(Order::Little).with_u32(8, 0xdead_beef).bytes;
    let short = Bytes::new(Order::Little).block(0x0a0d_0d0a, &0x1a2b_3c4d_u32.to_le_bytes());
    vec![
        case("block length 0", ErrorKind::Malformed, claims(UNKNOWN, 0)),
        case("block length 8", ErrorKind::Malformed, claims(UNKNOWN, 8)),
        case("block length 13", ErrorKind::Malformed, unaligned.bytes),
        case(
            "block length 2^32 - 4",
            ErrorKind::Limit,
            claims(UNKNOWN, u32::MAX - 3),
        ),
        case(
            "block length over 16 MiB",
            ErrorKind::Limit,
            claims(UNKNOWN, (16 << 20) + 4),
        ),
        case(
            "block length past the end",
            ErrorKind::Truncated,
            claims(UNKNOWN, 16 << 20),
        ),
        case(
            "packet block over the buffer",
            ErrorKind::Limit,
            claims(ENHANCED, 1 << 20),
        ),
        case("two lengths that differ", ErrorKind::Malformed, trailer),
        case("section without byte order", ErrorKind::Malformed, no_magic),
        case("section without fields", ErrorKind::Malformed, short.bytes),
    ]
}

/// Packet blocks that reach beyond their ends.
fn packet_lies() -> Vec<Case> {
    let packet = || described().enhanced(0, 0, b"data", 4);
    let at = described().bytes.len();
    vec![
        case(
            "packet length 2^32 - 1",
            ErrorKind::Limit,
            packet().with_u32(at + 20, u32::MAX).bytes,
        ),
        case(
            "packet over its block",
            ErrorKind::Malformed,
            packet().with_u32(at + 20, 5).bytes,
        ),
        case(
            "packet of no interface",
            ErrorKind::Malformed,
            packet().with_u32(at + 8, 1).bytes,
        ),
        case(
            "interface 2^32 - 1",
            ErrorKind::Malformed,
            packet().with_u32(at + 8, u32::MAX).bytes,
        ),
        case(
            "simple packet of no interface",
            ErrorKind::Malformed,
            Bytes::section(Order::Little).simple(4, b"data").bytes,
        ),
        case(
            "simple packet over its block",
            ErrorKind::Malformed,
            described().simple(5, b"data").bytes,
        ),
        case(
            "packet without fields",
            ErrorKind::Malformed,
            described().block(ENHANCED, b"").bytes,
        ),
    ]
}

/// Interfaces and options without end.
fn interface_lies() -> Vec<Case> {
    let start = || Bytes::section(Order::Little);
    let option = Bytes::new(Order::Little)
        .u32(1)
        .u32(0)
        .u16(2)
        .u16(0xffff)
        .raw(b"eth0");
    let endless = Bytes::new(Order::Little)
        .u32(1)
        .u32(0)
        .raw(&[1, 0, 0, 0].repeat(200_000));
    let many = (0..=65_536).fold(start(), |capture, _| capture.interface(1, 0, &[]));
    vec![
        case(
            "option over its block",
            ErrorKind::Malformed,
            start().block(1, &option.bytes).bytes,
        ),
        case(
            "200,000 empty options",
            ErrorKind::Limit,
            start().block(1, &endless.bytes).bytes,
        ),
        case("65,537 interfaces", ErrorKind::Limit, many.bytes),
        case(
            "interface without fields",
            ErrorKind::Malformed,
            start().block(1, b"").bytes,
        ),
    ]
}

/// Small files that unpack to large data, or request much memory.
fn bombs() -> Vec<Case> {
    let skipped = Bytes::new(Order::Little)
        .block(UNKNOWN, &vec![0; (16 << 20) - 12])
        .bytes;
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).expect("a vector takes everything");
    // 4 GiB of blocks in about 400 KB of frames.
    let blocks = [zstd(&described().bytes), zstd(&skipped).repeat(256)].concat();
    // 4 GiB of empty records.
    let records = [zstd(&classic().bytes), zstd(&vec![0; 16 << 20]).repeat(256)].concat();
    let members = [gzip(&described().bytes), gzip(&skipped).repeat(64)].concat();
    // RFC 8878, section 3.1.1.1: no content size, a window of 2^(10 + 21) bytes, one raw block.
    let window = [
        0x28,
        0xb5,
        0x2f,
        0xfd,
        0x00,
        21 << 3,
        0x21,
        0,
        0,
        1,
        2,
        3,
        4,
    ];
    // RFC 1952, section 2.3: the flag for a file name, which never ends.
    let name = [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &[b'n'; 1 << 20]].concat();
    vec![
        case("4 GiB of skipped blocks in zstd", ErrorKind::Limit, blocks),
        case("4 GiB of empty records in zstd", ErrorKind::Limit, records),
        case("1 GiB of skipped blocks in gzip", ErrorKind::Limit, members),
        case(
            "zstd window of 2 GiB",
            ErrorKind::Malformed,
            window.to_vec(),
        ),
        case("gzip name without end", ErrorKind::Malformed, name),
        case(
            "50,000 empty gzip members",
            ErrorKind::NotCapture,
            gzip(b"").repeat(50_000),
        ),
        case(
            "gzip in gzip",
            ErrorKind::Unsupported,
            gzip(&gzip(&classic().bytes)),
        ),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}
