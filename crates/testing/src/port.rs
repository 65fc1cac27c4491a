//! Free ports for settings that must name a port before it is bound.

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that Linux chooses itself (32768 and later), above those of venues.
const FIRST: u32 = 20_000;
const PORTS: u32 = 12_000;

/// The first of `count` consecutive ports that are free on this host for UDP and TCP, and that this process is not
/// given again; none if there are no such ports, or `count` is 0 or above 1,000.
///
/// With its default settings (`ip_local_port_range`) Linux never chooses one of these ports for another socket; a port
/// that was bound as 0 and closed again has no such guarantee. Each process begins at another number.
pub fn free_ports(count: u32) -> Option<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !(1..=1_000).contains(&count) {
        return None;
    }
    let start = std::process::id().wrapping_mul(97);
    (0..PORTS / count).find_map(|_| {
        let number = start.wrapping_add(NEXT.fetch_add(count, Ordering::Relaxed)) % PORTS;
        let port = |number| u16::try_from(FIRST + number).expect("below 33,000");
        let is_free = |number| {
            let everywhere = (Ipv4Addr::UNSPECIFIED, port(number));
            UdpSocket::bind(everywhere).is_ok() && TcpListener::bind(everywhere).is_ok()
        };
        let is_row = number + count <= PORTS && (number..number + count).all(is_free);
        is_row.then(|| port(number))
    })
}

/// A free port of this host, which this process is not given again.
///
/// # Panics
/// All are in use.
pub fn free_port() -> u16 {
    free_ports(1).expect("one of 12,000 ports is free")
}

/// [`free_port`] of the loopback.
///
/// # Panics
/// All are in use.
pub fn free_address() -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, free_port())
}
