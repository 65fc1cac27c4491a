//! The receiving side: takes messages until the last has come, or until it is told to stop.

use crate::Failed;
use crate::check::{Checker, Received};
use crate::clock::Timebase;
use crate::part::Wait;
use crate::schedule::Schedule;
use crate::subject::Receiver;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a reader did.
#[derive(Debug)]
pub struct Read {
    /// What came.
    pub received: Received,
    /// How late it came, nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// What the transport itself counts, by name.
    pub counts: BTreeMap<String, u64>,
}

/// Receives a schedule. `delay` is what a slow reader takes for each message.
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
    while !checker.has_seen(schedule.total()) {
        let polled = receiver.poll(&mut |bytes| {
            checker.take(bytes, clock.now_ns());
            if delay_ns > 0 {
                dawdle(clock, delay_ns);
            }
        })?;
        // A slow reader has a backlog that nobody waits for.
        if (polled == 0 || delay_ns > 0) && stop() {
            break;
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

/// Spends time on a message.
fn dawdle(clock: &Timebase, delay_ns: u64) {
    let begin_ns = clock.now_ns();
    while clock.now_ns() - begin_ns < delay_ns {
        std::hint::spin_loop();
    }
}
