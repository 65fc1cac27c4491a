//! Writes pcapng: sections with interfaces and packets, nanoseconds, little-endian.
//!
//! A kill ends a write to a file at a multiple of the system's page. So no block of up to a page crosses such a place: a filler, a
//! block of a type for local use that readers skip, takes the rest of the page. A file that was cut there ends at a whole block.

use super::LinkType;
use super::interface::{END_OF_OPTIONS, IF_TSRESOL};
use super::pcapng::{BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, SECTION_HEADER};

/// Places in a file that no block of up to this many bytes crosses.
pub const PAGE_BYTES: u64 = 4_096;

/// Type, length, and length again: the shortest block.
const BLOCK_BYTES_MIN: u64 = 12;

const INTERFACE_STATISTICS: u32 = 5;
/// The highest bit is set: a type for local use.
const FILLER: u32 = 0x8000_544c;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const EPB_DROPCOUNT: u16 = 4;
const ISB_IFDROP: u16 = 5;
/// 10^-9 seconds.
const NANOSECONDS: u8 = 9;
/// Longest text of an option.
const TEXT_BYTES_MAX: usize = 1_024;

/// An interface of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Header at the start of its packets.
    pub link: LinkType,
    /// Name.
    pub name: &'a str,
    /// Description; may be empty.
    pub description: &'a str,
}

/// A packet to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Its interface, by number in the section.
    pub interface: u32,
    /// Time, nanoseconds since 1970-01-01 UTC.
    pub capture_ns: u64,
    /// Bytes.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub original_len: u32,
    /// Packets lost on this interface since the packet before.
    pub dropped: u64,
    /// Comments, one a line; may be empty.
    pub comment: &'a str,
}

/// Blocks of a pcapng file in the order of the calls, until they are written.
#[derive(Debug, Default)]
pub struct Blocks {
    bytes: Vec<u8>,
    /// Place in the file of the first byte of `bytes`.
    at: u64,
}

impl Blocks {
    /// Begins a section: interfaces are numbered from 0 again.
    pub fn section(&mut self, comment: &str) {
        let body = self.begin(SECTION_HEADER);
        self.bytes.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        self.bytes.extend(1_u16.to_le_bytes());
        self.bytes.extend(0_u16.to_le_bytes());
        // The length of the section is not known yet.
        self.bytes.extend(u64::MAX.to_le_bytes());
        self.text(OPT_COMMENT, comment);
        self.text(SHB_USERAPPL, "touchline");
        self.end_of_options();
        self.end(body);
    }

    /// Describes the next interface of the section.
    pub fn interface(&mut self, interface: &Interface<'_>) {
        let body = self.begin(INTERFACE_DESCRIPTION);
        self.bytes.extend(interface.link.0.to_le_bytes());
        self.bytes.extend(0_u16.to_le_bytes());
        // No limit of a packet's length.
        self.bytes.extend(0_u32.to_le_bytes());
        self.text(IF_NAME, interface.name);
        self.text(IF_DESCRIPTION, interface.description);
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.end_of_options();
        self.end(body);
    }

    /// Appends a packet.
    pub fn packet(&mut self, packet: &Captured<'_>) {
        let body = self.begin(ENHANCED_PACKET);
        self.bytes.extend(packet.interface.to_le_bytes());
        self.time(packet.capture_ns);
        self.bytes.extend((packet.bytes.len() as u32).to_le_bytes());
        self.bytes.extend(packet.original_len.to_le_bytes());
        self.bytes.extend_from_slice(packet.bytes);
        self.pad();
        if packet.dropped > 0 {
            self.option(EPB_DROPCOUNT, &packet.dropped.to_le_bytes());
        }
        self.comments(packet.comment);
        if packet.dropped > 0 || !packet.comment.is_empty() {
            self.end_of_options();
        }
        self.end(body);
    }

    /// States the packets lost on an interface since the section began, with comments, one a line.
    pub fn statistics(&mut self, interface: u32, capture_ns: u64, dropped: u64, comment: &str) {
        let body = self.begin(INTERFACE_STATISTICS);
        self.bytes.extend(interface.to_le_bytes());
        self.time(capture_ns);
        self.option(ISB_IFDROP, &dropped.to_le_bytes());
        self.comments(comment);
        self.end_of_options();
        self.end(body);
    }

    /// Bytes that wait to be written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Place in the file behind them.
    pub fn position(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// The bytes are written.
    pub fn written(&mut self) {
        self.at = self.position();
        self.bytes.clear();
    }

    /// Starts a block: where it begins.
    fn begin(&mut self, kind: u32) -> usize {
        let start = self.bytes.len();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend([0; 4]);
        start
    }

    /// Ends a block, and moves it to the next page if it would cross the end of this one.
    fn end(&mut self, start: usize) {
        let length = self.bytes.len() - start + 4;
        let stated = (length as u32).to_le_bytes();
        self.bytes.extend(stated);
        self.bytes[start + 4..start + 8].copy_from_slice(&stated);
        let filler = filler_before(self.at + start as u64, length as u64);
        if filler > 0 {
            let stated = (filler as u32).to_le_bytes();
            let mut block = vec![0; filler as usize];
            block[..4].copy_from_slice(&FILLER.to_le_bytes());
            block[4..8].copy_from_slice(&stated);
            block[filler as usize - 4..].copy_from_slice(&stated);
            self.bytes.splice(start..start, block);
        }
    }

    fn time(&mut self, ns: u64) {
        self.bytes.extend(((ns >> 32) as u32).to_le_bytes());
        self.bytes.extend((ns as u32).to_le_bytes());
    }

    fn text(&mut self, code: u16, text: &str) {
        if !text.is_empty() {
            let end = text.floor_char_boundary(TEXT_BYTES_MAX);
            self.option(code, &text.as_bytes()[..end]);
        }
    }

    fn comments(&mut self, lines: &str) {
        for line in lines.lines() {
            self.text(OPT_COMMENT, line);
        }
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.bytes.extend(code.to_le_bytes());
        self.bytes.extend((value.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
    }

    fn end_of_options(&mut self) {
        self.option(END_OF_OPTIONS, &[]);
    }

    /// Blocks and options begin at multiples of 4, and so does what waits.
    fn pad(&mut self) {
        let length = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(length, 0);
    }
}

/// Bytes of the filler before a block at `at`; 0: none. A rest of a page is empty or has room for a filler, always.
fn filler_before(at: u64, length: u64) -> u64 {
    let is_usable = |rest: u64| rest == 0 || rest >= BLOCK_BYTES_MIN;
    let left = PAGE_BYTES - at % PAGE_BYTES;
    if length <= left && is_usable(left - length) {
        return 0;
    }
    if length <= PAGE_BYTES && is_usable(PAGE_BYTES - length) {
        return left;
    }
    // Longer than a page: it may be cut by a kill, as none of the others.
    let rest = (PAGE_BYTES - (at + length) % PAGE_BYTES) % PAGE_BYTES;
    match is_usable(rest) {
        true => 0,
        false => BLOCK_BYTES_MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::Reader;

    use touchline_testing::random::{Random, seeds};

    /// Random packets, some longer than a page, in several writes.
    fn file(seed: u64, longest: usize) -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
        let mut random = Random::from_seed(seed);
        let (mut blocks, mut file, mut packets) = (Blocks::default(), Vec::new(), Vec::new());
        blocks.section("a test");
        for name in ["310IA", "310IB"] {
            blocks.interface(&Interface {
                link: LinkType::IPV4,
                name,
                description: "239.1.1.1:14310",
            });
        }
        for number in 0..400 {
            let bytes = vec![number as u8; random.below(longest as u64) as usize];
            let capture_ns = 1_700_000_000_000_000_000 + number;
            blocks.packet(&Captured {
                interface: (number % 2) as u32,
                capture_ns,
                bytes: &bytes,
                original_len: bytes.len() as u32,
                dropped: u64::from(number % 50 == 0),
                comment: if number % 70 == 0 {
                    "packets lost\nand lost"
                } else {
                    ""
                },
            });
            packets.push((capture_ns, bytes));
            if random.chance(0.2) {
                file.extend_from_slice(blocks.bytes());
                blocks.written();
                assert_eq!(blocks.position(), file.len() as u64);
            }
        }
        blocks.statistics(0, 1_700_000_000_000_000_400, 4, "one\ntwo");
        file.extend_from_slice(blocks.bytes());
        (file, packets)
    }

    fn read(bytes: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, crate::pcap::Error> {
        let mut reader = Reader::new(bytes)?;
        let mut packets = Vec::new();
        while let Some(frame) = reader.next()? {
            assert_eq!(frame.link, LinkType::IPV4);
            packets.push((frame.capture_ns, frame.bytes.to_vec()));
        }
        Ok(packets)
    }

    #[test]
    fn what_was_written_is_read_back() {
        for seed in seeds(8) {
            println!("SEED={seed}");
            let (file, packets) = file(seed, 9_000);
            assert_eq!(read(&file).expect("a capture"), packets, "seed {seed}");
        }
    }

    /// The end that a kill leaves: a multiple of a page.
    #[test]
    fn a_file_that_is_cut_at_a_page_ends_at_a_whole_block() {
        for seed in seeds(8) {
            println!("SEED={seed}");
            let (file, packets) = file(seed, 3_900);
            for end in (PAGE_BYTES as usize..file.len()).step_by(PAGE_BYTES as usize) {
                let cut = read(&file[..end])
                    .unwrap_or_else(|error| panic!("seed {seed}, {end}: {error}"));
                assert!(packets.starts_with(&cut), "seed {seed}, {end}");
            }
        }
    }
}
