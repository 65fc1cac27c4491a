//! Repeating groups: a dimension, then entries of equal length.

use super::Malformed;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// The entries of one group. Checked as a whole when the message was parsed, so that reading cannot fail.
pub struct Group<'a, E> {
    entries: &'a [u8],
    block_length: u16,
    count: u16,
    version: u16,
    entry: PhantomData<fn() -> E>,
}

/// A view of one entry of a group.
pub trait Entry<'a>: Copy {
    /// Length in bytes that an entry has at least: its length in the oldest schema known.
    const BLOCK_LENGTH: u16;

    /// The entry that is the whole of `block`. `None` if `block` is shorter than [`BLOCK_LENGTH`](Self::BLOCK_LENGTH).
    fn over(version: u16, block: &'a [u8]) -> Option<Self>;
}

/// Header of a group, before its entries.
pub trait Dimension: FromBytes + KnownLayout + Immutable + Unaligned {
    /// Length of each entry in bytes.
    fn block_length(&self) -> u16;
    /// Number of entries that follow.
    fn num_in_group(&self) -> u16;
}

impl<'a, E: Entry<'a>> Group<'a, E> {
    /// A group without entries, also for a message that is older than the group.
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            entries: &[],
            block_length: 0,
            count: 0,
            version: 0,
            entry: PhantomData,
        }
    }

    /// The group at the start of `bytes`, and the bytes after it.
    ///
    /// # Errors
    /// [`Malformed::GroupHeaderCut`], [`Malformed::EntryTooShort`], [`Malformed::GroupPastEnd`].
    #[inline(always)]
    pub fn split<D: Dimension + 'a>(
        version: u16,
        bytes: &'a [u8],
    ) -> Result<(Self, &'a [u8]), Malformed> {
        let (dimension, rest) = D::ref_from_prefix(bytes).map_err(|_| Malformed::GroupHeaderCut)?;
        let (block_length, count) = (dimension.block_length(), dimension.num_in_group());
        // An empty group may state any entry length: no entry is read.
        if count > 0 && block_length < E::BLOCK_LENGTH {
            return Err(Malformed::EntryTooShort);
        }
        // The product of two 16-bit numbers cannot overflow.
        let size = u32::from(block_length) * u32::from(count);
        let (entries, rest) = rest
            .split_at_checked(size as usize)
            .ok_or(Malformed::GroupPastEnd)?;
        Ok((
            Self {
                entries,
                block_length,
                count,
                version,
                entry: PhantomData,
            },
            rest,
        ))
    }

    /// As [`split`](Self::split), of a message that was checked.
    #[inline(always)]
    pub(crate) fn checked<D: Dimension + 'a>(version: u16, bytes: &'a [u8]) -> (Self, &'a [u8]) {
        let (dimension, rest) =
            D::ref_from_prefix(bytes).expect("a checked message has its groups");
        let (block_length, count) = (dimension.block_length(), dimension.num_in_group());
        let size = u32::from(block_length) * u32::from(count);
        let (entries, rest) = rest.split_at(size as usize);
        let group = Self {
            entries,
            block_length,
            count,
            version,
            entry: PhantomData,
        };
        (group, rest)
    }

    /// Number of entries.
    #[inline]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True without entries.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entry at `index`, counted from 0.
    #[inline]
    pub fn get(&self, index: usize) -> Option<E> {
        if index >= self.len() {
            return None;
        }
        let length = usize::from(self.block_length);
        let start = index * length;
        E::over(self.version, self.entries.get(start..start + length)?)
    }

    /// The entries in the order of the wire.
    #[inline]
    pub const fn iter(&self) -> Entries<'a, E> {
        Entries { rest: *self }
    }
}

/// Iterator over the entries of a [`Group`].
pub struct Entries<'a, E> {
    rest: Group<'a, E>,
}

impl<'a, E: Entry<'a>> Iterator for Entries<'a, E> {
    type Item = E;

    #[inline(always)]
    fn next(&mut self) -> Option<E> {
        self.rest.count = self.rest.count.checked_sub(1)?;
        let (block, rest) = self
            .rest
            .entries
            .split_at_checked(usize::from(self.rest.block_length))?;
        self.rest.entries = rest;
        E::over(self.rest.version, block)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl<'a, E: Entry<'a>> ExactSizeIterator for Entries<'a, E> {}
impl<'a, E: Entry<'a>> FusedIterator for Entries<'a, E> {}

impl<'a, E: Entry<'a>> IntoIterator for Group<'a, E> {
    type Item = E;
    type IntoIter = Entries<'a, E>;

    #[inline]
    fn into_iter(self) -> Entries<'a, E> {
        self.iter()
    }
}

// Written out, since deriving would ask the same of `E`, of which none is held.
impl<E> Clone for Group<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Group<'_, E> {}

impl<E> Clone for Entries<'_, E> {
    fn clone(&self) -> Self {
        Self { rest: self.rest }
    }
}

impl<'a, E: Entry<'a> + fmt::Debug> fmt::Debug for Group<'a, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

macro_rules! dimension {
    ($(#[$about:meta])* $name:ident, $size:literal, { $($field:ident: $type:ty),+ }, $count:expr) => {
        $(#[$about])*
        #[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(C)]
        pub struct $name { $($field: $type),+ }

        const _: () = assert!(size_of::<$name>() == $size);

        impl Dimension for $name {
            #[inline(always)]
            fn block_length(&self) -> u16 {
                self.block_length.get()
            }

            #[inline(always)]
            fn num_in_group(&self) -> u16 {
                let count: fn(&Self) -> u16 = $count;
                count(self)
            }
        }
    };
}

dimension!(
    /// Three bytes: an 8-bit count behind the length.
    GroupSize, 3, { block_length: U16, num_in_group: u8 }, |this| u16::from(this.num_in_group)
);

dimension!(
    /// Eight bytes, so that aligned entries stay aligned: the 8-bit count is the last of them.
    GroupSize8Byte, 8, { block_length: U16, gap: [u8; 5], num_in_group: u8 }, |this| u16::from(this.num_in_group)
);

dimension!(
    /// Four bytes: a 16-bit count behind the length.
    GroupSizeEncoding, 4, { block_length: U16, num_in_group: U16 }, |this| this.num_in_group.get()
);
