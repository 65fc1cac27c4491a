//! Output of the writer.

use touchline_net::pcap::{PACKET_BYTES_MAX, Writer};

use crate::pcap::build::{Bytes, NANOSECONDS, Order};
use crate::pcap::{Taken, read_sound};

#[test]
fn the_file_is_classic_pcap_with_nanoseconds() {
    let mut writer = Writer::new(Vec::new()).expect("a vector takes everything");
    writer
        .write(1_700_000_000_123_456_789, b"frame")
        .expect("a vector takes everything");
    assert_eq!(writer.packets(), 1);
    let mut expected = Bytes::classic(Order::Little, NANOSECONDS, 1).record(
        1_700_000_000,
        123_456_789,
        b"frame",
        5,
    );
    expected = expected.with_u32(16, 256 * 1024);
    assert_eq!(
        writer.finish().expect("a vector takes everything"),
        expected.bytes
    );
}

#[test]
fn the_last_second_and_the_largest_frame_fit_and_nothing_beyond() {
    let last_ns = u64::from(u32::MAX) * 1_000_000_000 + 999_999_999;
    let frame = vec![1; PACKET_BYTES_MAX + 1];
    let mut writer = Writer::new(Vec::new()).expect("a vector takes everything");
    writer.write(last_ns, &frame[1..]).expect("both fit");
    assert!(writer.write(last_ns + 1, b"late").is_err());
    assert!(writer.write(0, &frame).is_err());
    let capture = writer.finish().expect("a vector takes everything");
    assert_eq!(
        read_sound(&capture[..]),
        [Taken::whole(last_ns, &frame[1..])]
    );
}
