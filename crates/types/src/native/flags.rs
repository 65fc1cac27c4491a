//! Flags of every message.

use core::ops::BitOr;

/// Flags of the schema: position of a message in its batch and event. Unknown bits of a newer
/// writer are kept and ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// Last message caused by one packet: act now.
    pub const END_OF_BATCH: Flags = Flags(1 << 0);
    /// Continues the message before it.
    pub const CONTINUED: Flags = Flags(1 << 1);
    /// The next message continues this one.
    pub const MORE: Flags = Flags(1 << 2);
    /// A book update that changed the direct book.
    pub const DIRECT: Flags = Flags(1 << 3);
    /// A book update whose event was truncated.
    pub const CUT: Flags = Flags(1 << 4);
    /// The receive time is a timestamp of the network card.
    pub const STAMPED_BY_CARD: Flags = Flags(1 << 5);
    /// The receive time is a timestamp of the kernel; with neither flag, of the poll.
    pub const STAMPED_BY_KERNEL: Flags = Flags(1 << 6);

    /// Flags that the publisher sets; the others follow from the update.
    pub const OF_PUBLISHER: Flags =
        Flags(Self::END_OF_BATCH.0 | Self::STAMPED_BY_CARD.0 | Self::STAMPED_BY_KERNEL.0);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags if `set`, else none.
    #[inline]
    pub const fn when(self, set: bool) -> Flags {
        if set { self } else { Flags::NONE }
    }

    /// The flags that are in `mask`.
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
