//! The schedule of a replay.

use super::{CHECK_EVERY, Speed, latency_histogram};
use hdrhistogram::Histogram;
use std::fmt;
use std::time::{Duration, Instant};
use touchline_transport::clock::Schedule;

/// Lateness from which a schedule is behind.
const BEHIND: Duration = Duration::from_millis(1);

/// An absolute schedule: one delay does not shift later packets. A packet whose time steps back is due with the one before it.
#[derive(Debug)]
pub struct Pace {
    speed: Speed,
    spins: bool,
    created: Instant,
    /// The schedule of a slower replay, from its first packet on.
    begun: Option<Begun>,
    lateness: Option<Lateness>,
}

/// Schedule of a replay that plays packets.
#[derive(Debug)]
struct Begun {
    schedule: Schedule,
    /// Times of the first packet, and the largest so far.
    first_ns: u64,
    last_ns: u64,
}

/// How late packets were on a schedule.
#[derive(Debug)]
pub struct Lateness {
    /// Time from when a packet was due until it was given, ns.
    pub late_ns: Histogram<u64>,
    /// Longest time in which every packet was later than a millisecond.
    pub behind: Duration,
    /// Packets whose time was before that of an earlier one.
    pub stepped_back: u64,
    /// Since when every packet was late.
    behind_since: Option<Duration>,
}

impl Pace {
    /// A schedule that begins with the first packet.
    pub fn new(speed: Speed) -> Pace {
        Pace {
            speed,
            spins: false,
            created: Instant::now(),
            begun: None,
            lateness: matches!(speed, Speed::Times(_)).then(|| Lateness {
                late_ns: latency_histogram(),
                behind: Duration::ZERO,
                stepped_back: 0,
                behind_since: None,
            }),
        }
    }

    /// Whether it keeps the processor busy just before a packet is due, instead of sleeping.
    pub fn spins(mut self, yes: bool) -> Pace {
        self.spins = yes;
        self
    }

    /// Time since the first packet of a schedule; at full speed since the creation.
    pub fn elapsed(&self) -> Duration {
        match &self.begun {
            Some(begun) => begun.schedule.elapsed(),
            None => self.created.elapsed(),
        }
    }

    /// How late packets were; `None` at full speed.
    pub fn into_lateness(self) -> Option<Lateness> {
        self.lateness
    }

    /// Time until a packet is due; `None` if it is due.
    #[inline]
    pub(super) fn left_until(&mut self, capture_ns: u64) -> Option<Duration> {
        match self.speed {
            Speed::Max => None,
            Speed::Times(factor) => {
                let begun = self.begun(capture_ns);
                let due = begun.due(factor, capture_ns);
                due.checked_sub(begun.schedule.elapsed())
            }
        }
    }

    /// The schedule, on the thread that waits for its packets: the first one is due at once.
    #[inline(never)]
    fn begun(&mut self, capture_ns: u64) -> &mut Begun {
        self.begun.get_or_insert_with(|| Begun {
            schedule: Schedule::start(),
            first_ns: capture_ns,
            last_ns: capture_ns,
        })
    }

    /// Waits until a packet is due, with periodic checks during long waits.
    ///
    /// # Errors
    /// A check failed.
    #[inline]
    pub fn wait_until<E>(
        &mut self,
        capture_ns: u64,
        check: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        match self.speed {
            Speed::Max => Ok(()),
            Speed::Times(factor) => self.wait(factor, capture_ns, check),
        }
    }

    #[inline(never)]
    fn wait<E>(
        &mut self,
        factor: f64,
        capture_ns: u64,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let spins = self.spins;
        let begun = self.begun(capture_ns);
        let is_back = capture_ns < begun.last_ns;
        let due = begun.due(factor, capture_ns);
        while let Some(left) = begun.schedule.turn(due, CHECK_EVERY, spins) {
            if left > CHECK_EVERY {
                check()?;
            }
        }
        let now = begun.schedule.elapsed();
        if let Some(lateness) = &mut self.lateness {
            lateness.note(due, now, is_back);
        }
        Ok(())
    }
}

impl Begun {
    /// When a packet is due, after the start.
    fn due(&mut self, factor: f64, capture_ns: u64) -> Duration {
        self.last_ns = self.last_ns.max(capture_ns);
        Duration::from_nanos(self.last_ns - self.first_ns).div_f64(factor)
    }
}

impl Lateness {
    fn note(&mut self, due: Duration, now: Duration, is_back: bool) {
        let late = now.saturating_sub(due);
        self.late_ns.saturating_record(late.as_nanos() as u64);
        self.stepped_back += u64::from(is_back);
        if late <= BEHIND {
            self.behind_since = None;
            return;
        }
        let since = *self.behind_since.get_or_insert(due);
        self.behind = self.behind.max(now.saturating_sub(since));
    }

    /// The latest packet, behind its time.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.late_ns.max())
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |quantile| us(self.late_ns.value_at_quantile(quantile));
        write!(
            f,
            "schedule: late by {:.1} us p50, {:.1} us p99, {:.1} us p99.9, {:.1} us max; behind by over 1 ms for at most {:.1} ms; {} times stepped back",
            at(0.5),
            at(0.99),
            at(0.999),
            us(self.late_ns.max()),
            self.behind.as_secs_f64() * 1e3,
            self.stepped_back
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(times: &[u64], spins: bool, work: impl Fn(u64)) -> Lateness {
        let mut pace = Pace::new(Speed::Times(2.0)).spins(spins);
        for at in times {
            let waited = pace.wait_until(*at, || Ok::<_, ()>(()));
            waited.expect("no check fails");
            work(*at);
        }
        assert!(
            pace.elapsed()
                >= Duration::from_nanos((times.iter().max().expect("one") - times[0]) / 2)
        );
        // Sleeps end in time, as those of a simulator.
        assert_eq!(rustix::thread::current_timer_slack(), Ok(1));
        pace.into_lateness().expect("it has a schedule")
    }

    /// Packets are given when they are due, each on the same schedule: a delay is behind one packet, and the next ones catch up.
    #[test]
    fn a_delay_shifts_no_later_packet() {
        let times: Vec<u64> = (0..50).map(|number| 7_000 + number * 1_000_000).collect();
        let lateness = kept(&times, true, |at| {
            if at == times[10] {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(lateness.late_ns.len(), 50);
        assert!(lateness.behind >= Duration::from_millis(4), "{lateness}");
        assert!(lateness.max() >= Duration::from_millis(4), "{lateness}");
        // Without the delay the last ones would be late by as much.
        assert!(
            lateness.late_ns.value_at_quantile(0.5) < 4_000_000,
            "{lateness}"
        );
    }

    #[test]
    fn a_time_that_steps_back_is_due_with_the_one_before() {
        let lateness = kept(&[1_000_000, 3_000_000, 2_000_000, 3_000_000], false, |_| {});
        assert_eq!(lateness.stepped_back, 1);
        assert!(lateness.max() < Duration::from_millis(500), "{lateness}");
    }
}
