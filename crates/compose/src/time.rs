//! Time of inputs: the host's wall clock, made monotonic.

use std::time::{SystemTime, UNIX_EPOCH};
use touchline_transport::clock::{Clock, ticks};

/// A wall clock at the cost of reading the tick counter.
#[derive(Debug)]
pub struct WallClock {
    clock: Clock,
    set_ticks: u64,
    set_ns: u64,
    last_ns: u64,
}

impl WallClock {
    /// Calibrated with the system's clock.
    pub fn new(clock: Clock) -> WallClock {
        WallClock {
            clock,
            set_ticks: ticks(),
            set_ns: system_ns(),
            last_ns: 0,
        }
    }

    /// Calibrates again.
    pub fn set(&mut self) {
        (self.set_ticks, self.set_ns) = (ticks(), system_ns());
    }

    /// Nanoseconds since 1970, not before the last result.
    pub fn now_ns(&mut self) -> u64 {
        let passed_ns = self.clock.between_ns(self.set_ticks, ticks());
        self.last_ns = self.last_ns.max(self.set_ns + passed_ns);
        self.last_ns
    }
}

fn system_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
