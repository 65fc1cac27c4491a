//! Consumer of `bench feed`: a subscriber that reads the clock when it has all updates of a packet.

use super::gateway::{BUS, PATIENCE, QUIET};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_gateway::replay::latency_histogram;
use touchline_transport::SubscriptionEvent;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{Item, Join, Root, Subscriber};
use touchline_types::Timestamps;

/// Results of a consumer. Nanoseconds.
pub struct Consumed {
    /// From the receive timestamp to the arrival of the last update of a packet.
    pub network_ns: Histogram<u64>,
    /// From the publisher's timestamp of the last update to its arrival.
    pub bus_ns: Histogram<u64>,
    /// Losses reported by the bus.
    pub overruns: u64,
}

/// Joins the bus; earlier messages are not measured.
pub fn join(folder: &Path) -> Result<Subscriber, Failure> {
    let root = Root::at(folder);
    let mut subscriber = Subscriber::join(&root, BUS, Join::default()).map_err(Failure::run)?;
    while subscriber.is_joining() {
        subscriber
            .poll(|item| {
                black_box(&item);
            })
            .given();
    }
    Ok(subscriber)
}

/// Reads everything that is published until the bus is quiet. `progress` periodically receives the
/// number of packets.
pub fn consume(
    mut subscriber: Subscriber,
    clock: Clock,
    shares_cpu: bool,
    mut progress: impl FnMut(u64),
) -> Consumed {
    let begin_ns = now_ns();
    let mut consumed = Consumed {
        network_ns: latency_histogram(),
        bus_ns: latency_histogram(),
        overruns: 0,
    };
    let mut newest: Option<Timestamps> = None;
    let mut last = None;
    let mut limit = PATIENCE;
    let (mut since, mut told) = (Instant::now(), Instant::now());
    let mut idle = 0_u32;
    loop {
        if let Some(batch_end) = subscriber
            .poll(|item| look(&item, &mut newest, &mut consumed))
            .given()
        {
            // After an overrun the reader receives snapshots with the timestamps of each
            // instrument's last packet.
            if batch_end
                && let Some(timestamps) = newest.take()
                && last.replace(timestamps.packet) != Some(timestamps.packet)
                && timestamps.packet.receive_ns >= begin_ns
            {
                consumed.note(&timestamps, &clock);
                (limit, idle) = (QUIET, 0);
            }
            continue;
        }
        if shares_cpu {
            std::thread::yield_now();
        }
        idle += 1;
        if !idle.is_multiple_of(LOOK_ROUNDS) {
            continue;
        }
        let now = Instant::now();
        if idle == LOOK_ROUNDS {
            since = now;
        } else if now - since > limit {
            return consumed;
        }
        if now - told > TELL {
            told = now;
            progress(consumed.network_ns.len());
        }
    }
}

/// Polls without a message between two readings of the clock.
const LOOK_ROUNDS: u32 = 1_024;

/// Interval of progress reports.
const TELL: Duration = Duration::from_millis(200);

/// Whether a batch ends here; keeps the newest timestamps.
#[inline]
fn look(item: &Item<'_>, newest: &mut Option<Timestamps>, consumed: &mut Consumed) -> bool {
    match item {
        Item::Update(received) => {
            black_box(&received.update);
            if !received.is_image {
                *newest = Some(received.timestamps);
            }
            received.batch_end
        }
        Item::Top {
            timestamps, top, ..
        } => {
            black_box(top);
            *newest = Some(*timestamps);
            false
        }
        Item::Undecoded(_) => false,
        Item::BatchEnd => true,
        Item::SubscriptionEvent(event) => {
            consumed.overruns += u64::from(matches!(event, SubscriptionEvent::Overrun { .. }));
            false
        }
    }
}

impl Consumed {
    fn note(&mut self, timestamps: &Timestamps, clock: &Clock) {
        let (now, now_ns) = (ticks(), now_ns());
        let network_ns = now_ns.saturating_sub(timestamps.packet.receive_ns);
        self.network_ns.saturating_record(network_ns);
        self.bus_ns
            .saturating_record(clock.between_ns(timestamps.published, now));
    }
}

/// The clock of receive timestamps, read for each packet; the consumer has spare time.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
