//! The receiving side: processes messages until the last has arrived, or until it is stopped.

use crate::Failed;
use crate::check::{Checker, Received};
use crate::clock::Timebase;
use crate::schedule::Schedule;
use crate::subject::Receiver;
use crate::wait::Wait;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// Results of a reader.
#[derive(Debug)]
pub struct Read {
    /// Counts.
    pub received: Received,
    /// Latencies, nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// Counters of the transport, by name.
    pub counts: BTreeMap<String, u64>,
}

/// Polls that read the backlog once the run is stopped.
const BACKLOG_ROUNDS_MAX: u32 = 65_536;

/// Time without a message behind the last one of the schedule, after which no late one is waited for: a duplicate, or one that arrives out of
/// order.
const QUIET_NS: u64 = 50_000_000;

/// Receives a schedule, with a checker that may have taken its first messages. `delay` is the processing time of a slow reader for each
/// message.
///
/// # Errors
/// The transport fails.
pub fn receive(
    receiver: &mut dyn Receiver,
    mut checker: Checker,
    schedule: &Schedule,
    clock: &Timebase,
    wait: Wait,
    delay: Duration,
    stop: impl Fn() -> bool,
) -> Result<Read, Failed> {
    let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    let mut rounds_stopped = 0;
    let mut quiet_since_ns = None;
    loop {
        let polled = receiver.poll(&mut |bytes| {
            checker.take(bytes, clock.now_ns());
            if delay_ns > 0 {
                dawdle(clock, delay_ns);
            }
        })?;
        if stop() {
            rounds_stopped += 1;
            // The backlog of a slow reader is not waited for, nor the end of a publisher that does not stop.
            if polled == 0 || delay_ns > 0 || rounds_stopped > BACKLOG_ROUNDS_MAX {
                break;
            }
        }
        if polled > 0 {
            quiet_since_ns = None;
            continue;
        }
        if checker.has_seen(schedule.total()) {
            let now_ns = clock.now_ns();
            // mutant: load: a message behind the last one is not counted
            if now_ns - *quiet_since_ns.get_or_insert(now_ns) >= QUIET_NS {
                break;
            }
        }
        wait.idle();
    }
    let counts = receiver.counts().into_iter();
    Ok(Read {
        received: checker.received().clone(),
        latency_ns: checker.latency_ns().clone(),
        counts: counts
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
    })
}

/// Spins for a time, to simulate processing.
fn dawdle(clock: &Timebase, delay_ns: u64) {
    let begin_ns = clock.now_ns();
    while clock.now_ns() - begin_ns < delay_ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::schedule::Profile;

    /// Gives the messages of one poll after the other, and nothing between them.
    struct Scripted {
        polls: Vec<Vec<u64>>,
        polled: usize,
    }

    impl Receiver for Scripted {
        fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
            self.polled += 1;
            if self.polled.is_multiple_of(2) || self.polls.is_empty() {
                return Ok(0);
            }
            let numbers = self.polls.remove(0);
            let mut message = Message::default();
            for number in &numbers {
                message.set(*number, 1);
                take(message.bytes());
            }
            Ok(numbers.len())
        }

        fn is_ready(&mut self) -> Result<bool, Failed> {
            Ok(true)
        }
    }

    /// The last message came before another one, and twice.
    #[test]
    fn messages_behind_the_last_one_are_checked() {
        let schedule = Schedule {
            profile: Profile::Steady,
            rate: 1_000,
            warmup: 0,
            measured: 4,
        };
        let mut receiver = Scripted {
            polls: vec![vec![0, 1, 3], vec![3], vec![2]],
            polled: 0,
        };
        let read = receive(
            &mut receiver,
            Checker::new(&schedule),
            &schedule,
            &Timebase::new(),
            Wait::Yield,
            Duration::ZERO,
            || false,
        );
        let received = read.expect("it does not fail").received;
        let faults = (received.lost, received.duplicates, received.reordered);
        assert_eq!(faults, (0, 1, 1));
    }
}
