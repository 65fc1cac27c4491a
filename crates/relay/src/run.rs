//! Running links: a bus, a sender or receiver, and a carrier in one duty cycle, stepped by the caller.

mod origin;
mod receive;
mod send;

pub use receive::{ReceiveSettings, Receiving};
pub use send::Sending;

use crate::head::{Epoch, Source};
use crate::link::{CarrierEvent, SendEvent};
use crate::sender::{Cyclic, Now};
use std::borrow::Cow;
use touchline_transport::clock::{STEP_NS, WallWatch, wall_offset_ns};
use touchline_transport::shm::{Damage, Error, Root};

/// Settings of a sending link.
#[derive(Clone, Debug)]
pub struct SendSettings {
    /// Directory of the buses.
    pub root: Root,
    /// Bus to send.
    pub bus: String,
    /// Origin of the data, for a bus that is not written by a relay.
    pub source: Source,
    /// Whether a bus that a relay writes is forwarded.
    pub forward: bool,
    /// Longest batch.
    pub batch_bytes_max: usize,
    /// Longest time between two batches.
    pub heartbeat_ns: u64,
    /// Cyclic refreshes.
    pub cyclic: Option<Cyclic>,
    /// Name of its counters.
    pub name: String,
}

/// A running link.
pub trait Work {
    /// One round of the duty cycle; returns the amount of work, so that the caller idles after a round without work.
    ///
    /// # Errors
    /// The link has failed.
    fn work(&mut self) -> Result<usize, RunError>;

    /// Next event, for the log.
    fn event(&mut self) -> Option<RunEvent>;

    /// Ends the link in order: its counters go. Those of a link that is dropped stay, and say that it has failed.
    fn finish(self: Box<Self>);
}

/// Reason why a link has failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A bus.
    #[error(transparent)]
    Bus(#[from] Error),
    /// Another process removed or damaged the files of the written bus.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The carrier.
    #[error("the link failed: {0}")]
    Link(String),
    /// The bus is written by a relay.
    #[error("bus {bus} is written by a relay from {origin}; set forward to send it on")]
    Forward {
        /// The bus.
        bus: String,
        /// The origin of its data.
        origin: Source,
    },
    /// The data has passed too many relays.
    #[error(
        "the data of bus {bus} has passed {hops} relays already, and may pass 3; connect to its origin ({origin}) instead"
    )]
    Hops {
        /// The bus.
        bus: String,
        /// The origin of its data.
        origin: Source,
        /// Relays that the data passed.
        hops: u64,
    },
}

/// Event for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// The bus to send does not exist yet.
    Waiting {
        /// Reason.
        reason: String,
    },
    /// The bus is sent from now on.
    Sending {
        /// Epoch of the sender.
        epoch: Epoch,
    },
    /// The publisher of the sent bus has ended or is stalled, or is active again.
    SourceState {
        /// Whether the publisher is active.
        is_live: bool,
    },
    /// The relay was overrun on the bus.
    Overrun {
        /// Messages lost.
        messages: u64,
    },
    /// The link has been full for a second: its receivers hold it.
    BackPressure {
        /// Bytes of the bus that wait to be sent.
        lag_bytes: u64,
    },
    /// A receiver of a sending link.
    Receiver(SendEvent),
    /// The carrier.
    Carrier(CarrierEvent),
    /// The receiving link is up or down.
    Link {
        /// Whether books are as reliable as at the sender.
        is_up: bool,
        /// Reason why the link is down, if known.
        reason: Option<Cow<'static, str>>,
    },
    /// A stream is received.
    Stream {
        /// Origin of the data.
        source: Source,
        /// Epoch of the sender.
        epoch: Epoch,
    },
    /// Messages of the link were lost.
    Gap {
        /// Number of messages.
        messages: u64,
    },
    /// The wall clock of this host was set.
    ClockStep {
        /// Step of the clock, nanoseconds; negative: back.
        step_ns: i64,
    },
    /// Recovery is complete: nothing waits for a refresh.
    Recovered,
    /// Batches, or requests of receivers, were rejected.
    Refused {
        /// Number of batches or requests.
        batches: u64,
        /// Reason.
        reason: &'static str,
    },
}

/// The two clocks of a duty cycle. The wall clock is read at intervals: it is only for display.
#[derive(Debug)]
struct Clocks {
    offset_ns: u64,
    read_ns: u64,
    /// Steps of the wall clock.
    steps: u64,
    /// The last step, until it is reported.
    step_ns: Option<i64>,
}

/// Longest age of the offset between the clocks.
const OFFSET_NS_MAX: u64 = 100_000_000;

impl Clocks {
    fn new() -> Clocks {
        Clocks {
            offset_ns: WallWatch::start().offset_ns() as u64,
            read_ns: touchline_transport::boot_ns(),
            steps: 0,
            step_ns: None,
        }
    }

    #[inline]
    fn now(&mut self) -> Now {
        let mono_ns = touchline_transport::boot_ns();
        if mono_ns.saturating_sub(self.read_ns) > OFFSET_NS_MAX
            && let Some(offset_ns) = wall_offset_ns()
        {
            self.compare(offset_ns as u64);
            self.read_ns = mono_ns;
        }
        Now {
            mono_ns,
            wall_ns: mono_ns.wrapping_add(self.offset_ns),
        }
    }
}

impl Clocks {
    /// Takes a new offset of the wall clock; more than a slewed clock can move it is a step.
    fn compare(&mut self, offset_ns: u64) {
        let before_ns = std::mem::replace(&mut self.offset_ns, offset_ns);
        let step_ns = offset_ns.wrapping_sub(before_ns) as i64;
        if step_ns.unsigned_abs() > STEP_NS {
            self.steps += 1;
            self.step_ns = Some(step_ns);
        }
    }

    /// The step of the wall clock since the last call, as an event.
    fn event(&mut self) -> Option<RunEvent> {
        let step_ns = self.step_ns.take()?;
        Some(RunEvent::ClockStep { step_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_wall_clock_is_counted_and_reported_once() {
        let mut clocks = Clocks::new();
        assert!(clocks.now().mono_ns > 0);
        let offset_ns = clocks.offset_ns;
        clocks.compare(offset_ns + STEP_NS);
        assert_eq!((clocks.steps, clocks.event()), (0, None), "slewed");
        let step_ns = -3_600_000_000_000;
        clocks.compare(clocks.offset_ns.wrapping_add_signed(step_ns));
        assert_eq!(clocks.steps, 1);
        assert_eq!(clocks.event(), Some(RunEvent::ClockStep { step_ns }));
        assert_eq!(clocks.event(), None);
    }
}
