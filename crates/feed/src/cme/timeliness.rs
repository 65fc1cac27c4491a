//! How the time of a snapshot or a definition compares with the incremental feed.

use super::arbiter::Arbiter;
use crate::ReceiveTime;

/// How the time of a snapshot or a definition compares with the incremental feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeliness {
    /// The incremental feed has come as far.
    Due,
    /// It has not.
    Early,
    /// Impossible contents: it is of another epoch, or forged.
    Impossible,
}

/// Limit for a snapshot from before the first packet of the epoch: it was sent at most this long before it.
const SNAPSHOT_AGE_NS_MAX: u64 = 1_000_000_000;

/// A snapshot that waited for a packet was sent no longer behind it. One that says a later time is of a numbering before,
/// whose numbers were higher.
pub const SNAPSHOT_AHEAD_NS_MAX: u64 = 250_000_000;

/// What a snapshot is that was sent then and says that the venue had processed packet `snapshot_sequence`. Packet n is sent
/// before any snapshot that holds it, and after those that do not.
pub(super) fn timeliness(
    arbiter: &Arbiter,
    snapshot_sequence: u32,
    sending_ns: u64,
    time: ReceiveTime,
) -> Timeliness {
    let Some(newest) = arbiter.newest() else {
        return if snapshot_sequence > 0 {
            Timeliness::Early
        } else {
            Timeliness::Due
        };
    };
    let ahead = u64::from(snapshot_sequence).saturating_sub(newest.sequence);
    let begun = arbiter.begun();
    // The venue's clock may have been set back a little since.
    // mutant: feed: snapshots of a clock that went back a little are refused
    let earliest_ns = begun.sending_ns.min(newest.sending_ns);
    let is_behind = u64::from(snapshot_sequence) >= begun.sequence && sending_ns < earliest_ns;
    // The venue sends none that is so old.
    let is_before = snapshot_sequence > 0
        && u64::from(snapshot_sequence) < begun.sequence
        && arbiter.is_long_before(sending_ns, time.mono_ns, SNAPSHOT_AGE_NS_MAX);
    let is_of_next = snapshot_sequence > 0 && arbiter.may_be_of_next(sending_ns, time.mono_ns);
    // mutant: feed: a snapshot that was sent before what it holds is used
    // mutant: feed: a snapshot from before the first packet is used
    // mutant: feed: a snapshot of long before a late join is used
    let is_older = is_behind || is_before || ahead > 0 && sending_ns < newest.sending_ns;
    // mutant: feed: any number of a snapshot is waited for
    // mutant: feed: a snapshot of next year is used
    // mutant: feed: snapshots of a numbering that is not believed are used
    if is_older
        || is_of_next
        || ahead > arbiter.reach()
        || !arbiter.is_of_now(sending_ns, time.wall_ns)
    {
        Timeliness::Impossible
    } else if ahead > 0 {
        // mutant: feed: a snapshot ahead of the stream is used at once
        Timeliness::Early
    } else {
        Timeliness::Due
    }
}
