//! The pcapng format: sections of blocks, each block with its type and its length at both ends.
//!
//! ```text
//! | type u32 | length u32 | body, padded to 4 | length u32 |
//! ```
//!
//! Block types are those of draft-ietf-opsawg-pcapng, section 4. Blocks that carry no packet are
//! skipped by their length.

use super::byte_order::ByteOrder;
use super::error::Fault;
use super::interface::Interface;
use super::record::Record;
use super::stream::Stream;
use super::{BLOCK_BYTES_MAX, PACKET_BYTES_MAX};

/// The type of a Section Header Block, the same in both byte orders.
pub(super) const SECTION_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete since 2004, still in old captures.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;

pub(super) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and both lengths.
const FRAMING_LEN: usize = 12;
/// Start of a block's body.
const BODY: usize = 8;

/// The longest block that is skipped; the limit that Wireshark has too.
const SKIPPED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Maximum number of interfaces of one section: the range of the obsolete Packet Block's 16-bit
/// number.
const INTERFACES_MAX: usize = 65_536;

/// The current section of a file.
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Time of the last packet, for blocks without a time.
    last_ns: u64,
}

/// Fields common to the three kinds of packet blocks.
struct PacketFields {
    interface: u32,
    /// Time in the interface's ticks; a Simple Packet Block has none.
    ticks: Option<u64>,
    captured_len: u32,
    original_len: u32,
    /// Offset of the frame in the block.
    data: usize,
}

impl Pcapng {
    /// Reads the first Section Header Block, whose type was read already.
    pub(super) fn open(stream: &mut Stream<'_>) -> Result<Self, Fault> {
        let mut section = Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            last_ns: 0,
        };
        section.start_section(stream)?;
        Ok(section)
    }

    /// Reads blocks up to the next packet, inclusive; `None` at the end of the file between two
    /// blocks.
    pub(super) fn next(&mut self, stream: &mut Stream<'_>) -> Result<Option<Record>, Fault> {
        loop {
            let offset = stream.offset();
            let head = stream.peek(FRAMING_LEN)?;
            if head.is_empty() {
                return Ok(None);
            }
            if head.len() < FRAMING_LEN {
                return Err(Fault::truncated(offset, "a block header"));
            }
            if head.iter().all(|byte| *byte == 0) {
                return stream.padding(offset).map(|()| None);
            }
            let kind = self.order.u32(head, 0);
            if kind == SECTION_HEADER {
                self.start_section(stream)?;
                continue;
            }
            let len = checked_len(self.order.u32(head, 4), offset)?;
            match kind {
                INTERFACE_DESCRIPTION => self.add_interface(stream, len)?,
                PACKET | SIMPLE_PACKET | ENHANCED_PACKET => {
                    return self.packet(stream, kind, len).map(Some);
                }
                _ => skip(stream, self.order, len)?,
            }
        }
    }

    /// Section 4.1: byte order magic, version, section length (not used by a sequential reader).
    fn start_section(&mut self, stream: &mut Stream<'_>) -> Result<(), Fault> {
        let offset = stream.offset();
        let head = stream.peek(FRAMING_LEN)?;
        if head.len() < FRAMING_LEN {
            return Err(Fault::truncated(offset, "a section header"));
        }
        let order = if ByteOrder::Little.u32(head, BODY) == BYTE_ORDER_MAGIC {
            ByteOrder::Little
        } else if ByteOrder::Big.u32(head, BODY) == BYTE_ORDER_MAGIC {
            ByteOrder::Big
        } else {
            return Err(Fault::malformed(
                offset,
                "a section header has no byte order magic",
            ));
        };
        let len = checked_len(order.u32(head, 4), offset)?;
        let block = whole(stream, order, len)?;
        if block.len() < FRAMING_LEN + 16 {
            return Err(Fault::malformed(
                offset,
                "a section header is too short for its fields",
            ));
        }
        let version = (order.u16(block, BODY + 4), order.u16(block, BODY + 6));
        if !matches!(version, (1, 0 | 2)) {
            return Err(Fault::unsupported(
                offset,
                format!(
                    "a section is of pcapng version {}.{}, not 1.0",
                    version.0, version.1
                ),
                "rewrite it with `editcap -F pcapng FILE NEW`",
            ));
        }
        stream.consume(len);
        self.order = order;
        self.interfaces.clear();
        Ok(())
    }

    fn add_interface(&mut self, stream: &mut Stream<'_>, len: usize) -> Result<(), Fault> {
        let offset = stream.offset();
        if self.interfaces.len() == INTERFACES_MAX {
            let what = format!("a section has more than {INTERFACES_MAX} interfaces");
            return Err(Fault::limit(offset, what));
        }
        let block = whole(stream, self.order, len)?;
        let body = &block[BODY..len - 4];
        self.interfaces
            .push(Interface::read(body, self.order, offset)?);
        stream.consume(len);
        Ok(())
    }

    fn packet(&mut self, stream: &mut Stream<'_>, kind: u32, len: usize) -> Result<Record, Fault> {
        let offset = stream.offset();
        let block = whole(stream, self.order, len)?;
        let fields = PacketFields::read(kind, self.order, block, offset)?;
        let Some(interface) = self.interfaces.get(fields.interface as usize) else {
            let what = format!(
                "a packet names interface {}, not described",
                fields.interface
            );
            return Err(Fault::malformed(offset, what));
        };
        let captured_len = match (fields.ticks, interface.snap_len) {
            (None, 1..) => fields.captured_len.min(interface.snap_len) as usize,
            _ => fields.captured_len as usize,
        };
        if captured_len > PACKET_BYTES_MAX {
            let what = format!("a packet claims {captured_len} bytes, over {PACKET_BYTES_MAX}");
            return Err(Fault::limit(offset, what));
        }
        if fields.data + captured_len > len - 4 {
            let what = format!("a packet of {captured_len} bytes runs over its block of {len}");
            return Err(Fault::malformed(offset, what));
        }
        if let Some(ticks) = fields.ticks {
            self.last_ns = interface.nanoseconds(ticks).ok_or_else(|| {
                Fault::malformed(offset, "a packet's time is before 1970 or after 2554")
            })?;
        }
        let link = interface.link;
        let start = stream.position() + fields.data;
        stream.consume(len);
        Ok(Record {
            capture_ns: self.last_ns,
            link,
            original_len: fields.original_len,
            held: start..start + captured_len,
        })
    }
}

impl PacketFields {
    /// Sections 4.3 (enhanced), 4.4 (simple) and appendix A (obsolete).
    fn read(kind: u32, order: ByteOrder, block: &[u8], offset: u64) -> Result<Self, Fault> {
        let data = match kind {
            SIMPLE_PACKET => BODY + 4,
            _ => BODY + 20,
        };
        if block.len() < data + 4 {
            return Err(Fault::malformed(
                offset,
                "a packet block is too short for its fields",
            ));
        }
        let word = |index: usize| order.u32(block, BODY + 4 * index);
        if kind == SIMPLE_PACKET {
            let original_len = word(0);
            return Ok(Self {
                interface: 0,
                ticks: None,
                captured_len: original_len,
                original_len,
                data,
            });
        }
        Ok(Self {
            interface: match kind {
                PACKET => u32::from(order.u16(block, BODY)),
                _ => word(0),
            },
            ticks: Some(u64::from(word(1)) << 32 | u64::from(word(2))),
            captured_len: word(3),
            original_len: word(4),
            data,
        })
    }
}

/// Length of a block, which must contain its own framing and keep the next block aligned.
fn checked_len(len: u32, offset: u64) -> Result<usize, Fault> {
    let len = len as usize;
    if len < FRAMING_LEN || !len.is_multiple_of(4) {
        let what = format!("a block's length is {len}: not a multiple of 4 from 12 up");
        return Err(Fault::malformed(offset, what));
    }
    if len > SKIPPED_BYTES_MAX {
        let what = format!("a block claims {len} bytes, over {SKIPPED_BYTES_MAX}");
        return Err(Fault::limit(offset, what));
    }
    Ok(len)
}

/// Peeks a complete block.
fn whole<'a>(stream: &'a mut Stream<'_>, order: ByteOrder, len: usize) -> Result<&'a [u8], Fault> {
    let offset = stream.offset();
    if len > BLOCK_BYTES_MAX {
        let what = format!("a block claims {len} bytes, over {BLOCK_BYTES_MAX}");
        return Err(Fault::limit(offset, what));
    }
    let block = stream.peek(len)?;
    if block.len() < len {
        return Err(Fault::truncated(offset, "a block"));
    }
    check_trailer(order.u32(block, len - 4), len, offset)?;
    Ok(block)
}

/// Skips a block that is not used.
fn skip(stream: &mut Stream<'_>, order: ByteOrder, len: usize) -> Result<(), Fault> {
    let offset = stream.offset();
    let inside = stream.skip(len - 4)?;
    let trailer = stream.peek(4)?;
    if !inside || trailer.len() < 4 {
        return Err(Fault::truncated(offset, "a block"));
    }
    check_trailer(order.u32(trailer, 0), len, offset)?;
    stream.consume(4);
    Ok(())
}

fn check_trailer(trailer: u32, len: usize, offset: u64) -> Result<(), Fault> {
    if trailer as usize == len {
        return Ok(());
    }
    let what = format!("a block's length is {len} at its start and {trailer} at its end");
    Err(Fault::malformed(offset, what))
}
