//! Integers in the byte order of a file.

/// Byte order of the host that wrote a file or a section of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The `u16` at `bytes[at..]`, which the caller has checked to exist.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }

    /// The `u32` at `bytes[at..]`, which the caller has checked to exist.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    /// The `u64` at `bytes[at..]`, which the caller has checked to exist.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (self.u32(bytes, at), self.u32(bytes, at + 4));
        match self {
            Self::Little => u64::from(second) << 32 | u64::from(first),
            Self::Big => u64::from(first) << 32 | u64::from(second),
        }
    }
}
