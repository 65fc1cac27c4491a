//! The pcapng format: blocks, sections, interfaces, time.

use crate::pcap::build::{Bytes, ORDERS, Order};
use crate::pcap::{Taken, read, read_sound};
use touchline_net::pcap::ErrorKind;

const TSRESOL: u16 = 9;
const TSOFFSET: u16 = 14;

type Options<'a> = &'a [(u16, &'a [u8])];

#[test]
fn the_three_kinds_of_packet_blocks_are_read_in_both_byte_orders() {
    for order in ORDERS {
        let capture = Bytes::section(order)
            .interface(1, 0, &[])
            .enhanced(0, 1_700_000_000_000_001, b"enhanced", 8)
            .obsolete(0, 1_700_000_000_000_002, b"old", 1500)
            .simple(5, b"plain");
        let old = Taken {
            original_len: 1500,
            ..Taken::whole(1_700_000_000_000_002_000, b"old")
        };
        let expected = [
            Taken::whole(1_700_000_000_000_001_000, b"enhanced"),
            old,
            Taken::whole(1_700_000_000_000_002_000, b"plain"),
        ];
        assert_eq!(read_sound(&capture.bytes[..]), expected, "{order:?}");
    }
}

#[test]
fn a_simple_packet_is_cut_by_the_snap_length_of_its_interface() {
    let capture = Bytes::section(Order::Little)
        .interface(1, 6, &[])
        .simple(9, b"123456");
    let taken = read_sound(&capture.bytes[..]);
    assert_eq!(
        (&taken[0].bytes[..], taken[0].original_len),
        (&b"123456"[..], 9)
    );
}

#[test]
fn each_interface_counts_time_in_its_own_way() {
    let past = (-1_000_000_000i64).to_le_bytes();
    let cases: [(Options<'_>, u64, u64); 8] = [
        (&[], 1_500_000, 1_500_000_000),
        (&[(TSRESOL, &[0])], 3, 3_000_000_000),
        (&[(TSRESOL, &[3])], 1_500, 1_500_000_000),
        (&[(TSRESOL, &[9])], u64::MAX, u64::MAX),
        (&[(TSRESOL, &[12])], 1_999, 1),
        (&[(TSRESOL, &[0x80 | 10])], 1536, 1_500_000_000),
        (&[(TSRESOL, &[0x80 | 63])], 1 << 62, 500_000_000),
        (
            &[(2, b"eth0"), (TSOFFSET, &past), (TSRESOL, &[9])],
            1_000_000_000_000_000_042,
            42,
        ),
    ];
    let mut capture = Bytes::section(Order::Little);
    for (options, ..) in &cases {
        capture = capture.interface(1, 0, options);
    }
    for (interface, (_, ticks, _)) in cases.iter().enumerate() {
        capture = capture.enhanced(interface as u32, *ticks, b"x", 1);
    }
    let times: Vec<_> = read_sound(&capture.bytes[..])
        .iter()
        .map(|taken| taken.capture_ns)
        .collect();
    assert_eq!(times, cases.map(|(.., capture_ns)| capture_ns));
}

#[test]
fn options_end_where_the_end_is_marked() {
    let options: [(u16, &[u8]); 3] = [(TSRESOL, &[9]), (0, b""), (TSRESOL, &[0])];
    let capture = Bytes::section(Order::Big)
        .interface(1, 0, &options)
        .enhanced(0, 7, b"x", 1);
    assert_eq!(read_sound(&capture.bytes[..])[0].capture_ns, 7);
}

#[test]
fn times_that_do_not_fit_are_refused() {
    let ancient = i64::MIN.to_le_bytes();
    let far = i64::MAX.to_le_bytes();
    for (options, ticks) in [
        (&[(TSOFFSET, &ancient[..])], 0),
        (&[(TSOFFSET, &far)], u64::MAX),
    ] {
        let start = Bytes::section(Order::Little).interface(1, 0, options);
        let error = read(&start.enhanced(0, ticks, b"x", 1).bytes[..])
            .1
            .expect("no such year");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    }
    for resolution in [20, 127, 0x80 | 64, 255] {
        let start = Bytes::section(Order::Little).interface(1, 0, &[(TSRESOL, &[resolution])]);
        let error = read(&start.bytes[..]).1.expect("no such clock");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

#[test]
fn a_new_section_forgets_interfaces_and_may_change_the_byte_order() {
    let first = Bytes::section(Order::Little)
        .interface(113, 0, &[])
        .enhanced(0, 1, b"a", 1);
    let second = Bytes::section(Order::Big)
        .interface(1, 0, &[])
        .interface(101, 0, &[])
        .enhanced(1, 2, b"b", 1);
    let both = [&first.bytes[..], &second.bytes].concat();
    let links: Vec<_> = read_sound(&both[..])
        .iter()
        .map(|taken| taken.link)
        .collect();
    assert_eq!(links, [113, 101]);

    let unnamed = Bytes::section(Order::Little).enhanced(0, 1, b"a", 1);
    let both = [&first.bytes[..], &unnamed.bytes].concat();
    let (taken, error) = read(&both[..]);
    assert_eq!(taken.len(), 1);
    assert!(
        error
            .expect("no interface")
            .to_string()
            .contains("interface 0")
    );
}

#[test]
fn blocks_that_carry_no_packet_are_skipped_however_long() {
    let long = vec![0xaa; 3 << 20];
    let capture = Bytes::section(Order::Little)
        .block(0x0000_000a, b"TLS secrets")
        .interface(1, 0, &[])
        .block(0x0000_0bad, &long)
        .enhanced(0, 5, b"x", 1)
        .block(5, b"statistics")
        .block(0x8000_0001, b"");
    assert_eq!(read_sound(&capture.bytes[..]), [Taken::whole(5_000, b"x")]);
}

#[test]
fn options_of_packets_are_ignored() {
    let body = Bytes::new(Order::Little)
        .u32(0)
        .u32(0)
        .u32(9)
        .u32(3)
        .u32(3)
        .raw(b"abc\0")
        .u16(1)
        .u16(4)
        .raw(b"note")
        .u32(0);
    let capture = Bytes::section(Order::Little)
        .interface(1, 0, &[])
        .block(6, &body.bytes);
    assert_eq!(
        read_sound(&capture.bytes[..]),
        [Taken::whole(9_000, b"abc")]
    );
}
