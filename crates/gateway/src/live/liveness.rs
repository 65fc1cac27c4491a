//! Liveness: what the gateway states of itself, so that readers can tell a quiet venue from a gateway that is
//! stopped, stuck, or behind.
//!
//! Each look of the duty cycle states that the bus is current. After a pause nothing is stated until the packets
//! that waited in the sockets are processed: they are published in their order, and readers take them for stale.

use crate::config::Duty;
use std::time::Duration;

/// Heartbeats without which a publisher is stalled.
const HEARTBEATS: u32 = 2;
/// Rounds of the duty cycle without which it is, where those are longer.
const ROUNDS: u32 = 8;
/// No publisher is stalled sooner: the scheduler of a busy host takes a process off for tens of milliseconds.
const TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// Whether the duty cycle runs without pauses.
#[derive(Debug)]
pub struct Liveness {
    timeout_ns: u64,
    /// When it last looked up, by the clock of the host.
    ticked_ns: u64,
    /// What the kernel had dropped before that.
    dropped: u64,
    pause: Option<Pause>,
}

/// A pause of the duty cycle that is not made up for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it was noticed, by the clock of the host.
    pub noticed_ns: u64,
    /// Packets that the kernel had dropped before it.
    pub dropped: u64,
    /// Every socket was found empty since.
    pub is_drained: bool,
    /// How long the duty cycle has run since, nanoseconds.
    pub ran_ns: u64,
}

impl Liveness {
    /// A duty cycle that begins at `now_ns`, by the clock of the host.
    pub fn new(duty: &Duty, now_ns: u64) -> Liveness {
        let round = duty.loop_timer_freq + duty.loop_sleep;
        let timeout = (HEARTBEATS * Duration::from_millis(duty.heartbeat_ms))
            .max(ROUNDS * round)
            .max(TIMEOUT_MIN);
        Liveness {
            timeout_ns: timeout.as_nanos() as u64,
            ticked_ns: now_ns,
            dropped: 0,
            pause: None,
        }
    }

    /// How long readers wait for the next statement.
    pub fn timeout_ns(&self) -> u64 {
        self.timeout_ns
    }

    /// The duty cycle looks up; gives whether it stood still since the last time. `dropped` is what the kernel
    /// had dropped when it was asked last, `is_empty` whether the round found nothing.
    pub fn tick(&mut self, now_ns: u64, dropped: u64, is_empty: bool) -> bool {
        let passed_ns = now_ns.saturating_sub(self.ticked_ns);
        self.ticked_ns = now_ns;
        let has_paused = passed_ns > self.timeout_ns / 4;
        if has_paused {
            self.pause = Some(Pause {
                noticed_ns: now_ns,
                // mutant: live: what the kernel dropped in the pause was dropped before it
                dropped: self.dropped,
                // The round may have asked the sockets before the pause.
                // mutant: live: a gateway is current in the round in which it was stopped
                is_drained: false,
                ran_ns: 0,
            });
        } else if let Some(pause) = &mut self.pause {
            pause.ran_ns = now_ns - pause.noticed_ns;
            // A channel that never leaves a moment has its backlog behind it by then.
            pause.is_drained |= is_empty || pause.ran_ns >= self.timeout_ns;
        }
        self.dropped = dropped;
        has_paused
    }

    /// The pause that is not made up for yet.
    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    /// It is made up for.
    pub fn caught_up(&mut self) {
        self.pause = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn duty() -> Duty {
        Duty {
            heartbeat_ms: 1_000,
            loop_timer_freq: Duration::from_millis(1),
            loop_sleep: Duration::from_micros(500),
            ..Duty::default()
        }
    }

    #[test]
    fn the_timeout_is_two_heartbeats_but_not_less_than_the_cycle_needs() {
        let timeout_ms = |duty: &Duty| Liveness::new(duty, 0).timeout_ns() / MS;
        assert_eq!(timeout_ms(&duty()), 2_000);
        let quick = Duty {
            heartbeat_ms: 10,
            ..duty()
        };
        assert_eq!(timeout_ms(&quick), 100);
        let slow = Duty {
            loop_timer_freq: Duration::from_secs(1),
            loop_sleep: Duration::from_secs(1),
            ..duty()
        };
        assert_eq!(timeout_ms(&slow), 16_000);
    }

    #[test]
    fn a_pause_lasts_until_a_later_round_found_nothing() {
        let mut liveness = Liveness::new(&duty(), 100 * MS);
        assert!(!liveness.tick(101 * MS, 3, true));
        assert!(
            !liveness.tick(601 * MS, 4, true),
            "a quarter of the timeout"
        );
        assert_eq!(liveness.pause(), None);
        assert!(liveness.tick(1_102 * MS, 9, true));
        let pause = *liveness.pause().expect("it stood still");
        assert_eq!(pause.dropped, 4, "as of before the pause");
        assert!(!pause.is_drained, "that round may have begun before it");
        assert!(!liveness.tick(1_103 * MS, 9, false));
        assert!(!liveness.pause().is_some_and(|pause| pause.is_drained));
        assert!(!liveness.tick(1_104 * MS, 9, true));
        let pause = *liveness.pause().expect("nobody said that it is over");
        assert_eq!((pause.is_drained, pause.ran_ns), (true, 2 * MS));
        liveness.tick(1_105 * MS, 9, false);
        assert!(liveness.pause().is_some_and(|pause| pause.is_drained));
        assert!(liveness.tick(1_900 * MS, 9, true), "and again");
        assert!(!liveness.pause().is_some_and(|pause| pause.is_drained));
        liveness.caught_up();
        assert_eq!(liveness.pause(), None);
    }

    #[test]
    fn a_channel_that_leaves_no_moment_is_drained_in_time() {
        let mut liveness = Liveness::new(&duty(), 0);
        assert!(liveness.tick(5_000 * MS, 0, false));
        for ms in (5_100..7_000).step_by(100) {
            liveness.tick(ms * MS, 0, false);
            assert!(!liveness.pause().is_some_and(|pause| pause.is_drained));
        }
        liveness.tick(7_000 * MS, 0, false);
        assert!(liveness.pause().is_some_and(|pause| pause.is_drained));
    }
}
