//! The bits that every message carries.

use core::ops::BitOr;

/// Flags of the schema: what a message is in its batch and its event. Bits that a newer writer adds
/// are kept and mean nothing here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Flags(pub u8);

impl Flags {
    /// None of them.
    pub const NONE: Flags = Flags(0);
    /// Last message of what one packet caused: now is the time to act.
    pub const END_OF_BATCH: Flags = Flags(1 << 0);
    /// Goes on with the message before it.
    pub const CONTINUED: Flags = Flags(1 << 1);
    /// The next message continues this one.
    pub const MORE: Flags = Flags(1 << 2);
    /// A book update that touched the direct book.
    pub const DIRECT: Flags = Flags(1 << 3);
    /// A book update whose event was cut short.
    pub const CUT: Flags = Flags(1 << 4);
    /// The time of receipt is a stamp of the network card.
    pub const STAMPED_BY_CARD: Flags = Flags(1 << 5);
    /// The time of receipt is a stamp of the kernel; with neither of the two, of the poll.
    pub const STAMPED_BY_KERNEL: Flags = Flags(1 << 6);

    /// Those that the publisher decides; the others follow from the update.
    pub const OF_PUBLISHER: Flags =
        Flags(Self::END_OF_BATCH.0 | Self::STAMPED_BY_CARD.0 | Self::STAMPED_BY_KERNEL.0);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These, if `set`, else none.
    #[inline]
    pub const fn when(self, set: bool) -> Flags {
        if set { self } else { Flags::NONE }
    }

    /// Those of them that are in `mask`.
    #[inline]
    pub const fn only(self, mask: Flags) -> Flags {
        Flags(self.0 & mask.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
