//! Checksums of a plain packet (RFC 768, RFC 791): the kernel, which checks them otherwise, does not see the packets of the rings.

use std::ops::Range;

/// Whether the checksums of an IPv4 header without options, at `ip`, and of the UDP datagram behind it are right. A datagram
/// may have none.
///
/// A packet that a virtual card of this host sent has an unfinished checksum: the sum of the addresses, to which the card
/// would add the rest. It is right, too.
pub(super) fn is_right(frame: &[u8], ip: usize, udp: Range<usize>) -> bool {
    let header = &frame[ip..ip + 20];
    if folded(sum(header)) != u16::MAX {
        return false;
    }
    let datagram = &frame[udp];
    let checksum = u16::from_ne_bytes([datagram[6], datagram[7]]);
    let len = datagram.len() as u16;
    let pseudo =
        sum(&header[12..]) + u64::from(u16::from_ne_bytes([0, 17])) + u64::from(len.to_be());
    checksum == 0 || folded(pseudo + sum(datagram)) == u16::MAX || checksum == folded(pseudo)
}

/// Sum of 16-bit words in the order of this host's bytes: the order does not matter (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let whole: u64 = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)))
        .sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    whole + u64::from(u32::from_ne_bytes(last))
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::udp_ipv4_frame;

    fn frame_with(payload: &[u8]) -> Vec<u8> {
        let [from, to] = ["10.1.1.1:9", "239.1.2.3:14310"].map(|text| text.parse().unwrap());
        let mut frame = Vec::new();
        udp_ipv4_frame(&mut frame, from, to, payload).unwrap();
        frame
    }

    #[test]
    fn each_changed_byte_is_found() {
        for payload in [&b""[..], b"x", b"an odd payload.", &[0xff; 333]] {
            let frame = frame_with(payload);
            let all = 34..frame.len();
            assert!(is_right(&frame, 14, all.clone()), "{payload:?}");
            for at in 14..frame.len() {
                let mut damaged = frame.clone();
                damaged[at] ^= 0x10;
                assert!(!is_right(&damaged, 14, all.clone()), "byte {at}");
            }
        }
    }

    #[test]
    fn a_datagram_may_have_none_or_an_unfinished_one() {
        let mut frame = frame_with(b"payload");
        let all = 34..frame.len();
        frame[40..42].fill(0);
        assert!(is_right(&frame, 14, all.clone()));
        let words = [0x0a01u32, 0x0101, 0xef01, 0x0203, 17, 15];
        let sum: u32 = words.iter().sum();
        let unfinished = ((sum & 0xffff) + (sum >> 16)) as u16;
        frame[40..42].copy_from_slice(&unfinished.to_be_bytes());
        assert!(is_right(&frame, 14, all));
    }
}
