//! Several captures as one source.

use std::net::{Ipv4Addr, SocketAddrV4};

use touchline_net::frame::{NotUdp, udp_ipv4_frame};
use touchline_net::pcap::{ErrorKind, Reader, Writer};
use touchline_net::{Error, PacketSource, PcapSource, Received, TimestampSource};

const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5000);
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(224, 0, 31, 1), 14310);

fn datagram(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    udp_ipv4_frame(&mut frame, SOURCE, GROUP, payload).expect("a short payload");
    frame
}

fn capture(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("a vector takes everything");
    for (capture_ns, frame) in frames {
        writer
            .write(*capture_ns, frame)
            .expect("a vector takes everything");
    }
    writer.finish().expect("a vector takes everything")
}

fn source<'a>(captures: &[&'a [u8]]) -> PcapSource<'a> {
    PcapSource::new(
        captures
            .iter()
            .map(|&bytes| Reader::new(bytes).expect("a capture's start")),
    )
}

fn payloads(source: &mut PcapSource<'_>) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    while let Some(packet) = source.receive().expect("a sound capture").packet() {
        assert_eq!(packet.timestamp, TimestampSource::Capture);
        assert_eq!((packet.source, packet.destination), (SOURCE, GROUP));
        let text = String::from_utf8(packet.payload.to_vec()).expect("the payloads are text");
        all.push((packet.receive_ns, text));
    }
    all
}

fn expected(packets: &[(u64, &str)]) -> Vec<(u64, String)> {
    packets
        .iter()
        .map(|&(time_ns, text)| (time_ns, text.to_owned()))
        .collect()
}

#[test]
fn files_are_merged_by_time_and_ties_keep_the_order_given() {
    let a = capture(&[
        (10, datagram(b"a1")),
        (20, datagram(b"a2")),
        (40, datagram(b"a3")),
    ]);
    let b = capture(&[
        (5, datagram(b"b1")),
        (20, datagram(b"b2")),
        (20, datagram(b"b3")),
    ]);
    let none = capture(&[]);
    assert_eq!(
        payloads(&mut source(&[&a, &none, &b])),
        expected(&[
            (5, "b1"),
            (10, "a1"),
            (20, "a2"),
            (20, "b2"),
            (20, "b3"),
            (40, "a3")
        ]),
    );
    assert_eq!(
        payloads(&mut source(&[&b, &a])),
        expected(&[
            (5, "b1"),
            (10, "a1"),
            (20, "b2"),
            (20, "b3"),
            (20, "a2"),
            (40, "a3")
        ]),
    );
}

#[test]
fn a_step_back_in_time_does_not_reorder_a_line() {
    let a = capture(&[(30, datagram(b"a1")), (10, datagram(b"a2"))]);
    let b = capture(&[(20, datagram(b"b1"))]);
    assert_eq!(
        payloads(&mut source(&[&a, &b])),
        expected(&[(20, "b1"), (30, "a1"), (30, "a2")]),
    );
}

#[test]
fn other_frames_are_counted_by_reason() {
    let mut fragment = datagram(b"part");
    fragment[14 + 6] = 0x20;
    let mut tcp = datagram(b"tcp");
    tcp[14 + 9] = 6;
    let cut = datagram(b"cut")[..40].to_vec();
    let arp = [&[0; 12][..], &[0x08, 0x06], &[0; 46]].concat();
    let mut ipv6 = [
        &[0; 12][..],
        &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 1],
        &[0; 32],
    ]
    .concat();
    ipv6.extend([0, 1, 0, 2, 0, 8, 0, 0]);
    let frames = [
        fragment,
        tcp.clone(),
        cut,
        arp,
        ipv6,
        tcp,
        datagram(b"good"),
    ];
    let capture = capture(&frames.map(|frame| (1, frame)));
    let mut source = source(&[&capture]);
    assert_eq!(payloads(&mut source), expected(&[(1, "good")]));
    let skipped = source.skipped();
    assert_eq!(
        NotUdp::ALL.map(|reason| skipped.not_udp(reason)),
        [0, 1, 0, 0, 0, 0, 2, 1, 1, 0]
    );
    assert_eq!(
        skipped.to_string(),
        " (1 frame skipped: another network protocol than IP) (2 frames skipped: another transport than UDP) \
         (1 frame skipped: a fragment of a datagram) (1 frame skipped: cut by the capture's snap length; capture whole packets: \
         tcpdump -s 0) (1 frame skipped: IPv6)"
    );
    assert_eq!((skipped.ipv6, skipped.total()), (1, 6));
}

#[test]
fn a_damaged_file_is_reported_once_and_the_others_continue() {
    let mut a = capture(&[(10, datagram(b"a1")), (20, datagram(b"a2"))]);
    let b = capture(&[(15, datagram(b"b1")), (30, datagram(b"b2"))]);
    let second = a.len() - datagram(b"a2").len() - 8;
    a[second..second + 4].fill(0xff);
    let mut source = source(&[&a, &b]);
    assert!(source.receive().expect("a1").packet().is_some());
    let Err(Error::Capture(error)) = source.receive() else {
        panic!("the damage is not noticed")
    };
    assert_eq!((error.kind(), error.packets), (ErrorKind::Limit, 1));
    assert_eq!(payloads(&mut source), expected(&[(15, "b1"), (30, "b2")]));
}

/// A truncated file costs no packet of the other files, and each is reported once, after all packets.
#[test]
fn truncated_files_are_reported_after_the_packets_of_all_files() {
    let a = capture(&[(10, datagram(b"a1")), (20, datagram(b"a2"))]);
    let b = capture(&[(15, datagram(b"b1")), (30, datagram(b"b2"))]);
    let c = capture(&[(12, datagram(b"c1")), (13, datagram(b"c2"))]);
    let mut source = source(&[&a[..a.len() - 1], &b, &c[..c.len() - 20]]);
    let mut all = Vec::new();
    let mut errors = Vec::new();
    loop {
        match source.receive() {
            Ok(Received::Packet(packet)) => all.push(packet.receive_ns),
            Ok(Received::Nothing | Received::Refused) => {
                panic!("a capture has a packet or its end")
            }
            Ok(Received::End) => break,
            Err(error) => {
                assert!(error.is_truncation(), "{error}");
                assert_eq!(all, [10, 12, 15, 30]);
                errors.push(error);
            }
        }
    }
    assert_eq!(errors.len(), 2);
}
