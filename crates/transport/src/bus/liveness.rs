//! Liveness of a publisher: its last activity statement, compared with the host's clock.

use std::time::Duration;
use touchline_shm::broadcast::{Activity, Reader};
use touchline_shm::clock::boot_ns;
use touchline_shm::segment::Mapping;

/// Last activity of a publisher with a duty cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Age of the statement.
    pub age: Duration,
    /// Maximum age.
    pub timeout: Duration,
}

impl Liveness {
    /// Whether the publisher is stopped, stuck, or behind its venue: its books must not be shown as
    /// live.
    pub fn is_stalled(&self) -> bool {
        self.age > self.timeout
    }

    /// Present liveness; `None` if the publisher states none, as a replay.
    pub(crate) fn of(ring: &Reader<Mapping>) -> Option<Liveness> {
        let stated = ring.activity();
        let now_ns = boot_ns();
        // Otherwise a reader that was stopped between the two would take its own pause for the
        // publisher's.
        Liveness::judge(stated, ring.activity(), now_ns)
    }

    /// `stated` was read before the clock, `again` after it.
    fn judge(stated: Activity, again: Activity, now_ns: u64) -> Option<Liveness> {
        if again.at_ns == 0 || again.timeout_ns == 0 {
            return None;
        }
        // A time ahead of ours is of another clock, and treated as an old one.
        let age_ns = match stated == again {
            // mutant: live: a clock that is ahead counts as activity
            true => now_ns.abs_diff(again.at_ns),
            false => 0,
        };
        Some(Liveness {
            age: Duration::from_nanos(age_ns),
            timeout: Duration::from_nanos(again.timeout_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_is_stalled_after_its_timeout() {
        let at = |at_ns| Activity {
            at_ns,
            timeout_ns: 20,
        };
        let judge = |stated, again, now_ns| {
            let liveness = Liveness::judge(stated, again, now_ns);
            liveness.map(|liveness| (liveness.age.as_nanos(), liveness.is_stalled()))
        };
        assert_eq!(judge(at(100), at(100), 120), Some((20, false)));
        assert_eq!(judge(at(100), at(100), 121), Some((21, true)));
        assert_eq!(judge(at(100), at(100), 79), Some((21, true)), "ahead of us");
        assert_eq!(
            judge(at(100), at(9_000), 5_000),
            Some((0, false)),
            "we were stopped, not the publisher"
        );
        let silent = Activity::default();
        assert_eq!(judge(silent, silent, 500), None, "it states nothing");
        assert_eq!(judge(at(100), silent, 500), None, "another one begins");
    }
}
