//! Origin of the data of a bus: this host, or the origin that the relay which writes the bus states in its counters.

use super::{RunError, SendSettings};
use crate::head::{HOPS_MAX, Source};
use touchline_transport::shm::{CountersView, Subscriber};

/// Longest time between a publisher's start and its counters. One that has none then is a program of this host without
/// counters: relays, gateways and composers create them with their bus.
const COUNTERS_NS_MAX: u64 = 1_000_000_000;

/// Origin of the data of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The origin, and the relays that the data has passed.
    Known(Source, u8),
    /// Not known yet, with the reason.
    Unknown(&'static str),
}

/// Search for the origin of a bus's data: at a join, and at each restart of the bus.
#[derive(Debug, Default)]
pub struct Search {
    /// A publisher without counters: its number, and the time since which it is known.
    without_counters: Option<(u64, u64)>,
}

impl Search {
    /// Origin of the data of the bus that `subscriber` reads.
    ///
    /// # Errors
    /// The data may not be sent on.
    pub fn origin(
        &mut self,
        settings: &SendSettings,
        subscriber: &Subscriber,
        now_ns: u64,
    ) -> Result<Origin, RunError> {
        let SendSettings {
            root, bus, source, ..
        } = settings;
        let here = Ok(Origin::Known(*source, 0));
        let writer = subscriber.publisher()?.map(|holder| holder.pid);
        let counters = CountersView::open(root, bus).ok().flatten();
        let counters = match (counters, writer) {
            // Counters of an earlier process do not describe the data of this one.
            (Some(counters), Some(pid)) => Some(counters).filter(|of| of.origin().pid == pid),
            // The last process that wrote the bus has ended.
            (counters, None) => counters,
            (None, Some(_)) => None,
        };
        let Some(counters) = counters else {
            // mutant: relay: a bus whose counters come later is of this host
            return match writer.is_some() && self.waits(subscriber.generation(), now_ns) {
                true => Ok(Origin::Unknown("its publisher has no counters yet")),
                false => here,
            };
        };
        match counters.counter("relay_hops") {
            None => here,
            Some(0) => Ok(Origin::Unknown(
                "the relay that writes the bus has received no data yet",
            )),
            Some(hops) => {
                let origin = counters.counter("relay_origin").unwrap_or(0);
                let origin = Source::of_number(origin).unwrap_or(*source);
                of_relay(settings, origin, hops)
            }
        }
    }

    /// Whether a publisher without counters may still create them.
    fn waits(&mut self, generation: u64, now_ns: u64) -> bool {
        let since_ns = match self.without_counters {
            Some((of, since_ns)) if of == generation => since_ns,
            _ => now_ns,
        };
        self.without_counters = Some((generation, since_ns));
        now_ns.saturating_sub(since_ns) < COUNTERS_NS_MAX
    }
}

/// Data that a relay has received.
fn of_relay(settings: &SendSettings, origin: Source, hops: u64) -> Result<Origin, RunError> {
    let bus = settings.bus.clone();
    if !settings.forward {
        return Err(RunError::Forward { bus, origin });
    }
    match u8::try_from(hops) {
        Ok(hops) if hops < HOPS_MAX => Ok(Origin::Known(origin, hops)),
        _ => Err(RunError::Hops { bus, origin, hops }),
    }
}
