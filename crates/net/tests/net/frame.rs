//! UDP datagrams in frames of every link layer, and the frames that we build.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use touchline_net::frame::{
    Datagram, NotUdp, PayloadTooLong, UDP_PAYLOAD_BYTES_MAX, datagram, tunnel_of_port,
    udp_ipv4_frame,
};
use touchline_net::pcap::LinkType;

const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5000);
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(224, 129, 31, 1), 14310);

/// Offsets of the IP header and the UDP header in a built frame.
const IP: usize = 14;
const UDP: usize = 34;

fn built(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    udp_ipv4_frame(&mut frame, SOURCE, GROUP, payload).expect("it fits");
    frame
}

/// The built frame with another link header in front of its IP packet.
fn behind(header: &[u8], payload: &[u8]) -> Vec<u8> {
    [header, &built(payload)[IP..]].concat()
}

/// The IP packet of a built frame on Ethernet, changed.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Result<Vec<u8>, NotUdp> {
    let mut frame = built(b"payload");
    change(&mut frame);
    datagram(LinkType::ETHERNET, &frame).map(|datagram| datagram.payload.to_vec())
}

fn expected(payload: &[u8]) -> Result<Datagram<'_>, NotUdp> {
    Ok(Datagram {
        source: SOURCE.into(),
        destination: GROUP.into(),
        payload,
    })
}

#[test]
fn a_built_frame_is_right_to_the_last_byte() {
    // The checksums 0x614b (IPv4) and 0xe683 (UDP) were computed apart from this program.
    let expected: &[u8] = &[
        0x01, 0x00, 0x5e, 0x01, 0x1f, 0x01, 0x02, 0x00, 10, 0, 0, 1, 0x08, 0x00, // Ethernet
        0x45, 0, 0, 31, 0, 0, 0x40, 0, 16, 17, 0x61, 0x4b, 10, 0, 0, 1, 224, 129, 31,
        1, // IPv4
        0x13, 0x88, 0x37, 0xe6, 0, 11, 0xe6, 0x83, b'a', b'b', b'c', // UDP
    ];
    assert_eq!(built(b"abc"), expected);
}

#[test]
fn a_buffer_is_reused_and_the_largest_payload_fits() {
    let mut frame = vec![9; 100];
    udp_ipv4_frame(&mut frame, SOURCE, GROUP, b"abc").expect("it fits");
    assert_eq!(frame, built(b"abc"));
    let payload = vec![0xff; UDP_PAYLOAD_BYTES_MAX + 1];
    let largest = built(&payload[1..]);
    assert_eq!(
        datagram(LinkType::ETHERNET, &largest),
        expected(&payload[1..])
    );
    let refused = udp_ipv4_frame(&mut frame, SOURCE, GROUP, &payload);
    assert_eq!(
        refused,
        Err(PayloadTooLong {
            len: UDP_PAYLOAD_BYTES_MAX + 1
        })
    );
    assert!(frame.is_empty());
}

#[test]
fn a_checksum_of_zero_is_sent_as_all_ones() {
    // One 16-bit word of payload that makes the sum of all the others all ones.
    let checksum = |payload: &[u8]| built(payload)[UDP + 6..UDP + 8].to_vec();
    let filler = checksum(&[0, 0]);
    assert_eq!(checksum(&filler), [0xff, 0xff]);
}

/// A header of version 2 of Linux cooked capture: it contains the first tag's protocol, and the other tags follow it.
fn sll2_tagged(tags: &[u8]) -> Vec<u8> {
    [&tags[..2], &[0; 18], &tags[2..]].concat()
}

#[test]
fn every_link_layer_leads_to_the_same_datagram() {
    let payload = b"some payload of a datagram";
    let mac = [0; 12];
    let sll = [&[0, 0, 0, 1, 0, 6][..], &[0; 8], &[0x08, 0x00]].concat();
    let sll_vlan = [
        &[0, 0, 0, 1, 0, 6][..],
        &[0; 8],
        &[0x81, 0x00, 0, 9, 0x08, 0x00],
    ]
    .concat();
    let sll2 = [&[0x08, 0x00][..], &[0; 18]].concat();
    for (link, header) in [
        (LinkType::ETHERNET, [&mac[..], &[0x08, 0x00]].concat()),
        (
            LinkType::ETHERNET,
            [&mac[..], &[0x81, 0x00, 0, 7, 0x08, 0x00]].concat(),
        ),
        (
            LinkType::ETHERNET,
            [&mac[..], &[0x88, 0xa8, 0, 7, 0x81, 0x00, 0, 8, 0x08, 0x00]].concat(),
        ),
        (
            LinkType::ETHERNET,
            [
                &mac[..],
                &[0x91, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9, 0x08, 0],
            ]
            .concat(),
        ),
        (LinkType::LINUX_SLL, sll),
        (LinkType::LINUX_SLL, sll_vlan),
        (LinkType::LINUX_SLL2, sll2),
        (
            LinkType::LINUX_SLL2,
            sll2_tagged(&[0x81, 0x00, 0, 7, 0x08, 0x00]),
        ),
        (
            LinkType::LINUX_SLL2,
            sll2_tagged(&[0x88, 0xa8, 0, 7, 0x81, 0x00, 0, 8, 0x08, 0x00]),
        ),
        (LinkType::RAW, vec![]),
        (LinkType::IPV4, vec![]),
        (LinkType::NULL, vec![2, 0, 0, 0]),
        (LinkType::NULL, vec![0, 0, 0, 2]),
        (LinkType::LOOP, vec![0, 0, 0, 2]),
    ] {
        let frame = behind(&header, payload);
        assert_eq!(
            datagram(link, &frame),
            expected(payload),
            "{link:?} {header:x?}"
        );
        for len in 0..frame.len() {
            assert_eq!(
                datagram(link, &frame[..len]),
                Err(NotUdp::Truncated),
                "{link:?} at {len}"
            );
        }
    }
}

#[test]
fn padding_and_check_sequence_after_the_datagram_are_dropped() {
    let frame = [&built(b"short")[..], &[0; 13], &[0xfc; 4]].concat();
    assert_eq!(datagram(LinkType::ETHERNET, &frame), expected(b"short"));
}

#[test]
fn the_length_in_the_udp_header_is_honoured() {
    assert_eq!(
        changed(|frame| frame[UDP + 5] -= 3).as_deref(),
        Ok(&b"payl"[..])
    );
    assert_eq!(changed(|frame| frame[UDP + 5] = 8).as_deref(), Ok(&b""[..]));
    assert_eq!(changed(|frame| frame[UDP + 5] = 7), Err(NotUdp::Malformed));
    assert_eq!(changed(|frame| frame[UDP + 5] += 1), Err(NotUdp::Malformed));
}

#[test]
fn options_of_ip_are_stepped_over() {
    let options = changed(|frame| {
        frame[IP] = 0x47;
        frame[IP + 3] += 8;
        frame.splice(UDP..UDP, [0x94, 4, 0, 0, 1, 1, 1, 0]);
    });
    assert_eq!(options.as_deref(), Ok(&b"payload"[..]));
}

#[test]
fn frames_without_a_complete_datagram_are_counted_by_reason() {
    let ethernet_type =
        |high, low| changed(move |frame| frame[12..14].copy_from_slice(&[high, low]));
    assert_eq!(ethernet_type(0x08, 0x06), Err(NotUdp::Network));
    assert_eq!(ethernet_type(0x88, 0xf7), Err(NotUdp::Network));
    assert_eq!(changed(|frame| frame[IP + 9] = 6), Err(NotUdp::Transport));
    // Labels, PPP, tunnels and encryption, whose packets a venue may well have sent.
    for (high, low, reason) in [
        (0x88, 0x47, NotUdp::Mpls),
        (0x88, 0x48, NotUdp::Mpls),
        (0x88, 0x63, NotUdp::Pppoe),
        (0x88, 0x64, NotUdp::Pppoe),
        (0x88, 0xe7, NotUdp::Tunnel),
        (0x22, 0xf3, NotUdp::Tunnel),
        (0x88, 0xe5, NotUdp::Encrypted),
    ] {
        assert_eq!(ethernet_type(high, low), Err(reason));
        let tagged = [&[0; 12][..], &[0x81, 0x00, 0, 7, high, low], &[0; 40]].concat();
        assert_eq!(datagram(LinkType::ETHERNET, &tagged), Err(reason));
        let cooked = [&[0; 14][..], &[high, low], &[0; 40]].concat();
        assert_eq!(datagram(LinkType::LINUX_SLL, &cooked), Err(reason));
        let cooked = [&[high, low][..], &[0; 58]].concat();
        assert_eq!(datagram(LinkType::LINUX_SLL2, &cooked), Err(reason));
    }
    for (protocol, reason) in [
        (4, NotUdp::Tunnel),
        (41, NotUdp::Tunnel),
        (47, NotUdp::Tunnel),
        (97, NotUdp::Tunnel),
        (115, NotUdp::Tunnel),
        (137, NotUdp::Mpls),
        (50, NotUdp::Encrypted),
        (51, NotUdp::Encrypted),
    ] {
        assert_eq!(changed(|frame| frame[IP + 9] = protocol), Err(reason));
        let mut ipv6 = [0; 60];
        (ipv6[0], ipv6[6]) = (0x60, protocol);
        assert_eq!(datagram(LinkType::IPV6, &ipv6), Err(reason));
    }
    assert_eq!(tunnel_of_port(4_789), Some("VXLAN"));
    assert_eq!(tunnel_of_port(6_081), Some("Geneve"));
    assert_eq!(tunnel_of_port(14_310), None);
    // Fragments: "more fragments" is set; an offset is set. The "evil" bit and "don't fragment" alone are not fragments.
    assert_eq!(changed(|frame| frame[IP + 6] = 0x20), Err(NotUdp::Fragment));
    assert_eq!(changed(|frame| frame[IP + 7] = 1), Err(NotUdp::Fragment));
    assert!(changed(|frame| frame[IP + 6] = 0xc0).is_ok());
    // Version 5, a header of 16 bytes, a total shorter than the header, none for the UDP header.
    assert_eq!(changed(|frame| frame[IP] = 0x55), Err(NotUdp::Malformed));
    assert_eq!(changed(|frame| frame[IP] = 0x44), Err(NotUdp::Malformed));
    assert_eq!(changed(|frame| frame[IP + 3] = 19), Err(NotUdp::Malformed));
    assert_eq!(changed(|frame| frame[IP + 3] = 27), Err(NotUdp::Malformed));
    assert_eq!(changed(|frame| frame[IP + 3] += 1), Err(NotUdp::Truncated));
    assert_eq!(
        datagram(LinkType(105), &built(b"802.11")),
        Err(NotUdp::Link)
    );
    assert_eq!(
        datagram(LinkType::NULL, &behind(&[7, 0, 0, 0], b"x")),
        Err(NotUdp::Network)
    );
}

#[test]
fn ipv6_is_read_through_its_extension_headers() {
    let udp = [0x13, 0x88, 0x37, 0xe6, 0, 10, 0, 0, b'h', b'i'];
    let packet = |next: u8, extensions: &[u8]| {
        let len = (extensions.len() + udp.len()) as u8;
        let mut addresses = [0; 32];
        (addresses[15], addresses[31]) = (1, 2);
        [
            &[0x60, 0, 0, 0, 0, len, next, 64][..],
            &addresses,
            extensions,
            &udp,
        ]
        .concat()
    };
    let source: SocketAddr = "[::1]:5000".parse().expect("an address");
    let destination = "[::2]:14310".parse().expect("an address");
    let whole = Datagram {
        source,
        destination,
        payload: b"hi",
    };
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let destination_options = [[17, 1, 1, 12, 0, 0, 0, 0], [0; 8]].concat();
    let both = [&hop_by_hop[..], &destination_options].concat();
    for frame in [
        packet(17, &[]),
        packet(0, &both),
        packet(60, &destination_options),
    ] {
        assert_eq!(datagram(LinkType::RAW, &frame), Ok(whole));
        assert_eq!(datagram(LinkType::IPV6, &frame), Ok(whole));
        assert_eq!(
            datagram(LinkType::NULL, &[&[30, 0, 0, 0], &frame[..]].concat()),
            Ok(whole)
        );
        for len in 0..frame.len() {
            assert_eq!(
                datagram(LinkType::RAW, &frame[..len]),
                Err(NotUdp::Truncated)
            );
        }
    }
    let refused = |next, extensions| datagram(LinkType::RAW, &packet(next, extensions)).err();
    assert_eq!(
        refused(44, &[17, 0, 0, 1, 0, 0, 0, 0]),
        Some(NotUdp::Fragment)
    );
    assert_eq!(refused(58, &[]), Some(NotUdp::Transport));
    assert_eq!(
        refused(60, &[17, 1, 0, 0, 0, 0, 0, 0]),
        Some(NotUdp::Malformed)
    );
}

#[test]
fn each_reason_has_its_own_index_and_text() {
    for (place, reason) in NotUdp::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, place);
        let same = NotUdp::ALL
            .iter()
            .filter(|other| other.describe() == reason.describe());
        assert_eq!(same.count(), 1);
    }
}
