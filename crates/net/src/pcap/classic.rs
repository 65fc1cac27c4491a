//! The classic pcap format: a file header of 24 bytes, then records of 16 bytes and the frame.

use super::byte_order::ByteOrder;
use super::error::Fault;
use super::record::Record;
use super::stream::Stream;
use super::{LinkType, PACKET_BYTES_MAX};

/// The file header's magic for time in microseconds, as a number.
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
/// The file header's magic for time in nanoseconds, as a number.
pub(super) const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Variant with longer record headers, written by patched tools of the 1990s.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

pub(super) const FILE_HEADER_LEN: usize = 24;
pub(super) const RECORD_HEADER_LEN: usize = 16;

/// File header.
pub(super) struct Classic {
    order: ByteOrder,
    link: LinkType,
    /// Nanoseconds in one unit of a record's sub-second field.
    unit_ns: u64,
}

/// Whether a file that starts with these bytes is a classic capture, readable or not.
pub(super) fn is_magic(magic: [u8; 4]) -> bool {
    byte_order(magic).is_some()
}

impl Classic {
    /// Reads the file header.
    pub(super) fn open(stream: &mut Stream<'_>) -> Result<Self, Fault> {
        let header = stream.peek(FILE_HEADER_LEN)?;
        if header.len() < FILE_HEADER_LEN {
            return Err(Fault::truncated(header.len() as u64, "the file header"));
        }
        let magic = [header[0], header[1], header[2], header[3]];
        let order = byte_order(magic).expect("the caller looked at the magic");
        let unit_ns = match order.u32(header, 0) {
            MAGIC_MICROSECONDS => 1000,
            MAGIC_NANOSECONDS => 1,
            _ => {
                return Err(Fault::unsupported(
                    0,
                    "it is of the old \"modified\" pcap kind",
                    "rewrite it with `editcap -F nsecpcap FILE NEW`",
                ));
            }
        };
        let version = (order.u16(header, 4), order.u16(header, 6));
        if version != (2, 4) {
            return Err(Fault::unsupported(
                4,
                format!("it is of pcap version {}.{}, not 2.4", version.0, version.1),
                "rewrite it with `editcap -F nsecpcap FILE NEW`",
            ));
        }
        // The upper half describes frame check sequences, which the IP length cuts off anyway.
        let link = LinkType(order.u32(header, 20) as u16);
        stream.consume(FILE_HEADER_LEN);
        Ok(Self {
            order,
            link,
            unit_ns,
        })
    }

    /// Reads one record; `None` at the end of the file between two records.
    pub(super) fn next(&mut self, stream: &mut Stream<'_>) -> Result<Option<Record>, Fault> {
        let offset = stream.offset();
        let header = stream.peek(RECORD_HEADER_LEN)?;
        if header.is_empty() {
            return Ok(None);
        }
        if header.len() < RECORD_HEADER_LEN {
            return Err(Fault::truncated(offset, "a record header"));
        }
        // Every packet has bytes on the wire.
        if header.iter().all(|byte| *byte == 0) {
            return stream.padding(offset).map(|()| None);
        }
        let seconds = u64::from(self.order.u32(header, 0));
        let fraction = u64::from(self.order.u32(header, 4));
        let captured_len = self.order.u32(header, 8) as usize;
        let original_len = self.order.u32(header, 12);
        if captured_len > PACKET_BYTES_MAX {
            let what = format!("a record claims {captured_len} bytes, over {PACKET_BYTES_MAX}");
            return Err(Fault::limit(offset, what));
        }
        let record_len = RECORD_HEADER_LEN + captured_len;
        if stream.peek(record_len)?.len() < record_len {
            return Err(Fault::truncated(offset, "a record"));
        }
        let start = stream.position();
        stream.consume(record_len);
        Ok(Some(Record {
            capture_ns: seconds * 1_000_000_000 + fraction * self.unit_ns,
            link: self.link,
            original_len,
            held: start + RECORD_HEADER_LEN..start + record_len,
        }))
    }
}

fn byte_order(magic: [u8; 4]) -> Option<ByteOrder> {
    let known = |number| {
        matches!(
            number,
            MAGIC_MICROSECONDS | MAGIC_NANOSECONDS | MAGIC_MODIFIED
        )
    };
    if known(u32::from_le_bytes(magic)) {
        Some(ByteOrder::Little)
    } else if known(u32::from_be_bytes(magic)) {
        Some(ByteOrder::Big)
    } else {
        None
    }
}
