//! Raw recordings: the packets of a channel's lines, and the bytes of sessions, as they were received.
//!
//! A raw journal has a stream for each socket, described again in each segment. [`Capture`] gives it as pcapng, so that everything that
//! reads captures reads raw journals.

mod blocks;
mod capture;
mod files;
mod last_raw;
mod output;
mod recorder;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub use capture::{Capture, packets};
pub use run::{RawRecording, RawSettings, Target};
pub use source::{Session, SessionBytes, SessionWork, Source};

use std::net::SocketAddrV4;
use std::path::Path;
use touchline_journal::format::{kind, u32_at, u64_at};
use touchline_journal::records::Stream;
use touchline_journal::{Error, Follow};
use touchline_net::pcap::LinkType;
use touchline_net::{Packet, TimestampSource, frame};

/// Content of a stream with packets.
const PACKETS: u16 = 2;
/// Content of a stream with bytes of a session.
const SESSION: u16 = 3;
/// Version of the bodies of its records.
const VERSION: u16 = 1;
/// Link type of the packets: they begin with the IPv4 header.
const LINK: LinkType = LinkType::IPV4;

/// A socket of a line: a stream of a raw recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The venue's name of it, without spaces.
    pub id: String,
    /// Number of the line: 0 is A, 1 is B.
    pub number: u8,
    /// Group and port.
    pub address: SocketAddrV4,
}

/// What a journal is a recording of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A journal without a stream so far, or another directory.
    Nothing,
    /// Buses: a tape.
    Buses,
    /// Packets.
    Raw,
    /// Bytes of a session.
    Session,
}

impl Content {
    /// Looks at the first stream of a journal.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged before its first stream.
    pub fn of(directory: &Path) -> Result<Content, Error> {
        let mut follow = Follow::new(directory);
        let mut content = Content::Nothing;
        while content == Content::Nothing {
            let read = follow.poll(u64::MAX, 1, |entry| {
                if let Some(stream) = described(entry.head.kind, entry.body) {
                    content = match stream.content {
                        PACKETS => Content::Raw,
                        SESSION => Content::Session,
                        _ => Content::Buses,
                    };
                }
            })?;
            if read == 0 {
                break;
            }
        }
        Ok(content)
    }
}

fn described(kind: u16, body: &[u8]) -> Option<Stream> {
    Stream::decode(body).filter(|_| kind == kind::STREAM)
}

impl Line {
    /// The record that describes the stream.
    fn stream(&self) -> Stream {
        Stream {
            content: PACKETS,
            schema: LINK.0,
            version: VERSION,
            name: format!("{} group={}", self.id, self.address),
        }
    }
}

/// Body of a `Packet` record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PacketBody<'a> {
    line: u8,
    /// Best stamp: 0 poll, 1 kernel, 2 card. That of the poll is the time of the record.
    stamp: u8,
    original_len: u32,
    kernel_ns: u64,
    card_ns: u64,
    /// The packet from its IP header on.
    bytes: &'a [u8],
}

impl<'a> PacketBody<'a> {
    const HEAD_BYTES: usize = 24;

    /// Writes the body of a packet; returns the time of its record, given that of the poll. The headers of the packet are made from its
    /// addresses: a socket does not give them.
    fn write(line: u8, packet: &Packet<'_>, poll_ns: u64, body: &mut Vec<u8>) -> u64 {
        let (stamp, kernel_ns, card_ns, time_ns) = match packet.timestamp {
            TimestampSource::Hardware => (2, 0, packet.receive_ns, poll_ns),
            TimestampSource::Kernel => (1, packet.receive_ns, 0, poll_ns),
            TimestampSource::Poll | TimestampSource::Capture => (0, 0, 0, packet.receive_ns),
        };
        body.clear();
        body.extend([line, stamp, 0, 0, 0, 0, 0, 0]);
        body.extend(u64::to_le_bytes(kernel_ns));
        body.extend(u64::to_le_bytes(card_ns));
        let Packet {
            source,
            destination,
            payload,
            ..
        } = *packet;
        frame::append_udp_ipv4(body, source, destination, payload)
            .expect("a socket receives no longer datagram than there are");
        let length = (body.len() - Self::HEAD_BYTES) as u32;
        body[4..8].copy_from_slice(&length.to_le_bytes());
        time_ns
    }

    fn read(body: &'a [u8]) -> Option<PacketBody<'a>> {
        let (head, bytes) = body.split_at_checked(Self::HEAD_BYTES)?;
        Some(PacketBody {
            line: head[0],
            stamp: head[1],
            original_len: u32_at(head, 4),
            kernel_ns: u64_at(head, 8),
            card_ns: u64_at(head, 16),
            bytes,
        })
    }

    /// The best stamp, ns since the Unix epoch; that of the poll is the time of the record.
    fn time_ns(&self, recorded_ns: u64) -> u64 {
        match self.stamp {
            2 => self.card_ns,
            1 => self.kernel_ns,
            _ => recorded_ns,
        }
    }
}

/// Body of a `Bytes` record: received bytes of a session, by their place in the TCP stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BytesBody<'a> {
    offset: u64,
    bytes: &'a [u8],
}

impl<'a> BytesBody<'a> {
    const HEAD_BYTES: usize = 16;
    /// Direction: from the venue. Sent bytes are not recorded.
    const RECEIVED: u8 = 1;

    fn write(offset: u64, bytes: &[u8], body: &mut Vec<u8>) {
        body.clear();
        body.extend([Self::RECEIVED, 0, 0, 0, 0, 0, 0, 0]);
        body.extend(offset.to_le_bytes());
        body.extend_from_slice(bytes);
    }

    fn read(body: &'a [u8]) -> Option<BytesBody<'a>> {
        let (head, bytes) = body.split_at_checked(Self::HEAD_BYTES)?;
        let offset = u64_at(head, 8);
        Some(BytesBody { offset, bytes })
    }
}
