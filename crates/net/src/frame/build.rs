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

const ETHERNET_LEN: usize = 14;
const IP_LEN: usize = 20;
const UDP_LEN: usize = 8;

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
    if payload.len() > UDP_PAYLOAD_BYTES_MAX {
        return Err(PayloadTooLong { len: payload.len() });
    }
    let udp_len = (UDP_LEN + payload.len()) as u16;
    ethernet_header(frame, *source.ip(), *destination.ip());
    ip_header(frame, *source.ip(), *destination.ip(), udp_len);
    frame.extend_from_slice(&source.port().to_be_bytes());
    frame.extend_from_slice(&destination.port().to_be_bytes());
    frame.extend_from_slice(&udp_len.to_be_bytes());
    frame.extend_from_slice(&[0, 0]);
    frame.extend_from_slice(payload);

    let datagram = &frame[ETHERNET_LEN + IP_LEN..];
    let checksum = udp_checksum(*source.ip(), *destination.ip(), datagram);
    let at = ETHERNET_LEN + IP_LEN + 6;
    frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
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

/// RFC 791 section 3.1: version 4, no options, "don't fragment", time to live 16, protocol UDP.
fn ip_header(frame: &mut Vec<u8>, source: Ipv4Addr, destination: Ipv4Addr, udp_len: u16) {
    let start = frame.len();
    frame.extend_from_slice(&[0x45, 0]);
    frame.extend_from_slice(&(IP_LEN as u16 + udp_len).to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0x40, 0, 16, 17, 0, 0]);
    frame.extend_from_slice(&source.octets());
    frame.extend_from_slice(&destination.octets());
    let checksum = folded(sum(&frame[start..]));
    frame[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

/// RFC 768: over a pseudo header and the datagram; 0 would mean "none" and is sent as all ones.
fn udp_checksum(source: Ipv4Addr, destination: Ipv4Addr, datagram: &[u8]) -> u16 {
    let pseudo_header =
        sum(&source.octets()) + sum(&destination.octets()) + 17 + datagram.len() as u64;
    match folded(pseudo_header + sum(datagram)) {
        0 => 0xffff,
        checksum => checksum,
    }
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
