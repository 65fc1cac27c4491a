//! A clock that all processes of a load test share: nanoseconds since its creation.

use serde::{Deserialize, Serialize};
use touchline_shm::clock::{Clock, ticks};

/// The clock. It is calibrated once, by the process that starts the others: two calibrations of 20 ms differ by
/// microseconds after some seconds, which is more than the latency of a message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timebase {
    /// Counter value at time 0.
    origin_ticks: u64,
    /// Length of a tick, nanoseconds.
    ns_per_tick: f64,
}

impl Timebase {
    /// A new clock, with time 0 now; takes 20 ms.
    pub fn new() -> Timebase {
        let clock = Clock::calibrated();
        Timebase {
            origin_ticks: ticks(),
            ns_per_tick: clock.ns_per_tick(),
        }
    }

    /// The same clock, this far ahead.
    pub fn ahead(self, ns: i64) -> Timebase {
        let ticks = (ns as f64 / self.ns_per_tick) as i64;
        Timebase {
            origin_ticks: self.origin_ticks.saturating_add_signed(-ticks),
            ..self
        }
    }

    /// Current time, nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        (ticks().saturating_sub(self.origin_ticks) as f64 * self.ns_per_tick) as u64
    }
}

impl Default for Timebase {
    fn default() -> Timebase {
        Timebase::new()
    }
}
