//! What this gateway counts, in shared memory: one table of what the feed, the path and the publisher
//! count, and the histograms.

use crate::counters::Counters;
use std::time::Duration;
use touchline_feed::cme;
use touchline_net::clock::Clock;
use touchline_transport::shm::{self, Error, Publisher, PublisherCounters};
use touchline_types::CounterInfo;

/// How old the counters of a gateway at work can be.
const EVERY: Duration = Duration::from_millis(100);

const HISTOGRAMS: &[CounterInfo] = &[CounterInfo {
    name: "packet_ns",
    unit: "ns",
    help: "From a packet polled to its updates published; packets of the incremental feed, first copies.",
}];
const PACKET_NS: usize = 0;

/// The board of a gateway: histograms take each value, counters are shown now and then.
#[derive(Debug)]
pub struct Board {
    board: shm::Board,
    clock: Clock,
    /// Ticks of the last showing.
    shown: u64,
}

impl Board {
    /// Begins a board on the publisher's bus. The clock is that of the marks.
    ///
    /// # Errors
    /// No room for the file.
    pub fn create(publisher: &Publisher, clock: Clock) -> Result<Board, Error> {
        let board = shm::Board::create(publisher, clock.ns_per_tick(), tables(), HISTOGRAMS)?;
        Ok(Board {
            board,
            clock,
            shown: 0,
        })
    }

    /// A packet took so long from polled to published.
    #[inline]
    pub fn packet(&mut self, ns: u64) {
        self.board.record(PACKET_NS, ns);
    }

    /// Whether the counters are to be shown again; `now` in ticks.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        self.clock.between_ns(self.shown, now) >= EVERY.as_nanos() as u64
    }

    /// Shows what was counted until `now`, in ticks.
    pub fn show(
        &mut self,
        now: u64,
        feed: &cme::Counters,
        path: &Counters,
        publisher: &PublisherCounters,
    ) {
        self.shown = now;
        let values = feed.values().chain(path.values());
        let values = values.chain(publisher.values());
        self.board.show(values.map(|(_, value)| value));
    }
}

/// Every counter there is, in the order in which they are shown.
fn tables() -> impl Iterator<Item = &'static CounterInfo> {
    let tables = [
        cme::Counters::TABLE,
        Counters::TABLE,
        PublisherCounters::TABLE,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_counters_have_one_name() {
        let names: HashSet<_> = tables().chain(HISTOGRAMS).map(|info| info.name).collect();
        assert_eq!(names.len(), tables().count() + HISTOGRAMS.len());
    }
}
