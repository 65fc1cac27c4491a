//! What a loop does when it found nothing to do.

use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

/// An idle strategy: the price of waiting, in processor time or in latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Never gives the core away. The lowest latency; one core each.
    BusySpin,
    /// Gives the core to whoever waits for it. Low latency on a host with few idle cores.
    Yield,
    /// Spins, then yields, then sleeps for longer and longer, up to a limit. For loops that are
    /// mostly quiet and want to be quick when they are not.
    BackOff(BackOff),
    /// Sleeps for this long. For screens and reports.
    Sleep(Duration),
}

/// How an idle strategy backs off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// Rounds of spinning.
    pub spins: u32,
    /// Rounds of yielding after that.
    pub yields: u32,
    /// The first sleep after that; each further one is twice as long.
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

/// A loop's memory of how long it has been idle.
#[derive(Clone, Copy, Debug)]
pub struct Idler {
    strategy: Idle,
    rounds: u32,
}

/// What an idle round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Spin,
    Yield,
    Sleep(Duration),
}

impl Idler {
    /// A loop that has just worked.
    pub fn new(strategy: Idle) -> Idler {
        Idler {
            strategy,
            rounds: 0,
        }
    }

    /// Ends a round of the loop that did so much work; rests if it did none.
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

    /// Rounds without work so far, as far as they are counted.
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
    fn backing_off_goes_from_spinning_to_the_longest_sleep_and_begins_again_after_work() {
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
