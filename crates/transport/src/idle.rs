//! Idle strategies of a polling loop.

use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

/// Idle strategy: a trade-off between processor time and latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Never yields the core: lowest latency, one core per loop.
    BusySpin,
    /// Yields the core to other threads. Low latency on a host with few idle cores.
    Yield,
    /// Spins, then yields, then sleeps for increasing times up to a limit. For loops that are
    /// mostly idle and must react fast.
    BackOff(BackOff),
    /// Sleeps for this long. For screens and reports.
    Sleep(Duration),
}

/// Parameters of a back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// Number of spins.
    pub spins: u32,
    /// Number of yields after that.
    pub yields: u32,
    /// First sleep after that; each further one doubles.
    pub sleep_min: Duration,
    /// The longest sleep.
    pub sleep_max: Duration,
}

impl Default for BackOff {
    /// 1,000 spins (some ten microseconds), 100 yields, then 50 µs to 1 ms.
    fn default() -> BackOff {
        BackOff {
            spins: 1_000,
            yields: 100,
            sleep_min: Duration::from_micros(50),
            sleep_max: Duration::from_millis(1),
        }
    }
}

/// State of an idle loop.
#[derive(Clone, Copy, Debug)]
pub struct Idler {
    strategy: Idle,
    rounds: u32,
}

/// Action of an idle round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Spin,
    Yield,
    Sleep(Duration),
}

impl Idler {
    /// State of a loop that has just worked.
    pub fn new(strategy: Idle) -> Idler {
        Idler {
            strategy,
            rounds: 0,
        }
    }

    /// Ends a round of the loop with this amount of work; idles if it is 0.
    #[inline]
    pub fn idle(&mut self, work: usize) {
        if work > 0 {
            self.rounds = 0;
            return;
        }
        match self.next() {
            Rest::Spin => spin_loop(),
            Rest::Yield => thread::yield_now(),
            Rest::Sleep(time) => thread::sleep(time),
        }
    }

    /// Number of rounds without work, as far as counted.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    #[inline]
    fn next(&mut self) -> Rest {
        let round = self.rounds;
        self.rounds = self.rounds.saturating_add(1);
        match self.strategy {
            Idle::BusySpin => Rest::Spin,
            Idle::Yield => Rest::Yield,
            Idle::Sleep(time) => Rest::Sleep(time),
            Idle::BackOff(back_off) => back_off.rest(round),
        }
    }
}

impl BackOff {
    fn rest(self, round: u32) -> Rest {
        let Some(after_spins) = round.checked_sub(self.spins) else {
            return Rest::Spin;
        };
        let Some(after_yields) = after_spins.checked_sub(self.yields) else {
            return Rest::Yield;
        };
        let doubled = 1_u32.checked_shl(after_yields).unwrap_or(u32::MAX);
        Rest::Sleep(self.sleep_min.saturating_mul(doubled).min(self.sleep_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_from_spinning_to_the_longest_sleep_and_restarts_after_work() {
        let back_off = BackOff {
            spins: 2,
            yields: 1,
            sleep_min: Duration::from_micros(10),
            sleep_max: Duration::from_micros(35),
        };
        let mut idler = Idler::new(Idle::BackOff(back_off));
        let mut rests = || {
            std::iter::repeat_with(|| idler.next())
                .take(7)
                .collect::<Vec<_>>()
        };
        let sleep = |us| Rest::Sleep(Duration::from_micros(us));
        let expected = [
            Rest::Spin,
            Rest::Spin,
            Rest::Yield,
            sleep(10),
            sleep(20),
            sleep(35),
            sleep(35),
        ];
        assert_eq!(rests(), expected);
        idler.idle(1);
        assert_eq!(idler.next(), Rest::Spin);
        idler.rounds = u32::MAX;
        assert_eq!(idler.next(), sleep(35), "after years of idling");
    }
}
