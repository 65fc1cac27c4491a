//! Raw Ethernet frames as a card sends them: tests need frames that a UDP socket cannot make.
#![allow(unsafe_code, reason = "system calls of a test")]

use super::veth::{GROUP, Network, VENUE};
use socket2::{Domain, SockAddr, Socket, Type};

/// A packet of the venue in an Ethernet frame with the tag of VLAN 0 (802.1Q), which has a priority alone.
pub(super) fn with_tag(payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = GROUP.ip().octets();
    let mut frame = vec![1, 0, 0x5e, a & 0x7f, b, c, 2, 0, 0, 0, 0, 1];
    frame.extend([0x81, 0, 0x60, 0, 8, 0]);
    let udp = 8 + payload.len() as u16;
    let at = frame.len();
    frame.extend([0x45, 0]);
    frame.extend((20 + udp).to_be_bytes());
    frame.extend([0, 0, 0, 0, 16, 17, 0, 0]);
    frame.extend(VENUE.octets());
    frame.extend(GROUP.ip().octets());
    let words = frame[at..].chunks_exact(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[at + 10..at + 12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    for number in [9, GROUP.port(), udp, 0] {
        frame.extend(number.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

/// Sends whole frames on the venue's card (packet(7)).
pub(super) fn send_frame(network: &Network, frame: &[u8]) {
    network.within(0, || {
        let socket = Socket::new(Domain::PACKET, Type::RAW, None).expect("as root");
        // SAFETY: the name ends with zero, and the call reads it alone.
        let index = unsafe { libc::if_nametoindex(c"side-a".as_ptr()) };
        assert_ne!(index, 0, "its card");
        // SAFETY: all fields are numbers, for which zero is a value.
        let mut card: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        card.sll_family = libc::AF_PACKET as u16;
        card.sll_ifindex = index as i32;
        // SAFETY: the storage has room for the system's largest address, and the given length is that of the written address.
        let address = unsafe {
            SockAddr::try_init(|storage, len| {
                storage.cast::<libc::sockaddr_ll>().write(card);
                *len = size_of::<libc::sockaddr_ll>() as u32;
                Ok(())
            })
        };
        let ((), address) = address.expect("an address");
        let sent = socket.send_to(frame, &address).expect("it is sent");
        assert_eq!(sent, frame.len());
    });
}
