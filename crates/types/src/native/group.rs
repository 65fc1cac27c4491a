//! Groups as they lie in a message: entries as long as the writer made them.

use super::layout::{Dimension, Fields};
use super::{Entry, Malformed};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use zerocopy::FromBytes;

/// The entries of one group, checked as a whole when the message was parsed.
pub struct Group<'a, E> {
    entries: &'a [u8],
    block_length: u16,
    count: u16,
    entry: PhantomData<fn() -> E>,
}

impl<'a, E: Entry> Group<'a, E> {
    /// No entries.
    pub(super) const EMPTY: Self = Group {
        entries: &[],
        block_length: 0,
        count: 0,
        entry: PhantomData,
    };

    /// The group at the start of `bytes`, and the bytes after it.
    ///
    /// # Errors
    /// [`Malformed::DimensionCut`], [`Malformed::EntryTooShort`], [`Malformed::GroupPastEnd`], and
    /// [`Malformed::Value`] of an entry.
    #[inline(always)]
    pub(super) fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let (dimension, rest) =
            Dimension::ref_from_prefix(bytes).map_err(|_| Malformed::DimensionCut)?;
        let (block_length, count) = (dimension.block_length.get(), dimension.num_in_group.get());
        if usize::from(block_length) < E::BASE_BYTES {
            return Err(Malformed::EntryTooShort);
        }
        // The product of two 16-bit numbers cannot overflow.
        let size = u32::from(block_length) * u32::from(count);
        let (entries, rest) = rest
            .split_at_checked(size as usize)
            .ok_or(Malformed::GroupPastEnd)?;
        let group = Group {
            entries,
            block_length,
            count,
            entry: PhantomData,
        };
        match group.tight() {
            Some(entries) => entries.iter().try_for_each(E::check)?,
            None => group.raw().try_for_each(|entry| entry.check())?,
        }
        Ok((group, rest))
    }

    /// Writes the values to the front of `places`, as far as these reach.
    #[inline(always)]
    pub(super) fn copy_to(&self, places: &mut [E::Value]) {
        match self.tight() {
            Some(entries) => {
                for (place, entry) in places.iter_mut().zip(entries) {
                    *place = entry.value();
                }
            }
            None => {
                for (place, entry) in places.iter_mut().zip(self.raw()) {
                    *place = entry.value();
                }
            }
        }
    }

    /// The entries as a slice, if they are as long as in this version: nearly always.
    #[inline(always)]
    fn tight(&self) -> Option<&'a [E]> {
        if usize::from(self.block_length) != size_of::<E>() {
            return None;
        }
        let (entries, _) = <[E]>::ref_from_prefix_with_elems(self.entries, self.len()).ok()?;
        Some(entries)
    }

    /// How many entries there are.
    #[inline]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True without entries.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries, in order.
    #[inline]
    pub fn iter(&self) -> Entries<'a, E> {
        Entries { raw: self.raw() }
    }

    #[inline(always)]
    fn raw(&self) -> Raw<'a, E> {
        Raw(*self)
    }
}

/// Iterator over the values of a [`Group`].
pub struct Entries<'a, E> {
    raw: Raw<'a, E>,
}

impl<E: Entry> Iterator for Entries<'_, E> {
    type Item = E::Value;

    #[inline(always)]
    fn next(&mut self) -> Option<E::Value> {
        self.raw.next().map(|entry| entry.value())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.raw.0.len(), Some(self.raw.0.len()))
    }
}

impl<E: Entry> ExactSizeIterator for Entries<'_, E> {}
impl<E: Entry> FusedIterator for Entries<'_, E> {}

impl<'a, E: Entry> IntoIterator for Group<'a, E> {
    type Item = E::Value;
    type IntoIter = Entries<'a, E>;

    #[inline]
    fn into_iter(self) -> Entries<'a, E> {
        self.iter()
    }
}

/// The entries, with unknown bytes cut off and missing bytes zero; the rest of the group.
struct Raw<'a, E>(Group<'a, E>);

impl<E: Entry> Iterator for Raw<'_, E> {
    type Item = E;

    #[inline(always)]
    fn next(&mut self) -> Option<E> {
        let group = &mut self.0;
        group.count = group.count.checked_sub(1)?;
        let (entry, rest) = group
            .entries
            .split_at_checked(usize::from(group.block_length))?;
        group.entries = rest;
        match E::read_from_prefix(entry) {
            Ok((entry, _)) => Some(entry),
            Err(_) => Some(widened(entry)),
        }
    }
}

// Written out, since deriving would ask the same of `E`, of which none is held.
/// A block or an entry of the writer's version, with zeros for later fields.
fn widened<F: Fields>(bytes: &[u8]) -> F {
    let mut whole = F::new_zeroed();
    for (place, byte) in whole.as_mut_bytes().iter_mut().zip(bytes) {
        *place = *byte;
    }
    whole
}

impl<E> Clone for Group<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Group<'_, E> {}

impl<E: Entry> fmt::Debug for Group<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
