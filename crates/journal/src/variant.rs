//! Broken variants of the rules, for the crash model: the rules hold, except in a test that turns one off.

#[cfg(test)]
use std::cell::Cell;

/// A rule that a test can break.
#[cfg_attr(not(test), allow(dead_code, reason = "only tests break a rule"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Bodies are not checked.
    NoBodyChecksum,
    /// Heads are not checked.
    NoHeadChecksum,
    /// Nothing is searched behind the first frame of length zero.
    ZeroIsTheEnd,
    /// Claims of frames are ignored.
    NoClaims,
    /// The durable position moves before the sync.
    AcknowledgedBeforeSync,
    /// A sync covers only the newest segment.
    OnlyNewestSynced,
    /// The names of files are not synced.
    NamesNotSynced,
    /// A segment behind a cut one is kept.
    SegmentBehindCutKept,
    /// Each frame claims that all before it is durable.
    ClaimsTooEarly,
    /// A sync that failed is tried again.
    FailedSyncRetried,
    /// Files are not synced before they are continued at a start.
    CacheTrusted,
    /// The page cache is not compared with the disk at a start.
    DiskNotCompared,
    /// The tail is not read at a start.
    TailIgnored,
    /// A start verifies the last segment alone, whatever is claimed of those before it.
    UnclaimedTrusted,
    /// Zeros ahead are written from the begin of a segment on, also where records are.
    ZerosOverRecords,
    /// A start writes every sector of the last segments again, and not only those that differ on the disk.
    EverySectorRewritten,
    /// A new file has the bytes of an old one, as if that had been reused.
    FilesReused,
    /// A start continues the last segment where its records end, without an `End` and with the old epoch.
    SegmentContinued,
}

impl Variant {
    /// All of them.
    #[cfg(test)]
    pub const ALL: &[Self] = &[
        Self::NoBodyChecksum,
        Self::NoHeadChecksum,
        Self::ZeroIsTheEnd,
        Self::NoClaims,
        Self::AcknowledgedBeforeSync,
        Self::OnlyNewestSynced,
        Self::NamesNotSynced,
        Self::SegmentBehindCutKept,
        Self::ClaimsTooEarly,
        Self::FailedSyncRetried,
        Self::CacheTrusted,
        Self::DiskNotCompared,
        Self::TailIgnored,
        Self::UnclaimedTrusted,
        Self::ZerosOverRecords,
        Self::EverySectorRewritten,
        Self::FilesReused,
        Self::SegmentContinued,
    ];

    /// Whether this rule is broken: never, but in a test that says so.
    #[cfg(not(test))]
    #[inline]
    pub const fn is_on(self) -> bool {
        false
    }

    /// Whether this rule is broken in this thread.
    #[cfg(test)]
    pub fn is_on(self) -> bool {
        BROKEN.get() == Some(self)
    }

    /// Breaks a rule in this thread, or none.
    #[cfg(test)]
    pub fn set(broken: Option<Self>) {
        BROKEN.set(broken);
    }
}

#[cfg(test)]
thread_local! {
    static BROKEN: Cell<Option<Variant>> = const { Cell::new(None) };
}

/// Whether checksums of heads are checked.
#[inline]
pub fn checks_head() -> bool {
    !Variant::NoHeadChecksum.is_on()
}
