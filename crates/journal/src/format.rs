//! Layout of a segment file: its header, the head of a frame, and the checksums that bind a frame to its place.
//!
//! All numbers are little-endian. A segment begins with two equal copies of the header; frames lie behind them, each at
//! a multiple of the alignment of the segment, with zeros between.

use std::fmt;

/// First bytes of each copy of a header.
pub const MAGIC: [u8; 8] = [0x89, 0x54, 0x4c, 0x4a, 0x0d, 0x0a, 0x1a, 0x0a];
/// Version of the format that this crate writes.
pub const VERSION: u16 = 1;
/// Bytes of one copy of a header.
pub const HEADER_COPY_BYTES: usize = 2048;
/// Bytes of both copies; the first frame follows them.
pub const HEADER_BYTES: usize = 4096;
/// Bytes of the head of a frame.
pub const HEAD_BYTES: usize = 32;
/// Largest body of a frame, in bytes.
pub const BODY_BYTES_MAX: usize = 16 << 20;
/// Bytes of an `End` frame without padding: this much of a segment always stays free.
pub const END_BYTES: usize = HEAD_BYTES + 32;
/// Value of `unsynced` in a frame that claims nothing about the disk.
pub const NO_CLAIM: u32 = u32::MAX;
/// Bytes of the name of a journal.
pub const NAME_BYTES: usize = 32;
/// Largest position and sequence, so that sums with offsets do not overflow: 4 EiB, which no journal reaches.
pub const POSITION_MAX: u64 = 1 << 62;
/// Kinds from this one on must be understood by a reader.
pub const KIND_MUST_KNOW: u16 = 0x8000;

/// Kinds of frames that the journal itself defines.
pub mod kind {
    /// First frame of each segment.
    pub const BEGIN: u16 = 1;
    /// Last frame of a segment.
    pub const END: u16 = 2;
    /// Describes a stream.
    pub const STREAM: u16 = 3;
    /// Records of a stream are missing.
    pub const GAP: u16 = 4;
    /// Text for people, UTF-8.
    pub const NOTE: u16 = 5;
    /// Wall clock beside the processor's counter.
    pub const CLOCK: u16 = 6;
    /// Definitions and images, repeated at the start of a segment.
    pub const DEFINITIONS: u16 = 7;
    /// Native messages as they were on the bus.
    pub const MESSAGES: u16 = 16;
    /// One network packet.
    pub const PACKET: u16 = 32;
    /// Bytes of a stream socket.
    pub const BYTES: u16 = 33;
}

/// Name of a kind as the commands print it; `None` for a kind that this crate does not define.
pub fn kind_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        kind::BEGIN => "Begin",
        kind::END => "End",
        kind::STREAM => "Stream",
        kind::GAP => "Gap",
        kind::NOTE => "Note",
        kind::CLOCK => "Clock",
        kind::DEFINITIONS => "Definitions",
        kind::MESSAGES => "Messages",
        kind::PACKET => "Packet",
        kind::BYTES => "Bytes",
        48..=79 => "Fx",
        _ => return None,
    })
}

/// Reads a number of two bytes at `at`.
///
/// # Panics
/// `bytes` is too short.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// Reads a number of four bytes at `at`.
///
/// # Panics
/// `bytes` is too short.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads a number of eight bytes at `at`.
///
/// # Panics
/// `bytes` is too short.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Alignment of frames in a segment: 8, 512 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment(u32);

impl Alignment {
    /// Frames are packed; two of them may share a sector.
    pub const PACKED: Self = Self(8);
    /// Each frame owns its sectors of 512 bytes.
    pub const SECTOR_512: Self = Self(512);
    /// Each frame owns its sectors of 4096 bytes.
    pub const SECTOR_4096: Self = Self(4096);

    /// The alignment of that many bytes; `None` if the format has no such alignment.
    pub fn new(bytes: u32) -> Option<Self> {
        matches!(bytes, 8 | 512 | 4096).then_some(Self(bytes))
    }

    /// Alignment in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.0)
    }

    /// The next multiple at or above `length`.
    pub fn round_up(self, length: u64) -> u64 {
        length.next_multiple_of(self.bytes())
    }
}

/// Header of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Random; part of the checksum of every head in the segment.
    pub salt: u64,
    /// Index of the segment, from 1.
    pub index: u64,
    /// Number of the writer's run, from 1.
    pub epoch: u64,
    /// Time of making, ns since the Unix epoch.
    pub made_ns: u64,
    /// Random id of the journal.
    pub journal: [u8; 16],
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Features that a reader must know; this version knows none.
    pub required: u32,
    /// Features that a reader may ignore.
    pub optional: u32,
    /// ASCII, ends at the first zero.
    pub name: [u8; NAME_BYTES],
    /// Alignment of frames.
    pub alignment: Alignment,
}

/// Reason why a copy of a header is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// The bytes are zeros: the header was never written.
    Empty,
    /// The first bytes are not those of a journal.
    Magic,
    /// The checksum does not match.
    Checksum,
    /// A version above ours.
    Version(u16),
    /// Another number of bytes of both copies.
    HeaderBytes(u16),
    /// Required features that this version does not know.
    Features(u32),
    /// An alignment that this version does not know.
    Alignment(u32),
}

impl HeaderFault {
    /// Whether the header is intact and of a format that this version does not read.
    pub fn is_foreign(self) -> bool {
        !matches!(self, Self::Empty | Self::Checksum)
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(out, "the header was never written"),
            Self::Magic => write!(out, "the first bytes are not those of a journal"),
            Self::Checksum => write!(out, "the checksum of the header does not match"),
            Self::Version(version) => {
                write!(
                    out,
                    "format version {version}, this program reads {VERSION}"
                )
            }
            Self::HeaderBytes(bytes) => write!(
                out,
                "a header of {bytes} bytes, this program reads {HEADER_BYTES}"
            ),
            Self::Features(bits) => write!(out, "unknown required features {bits:#x}"),
            Self::Alignment(bytes) => {
                write!(out, "alignment {bytes}, this program reads 8, 512 and 4096")
            }
        }
    }
}

impl SegmentHeader {
    /// Encodes both copies of the header.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let (copy, second) = bytes.split_at_mut(HEADER_COPY_BYTES);
        copy[0..8].copy_from_slice(&MAGIC);
        copy[8..10].copy_from_slice(&VERSION.to_le_bytes());
        copy[10..12].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
        copy[16..24].copy_from_slice(&self.salt.to_le_bytes());
        copy[24..32].copy_from_slice(&self.index.to_le_bytes());
        copy[32..40].copy_from_slice(&self.epoch.to_le_bytes());
        copy[40..48].copy_from_slice(&self.made_ns.to_le_bytes());
        copy[48..64].copy_from_slice(&self.journal);
        copy[64..72].copy_from_slice(&self.file_bytes.to_le_bytes());
        copy[72..76].copy_from_slice(&self.required.to_le_bytes());
        copy[76..80].copy_from_slice(&self.optional.to_le_bytes());
        copy[80..112].copy_from_slice(&self.name);
        copy[112..116].copy_from_slice(&self.alignment.0.to_le_bytes());
        let crc = header_crc(copy);
        copy[12..16].copy_from_slice(&crc.to_le_bytes());
        second.copy_from_slice(copy);
        bytes
    }

    /// Reads both copies: the header, and whether each copy holds.
    ///
    /// # Errors
    /// The fault of the first copy, or of the second if that one is intact and of a foreign format.
    pub fn decode(bytes: &[u8]) -> Result<(Self, [bool; 2]), HeaderFault> {
        let copy = |at: usize| match bytes.get(at..at + HEADER_COPY_BYTES) {
            Some(copy) => Self::decode_copy(copy),
            None => Err(HeaderFault::Empty),
        };
        match (copy(0), copy(HEADER_COPY_BYTES)) {
            (Ok(first), Ok(second)) => {
                let equal = first == second;
                Ok((first, [true, equal]))
            }
            (Ok(first), Err(_)) => Ok((first, [true, false])),
            (Err(_), Ok(second)) => Ok((second, [false, true])),
            // A magic that one copy lacks is damage of that copy.
            (Err(HeaderFault::Magic), Err(second)) => Err(second),
            (Err(first), Err(second)) => Err(match first.is_foreign() {
                true => first,
                false if second.is_foreign() && second != HeaderFault::Magic => second,
                false if second == HeaderFault::Checksum => second,
                false => first,
            }),
        }
    }

    fn decode_copy(copy: &[u8]) -> Result<Self, HeaderFault> {
        if copy.iter().all(|byte| *byte == 0) {
            return Err(HeaderFault::Empty);
        }
        if copy[0..8] != MAGIC {
            return Err(HeaderFault::Magic);
        }
        if u32_at(copy, 12) != header_crc(copy) {
            return Err(HeaderFault::Checksum);
        }
        let version = u16_at(copy, 8);
        if version == 0 || version > VERSION {
            return Err(HeaderFault::Version(version));
        }
        if usize::from(u16_at(copy, 10)) != HEADER_BYTES {
            return Err(HeaderFault::HeaderBytes(u16_at(copy, 10)));
        }
        let required = u32_at(copy, 72);
        if required != 0 {
            return Err(HeaderFault::Features(required));
        }
        let alignment = u32_at(copy, 112);
        Ok(Self {
            salt: u64_at(copy, 16),
            index: u64_at(copy, 24),
            epoch: u64_at(copy, 32),
            made_ns: u64_at(copy, 40),
            journal: copy[48..64].try_into().expect("sixteen bytes"),
            file_bytes: u64_at(copy, 64),
            required,
            optional: u32_at(copy, 76),
            name: copy[80..112].try_into().expect("the bytes of a name"),
            alignment: Alignment::new(alignment).ok_or(HeaderFault::Alignment(alignment))?,
        })
    }

    /// The name as text.
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|byte| *byte == 0);
        let bytes = &self.name[..end.unwrap_or(NAME_BYTES)];
        bytes.iter().map(|byte| char::from(*byte)).collect()
    }
}

fn header_crc(copy: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&copy[0..12]), &copy[16..])
}

/// Head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of head and body, without padding.
    pub length: u32,
    /// CRC32C of the body.
    pub body_crc: u32,
    /// Number in the segment, from 0.
    pub number: u32,
    /// Time of appending, ns since the Unix epoch.
    pub time_ns: u64,
    /// Position of the frame minus the durable position at its writing; [`NO_CLAIM`] claims nothing.
    pub unsynced: u32,
    /// Stream, 0 is the journal itself.
    pub stream: u16,
    /// Kind of the body.
    pub kind: u16,
}

impl FrameHead {
    /// The bytes of the head at `offset` in the segment with `salt`.
    #[inline]
    pub fn encode(&self, salt: u64, offset: u64) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.body_crc.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.unsynced.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.stream.to_le_bytes());
        bytes[30..32].copy_from_slice(&self.kind.to_le_bytes());
        let crc = head_crc(&bytes, salt, offset);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The head in `bytes`, if it holds at this place.
    pub fn decode(bytes: &[u8], salt: u64, offset: u64) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        let length = u32_at(bytes, 0);
        if (length as usize) < HEAD_BYTES || length as usize > HEAD_BYTES + BODY_BYTES_MAX {
            return None;
        }
        // mutant: simulation: heads are not checked
        if u32_at(bytes, 4) != head_crc(bytes, salt, offset) {
            return None;
        }
        Some(Self {
            length,
            body_crc: u32_at(bytes, 8),
            number: u32_at(bytes, 12),
            time_ns: u64_at(bytes, 16),
            unsynced: u32_at(bytes, 24),
            stream: u16_at(bytes, 28),
            kind: u16_at(bytes, 30),
        })
    }

    /// Durable position that the frame at `position` claims.
    pub fn claim(&self, position: u64) -> Option<u64> {
        (self.unsynced != NO_CLAIM).then(|| position.saturating_sub(u64::from(self.unsynced)))
    }
}

/// Checksum of a head, stored in its bytes 4 to 8.
#[inline]
pub fn head_crc(head: &[u8; HEAD_BYTES], salt: u64, offset: u64) -> u32 {
    let mut bound = [0; 44];
    bound[0..8].copy_from_slice(&salt.to_le_bytes());
    bound[8..16].copy_from_slice(&offset.to_le_bytes());
    bound[16..20].copy_from_slice(&head[0..4]);
    bound[20..44].copy_from_slice(&head[8..32]);
    crc32c::crc32c(&bound)
}

/// Checksum of a body.
#[inline]
pub fn body_crc(body: &[u8]) -> u32 {
    crc32c::crc32c(body)
}

/// File name of a segment.
pub fn segment_name(index: u64) -> String {
    format!("{index:010}.tlj")
}

/// Index of a segment by its file name; `None` for another file.
pub fn segment_index(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".tlj")?;
    let is_index = digits.len() == 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_index
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|index| *index > 0)
}
