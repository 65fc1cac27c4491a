//! Fields of a block.

/// Bytes of a block. A field outside of them is absent.
#[derive(Clone, Copy)]
pub struct Block<'a>(pub &'a [u8]);

macro_rules! little_endian {
    ($($name:ident)*) => { $(
        /// The little-endian field at an offset.
        pub fn $name(self, offset: usize) -> Option<$name> {
            let bytes = self.0.get(offset..)?.first_chunk()?;
            Some($name::from_le_bytes(*bytes))
        }
    )* };
}

impl Block<'_> {
    little_endian! { u8 u16 u32 u64 i8 i32 i64 }

    /// An i32 with CME's null.
    pub fn nullable_i32(self, offset: usize) -> Option<i64> {
        self.i32(offset)
            .filter(|&value| value != i32::MAX)
            .map(i64::from)
    }

    /// A u64 with CME's null.
    pub fn nullable_u64(self, offset: usize) -> Option<u64> {
        self.u64(offset).filter(|&value| value != u64::MAX)
    }

    /// A u64 quantity with CME's null. A number beyond `i64` is invalid, because no traded quantity is that large.
    pub fn long_quantity(self, offset: usize) -> Option<i64> {
        self.nullable_u64(offset)
            .and_then(|value| i64::try_from(value).ok())
    }

    /// A price with CME's null, in units of 1e-9. `scale` is 1 for exponent -9 and 100 for exponent -7.
    pub fn price(self, offset: usize, scale: i64) -> Option<i64> {
        self.i64(offset)
            .filter(|&mantissa| mantissa != i64::MAX)?
            .checked_mul(scale)
    }

    /// Text up to the first zero byte, without trailing spaces.
    pub fn text(self, offset: usize, length: usize) -> Option<String> {
        let bytes = self.0.get(offset..offset + length)?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(length);
        Some(
            String::from_utf8_lossy(&bytes[..end])
                .trim_end()
                .to_string(),
        )
    }
}
