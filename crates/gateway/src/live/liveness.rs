//! Liveness: activity statements of the gateway, by which readers distinguish a quiet venue from a gateway that is
//! stopped, stuck, or behind.
//!
//! Each timer of the duty cycle states that the bus is current. After a pause the gateway makes no statement until the packets in
//! the sockets are processed: they are published in order, and readers treat them as stale.

use crate::config::Duty;
use std::time::Duration;

/// Missed heartbeats after which a publisher is stalled.
const HEARTBEATS: u32 = 2;
/// Missed timer rounds after which it is stalled, if that is longer.
const ROUNDS: u32 = 8;
/// Minimum timeout: the scheduler of a busy host preempts a process for tens of milliseconds.
const TIMEOUT_MIN: Duration = Duration::from_millis(100);

/// Pauses of the duty cycle.
#[derive(Debug)]
pub struct Liveness {
    timeout_ns: u64,
    /// Time of the last timer, by the host's clock.
    ticked_ns: u64,
    /// Kernel drops known before it.
    dropped: u64,
    pause: Option<Pause>,
}

/// A pause of the duty cycle whose backlog is not processed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Time of detection, by the host's clock.
    pub noticed_ns: u64,
    /// Kernel drops before it.
    pub dropped: u64,
    /// Whether every socket was found empty since, or a packet was processed in sequence that arrived since.
    pub is_drained: bool,
    /// Running time of the duty cycle since, nanoseconds.
    pub ran_ns: u64,
}

impl Liveness {
    /// A duty cycle that starts at `now_ns`, by the host's clock.
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

    /// Timeout of the statement for readers.
    pub fn timeout_ns(&self) -> u64 {
        self.timeout_ns
    }

    /// Records a timer; returns whether the cycle was paused since the last one. `dropped` is the last known number of
    /// kernel drops, `is_empty` whether the round found no data.
    pub fn tick(&mut self, now_ns: u64, dropped: u64, is_empty: bool) -> bool {
        let passed_ns = now_ns.saturating_sub(self.ticked_ns);
        self.ticked_ns = now_ns;
        let has_paused = passed_ns > self.timeout_ns / 4;
        if has_paused {
            self.pause = Some(Pause {
                noticed_ns: now_ns,
                dropped: self.dropped,
                // The round may have polled the sockets before the pause.
                // mutant: live: a gateway is current in the round in which it was stopped
                is_drained: false,
                ran_ns: 0,
            });
        } else if let Some(pause) = &mut self.pause {
            pause.ran_ns = now_ns - pause.noticed_ns;
            pause.is_drained |= is_empty;
        }
        self.dropped = dropped;
        has_paused
    }

    /// A packet was processed in sequence. `arrived_ns` is when it arrived, by the host's clock, so that all that arrived before
    /// it is processed: a channel without idle moments has no other sign that its backlog is. How long the cycle has run is
    /// none, since a busy host gives it little of that time; it decides only where packets have no timestamps (`None`).
    pub fn processed(&mut self, now_ns: u64, arrived_ns: Option<u64>) {
        let Some(pause) = &mut self.pause else {
            return;
        };
        pause.is_drained |= match arrived_ns {
            // mutant: live: a packet that waited through a pause ends it
            Some(arrived_ns) => arrived_ns > pause.noticed_ns,
            None => now_ns - pause.noticed_ns >= self.timeout_ns,
        };
    }

    /// The present pause.
    pub fn pause(&self) -> Option<&Pause> {
        self.pause.as_ref()
    }

    /// The backlog is processed.
    pub fn caught_up(&mut self) {
        self.pause = None;
    }
}

/// When a packet arrived that was polled at `polled_ns`, by the host's clock: 0 if its timestamp does not say; `None` without one.
pub fn arrived_ns(polled_ns: u64, waited_ns: Option<u64>, is_latest: bool) -> Option<u64> {
    waited_ns.map(|waited_ns| match waited_ns {
        // No time at all: the wall clock was set back meanwhile.
        0 => 0,
        _ if !is_latest => 0,
        waited_ns => polled_ns.saturating_sub(waited_ns),
    })
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
    fn the_timeout_is_two_heartbeats_or_the_minimum_of_the_cycle() {
        let timeout_ms = |duty: &Duty| Liveness::new(duty, 0).timeout_ns() / MS;
        assert_eq!(timeout_ms(&duty()), 2_000);
        let quick = Duty {
            heartbeat_ms: 10,
            ..duty()
        };
        assert_eq!(timeout_ms(&quick), 100);
        let slow = Duty {
            heartbeat_ms: 10,
            loop_timer_freq: Duration::from_millis(100),
            loop_sleep: Duration::from_millis(100),
            ..duty()
        };
        assert_eq!(timeout_ms(&slow), 1_600);
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
    fn a_channel_without_idle_moments_is_drained_by_a_packet_that_came_after_the_pause() {
        let mut liveness = Liveness::new(&duty(), 0);
        liveness.processed(1, Some(1));
        assert!(liveness.tick(5_000 * MS, 0, false));
        // A busy host: the backlog lasts longer than the timeout.
        for ms in (5_100..9_000).step_by(100) {
            liveness.processed(ms * MS, Some((ms - 5_000) * MS));
            liveness.tick(ms * MS, 0, false);
            assert!(!liveness.pause().is_some_and(|pause| pause.is_drained));
        }
        liveness.processed(9_000 * MS, Some(5_000 * MS + 1));
        assert!(liveness.pause().is_some_and(|pause| pause.is_drained));
    }

    #[test]
    fn packets_without_timestamps_end_a_pause_after_the_timeout() {
        let mut liveness = Liveness::new(&duty(), 0);
        assert!(liveness.tick(5_000 * MS, 0, false));
        liveness.processed(6_999 * MS, None);
        assert!(!liveness.pause().is_some_and(|pause| pause.is_drained));
        liveness.processed(7_000 * MS, None);
        assert!(liveness.pause().is_some_and(|pause| pause.is_drained));
    }

    #[test]
    fn only_a_timestamp_of_its_own_tells_when_a_packet_arrived() {
        assert_eq!(arrived_ns(1_000, Some(100), true), Some(900));
        assert_eq!(arrived_ns(1_000, Some(100), false), Some(0), "raised");
        assert_eq!(
            arrived_ns(1_000, Some(0), true),
            Some(0),
            "a clock set back"
        );
        assert_eq!(arrived_ns(1_000, None, true), None);
    }
}
