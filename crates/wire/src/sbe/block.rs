//! A block of fields: the fixed part that every version has, and the fields of newer versions.

use super::Malformed;
use core::fmt;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// The fields of a message root or of a group entry.
///
/// `L` is the layout in the oldest known schema, so most accessors need only a reference to it. Fields that came later
/// lie in its padding ([`since`](Self::since)) or after it ([`later`](Self::later)).
pub struct Block<'a, L> {
    /// The part that every known version has.
    pub fixed: &'a L,
    extension: &'a [u8],
    version: u16,
}

impl<'a, L: FromBytes + KnownLayout + Immutable + Unaligned> Block<'a, L> {
    /// The block in the first `block_length` bytes of `bytes`, and the bytes after it.
    ///
    /// # Errors
    /// [`Malformed::BlockPastEnd`], [`Malformed::BlockTooShort`].
    #[inline(always)]
    pub fn split(
        block_length: u16,
        version: u16,
        bytes: &'a [u8],
    ) -> Result<(Self, &'a [u8]), Malformed> {
        let (block, rest) = bytes
            .split_at_checked(usize::from(block_length))
            .ok_or(Malformed::BlockPastEnd)?;
        let block = Self::over(version, block).ok_or(Malformed::BlockTooShort)?;
        Ok((block, rest))
    }

    /// As [`split`](Self::split), of a message that was checked.
    #[inline(always)]
    pub(crate) fn checked(block_length: u16, version: u16, bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let (block, rest) = bytes.split_at(usize::from(block_length));
        let block = Self::over(version, block).expect("a checked message has its block");
        (block, rest)
    }

    /// The block that is the whole of `bytes`. `None` if `L` does not fit.
    #[inline(always)]
    pub fn over(version: u16, bytes: &'a [u8]) -> Option<Self> {
        let (fixed, extension) = L::ref_from_prefix(bytes).ok()?;
        Some(Self {
            fixed,
            extension,
            version,
        })
    }

    /// The fixed part for a field that lies inside it but means something only since schema `version`.
    #[inline(always)]
    pub fn since(&self, version: u16) -> Option<&'a L> {
        (self.version >= version).then_some(self.fixed)
    }

    /// A field that schema `version` added, `offset` bytes behind the fixed part. `None` where the writer's schema
    /// is older, or where its block is too short to hold the field.
    #[inline(always)]
    pub fn later<T: FromBytes + KnownLayout + Immutable + Unaligned>(
        &self,
        version: u16,
        offset: usize,
    ) -> Option<&'a T> {
        if self.version < version {
            return None;
        }
        let (field, _) = T::ref_from_prefix(self.extension.get(offset..)?).ok()?;
        Some(field)
    }
}

impl<L> Block<'_, L> {
    /// The schema version of the writer.
    #[inline]
    pub const fn version(&self) -> u16 {
        self.version
    }
}

/// Checks that nothing follows the last group, unless the schema is newer than `newest` and may have added groups.
#[inline(always)]
pub(crate) fn end(rest: &[u8], version: u16, newest: u16) -> Result<(), Malformed> {
    if rest.is_empty() || version > newest {
        Ok(())
    } else {
        Err(Malformed::BytesLeftOver)
    }
}

/// `value`, unless it is the null value.
#[inline(always)]
pub(crate) fn present<T: PartialEq>(value: T, null: T) -> Option<T> {
    (value != null).then_some(value)
}

// Written out, since deriving would ask the same of `L`, which is only borrowed.
impl<L> Clone for Block<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Block<'_, L> {}

impl<L> fmt::Debug for Block<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = size_of::<L>() + self.extension.len();
        f.debug_struct("Block")
            .field("version", &self.version)
            .field("bytes", &bytes)
            .finish()
    }
}
