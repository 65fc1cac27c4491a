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

/// Receives a schedule. `delay` is the processing time of a slow reader for each message.
///
/// # Errors
/// The transport fails.
pub fn receive(
    receiver: &mut dyn Receiver,
    schedule: &Schedule,
    clock: &Timebase,
    wait: Wait,
    delay: Duration,
    stop: impl Fn() -> bool,
) -> Result<Read, Failed> {
    let mut checker = Checker::new(schedule);
    let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    let mut rounds_stopped = 0;
    while !checker.has_seen(schedule.total()) {
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
        if polled == 0 {
            wait.idle();
        }
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
