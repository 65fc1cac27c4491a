//! Conditions of a benchmark: resolution of its clock, and disturbances.

use super::ipc::Failed;
use std::fmt;
use std::fs;
use std::str::FromStr;
use std::time::{Duration, Instant};
use touchline_shm::clock::{Clock, ticks};

/// Resolution of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Smallest observed step, nanoseconds.
    pub step_ns: u64,
    /// Median time between two consecutive readings, nanoseconds. Every figure with two readings includes it.
    pub reading_ns: u64,
}

/// Load of the host and of this thread until now.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    at: Instant,
    /// Times that the scheduler took the processor from this thread.
    involuntary_switches: u64,
    processor_time: ProcessorTime,
}

/// Processor time of the host, all processors, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessorTime {
    total: u64,
    /// Time that the hypervisor gave to other machines.
    stolen: u64,
}

/// Disturbances of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturbance {
    took: Duration,
    involuntary_switches: u64,
    /// Share of the host's processor time that a hypervisor gave to other machines, 0 to 1.
    stolen: f64,
    /// Ratio of the largest to the smallest median of the floor over the rounds; 1 without a floor.
    floor_ratio: f64,
}

/// Limits of an undisturbed run: involuntary switches a second, stolen time, and movement of the floor.
const SWITCHES_PER_SECOND_MAX: f64 = 5.0;
const STOLEN_MAX: f64 = 0.01;
const FLOOR_RATIO_MAX: f64 = 1.25;

impl Resolution {
    /// Reads the clock many times in succession.
    pub fn measure(clock: &Clock) -> Resolution {
        const READINGS: usize = 20_000;
        let mut readings = Vec::with_capacity(READINGS);
        readings.resize_with(READINGS, ticks);
        let steps = readings
            .windows(2)
            .map(|pair| clock.between_ns(pair[0], pair[1]));
        let mut steps: Vec<u64> = steps.collect();
        steps.sort_unstable();
        Resolution {
            step_ns: steps.iter().copied().find(|step| *step > 0).unwrap_or(1),
            reading_ns: steps[steps.len() / 2],
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resolution {
            step_ns,
            reading_ns,
        } = self;
        write!(
            f,
            "the clock moves in steps of {step_ns} ns, and a reading takes {reading_ns} ns"
        )
    }
}

impl Load {
    /// Current load, of the calling thread.
    pub fn now() -> Load {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Load {
            at: Instant::now(),
            involuntary_switches: involuntary_switches(&read("/proc/thread-self/status")),
            processor_time: ProcessorTime::read(&read("/proc/stat")),
        }
    }

    /// Disturbances since `earlier`; `floors_ns` are the medians of the floor in the rounds, empty without a floor.
    pub fn disturbance_since(&self, earlier: &Load, floors_ns: &[u64]) -> Disturbance {
        let total = self
            .processor_time
            .total
            .saturating_sub(earlier.processor_time.total);
        let stolen = self
            .processor_time
            .stolen
            .saturating_sub(earlier.processor_time.stolen);
        let least = floors_ns.iter().min().copied().unwrap_or(1).max(1);
        let most = floors_ns.iter().max().copied().unwrap_or(least);
        Disturbance {
            took: self.at.duration_since(earlier.at),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            stolen: stolen as f64 / total.max(1) as f64,
            floor_ratio: most as f64 / least as f64,
        }
    }
}

/// Time that a thread was ready to run and waited for its processor: a slow tail with much of it is of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunQueue {
    /// Time waited, nanoseconds.
    pub waited_ns: u64,
    /// Time in which it was waited, seconds.
    pub seconds: f64,
}

impl RunQueue {
    /// Watches the calling thread from now on.
    pub fn watch() -> impl FnOnce() -> Option<RunQueue> {
        let (begin, before) = (Instant::now(), waited_ns());
        move || {
            Some(RunQueue {
                waited_ns: waited_ns()?.saturating_sub(before?),
                seconds: begin.elapsed().as_secs_f64(),
            })
        }
    }

    /// Adds another run.
    pub fn add(&mut self, other: RunQueue) {
        self.waited_ns += other.waited_ns;
        self.seconds += other.seconds;
    }

    /// Nanoseconds waited in a second.
    pub fn ns_per_s(&self) -> f64 {
        self.waited_ns as f64 / self.seconds.max(1e-3)
    }
}

/// Text from process to process.
impl fmt::Display for RunQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.waited_ns, self.seconds)
    }
}

impl FromStr for RunQueue {
    type Err = Failed;

    fn from_str(text: &str) -> Result<RunQueue, Failed> {
        let read = || {
            let (waited_ns, seconds) = text.split_once(' ')?;
            Some(RunQueue {
                waited_ns: waited_ns.parse().ok()?,
                seconds: seconds.parse().ok()?,
            })
        };
        read().ok_or_else(|| Failed(format!("the other process printed {text:?}")))
    }
}

/// Time that the calling thread has waited for a processor; `None` where the kernel does not count it.
fn waited_ns() -> Option<u64> {
    of_schedstat(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// `/proc/…/schedstat`: time on the processor, time waited for it, both in nanoseconds, and time slices. A thread that reads it has run:
/// all zeros are a kernel that does not count.
fn of_schedstat(text: &str) -> Option<u64> {
    let numbers = text.split_whitespace().map(|number| number.parse().ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let waited_ns = *numbers.get(1)?;
    numbers
        .iter()
        .any(|number| *number > 0)
        .then_some(waited_ns)
}

fn involuntary_switches(status: &str) -> u64 {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

impl ProcessorTime {
    /// First line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal guest guest_nice`. The first two
    /// include the last two.
    fn read(stat: &str) -> ProcessorTime {
        let numbers = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1);
        let numbers: Vec<u64> = numbers
            .take(8)
            .filter_map(|number| number.parse().ok())
            .collect();
        ProcessorTime {
            total: numbers.iter().sum(),
            stolen: numbers.get(7).copied().unwrap_or(0),
        }
    }
}

impl Disturbance {
    /// Exceeded limits, a sentence each; empty if the run was undisturbed.
    pub fn sentences(&self) -> Vec<String> {
        let seconds = self.took.as_secs_f64().max(1e-3);
        let switches = self.involuntary_switches;
        let mut sentences = Vec::new();
        if switches as f64 / seconds > SWITCHES_PER_SECOND_MAX && switches > 1 {
            sentences.push(format!(
                "the scheduler took the processor {switches} times in {seconds:.1} s"
            ));
        }
        if self.stolen > STOLEN_MAX {
            let percent = self.stolen * 100.0;
            sentences.push(format!(
                "the hypervisor gave {percent:.1} % of the processor time to others"
            ));
        }
        if self.floor_ratio > FLOOR_RATIO_MAX {
            let ratio = self.floor_ratio;
            sentences.push(format!(
                "the lower bound moved by a factor of {ratio:.2} between rounds"
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ipc::pin;

    const STAT: &str = "cpu  100 0 50 800 10 0 20 20 5 5\ncpu0 1 2 3\n";

    #[test]
    fn kernel_counters_are_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t31\n";
        assert_eq!(
            (involuntary_switches(status), involuntary_switches("")),
            (31, 0)
        );
        let read = ProcessorTime::read(STAT);
        assert_eq!((read.total, read.stolen), (1_000, 20));
        assert_eq!(ProcessorTime::read(""), ProcessorTime::default());
    }

    /// Two threads on one processor wait for each other; the time passes as text.
    #[test]
    fn a_thread_that_shares_its_processor_waits_in_the_run_queue() {
        assert_eq!(of_schedstat("44737 9100 3\n"), Some(9_100));
        assert_eq!(of_schedstat("44737 0 1\n"), Some(0));
        assert_eq!(of_schedstat("0 0 0\n"), None);
        assert_eq!(of_schedstat(""), None);
        let spin = || {
            pin(0).expect("it is allowed");
            let end = RunQueue::watch();
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
            end()
        };
        let threads = [(); 2].map(|()| std::thread::spawn(spin));
        let waited = threads.map(|thread| thread.join().expect("it ends"));
        let waited: Vec<RunQueue> = waited.into_iter().flatten().collect();
        if waited.is_empty() {
            return;
        }
        let mut both = RunQueue::default();
        waited.iter().for_each(|one| both.add(*one));
        // Each has half of the processor.
        assert!(both.waited_ns > 50_000_000, "{both:?}");
        assert!(both.seconds >= 0.4 && both.ns_per_s() > 50e6, "{both:?}");
        assert_eq!(both.to_string().parse::<RunQueue>().ok(), Some(both));
        assert!("1".parse::<RunQueue>().is_err());
    }

    #[test]
    fn a_run_beyond_a_limit_is_reported_as_disturbed_with_the_reason() {
        let at = Instant::now();
        let load = |seconds, involuntary_switches, total, stolen| Load {
            at: at + Duration::from_secs(seconds),
            involuntary_switches,
            processor_time: ProcessorTime { total, stolen },
        };
        let start = load(0, 10, 1_000, 20);
        let said = |end: Load, floors: &[u64]| end.disturbance_since(&start, floors).sentences();
        assert!(said(load(10, 60, 2_000, 30), &[100, 125]).is_empty());
        assert!(said(load(10, 60, 2_000, 30), &[]).is_empty());
        let all = said(load(10, 61, 2_000, 31), &[100, 126]);
        let expected = [
            "the scheduler took the processor 51 times in 10.0 s",
            "the hypervisor gave 1.1 % of the processor time to others",
            "the lower bound moved by a factor of 1.26 between rounds",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn the_clock_advances_and_its_cost_is_measured() {
        let resolution = Resolution::measure(&Clock::calibrated());
        assert!((1..100_000).contains(&resolution.step_ns), "{resolution}");
        assert!(resolution.reading_ns < 1_000_000, "{resolution}");
    }
}
