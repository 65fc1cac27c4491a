//! The kernel's share of a phase, by role: of the time on processors, and of the time that wake-ups wait for one.

use std::fs;
use touchline_load::sample::{ProcessSample, ProcessUse};

/// Processes of a role, with what they used before the phase.
pub struct Role {
    name: &'static str,
    before: Vec<(u32, ProcessSample, Waits)>,
}

/// Scheduler statistics of a process.
#[derive(Clone, Copy, Default)]
struct Waits {
    /// Time in which it could have run, and had no processor, nanoseconds.
    wait_ns: u64,
    /// Times that it was given a processor.
    turns: u64,
}

impl Role {
    /// Starts the measurement of the processes of a role.
    pub fn begin(name: &'static str, processes: &[u32]) -> Role {
        let sample = |pid: &u32| (*pid, ProcessSample::of(*pid), Waits::of(*pid));
        Role {
            name,
            before: processes.iter().map(sample).collect(),
        }
    }

    /// Processor use since the start of the measurement, as text.
    pub fn end(&self) -> String {
        let name = self.name;
        let uses: Vec<ProcessUse> = self
            .before
            .iter()
            .map(|(pid, before, _)| ProcessSample::of(*pid).since(before, name))
            .collect();
        let cpu_s: f64 = uses.iter().map(ProcessUse::cpu_s).sum();
        let system_s: f64 = uses.iter().map(|one| one.system_s).sum();
        let (mut wait_ns, mut turns) = (0, 0);
        for (pid, _, before) in &self.before {
            let now = Waits::of(*pid);
            wait_ns += now.wait_ns.saturating_sub(before.wait_ns);
            turns += now.turns.saturating_sub(before.turns);
        }
        format!(
            "{name}: {cpu_s:.2} s on processors, {:.0} % of it in the kernel; {turns} turns, each after {:.1} µs without a processor",
            100.0 * system_s / cpu_s.max(1e-9),
            wait_ns as f64 / 1_000.0 / turns.max(1) as f64
        )
    }
}

impl Waits {
    /// Sums over the threads of a process; zeros where the kernel does not count.
    fn of(pid: u32) -> Waits {
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        let mut waits = Waits::default();
        for thread in threads.into_iter().flatten().flatten() {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            // Nanoseconds on a processor, nanoseconds of waiting for one, number of turns.
            let mut numbers = text.split_whitespace().skip(1).map(str::parse::<u64>);
            if let (Some(Ok(wait_ns)), Some(Ok(turns))) = (numbers.next(), numbers.next()) {
                waits.wait_ns += wait_ns;
                waits.turns += turns;
            }
        }
        waits
    }
}
