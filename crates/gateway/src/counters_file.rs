//! Counters file of the gateway: one table with the counters of the venue, the path, the publisher and the connection,
//! and the histograms.

use crate::counters::Counters;
use crate::latency_trace::{HISTOGRAMS, LatencyTrace};
use crate::pipeline::Pipeline;
use std::time::Duration;
use touchline_feed::Feed;
use touchline_transport::Publish;
use touchline_transport::clock::Clock;
use touchline_transport::shm::{self, Damage, Error, Publisher, PublisherCounters};
use touchline_types::CounterInfo;

/// Interval at which counters are written.
const EVERY: Duration = Duration::from_millis(100);

/// Counters file of a gateway: histograms take each value, counters are written periodically.
#[derive(Debug)]
pub struct CountersFile {
    counters_file: shm::CountersFile,
    clock: Clock,
    /// Ticks of the last write.
    shown: u64,
}

impl CountersFile {
    /// Creates a counters file on the publisher's bus with the counters of `F` and the path, and `more`. The clock is
    /// that of the trace.
    ///
    /// # Errors
    /// No room for the file.
    pub fn create<F: Feed>(
        publisher: &Publisher,
        clock: Clock,
        more: impl Iterator<Item = &'static CounterInfo>,
    ) -> Result<CountersFile, Error> {
        let tables = tables::<F>(more);
        let counters_file =
            shm::CountersFile::create(publisher.lock(), clock.ns_per_tick(), tables, HISTOGRAMS)?;
        Ok(CountersFile {
            counters_file,
            clock,
            shown: 0,
        })
    }

    /// Records the latencies of a packet.
    #[inline]
    pub fn packet(&mut self, trace: &LatencyTrace) {
        let CountersFile {
            counters_file,
            clock,
            ..
        } = self;
        trace.values(
            |from, to| clock.between_ns(from, to),
            |histogram, ns| counters_file.record(histogram, ns),
        );
    }

    /// Checks that readers still find its file.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Result<(), Damage> {
        self.counters_file.check()
    }

    /// Whether the counters must be written; `now` in ticks.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        self.clock.between_ns(self.shown, now) >= EVERY.as_nanos() as u64
    }

    /// Writes the counters at `now`, in ticks: those of the path, and `more` as given at creation.
    pub fn show<F: Feed, P: Publish>(
        &mut self,
        now: u64,
        pipeline: &Pipeline<F, P>,
        more: impl Iterator<Item = u64>,
    ) {
        self.shown = now;
        let publisher = pipeline.publisher().counters();
        let publisher = publisher.copied().unwrap_or_default();
        let path = pipeline.counters().counts().chain(publisher.counts());
        self.counters_file
            .show(pipeline.feed().counted().chain(path).chain(more));
    }
}

/// All counters, in file order.
fn tables<F: Feed>(
    more: impl Iterator<Item = &'static CounterInfo>,
) -> impl Iterator<Item = &'static CounterInfo> {
    let path = [Counters::TABLE, PublisherCounters::TABLE];
    let always = F::TABLES.iter().copied().chain(path);
    always.flatten().chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Gateway;
    use crate::venues::cme::CmeMulticast;
    use std::collections::HashSet;
    use touchline_feed::cme::CmeFeed;
    use touchline_net::LiveSource;

    #[test]
    fn no_two_counters_have_one_name() {
        type Live = Gateway<CmeMulticast<LiveSource>, Publisher>;
        let all = || tables::<CmeFeed>(Live::tables()).chain(HISTOGRAMS);
        let names: HashSet<_> = all().map(|info| info.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
