//! Replay of captures through the path, in capture order.

mod pace;

use crate::incident::CopiesReport;
use crate::{CountersFile, Pipeline, Routes};
use hdrhistogram::Histogram;
pub use pace::{Lateness, Pace};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::ops::ControlFlow;
use std::time::Duration;
use touchline_feed::Feed;
use touchline_net::{Packet, PacketSource, Received};
use touchline_transport::Publish;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::Damage;

/// Speed of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Speed {
    /// Without waiting.
    #[default]
    Max,
    /// Speed of the capture times this factor.
    Times(f64),
}

/// Counts of a replay's packets; the feed's counters have their treatment.
#[derive(Debug)]
pub struct Report<S> {
    /// Packets by stream and line of the venue.
    pub packets: BTreeMap<S, u64>,
    /// Packets to groups and ports that the channel does not have, by destination.
    pub unrouted: BTreeMap<SocketAddrV4, u64>,
    /// Packets whose bytes differ from those of another copy.
    pub differing: Option<CopiesReport>,
    /// Nanoseconds from a packet's bytes in memory to its published updates; only first copies of
    /// incremental packets.
    pub packet_ns: Histogram<u64>,
    /// Capture time of the first and the last packet, nanoseconds since the Unix epoch.
    pub span_ns: Option<(u64, u64)>,
    /// Duration of the replay.
    pub elapsed: Duration,
    /// Captures that end in the middle of a record; everything before was processed.
    pub truncations: Vec<touchline_net::Error>,
    /// How late packets were; `None` at full speed.
    pub lateness: Option<Lateness>,
}

/// A replay that ended before its source.
#[derive(Debug)]
pub struct Interrupted<S> {
    /// The report so far, with no packets waiting.
    pub report: Box<Report<S>>,
    /// Error.
    pub error: Error,
}

/// Error of a replay.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error of the source: a damaged capture.
    #[error(transparent)]
    Source(#[from] touchline_net::Error),
    /// The bus can no longer be written.
    #[error(transparent)]
    Bus(#[from] Damage),
}

/// Interval of checks of the bus, and maximum wait for a packet at a time.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// Destinations counted separately; others are counted with the last one.
const UNROUTED_MAX: usize = 64;

/// Feeds every packet of `source` to the pipeline on the schedule `pace`, and releases waiting packets at the end.
///
/// `observe` is called with each packet before the pipeline, with its stream and line if the channel has its
/// destination; it may end the replay before this packet. `counters_file` is kept up to date, if given.
///
/// # Errors
/// A damaged capture or bus. Everything before the error was processed. A truncated capture is not an error: see
/// [`Report::truncations`].
pub fn replay<F: Feed, P: Publish>(
    source: &mut impl PacketSource,
    routes: &Routes<F::Source>,
    pipeline: &mut Pipeline<F, P>,
    pace: Pace,
    counters_file: &mut Option<CountersFile>,
    mut observe: impl FnMut(&Packet<'_>, Option<F::Source>) -> ControlFlow<()>,
) -> Result<Report<F::Source>, Interrupted<F::Source>>
where
    F::Source: Ord,
{
    let clock = Clock::calibrated();
    let mut replay = Replay {
        pipeline,
        counters_file,
        report: Report::new(),
        pace,
        check_ticks: clock.ticks_of(CHECK_EVERY),
        checked: ticks(),
        clock,
    };
    let outcome = replay.run(source, routes, &mut observe);
    // A bus that readers cannot find receives no further messages.
    if !matches!(outcome, Err(Error::Bus(_))) {
        replay.pipeline.finish();
        replay.show(ticks());
    }
    let mut report = replay.report;
    report.elapsed = replay.pace.elapsed();
    report.lateness = replay.pace.into_lateness();
    match outcome {
        Ok(()) => Ok(report),
        Err(error) => Err(Interrupted {
            report: Box::new(report),
            error,
        }),
    }
}

/// A replay: its pipeline, counters file, report and pace.
struct Replay<'r, F: Feed, P> {
    pipeline: &'r mut Pipeline<F, P>,
    counters_file: &'r mut Option<CountersFile>,
    report: Report<F::Source>,
    pace: Pace,
    clock: Clock,
    /// Ticks between two checks of the bus, and of the last one.
    check_ticks: u64,
    checked: u64,
}

impl<F: Feed, P: Publish> Replay<'_, F, P>
where
    F::Source: Ord,
{
    /// Feeds every packet to the pipeline.
    fn run(
        &mut self,
        source: &mut impl PacketSource,
        routes: &Routes<F::Source>,
        observe: &mut impl FnMut(&Packet<'_>, Option<F::Source>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        loop {
            let packet = match source.receive() {
                Ok(Received::Packet(packet)) => packet,
                Ok(Received::Nothing | Received::Refused) => continue,
                Ok(Received::End) => return Ok(()),
                Err(error) if error.is_truncation() => {
                    self.report.truncations.push(error);
                    continue;
                }
                Err(error) => return Err(Error::Source(error)),
            };
            let route = routes.find(packet.destination);
            if observe(&packet, route).is_break() {
                return Ok(());
            }
            self.report.note(&packet, route);
            if let Some(route) = route {
                self.packet(&packet, route)?;
            }
        }
    }

    /// Feeds a packet to the pipeline, once it is due.
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>, route: F::Source) -> Result<(), Damage> {
        if self.pace.left_until(packet.receive_ns).is_some() {
            self.show(ticks());
        }
        let Replay {
            pace,
            counters_file,
            pipeline,
            ..
        } = self;
        // The bus may be lost at the end of a long wait.
        pace.wait_until(packet.receive_ns, || check(counters_file, pipeline))?;
        let polled = ticks();
        let delivered = (self.pipeline).packet(route, packet.payload, packet.receive_ns, polled);
        let done = ticks();
        if let Some(copy) = self.pipeline.take_differing() {
            let before = self.report.differing;
            self.report.differing = Some(CopiesReport::after(before, copy, packet.source));
        }
        if delivered {
            let ns = self.clock.between_ns(polled, done);
            self.report.packet_ns.saturating_record(ns);
            if let Some(counters_file) = self.counters_file {
                counters_file.packet(&self.pipeline.latency_trace(polled, done, None));
            }
        }
        let is_due = |counters_file: &CountersFile| counters_file.is_due(done);
        if self.counters_file.as_ref().is_some_and(is_due) {
            self.show(done);
        }
        if done.wrapping_sub(self.checked) >= self.check_ticks {
            self.checked = done;
            check(self.counters_file, self.pipeline)?;
        }
        Ok(())
    }

    /// Writes the counters at `now`, in ticks.
    fn show(&mut self, now: u64) {
        if let Some(counters_file) = self.counters_file {
            counters_file.show(now, self.pipeline, std::iter::empty());
        }
    }
}

/// Checks that readers still find the bus.
fn check<F: Feed, P: Publish>(
    counters_file: &Option<CountersFile>,
    pipeline: &mut Pipeline<F, P>,
) -> Result<(), Damage> {
    pipeline.publisher_mut().check()?;
    counters_file.as_ref().map_or(Ok(()), CountersFile::check)
}

impl<S: Copy + Ord> Report<S> {
    /// All packets to groups and ports of the channel.
    pub fn routed(&self) -> u64 {
        self.packets.values().sum()
    }

    /// An empty report.
    pub(crate) fn new() -> Report<S> {
        Report {
            packets: BTreeMap::new(),
            unrouted: BTreeMap::new(),
            differing: None,
            packet_ns: latency_histogram(),
            span_ns: None,
            elapsed: Duration::ZERO,
            truncations: Vec::new(),
            lateness: None,
        }
    }

    /// Counts a packet.
    pub(crate) fn note(&mut self, packet: &Packet<'_>, route: Option<S>) {
        let (first, last) = self
            .span_ns
            .unwrap_or((packet.receive_ns, packet.receive_ns));
        self.span_ns = Some((first.min(packet.receive_ns), last.max(packet.receive_ns)));
        match route {
            Some(route) => *self.packets.entry(route).or_default() += 1,
            None => self.note_unrouted(packet.destination),
        }
    }

    fn note_unrouted(&mut self, destination: SocketAddrV4) {
        let known = self.unrouted.contains_key(&destination);
        if known || self.unrouted.len() < UNROUTED_MAX {
            *self.unrouted.entry(destination).or_default() += 1;
        } else if let Some(mut last) = self.unrouted.last_entry() {
            *last.get_mut() += 1;
        }
    }
}

/// A histogram of nanoseconds from 1 to a minute with an error of at most 0.1 %.
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in range")
}
