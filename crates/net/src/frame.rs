//! Finds the UDP datagram in a captured frame, and builds such frames.
//!
//! Checksums are not verified: a host's own packets are captured before its network card fills them in, and a card
//! drops damaged ones before a capture sees them. The venue's sequence numbers and lengths decide whether a payload is
//! accepted.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use crate::pcap::LinkType;

mod build;

pub use build::{
    PayloadTooLong, TCP_PAYLOAD_BYTES_MAX, UDP_PAYLOAD_BYTES_MAX, append_tcp_ipv4, append_udp_ipv4,
    udp_ipv4_frame,
};

/// A UDP datagram inside a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Address and port it was sent from.
    pub source: SocketAddr,
    /// Address and port it was sent to.
    pub destination: SocketAddr,
    /// UDP payload, without Ethernet's padding of short frames.
    pub payload: &'a [u8],
}

/// Reason why a frame is not a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotUdp {
    /// An unknown link layer.
    Link,
    /// Neither IPv4 nor IPv6: ARP, spanning tree, PTP over Ethernet.
    Network,
    /// MPLS labels, over Ethernet or IP.
    Mpls,
    /// PPP over Ethernet.
    Pppoe,
    /// A tunnel over IP or Ethernet: IP in IP, GRE (ERSPAN too), EtherIP, L2TP, provider backbone bridges.
    Tunnel,
    /// Encrypted: MACsec, IPsec.
    Encrypted,
    /// Another protocol over IP: TCP, IGMP, ICMP.
    Transport,
    /// A fragment of a datagram; venues send complete ones.
    Fragment,
    /// Cut by the capture's snap length.
    Truncated,
    /// Its lengths contradict each other.
    Malformed,
}

/// Finds the UDP datagram in a frame.
///
/// Ethernet and Linux cooked capture (both versions) with any number of VLAN tags (802.1Q, 802.1ad), raw IP and loopback are understood; IPv4 (RFC 791) with options, IPv6 (RFC 8200) with extension
/// headers; the length in the UDP header (RFC 768) is honoured.
///
/// # Errors
/// Why the frame contains no UDP datagram, for a count by reason.
pub fn datagram(link: LinkType, bytes: &[u8]) -> Result<Datagram<'_>, NotUdp> {
    let Located {
        source,
        destination,
        payload,
    } = locate(link, bytes)?;
    Ok(Datagram {
        source,
        destination,
        payload: &bytes[payload],
    })
}

/// A datagram by its position in the frame.
pub(crate) struct Located {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) payload: Range<usize>,
}

/// As [`datagram`], without borrowing the frame.
pub(crate) fn locate(link: LinkType, bytes: &[u8]) -> Result<Located, NotUdp> {
    let packet = network_header(link, bytes)?;
    match byte(bytes, packet)? >> 4 {
        4 => ipv4(bytes, packet),
        6 => ipv6(bytes, packet),
        _ => Err(NotUdp::Malformed),
    }
}

/// Network protocols in a link header, as EtherTypes.
mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    /// 802.1Q, 802.1ad, and the tag that came before 802.1ad.
    pub(super) const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    /// Unicast and multicast.
    pub(super) const MPLS: [u16; 2] = [0x8847, 0x8848];
    /// Discovery and session.
    pub(super) const PPPOE: [u16; 2] = [0x8863, 0x8864];
    /// Provider backbone bridges, TRILL, network service header.
    pub(super) const TUNNELS: [u16; 3] = [0x88e7, 0x22f3, 0x894f];
    pub(super) const MACSEC: u16 = 0x88e5;
}

/// The numbers of protocols over IP.
mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const UDP: u8 = 17;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    /// IPv4, IPv6, GRE, EtherIP, L2TP.
    pub(super) const TUNNELS: [u8; 5] = [4, 41, 47, 97, 115];
    pub(super) const MPLS: u8 = 137;
    /// IPsec: encapsulated payload, and the header of authentication, behind which it mostly is.
    pub(super) const IPSEC: [u8; 2] = [50, 51];
}

/// Ports of tunnels over UDP, of the registry of IANA and of Linux.
const UDP_TUNNELS: [(u16, &str); 8] = [
    (1_701, "L2TP"),
    (2_152, "GTP"),
    (4_500, "IPsec"),
    (4_754, "GRE over UDP"),
    (4_789, "VXLAN"),
    (6_081, "Geneve"),
    (6_635, "MPLS over UDP"),
    (8_472, "VXLAN"),
];

/// Name of the tunnel whose datagrams go to this port: the frames of such a capture are then inside the tunnel.
pub fn tunnel_of_port(port: u16) -> Option<&'static str> {
    let mut tunnels = UDP_TUNNELS.into_iter();
    let found = tunnels.find(|(of_tunnel, _)| *of_tunnel == port);
    found.map(|(_, name)| name)
}

/// Reason why an EtherType does not lead to IP.
#[cold]
fn not_ip(kind: u16) -> NotUdp {
    match kind {
        kind if ether_type::MPLS.contains(&kind) => NotUdp::Mpls,
        kind if ether_type::PPPOE.contains(&kind) => NotUdp::Pppoe,
        kind if ether_type::TUNNELS.contains(&kind) => NotUdp::Tunnel,
        ether_type::MACSEC => NotUdp::Encrypted,
        _ => NotUdp::Network,
    }
}

/// Reason why a protocol over IP is not UDP.
#[cold]
fn not_udp(transport: u8) -> NotUdp {
    match transport {
        protocol::MPLS => NotUdp::Mpls,
        tunnel if protocol::TUNNELS.contains(&tunnel) => NotUdp::Tunnel,
        ipsec if protocol::IPSEC.contains(&ipsec) => NotUdp::Encrypted,
        _ => NotUdp::Transport,
    }
}

/// Offset of the IP header.
fn network_header(link: LinkType, bytes: &[u8]) -> Result<usize, NotUdp> {
    match link {
        LinkType::ETHERNET => after_ether_type(bytes, 12),
        LinkType::LINUX_SLL => after_ether_type(bytes, 14),
        // The protocol is the first field of the header of 20 bytes. Behind a tag's protocol the header is followed by the rest
        // of the tag: two bytes, and the next protocol.
        LinkType::LINUX_SLL2 => match u16_at(bytes, 0)? {
            ether_type::IPV4 | ether_type::IPV6 => Ok(20),
            tag if ether_type::VLAN_TAGS.contains(&tag) => after_ether_type(bytes, 22),
            other => Err(not_ip(other)),
        },
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Ok(0),
        LinkType::NULL | LinkType::LOOP => match array(bytes, 0)? {
            // AF_INET, then AF_INET6 of Linux, NetBSD, FreeBSD and macOS, in either byte order.
            [0, 0, 0, 2 | 10 | 24 | 28 | 30] | [2 | 10 | 24 | 28 | 30, 0, 0, 0] => Ok(4),
            _ => Err(NotUdp::Network),
        },
        _ => Err(NotUdp::Link),
    }
}

/// Offset of the IP header after an EtherType at `at` and its VLAN tags.
fn after_ether_type(bytes: &[u8], mut at: usize) -> Result<usize, NotUdp> {
    loop {
        match u16_at(bytes, at)? {
            ether_type::IPV4 | ether_type::IPV6 => return Ok(at + 2),
            tag if ether_type::VLAN_TAGS.contains(&tag) => at += 4,
            other => return Err(not_ip(other)),
        }
    }
}

fn ipv4(bytes: &[u8], at: usize) -> Result<Located, NotUdp> {
    let header_len = usize::from(byte(bytes, at)? & 0x0f) * 4;
    let total_len = usize::from(u16_at(bytes, at + 2)?);
    // The bit for "more fragments", and the offset.
    let fragment = u16_at(bytes, at + 6)? & 0x3fff != 0;
    let transport = byte(bytes, at + 9)?;
    let source = Ipv4Addr::from(array(bytes, at + 12)?);
    let destination = Ipv4Addr::from(array(bytes, at + 16)?);
    if header_len < 20 || total_len < header_len {
        return Err(NotUdp::Malformed);
    }
    if transport != protocol::UDP {
        return Err(not_udp(transport));
    }
    if fragment {
        return Err(NotUdp::Fragment);
    }
    udp(
        bytes,
        at + header_len..at + total_len,
        source.into(),
        destination.into(),
    )
}

fn ipv6(bytes: &[u8], at: usize) -> Result<Located, NotUdp> {
    let payload_len = usize::from(u16_at(bytes, at + 4)?);
    let mut next = byte(bytes, at + 6)?;
    let source = Ipv6Addr::from(array(bytes, at + 8)?);
    let destination = Ipv6Addr::from(array(bytes, at + 24)?);
    let mut start = at + 40;
    let end = start + payload_len;
    while next != protocol::UDP {
        let len = match next {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => {
                (usize::from(byte(bytes, start + 1)?) + 1) * 8
            }
            protocol::FRAGMENT => return Err(NotUdp::Fragment),
            other => return Err(not_udp(other)),
        };
        next = byte(bytes, start)?;
        start += len;
    }
    udp(bytes, start..end, source.into(), destination.into())
}

/// The datagram in `segment`, the IP payload.
fn udp(
    bytes: &[u8],
    segment: Range<usize>,
    source: IpAddr,
    destination: IpAddr,
) -> Result<Located, NotUdp> {
    if segment.end > bytes.len() {
        return Err(NotUdp::Truncated);
    }
    if segment.len() < 8 {
        return Err(NotUdp::Malformed);
    }
    let start = segment.start;
    let len = usize::from(u16_at(bytes, start + 4)?);
    if len < 8 || len > segment.len() {
        return Err(NotUdp::Malformed);
    }
    Ok(Located {
        source: SocketAddr::new(source, u16_at(bytes, start)?),
        destination: SocketAddr::new(destination, u16_at(bytes, start + 2)?),
        payload: start + 8..start + len,
    })
}

/// `N` bytes of the frame; a header beyond the end of the frame was cut by the capture.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], NotUdp> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or(NotUdp::Truncated)
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, NotUdp> {
    array(bytes, at).map(|[byte]| byte)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, NotUdp> {
    array(bytes, at).map(u16::from_be_bytes)
}

impl NotUdp {
    /// All reasons, in the order of their discriminants, for a table of counts.
    pub const ALL: [Self; 10] = [
        Self::Link,
        Self::Network,
        Self::Mpls,
        Self::Pppoe,
        Self::Tunnel,
        Self::Encrypted,
        Self::Transport,
        Self::Fragment,
        Self::Truncated,
        Self::Malformed,
    ];

    /// The reason as text, for a summary: "12 frames: another transport than UDP".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Link => "an unknown link layer",
            Self::Network => "another network protocol than IP",
            Self::Mpls => "MPLS labels",
            Self::Pppoe => "PPP over Ethernet",
            Self::Tunnel => "a tunnel (GRE, IP in IP, L2TP)",
            Self::Encrypted => "encryption (MACsec, IPsec)",
            Self::Transport => "another transport than UDP",
            Self::Fragment => "a fragment of a datagram",
            Self::Truncated => "cut by the capture's snap length",
            Self::Malformed => "contradictory lengths in its headers",
        }
    }

    /// The operator's action that makes the next capture contain the packets; `None` for frames that are never the venue's.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            Self::Link => Some("capture on an Ethernet interface, or with tcpdump -i any"),
            Self::Mpls => Some("capture behind the router that removes the labels"),
            Self::Pppoe => Some("capture on the ppp interface behind it"),
            Self::Tunnel => Some("capture behind the end of the tunnel"),
            Self::Encrypted => Some("capture behind the decryption"),
            Self::Truncated => Some("capture whole packets: tcpdump -s 0"),
            Self::Network | Self::Transport | Self::Fragment | Self::Malformed => None,
        }
    }
}
