//! Records of a raw recording as blocks of pcapng.

use super::{BytesBody, PACKETS, PacketBody, SESSION, described};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_net::frame;
use touchline_net::pcap::{Blocks, Captured, Interface, LinkType};

/// A section is one segment of the journal, or one file of a recorder.
#[derive(Debug, Default)]
pub(super) struct RecordBlocks {
    blocks: Blocks,
    streams: BTreeMap<u16, Described>,
    interfaces: u32,
    /// Whether the file has the header of the section.
    is_begun: bool,
    last_ns: u64,
    /// Packets lost since the last packet, of streams that the section before ended with, by name.
    dropped: BTreeMap<String, u64>,
    /// Room for a segment.
    segment: Vec<u8>,
}

/// Our side of a session, whose address is not recorded.
const US: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 1);
/// Bytes of a segment: its block fits a page.
const SEGMENT_BYTES: usize = 3_900;

/// A stream with its interface.
#[derive(Debug)]
struct Described {
    name: String,
    /// The other side of a session.
    peer: SocketAddrV4,
    interface: u32,
    /// Packets lost since the last packet, and in the section.
    dropped: u64,
    dropped_all: u64,
    gaps: Gaps,
}

/// Gaps since the last packet, one a line.
#[derive(Debug, Default)]
struct Gaps {
    lines: String,
    /// Gaps beyond the room.
    further: u64,
}

/// Bytes of the gaps before one packet: a stream without packets may have any number of them.
const GAPS_BYTES_MAX: usize = 8_192;

impl Gaps {
    fn add(&mut self, line: &str) {
        match self.lines.len() < GAPS_BYTES_MAX {
            true => self.lines.extend([line, "\n"]),
            false => self.further += 1,
        }
    }

    fn take(&mut self) -> String {
        let mut lines = std::mem::take(&mut self.lines);
        if self.further > 0 {
            lines += &format!("gap: {} further ones", std::mem::take(&mut self.further));
        }
        lines
    }
}

impl RecordBlocks {
    /// Blocks that wait to be written.
    pub fn waiting(&self) -> &[u8] {
        self.blocks.bytes()
    }

    /// Place in the file behind them.
    pub fn position(&self) -> u64 {
        self.blocks.position()
    }

    /// They are written.
    pub fn written(&mut self) {
        self.blocks.written();
    }

    /// Takes a record.
    pub fn record(&mut self, stream: u16, kind: u16, time_ns: u64, body: &[u8]) {
        self.last_ns = self.last_ns.max(time_ns);
        match kind {
            kind::BEGIN => self.end_section(),
            kind::STREAM => self.describe(stream, body),
            kind::GAP => self.gap(stream, body),
            kind::PACKET => self.packet(stream, time_ns, body),
            kind::BYTES => self.bytes(stream, time_ns, body),
            _ => {}
        }
    }

    /// Ends the section with its losses. A file without a packet is a capture, too.
    pub fn end_section(&mut self) {
        for described in std::mem::take(&mut self.streams).into_values() {
            self.end_stream(described);
        }
        (self.interfaces, self.is_begun) = (0, false);
    }

    /// States the losses of a stream that no packet has stated.
    fn end_stream(&mut self, mut described: Described) {
        // mutant: tape: a gap that no packet follows is not in a capture
        let gaps = described.gaps.take();
        if described.dropped_all > 0 || !gaps.is_empty() {
            let (interface, dropped) = (described.interface, described.dropped_all);
            self.blocks
                .statistics(interface, self.last_ns, dropped, &gaps);
        }
        if described.dropped > 0 {
            self.dropped.insert(described.name, described.dropped);
        }
    }

    /// Writes the header of the section, once.
    pub fn begin_section(&mut self) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.blocks.section(
                "a raw recording of touchline: headers of IP, UDP and TCP are made from the addresses of the sockets",
            );
        }
    }

    fn describe(&mut self, stream: u16, body: &[u8]) {
        let Some(described) = described(kind::STREAM, body) else {
            return;
        };
        let is_known = |known: &Described| known.name == described.name;
        if !matches!(described.content, PACKETS | SESSION)
            || self.streams.get(&stream).is_some_and(is_known)
        {
            return;
        }
        self.begin_section();
        let (id, description) = described
            .name
            .split_once(' ')
            .unwrap_or((&described.name, ""));
        self.blocks.interface(&Interface {
            link: LinkType(described.schema),
            name: id,
            description,
        });
        let before = self.streams.insert(
            stream,
            Described {
                interface: self.interfaces,
                dropped: self.dropped.remove(&described.name).unwrap_or(0),
                dropped_all: 0,
                gaps: Gaps::default(),
                peer: peer_of(&described.name),
                name: described.name,
            },
        );
        self.interfaces += 1;
        if let Some(before) = before {
            self.end_stream(before);
        }
    }

    /// A loss of stream 0 may be of any stream.
    fn gap(&mut self, stream: u16, body: &[u8]) {
        let Some(gap) = Gap::decode(body) else {
            return;
        };
        let why = match gap.cause {
            Gap::DROPPED => "dropped by the kernel",
            Gap::NOT_RUNNING => "the recorder did not run",
            _ => "lost",
        };
        let all = self.streams.iter_mut();
        let of_it = all.filter(|(number, _)| stream == 0 || **number == stream);
        for (_, described) in of_it {
            let count = match gap.count {
                Gap::UNKNOWN => "an unknown number of".to_owned(),
                count => count.to_string(),
            };
            if gap.count != Gap::UNKNOWN && stream != 0 {
                described.dropped += gap.count;
                described.dropped_all += gap.count;
            }
            let of = if stream == 0 {
                " of all interfaces"
            } else {
                ""
            };
            described.gaps.add(&format!(
                "gap: {count} packets{of}, from {} to {}: {why}",
                gap.from_ns, gap.to_ns
            ));
        }
    }

    /// Bytes of a session as segments of TCP: made from their place in the stream.
    fn bytes(&mut self, stream: u16, time_ns: u64, body: &[u8]) {
        let (Some(described), Some(read)) = (self.streams.get_mut(&stream), BytesBody::read(body))
        else {
            return;
        };
        let mut offset = read.offset;
        let mut gaps = described.gaps.take();
        for part in read.bytes.chunks(SEGMENT_BYTES) {
            self.segment.clear();
            let sequence = (offset as u32).wrapping_add(1);
            frame::append_tcp_ipv4(&mut self.segment, described.peer, US, sequence, part);
            self.blocks.packet(&Captured {
                interface: described.interface,
                capture_ns: time_ns,
                bytes: &self.segment,
                original_len: self.segment.len() as u32,
                dropped: 0,
                comment: &gaps,
            });
            gaps.clear();
            offset += part.len() as u64;
        }
    }

    fn packet(&mut self, stream: u16, time_ns: u64, body: &[u8]) {
        let (Some(described), Some(packet)) =
            (self.streams.get_mut(&stream), PacketBody::read(body))
        else {
            return;
        };
        self.blocks.packet(&Captured {
            interface: described.interface,
            capture_ns: packet.time_ns(time_ns),
            bytes: packet.bytes,
            original_len: packet.original_len,
            dropped: std::mem::take(&mut described.dropped),
            comment: &described.gaps.take(),
        });
    }
}

/// The other side of a session, by the name of its stream.
fn peer_of(name: &str) -> SocketAddrV4 {
    let mut words = name.split(' ');
    let peer = words.find_map(|word| word.strip_prefix("peer=")?.parse().ok());
    peer.unwrap_or(US)
}
