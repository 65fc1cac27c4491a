//! Packet sources: sockets and captures, with receive timestamps.
//!
//! A [`PacketSource`] lends one UDP packet at a time, with its receive time and the source of that time. [`UdpSource`]
//! receives from sockets, [`XdpSource`] from the frames of an interface, [`PcapSource`] from captures; [`pcap`] reads and writes capture files, [`frame`] finds the
//! UDP datagram in a link-layer frame; [`input`] opens a file that a user names. A [`Connection`] is TCP, with or without [`tls`], and a
//! [`Backoff`] the pauses between attempts to make one.
//!
//! # Never
//! Knows a venue or a message: a payload is bytes. Reorders, drops or merges the packets to one
//! destination: lines, sequence numbers and gaps belong to `feed`.
//!
//! # Path
//! Bytes of a file or a socket leave through [`PacketSource::receive`]:
//!
//! ```text
//! file ─► pcap::Reader ─► frame::datagram ─► PcapSource::receive ─► Packet
//!         one record      headers off         lines merged by time
//! sockets ─► udp::kernel ───────────────────► UdpSource::receive ──► Packet
//!            recvmsg, recvmmsg                urgent ones first, stamps
//! frames ──► xdp::rings ─► frame::locate ───► XdpSource::receive ──► Packet
//!            AF_XDP                           checksums, sources
//! ```
//!
//! # Tests
//! `tests/net/pcap` builds every format by hand, byte for byte, truncates each file at every length, feeds random
//! bytes, and counts real captures where available; `tests/net/frame.rs` does the same for link layers; `tests/net/udp`
//! sends over the loopback interface, and with privileges over virtual cards in network namespaces;
//! `tests/net/stream.rs` tests every behaviour of a peer, `tests/net/tls` every invalid certificate; `tests/hostile.rs`
//! holds damaged and malicious files against limits of time and memory; fuzz target `pcap_reader`.

use std::net::SocketAddrV4;

mod backoff;
mod capture_order;
mod connection;
pub mod frame;
pub mod input;
mod live;
#[allow(
    unsafe_code,
    reason = "the query of a driver is a system call with a pointer"
)]
pub mod nic;
pub mod pcap;
mod pcap_source;
pub mod stream;
pub mod tls;
pub mod udp;
pub mod xdp;

pub use backoff::Backoff;
pub use connection::Connection;
pub use live::LiveSource;
pub use pcap_source::{PcapSource, Skipped};
pub use stream::Stream;
pub use udp::UdpSource;
pub use xdp::XdpSource;

/// Source of packets: a capture or sockets.
///
/// A pipeline is generic over its source, so that replay and live run the same code.
pub trait PacketSource {
    /// Lends the next packet; never waits.
    ///
    /// The packet borrows a buffer that the next call reuses.
    ///
    /// # Errors
    /// The source is damaged or has ended. The text names place and fix.
    fn receive(&mut self) -> Result<Received<'_>, Error>;

    /// Follows changes of the host while packets are received. Called periodically; never waits. Sockets rejoin groups
    /// whose interface was removed and came back.
    fn look_after(&mut self) {}

    /// Totals of the sockets. May query the kernel, so it is not for the path.
    fn tally(&mut self) -> udp::Totals {
        udp::Totals::default()
    }
}

/// Result of [`PacketSource::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// No packet at present: poll again.
    Nothing,
    /// Packets were refused, and more may wait: poll again at once.
    Refused,
    /// The source has ended; sockets never end.
    End,
}

impl<'a> Received<'a> {
    /// The packet, if there is one.
    pub fn packet(self) -> Option<Packet<'a>> {
        match self {
            Received::Packet(packet) => Some(packet),
            Received::Nothing | Received::Refused | Received::End => None,
        }
    }
}

/// Result of a look at sockets or rings.
enum Look<T> {
    Found(T),
    Nothing,
    /// A number of packets, none of them ours; more may wait.
    Refused,
}

/// One UDP packet over IPv4 with its receive time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Arrival, nanoseconds since 1970-01-01 UTC.
    pub receive_ns: u64,
    /// Source of `receive_ns`.
    pub timestamp: TimestampSource,
    /// Destination address: for multicast, group and port, which identify feed and line.
    pub destination: SocketAddrV4,
    /// Source address.
    pub source: SocketAddrV4,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Source of a receive timestamp, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimestampSource {
    /// The network card, at the wire.
    Hardware,
    /// The kernel, when the driver delivered the packet.
    Kernel,
    /// This process, when it polled the packet.
    Poll,
    /// The writer of the capture; the quality of its clock is unknown.
    Capture,
}

/// Error of a source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A capture file is missing, damaged or of an unknown kind.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
    /// A socket cannot be opened or has failed.
    #[error(transparent)]
    Udp(#[from] udp::Error),
    /// AF_XDP cannot be used.
    #[error(transparent)]
    Xdp(#[from] xdp::Error),
}

impl Error {
    /// Whether a capture ends in the middle of a record or of its compressed data; everything before was received.
    pub fn is_truncation(&self) -> bool {
        matches!(self, Error::Capture(error) if error.kind() == pcap::ErrorKind::Truncated)
    }
}
