//! The measured window of a step: samples before and after it.

use crate::clock::Timebase;
use crate::sample::{HostSample, HostUse, ProcessSample, ProcessUse};
use crate::schedule::Schedule;
use std::time::Duration;

/// Samples before and after the measured window.
pub struct Window {
    before: (HostSample, Vec<ProcessSample>),
    after: (HostSample, Vec<ProcessSample>),
    controller: ProcessUse,
}

impl Window {
    /// Waits for the window of a schedule that begins at this time, and samples these processes and an interface.
    pub fn watch(
        begin_ns: u64,
        schedule: &Schedule,
        pids: &[u32],
        clock: &Timebase,
        interface: &str,
    ) -> Window {
        let own = std::process::id();
        let sleep_until = |at_ns: u64| {
            let left = at_ns.saturating_sub(clock.now_ns());
            std::thread::sleep(Duration::from_nanos(left));
        };
        let sample = || {
            let processes = pids.iter().map(|pid| ProcessSample::of(*pid)).collect();
            (HostSample::now(interface), processes)
        };
        sleep_until(begin_ns + schedule.measured_from_ns());
        let controller = ProcessSample::of(own);
        let before = sample();
        sleep_until(begin_ns + schedule.end_ns());
        let after = sample();
        Window {
            before,
            after,
            controller: ProcessSample::of(own).since(&controller, "controller"),
        }
    }

    /// Use of each process, with these names.
    pub fn uses(&self, names: &[String]) -> Vec<ProcessUse> {
        let pairs = self.after.1.iter().zip(&self.before.1).zip(names);
        pairs
            .map(|((after, before), name)| after.since(before, name))
            .collect()
    }

    /// Use of the host; `own_s` processor seconds are of this run.
    pub fn host(&self, own_s: f64) -> HostUse {
        self.after.0.since(&self.before.0, own_s, processors())
    }

    /// Processor seconds of this process.
    pub fn controller_s(&self) -> f64 {
        self.controller.cpu_s()
    }
}

/// Processors of this host.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
