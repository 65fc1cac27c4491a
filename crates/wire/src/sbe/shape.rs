//! Shape of a template's messages: all that is checked of a message, which is its lengths.

use super::{Dimension, Entry, GroupSize, GroupSize8Byte, GroupSizeEncoding, Malformed};

/// Shape of a template: the least that its blocks are long, and how its groups are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Least length of the root block, bytes.
    pub block_length: u16,
    /// The groups, in the order of the wire.
    pub groups: &'static [GroupShape],
}

/// Shape of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupShape {
    since: u16,
    dimension: Layout,
    entry_length: u16,
}

/// Layout of a dimension, by its size.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    Three,
    Eight,
    Four,
}

/// A dimension that a shape knows.
pub(crate) trait Counted: Dimension {
    const COUNT: Layout;
}

impl Counted for GroupSize {
    const COUNT: Layout = Layout::Three;
}

impl Counted for GroupSize8Byte {
    const COUNT: Layout = Layout::Eight;
}

impl Counted for GroupSizeEncoding {
    const COUNT: Layout = Layout::Four;
}

impl GroupShape {
    /// A group of entries `E` behind a dimension `D`, which messages have from schema version `since` on.
    pub(crate) const fn new<'a, E: Entry<'a>, D: Counted>(since: u16) -> GroupShape {
        GroupShape {
            since,
            dimension: D::COUNT,
            entry_length: E::BLOCK_LENGTH,
        }
    }

    /// What follows the group at the start of `bytes`.
    #[inline(always)]
    fn skip<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
        let (length, count, entries) = match self.dimension {
            Layout::Three => bytes
                .split_first_chunk::<3>()
                .map(|(d, rest)| ([d[0], d[1]], u16::from(d[2]), rest)),
            Layout::Eight => bytes
                .split_first_chunk::<8>()
                .map(|(d, rest)| ([d[0], d[1]], u16::from(d[7]), rest)),
            Layout::Four => bytes
                .split_first_chunk::<4>()
                .map(|(d, rest)| ([d[0], d[1]], u16::from_le_bytes([d[2], d[3]]), rest)),
        }
        .ok_or(Malformed::GroupHeaderCut)?;
        let length = u16::from_le_bytes(length);
        // An empty group may say any length: nobody reads an entry of it.
        if count > 0 && length < self.entry_length {
            return Err(Malformed::EntryTooShort);
        }
        // The product of two 16-bit numbers cannot overflow.
        let size = u32::from(length) * u32::from(count);
        entries.get(size as usize..).ok_or(Malformed::GroupPastEnd)
    }
}

impl Shape {
    /// Checks a message as the view of its template does, without making one; `newest` is the schema version up to which
    /// nothing may follow the last group.
    #[inline(always)]
    pub(crate) fn check(
        &self,
        block_length: u16,
        version: u16,
        newest: u16,
        body: &[u8],
    ) -> Result<(), Malformed> {
        let mut rest = body
            .get(usize::from(block_length)..)
            .ok_or(Malformed::BlockPastEnd)?;
        if block_length < self.block_length {
            return Err(Malformed::BlockTooShort);
        }
        for group in self.groups {
            if version >= group.since {
                rest = group.skip(rest)?;
            }
        }
        super::block::end(rest, version, newest)
    }
}
