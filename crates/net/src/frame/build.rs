//! Builds frames, for captures written by this program.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Maximum payload of a UDP datagram over IPv4, bytes.
pub const UDP_PAYLOAD_BYTES_MAX: usize = 65_535 - IP_LEN - UDP_LEN;

/// A payload does not fit a UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a payload of {len} bytes does not fit a UDP datagram; send at most {UDP_PAYLOAD_BYTES_MAX}"
)]
pub struct PayloadTooLong {
    /// Its length in bytes.
    pub len: usize,
}

const IP_LEN: usize = 20;
const UDP_LEN: usize = 8;
const TCP_LEN: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Maximum bytes of a TCP segment over IPv4.
pub const TCP_PAYLOAD_BYTES_MAX: usize = 65_535 - IP_LEN - TCP_LEN;

/// Writes an Ethernet frame with one UDP datagram over IPv4 into `frame`, replacing its content.
///
/// IPv4 and UDP checksums are set, a multicast group's Ethernet address follows RFC 1112 section
/// 6.4, and the frame is not padded to Ethernet's minimum (hosts do not see that padding on sent
/// frames either).
///
/// # Errors
/// The payload is longer than [`UDP_PAYLOAD_BYTES_MAX`]; `frame` is then left empty.
pub fn udp_ipv4_frame(
    frame: &mut Vec<u8>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: &[u8],
) -> Result<(), PayloadTooLong> {
    frame.clear();
    ethernet_header(frame, *source.ip(), *destination.ip());
    append_udp_ipv4(frame, source, destination, payload).inspect_err(|_| frame.clear())
}

/// Appends an IPv4 packet that carries this UDP datagram: [`udp_ipv4_frame`] without the header of Ethernet.
///
/// # Errors
/// The payload is longer than [`UDP_PAYLOAD_BYTES_MAX`]; `packet` is then unchanged.
pub fn append_udp_ipv4(
    packet: &mut Vec<u8>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    payload: &[u8],
) -> Result<(), PayloadTooLong> {
    if payload.len() > UDP_PAYLOAD_BYTES_MAX {
        return Err(PayloadTooLong { len: payload.len() });
    }
    let udp_len = (UDP_LEN + payload.len()) as u16;
    ip_header(packet, [source, destination], UDP, udp_len);
    let udp = packet.len();
    packet.extend_from_slice(&source.port().to_be_bytes());
    packet.extend_from_slice(&destination.port().to_be_bytes());
    packet.extend_from_slice(&udp_len.to_be_bytes());
    packet.extend_from_slice(&[0, 0]);
    packet.extend_from_slice(payload);

    let checksum = match checksum_over([source, destination], UDP, &packet[udp..]) {
        // RFC 768: 0 would mean "none".
        0 => 0xffff,
        checksum => checksum,
    };
    packet[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Appends an IPv4 packet that carries bytes of a TCP stream from this sequence number on (RFC 9293 section 3.1).
///
/// # Panics
/// There are more than [`TCP_PAYLOAD_BYTES_MAX`] bytes.
pub fn append_tcp_ipv4(
    packet: &mut Vec<u8>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    sequence: u32,
    payload: &[u8],
) {
    const ACK_AND_PUSH: u8 = 0x18;
    assert!(
        payload.len() <= TCP_PAYLOAD_BYTES_MAX,
        "one packet has at most 64 KiB"
    );
    let tcp_len = (TCP_LEN + payload.len()) as u16;
    ip_header(packet, [source, destination], TCP, tcp_len);
    let tcp = packet.len();
    packet.extend_from_slice(&source.port().to_be_bytes());
    packet.extend_from_slice(&destination.port().to_be_bytes());
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&1_u32.to_be_bytes());
    packet.extend_from_slice(&[
        (TCP_LEN as u8 / 4) << 4,
        ACK_AND_PUSH,
        0xff,
        0xff,
        0,
        0,
        0,
        0,
    ]);
    packet.extend_from_slice(payload);

    let checksum = checksum_over([source, destination], TCP, &packet[tcp..]);
    packet[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
}

fn ethernet_header(frame: &mut Vec<u8>, source: Ipv4Addr, destination: Ipv4Addr) {
    frame.extend_from_slice(&hardware_address(destination));
    frame.extend_from_slice(&hardware_address(source));
    frame.extend_from_slice(&[0x08, 0x00]);
}

/// Multicast address of a group, else a locally administered address made from the IP address.
fn hardware_address(ip: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = ip.octets();
    if ip.is_multicast() {
        [0x01, 0x00, 0x5e, b & 0x7f, c, d]
    } else {
        [0x02, 0x00, a, b, c, d]
    }
}

/// RFC 791 section 3.1: version 4, no options, "don't fragment", time to live 16.
fn ip_header(
    frame: &mut Vec<u8>,
    [source, destination]: [SocketAddrV4; 2],
    protocol: u8,
    len: u16,
) {
    let start = frame.len();
    frame.extend_from_slice(&[0x45, 0]);
    frame.extend_from_slice(&(IP_LEN as u16 + len).to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0x40, 0, 16, protocol, 0, 0]);
    frame.extend_from_slice(&source.ip().octets());
    frame.extend_from_slice(&destination.ip().octets());
    let checksum = folded(sum(&frame[start..]));
    frame[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

/// RFC 768, RFC 9293: over a pseudo header and the datagram or segment.
fn checksum_over([source, destination]: [SocketAddrV4; 2], protocol: u8, bytes: &[u8]) -> u16 {
    let addresses = sum(&source.ip().octets()) + sum(&destination.ip().octets());
    folded(addresses + u64::from(protocol) + bytes.len() as u64 + sum(bytes))
}

/// The sum of big-endian 16-bit words; an odd last byte counts as if a zero followed (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|word| match *word {
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(high) << 8,
        _ => 0,
    });
    words.sum()
}

/// The complement of the sum in one's complement arithmetic.
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
