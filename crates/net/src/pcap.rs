//! Capture files: pcap and pcapng, plain, gzip or Zstandard, read as a stream.
//!
//! The first bytes determine the format, not the name: pcap in both byte orders with microseconds or nanoseconds,
//! pcapng in both byte orders with any number of sections and interfaces, each optionally compressed with gzip
//! (several members too) or Zstandard (several frames too). Zeros behind the last record, block or member fill the last
//! block of a tape or of a disk, and are skipped; other bytes there are an error.
//!
//! A file is hostile until read: a length that a file claims never sets the size of an allocation. Memory is one
//! buffer of [`BLOCK_BYTES_MAX`] and the decompressor's window (at most 32 MiB), each block moves
//! the reader forward, and a file that unpacks to more than 500 times its size is refused.
//!
//! Sources: IETF draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; RFC 1952 (gzip); RFC 8878 (Zstandard).

mod blocks;
mod byte_order;
mod classic;
mod error;
mod input;
mod interface;
mod pcapng;
mod reader;
mod record;
mod stream;
mod unpack;
mod writer;

pub use blocks::{Blocks, Captured, Interface, PAGE_BYTES};
pub use error::{Error, ErrorKind};
pub use reader::{Frame, Progress, Reader, is_capture, unpacked};
pub(crate) use record::Record;
pub use stream::BLOCK_BYTES_MAX;
pub use writer::Writer;

/// Maximum captured bytes of a packet: 256 KiB, the largest snap length of capture tools.
pub const PACKET_BYTES_MAX: usize = 256 * 1024;

/// The kind of link-layer header that a captured frame starts with, as numbered by the tcpdump
/// group's list of link types (LINKTYPE_ values).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: four bytes of address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// No link-layer header, an IPv4 or IPv6 packet.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: four bytes of address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture (`tcpdump -i any`), first version.
    pub const LINUX_SLL: Self = Self(113);
    /// No link-layer header, an IPv4 packet.
    pub const IPV4: Self = Self(228);
    /// No link-layer header, an IPv6 packet.
    pub const IPV6: Self = Self(229);
    /// Linux "cooked" capture, second version.
    pub const LINUX_SLL2: Self = Self(276);
}
