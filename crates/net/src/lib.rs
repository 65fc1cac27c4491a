//! Packet sources: where a packet's bytes and its receive stamp come from.
//!
//! A [`PacketSource`] lends one UDP packet at a time, with the time at which it was received and
//! the place where that time was taken. [`UdpSource`] takes packets from sockets, [`PcapSource`]
//! from captures; [`pcap`] reads and writes the capture files, [`frame`] finds the UDP datagram in a
//! link-layer frame. A [`Connection`] is TCP, with [`tls`] or without, for conversations.
//!
//! # Never
//! Knows a venue or a message: a payload is bytes. Reorders, drops or joins the packets to one
//! destination: lines, sequence numbers and gaps belong to `feed`.
//!
//! # Path
//! It enters with the bytes of a file or a socket and leaves through [`PacketSource::receive`]:
//!
//! ```text
//! file ─► pcap::Reader ─► frame::datagram ─► PcapSource::receive ─► Packet
//!         one record      headers off         lines merged by time
//! sockets ─► udp::kernel ───────────────────► UdpSource::receive ──► Packet
//!            recvmsg, recvmmsg                urgent ones first, stamps
//! ```
//!
//! # Tests
//! `tests/net/pcap` builds every format by hand, byte for byte, cuts each file at every length, feeds
//! random bytes, and counts real captures where they are at hand; `tests/net/frame.rs` does the same
//! for link layers; `tests/net/udp` sends over the loopback interface, and where it may over virtual cards
//! in network namespaces of its own; `tests/net/stream.rs` has the other end in every mood, `tests/net/tls` every certificate that must not be taken; `tests/hostile.rs` holds damaged and malicious files against limits of time and
//! memory; fuzz target `pcap_reader`.
#![deny(unsafe_code)]

use std::net::SocketAddrV4;

mod capture_order;
pub mod frame;
#[allow(unsafe_code)] // a driver is asked by a call that takes a pointer
pub mod nic;
pub mod pcap;
mod pcap_source;
pub mod stream;
pub mod tls;
pub mod udp;

pub use pcap_source::{PcapSource, Skipped};
pub use stream::{Connection, Stream};
pub use udp::UdpSource;

/// Where packets come from: a capture, or later a socket.
///
/// A pipeline is generic over its source, so that replay and live run the same code.
pub trait PacketSource {
    /// Lends the next packet, and never waits for one.
    ///
    /// The packet borrows a buffer that the next call reuses.
    ///
    /// # Errors
    /// The source is damaged or gone. The text names the place and the fix.
    fn receive(&mut self) -> Result<Received<'_>, Error>;

    /// Mends what changes about the host while packets are received. Called now and then, and never waits; for sockets
    /// it joins groups again whose interface went away and came back.
    fn look_after(&mut self) {}

    /// What happened at the sockets so far. May ask the kernel, so it is not for the path.
    fn tally(&mut self) -> udp::Totals {
        udp::Totals::default()
    }
}

/// What one call of [`PacketSource::receive`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// No packet at present: poll again.
    Nothing,
    /// The source has ended; a socket never does.
    End,
}

impl<'a> Received<'a> {
    /// The packet, if there is one.
    pub fn packet(self) -> Option<Packet<'a>> {
        match self {
            Received::Packet(packet) => Some(packet),
            Received::Nothing | Received::End => None,
        }
    }
}

/// One UDP packet over IPv4 with the time of its arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Arrival, nanoseconds since 1970-01-01 UTC.
    pub receive_ns: u64,
    /// Where `receive_ns` was taken.
    pub timestamp: TimestampSource,
    /// The address it was sent to: for multicast, group and port, which name feed and line.
    pub destination: SocketAddrV4,
    /// The address it was sent from.
    pub source: SocketAddrV4,
    /// What UDP carried, without any header.
    pub payload: &'a [u8],
}

/// Source of a receive timestamp, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimestampSource {
    /// The network card, when the packet was on the wire.
    Hardware,
    /// The kernel, when the driver handed the packet up.
    Kernel,
    /// This process, when it polled the packet.
    Poll,
    /// The writer of the capture; the quality of its clock is not recorded.
    Capture,
}

/// Reason why a source cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A capture file is missing, damaged or of an unknown kind.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
    /// A socket cannot be opened or has broken.
    #[error(transparent)]
    Udp(#[from] udp::Error),
}
