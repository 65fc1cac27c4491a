//! A capture file, and the frames in it.

use crate::{Target, seeds};
use std::{
    io::{self, Read},
    net::{Ipv4Addr, SocketAddrV4},
};
use touchline_net::{
    frame::{self, udp_ipv4_frame},
    pcap::{self, Reader, Writer},
};

pub(crate) const TARGET: Target = Target {
    name: "pcap_reader",
    about: "any file gives the same frames whole and in pieces, and ends",
    run,
    seeds,
};

fn run(bytes: &[u8]) {
    let whole = read(bytes);
    let pieces = read(Pieces {
        rest: bytes,
        next: 1,
    });
    if is_packed(bytes) && whole.error.is_some() {
        // The number of frames before a broken stream fails depends on the pieces; the frames themselves do not.
        assert!(
            pieces.error.is_some(),
            "read in pieces, a broken file is whole"
        );
        let common = whole.frames.len().min(pieces.frames.len());
        assert_eq!(whole.frames[..common], pieces.frames[..common]);
    } else {
        assert_eq!(
            whole, pieces,
            "read in pieces, the file says something else"
        );
    }
}

/// gzip and Zstandard, by their first bytes.
fn is_packed(bytes: &[u8]) -> bool {
    matches!(
        *bytes,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    )
}

/// Contents of a file: each frame, as a digest, and the error at the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reading {
    frames: Vec<u64>,
    error: Option<String>,
}

fn read(input: impl Read + Send) -> Reading {
    let mut reading = Reading::default();
    reading.error = Reader::new(input)
        .and_then(|reader| read_frames(reader, &mut reading.frames))
        .err()
        .map(|e| e.to_string());
    reading
}

fn read_frames(mut reader: Reader<'_>, frames: &mut Vec<u64>) -> Result<(), pcap::Error> {
    while let Some(frame) = reader.next()? {
        assert!(
            frame.bytes.len() <= pcap::PACKET_BYTES_MAX,
            "a frame beyond the limit"
        );
        let payload =
            frame::datagram(frame.link, frame.bytes).map_or(&[][..], |datagram| datagram.payload);
        frames.push(fold(fold(frame.capture_ns, frame.bytes), payload));
    }
    Ok(())
}

/// FNV-1a: enough to tell two readings apart.
fn fold(start: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(start ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// Hands out its bytes in pieces of 1 to 7.
struct Pieces<'a> {
    rest: &'a [u8],
    next: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.next.min(buffer.len()).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(length);
        buffer[..length].copy_from_slice(piece);
        self.rest = rest;
        self.next = self.next % 7 + 1;
        Ok(length)
    }
}

/// A capture of two frames from our own writer, also with padding, a section header of pcapng, the heads of compressed files,
/// members with padding behind them.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::heads("cme-mdp3", "pcap", 2_000);
    let mut writer = Writer::new(Vec::new()).expect("memory takes a header");
    let ends = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(224, 0, 31, 1)]
        .map(|ip| SocketAddrV4::new(ip, 14_310));
    let mut frame = Vec::new();
    udp_ipv4_frame(&mut frame, ends[0], ends[1], b"payload").expect("seven bytes fit");
    for capture_ns in [1_660_000_000_000_000_001, 1_660_000_000_000_000_002] {
        writer
            .write(capture_ns, &frame)
            .expect("memory takes a frame");
    }
    let capture = writer.finish().expect("memory takes the rest");
    seeds.push([&capture[..], &[0; 64]].concat());
    seeds.push(capture);
    seeds.push(b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0".to_vec());
    seeds.push(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0".to_vec());
    seeds.push(b"\x28\xb5\x2f\xfd\x24\0\x01\0\0\x99\xe9\xd8\x51".to_vec());
    let member = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    seeds.push([&member[..], member, &[0; 9]].concat());
    seeds.push(
        b"\x50\x2a\x4d\x18\x04\0\0\0size\x28\xb5\x2f\xfd\x24\0\x01\0\0\x99\xe9\xd8\x51".to_vec(),
    );
    seeds
}
