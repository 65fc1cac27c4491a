//! Truncated captures, and bytes that are not captures.

use proptest::prelude::*;

use crate::pcap::build::{Bytes, MICROSECONDS, NANOSECONDS, ORDERS, Order};
use crate::pcap::{Taken, read, read_sound};
use touchline_net::frame;
use touchline_net::pcap::{ErrorKind, LinkType};

/// A small capture in each form, with the offsets between its records or blocks.
fn small_captures() -> Vec<(Vec<u8>, Vec<usize>)> {
    let mut captures = Vec::new();
    for order in ORDERS {
        let mut ends = Vec::new();
        let mut capture = Bytes::classic(order, NANOSECONDS, 1);
        for frame in [&b"one"[..], b"", b"three"] {
            ends.push(capture.bytes.len());
            capture = capture.record(1, 2, frame, 9);
        }
        ends.push(capture.bytes.len());
        captures.push((capture.bytes, ends));

        let steps: [fn(Bytes) -> Bytes; 5] = [
            |capture| capture.interface(1, 0, &[(9, &[9])]),
            |capture| capture.enhanced(0, 1, b"one", 3),
            |capture| capture.block(0xbad, b"skipped"),
            |capture| capture.simple(3, b"two"),
            |capture| capture.obsolete(0, 3, b"three", 5),
        ];
        let mut capture = Bytes::section(order);
        let mut ends = vec![capture.bytes.len()];
        for step in steps {
            capture = step(capture);
            ends.push(capture.bytes.len());
        }
        captures.push((capture.bytes, ends));
    }
    captures
}

#[test]
fn every_truncation_is_an_error_unless_it_falls_between_records() {
    for (capture, ends) in small_captures() {
        let whole = read_sound(&capture[..]);
        assert_eq!(whole.len(), 3);
        for len in 0..capture.len() {
            let (taken, error) = read(&capture[..len]);
            assert_eq!(taken, whole[..taken.len()], "cut at {len}");
            match error {
                None => assert!(ends.contains(&len), "cut at {len} went unnoticed"),
                Some(error) => {
                    assert!(!ends.contains(&len), "cut at {len}: {error}");
                    let expected = if len < 4 {
                        ErrorKind::NotCapture
                    } else {
                        ErrorKind::Truncated
                    };
                    assert_eq!(error.kind(), expected, "cut at {len}: {error}");
                    assert!(error.offset() <= len as u64, "cut at {len}: {error}");
                }
            }
        }
    }
}

/// A copy by `dd` fills its last block with zeros, a tape every block.
#[test]
fn zeros_behind_the_last_record_are_padding_and_other_bytes_an_error() {
    for (capture, _) in small_captures() {
        let whole = read_sound(&capture[..]);
        // Fewer than a header's bytes may be those of a truncated one.
        for zeros in [16, 17, 512, 1_000_000] {
            let padded = [&capture[..], &vec![0; zeros]].concat();
            assert_eq!(read_sound(&padded[..]), whole, "{zeros} zeros");
            let (taken, error) = read(&[&padded[..], b"x"].concat()[..]);
            let error = error.expect("a byte behind the zeros");
            assert_eq!((taken, error.kind()), (whole.clone(), ErrorKind::Malformed));
            assert_eq!(error.offset(), capture.len() as u64, "{error}");
        }
    }
}

/// Each byte of each small capture set to each value: read or refused without a panic.
#[test]
fn every_single_byte_change_is_read_or_refused() {
    let mut refused = 0u32;
    for (capture, _) in small_captures() {
        for at in 0..capture.len() {
            for value in [0, 1, 0x0a, 0x7f, 0x80, 0xff] {
                let mut changed = capture.clone();
                changed[at] = value;
                refused += u32::from(read(&changed[..]).1.is_some());
            }
        }
    }
    assert!(refused > 500, "the changes did nothing: {refused} refused");
}

fn header() -> impl Strategy<Value = Vec<u8>> {
    let order = prop_oneof![Just(Order::Little), Just(Order::Big)];
    (order, 0..4u8).prop_map(|(order, kind)| match kind {
        0 => Vec::new(),
        1 => Bytes::classic(order, MICROSECONDS, 1).bytes,
        2 => Bytes::section(order).bytes,
        _ => Bytes::section(order).interface(1, 0, &[]).bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn random_bytes_are_read_or_refused(
        header in header(),
        body in proptest::collection::vec(prop_oneof![3 => 0..16u8, 1 => any::<u8>()], 0..400),
    ) {
        let capture = [header, body].concat();
        let (taken, _) = read(&capture[..]);
        prop_assert!(taken.iter().map(|taken| taken.bytes.len()).sum::<usize>() <= capture.len());
    }

    #[test]
    fn random_pcapng_blocks_are_read_or_refused(
        little in any::<bool>(),
        blocks in proptest::collection::vec(
            (0..8u32, proptest::collection::vec(0..24u8, 0..48)), 0..12),
    ) {
        let order = if little { Order::Little } else { Order::Big };
        let start = Bytes::section(order).interface(1, 0, &[]);
        let capture = blocks.iter().fold(start, |capture, (kind, body)| capture.block(*kind, body));
        let (taken, _) = read(&capture.bytes[..]);
        prop_assert!(taken.len() <= blocks.len());
    }

    #[test]
    fn random_frames_are_taken_or_refused(
        link in prop_oneof![Just(0u16), Just(1), Just(101), Just(108), Just(113), Just(276)],
        bytes in proptest::collection::vec(
            prop_oneof![Just(0u8), Just(8), Just(0x11), Just(0x45), Just(0x60), any::<u8>()], 0..120),
    ) {
        if let Ok(datagram) = frame::datagram(LinkType(link), &bytes) {
            prop_assert!(datagram.payload.len() + 28 <= bytes.len());
        }
    }

    #[test]
    fn a_written_capture_is_read_back(
        frames in proptest::collection::vec(
            (0..4_000_000_000_000_000_000u64, proptest::collection::vec(any::<u8>(), 0..200)), 0..20),
    ) {
        let mut writer = touchline_net::pcap::Writer::new(Vec::new()).unwrap();
        for (capture_ns, frame) in &frames {
            writer.write(*capture_ns, frame).unwrap();
        }
        let capture = writer.finish().unwrap();
        let expected: Vec<_> =
            frames.iter().map(|(capture_ns, frame)| Taken::whole(*capture_ns, frame)).collect();
        prop_assert_eq!(read_sound(&capture[..]), expected);
    }
}
