//! What this gateway counts, in shared memory: one table of what the feed, the path and the publisher
//! count, and the histograms.

use crate::anatomy::{HISTOGRAMS, Marks};
use crate::counters::Counters;
use crate::live::LiveCounters;
use crate::recovery::RecoveryCounters;
use std::time::Duration;
use touchline_feed::cme;
use touchline_net::clock::Clock;
use touchline_transport::shm::{self, Error, Publisher, PublisherCounters};
use touchline_types::CounterInfo;

/// How old the counters of a gateway at work can be.
const EVERY: Duration = Duration::from_millis(100);

/// The board of a gateway: histograms take each value, counters are shown now and then.
#[derive(Debug)]
pub struct Board {
    board: shm::Board,
    clock: Clock,
    /// Ticks of the last showing.
    shown: u64,
}

impl Board {
    /// Begins a board on the publisher's bus. The clock is that of the marks. A live gateway's has
    /// the counters of its sockets and its loop, too.
    ///
    /// # Errors
    /// No room for the file.
    pub fn create(publisher: &Publisher, clock: Clock, is_live: bool) -> Result<Board, Error> {
        let tables = tables(is_live);
        let board = shm::Board::create(publisher, clock.ns_per_tick(), tables, HISTOGRAMS)?;
        Ok(Board {
            board,
            clock,
            shown: 0,
        })
    }

    /// A packet went through the path.
    #[inline]
    pub fn packet(&mut self, marks: &Marks) {
        let Board { board, clock, .. } = self;
        marks.values(
            |from, to| clock.between_ns(from, to),
            |histogram, ns| board.record(histogram, ns),
        );
    }

    /// Whether the counters are to be shown again; `now` in ticks.
    #[inline]
    pub fn is_due(&self, now: u64) -> bool {
        self.clock.between_ns(self.shown, now) >= EVERY.as_nanos() as u64
    }

    /// Shows what was counted until `now`, in ticks.
    pub fn show(&mut self, now: u64, counted: &Counted<'_>) {
        self.shown = now;
        let values = counted.feed.values().chain(counted.path.values());
        let values = values.chain(counted.publisher.values());
        let live = counted.live.map(LiveCounters::values);
        let values = values.chain(live.into_iter().flatten());
        let recovery = counted.recovery.map(RecoveryCounters::values);
        let values = values.chain(recovery.into_iter().flatten());
        self.board.show(values.map(|(_, value)| value));
    }
}

/// What is shown on a board.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// What the feed counted.
    pub feed: &'a cme::Counters,
    /// What the path counted.
    pub path: &'a Counters,
    /// What the publisher counted.
    pub publisher: &'a PublisherCounters,
    /// What a live gateway counted beside the path.
    pub live: Option<&'a LiveCounters>,
    /// What a live gateway counted of asking for lost packets, if it asks.
    pub recovery: Option<&'a RecoveryCounters>,
}

/// Every counter there is, in the order in which they are shown.
fn tables(is_live: bool) -> impl Iterator<Item = &'static CounterInfo> {
    let always = [
        cme::Counters::TABLE,
        Counters::TABLE,
        PublisherCounters::TABLE,
    ];
    let live = [LiveCounters::TABLE, RecoveryCounters::TABLE];
    let live = live.into_iter().filter(move |_| is_live);
    always.into_iter().chain(live).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_counters_have_one_name() {
        let names: HashSet<_> = tables(true)
            .chain(HISTOGRAMS)
            .map(|info| info.name)
            .collect();
        assert_eq!(names.len(), tables(true).count() + HISTOGRAMS.len());
    }
}
