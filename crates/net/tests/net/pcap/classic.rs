//! The classic format in its four forms.

use crate::pcap::build::{Bytes, MICROSECONDS, NANOSECONDS, ORDERS, Order};
use crate::pcap::{Taken, read, read_sound};
use touchline_net::pcap::ErrorKind;

#[test]
fn both_byte_orders_and_both_units_of_time_are_read() {
    for order in ORDERS {
        for (magic, fraction, capture_ns) in [
            (MICROSECONDS, 654_321, 1_700_000_000_654_321_000),
            (NANOSECONDS, 987_654_321, 1_700_000_000_987_654_321),
        ] {
            let capture = Bytes::classic(order, magic, 1)
                .record(1_700_000_000, fraction, b"first", 5)
                .record(1_700_000_001, 0, b"", 60)
                .record(1_700_000_002, 0, b"cut", 1500);
            let cut = Taken {
                original_len: 1500,
                ..Taken::whole(1_700_000_002_000_000_000, b"cut")
            };
            let empty = Taken {
                original_len: 60,
                ..Taken::whole(1_700_000_001_000_000_000, b"")
            };
            let expected = [Taken::whole(capture_ns, b"first"), empty, cut];
            assert_eq!(
                read_sound(&capture.bytes[..]),
                expected,
                "{order:?} {magic:x}"
            );
        }
    }
}

#[test]
fn the_upper_half_of_the_link_type_is_ignored() {
    // 0x1400_0000: a frame check sequence of 4 bytes follows each frame.
    let capture = Bytes::classic(Order::Little, NANOSECONDS, 0x1400_0071).record(0, 1, b"x", 1);
    assert_eq!(read_sound(&capture.bytes[..])[0].link, 113);
}

#[test]
fn a_capture_without_packets_is_valid() {
    let capture = Bytes::classic(Order::Big, MICROSECONDS, 1);
    assert_eq!(read_sound(&capture.bytes[..]), []);
}

#[test]
fn the_largest_packet_is_read_and_a_larger_one_refused() {
    let frame = vec![7; 256 * 1024 + 1];
    let largest = &frame[1..];
    let start = Bytes::classic(Order::Little, NANOSECONDS, 1);
    let capture = start
        .record(0, 1, largest, 1)
        .record(0, 2, largest, 1)
        .record(0, 3, &frame, 1);
    let (taken, error) = read(&capture.bytes[..]);
    assert_eq!(taken.len(), 2);
    assert!(taken.iter().all(|taken| taken.bytes == largest));
    let error = error.expect("the third is too large");
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.offset(), 24 + 2 * (16 + 256 * 1024));
}

#[test]
fn other_kinds_and_versions_are_refused_by_name() {
    let modified = Bytes::classic(Order::Little, 0xa1b2_cd34, 1).bytes;
    let version = Bytes::new(Order::Little)
        .u32(NANOSECONDS)
        .u16(2)
        .u16(3)
        .raw(&[0; 16])
        .bytes;
    for (capture, word) in [
        (&modified[..], "modified"),
        (&version, "2.3"),
        (b"BZh9 and so on", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"PK\x03\x04", "zip"),
    ] {
        let error = read(capture).1.expect("not a capture that we read");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    for capture in [&b""[..], b"\xd4\xc3", b"seq,price\n1,2\n"] {
        let error = read(capture).1.expect("not a capture");
        assert_eq!(error.kind(), ErrorKind::NotCapture, "{error}");
    }
}
