//! Comparison of a snapshot's or definition's time with the incremental feed.

use super::arbiter::Arbiter;
use crate::ReceiveTime;

/// Comparison of a snapshot's or definition's time with the incremental feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeliness {
    /// The incremental feed has reached it.
    Due,
    /// The incremental feed is still behind it.
    Early,
    /// Impossible contents: of another epoch, or forged.
    Impossible,
}

/// Limit for a snapshot from before the first packet of the epoch: it was sent at most this long before that packet.
const SNAPSHOT_AGE_NS_MAX: u64 = 1_000_000_000;

/// Limit for a snapshot that waited for a packet: it was sent at most this long after that packet. A later sending time
/// means a previous epoch, whose numbers were higher.
pub const SNAPSHOT_AHEAD_NS_MAX: u64 = 250_000_000;

/// Classifies a snapshot by its sending time and its last processed packet, `snapshot_sequence`. Packet n is sent
/// before every snapshot that contains it, and after those that do not.
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
    // The venue's clock may have been set back slightly since then.
    let earliest_ns = begun.sending_ns.min(newest.sending_ns);
    let is_behind = u64::from(snapshot_sequence) >= begun.sequence && sending_ns < earliest_ns;
    // The venue sends no snapshot this old.
    let is_before = snapshot_sequence > 0
        && u64::from(snapshot_sequence) < begun.sequence
        && arbiter.is_long_before(sending_ns, time.mono_ns, SNAPSHOT_AGE_NS_MAX);
    let is_of_next = snapshot_sequence > 0 && arbiter.may_be_of_next(sending_ns, time.mono_ns);
    let is_older = is_behind || is_before || ahead > 0 && sending_ns < newest.sending_ns;
    // mutant: feed: snapshots of an unconfirmed epoch are used
    if is_older
        || is_of_next
        || ahead > arbiter.reach()
        || !arbiter.is_of_now(sending_ns, time.wall_ns)
    {
        Timeliness::Impossible
    } else if ahead > 0 {
        Timeliness::Early
    } else {
        Timeliness::Due
    }
}
