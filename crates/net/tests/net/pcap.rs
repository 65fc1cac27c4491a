//! Captures built by hand, byte for byte, for the reader, the writer and the source.

mod build;
mod classic;
mod compressed;
mod damage;
mod merge;
mod order;
mod pcapng;
mod real;
mod writer;

use std::io::Read;

use touchline_net::pcap::{Error, Frame, LinkType, Reader};

/// A frame that owns its bytes, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Taken {
    capture_ns: u64,
    link: u16,
    bytes: Vec<u8>,
    original_len: u32,
}

impl Taken {
    /// An Ethernet frame that was captured whole.
    fn whole(capture_ns: u64, bytes: &[u8]) -> Self {
        let (link, original_len) = (LinkType::ETHERNET.0, bytes.len() as u32);
        Self {
            capture_ns,
            link,
            bytes: bytes.to_vec(),
            original_len,
        }
    }
}

impl From<Frame<'_>> for Taken {
    fn from(frame: Frame<'_>) -> Self {
        let Frame {
            capture_ns,
            link,
            bytes,
            original_len,
        } = frame;
        Self {
            capture_ns,
            link: link.0,
            bytes: bytes.to_vec(),
            original_len,
        }
    }
}

/// Reads a whole capture, and the error that ended it.
fn read(input: impl Read + Send) -> (Vec<Taken>, Option<Error>) {
    let mut taken = Vec::new();
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (taken, Some(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(frame)) => taken.push(frame.into()),
            Ok(None) => return (taken, None),
            Err(error) => {
                assert_eq!(error.packets, taken.len() as u64, "{error}");
                assert!(
                    matches!(reader.next(), Ok(None)),
                    "nothing comes after an error"
                );
                return (taken, Some(error));
            }
        }
    }
}

/// Reads a capture that must be valid.
fn read_sound(input: impl Read + Send) -> Vec<Taken> {
    match read(input) {
        (taken, None) => taken,
        (_, Some(error)) => panic!("a sound capture was refused: {error}"),
    }
}
