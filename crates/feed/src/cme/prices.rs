//! Price books: the RptSeq check of each instrument, and recovery from snapshots.

use super::channel::Channel;
use super::queue::{Queued, Work};
use crate::Output;
use touchline_types::{Event, Instrument, Validity};

/// A price snapshot of one instrument, without its levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriceSnapshot {
    /// RptSeq of the last entry inside it.
    pub rpt_seq: u32,
    /// LastMsgSeqNumProcessed: the last packet inside it.
    pub snapshot_sequence: u32,
}

/// What a price snapshot is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing: it says less than what we have.
    Ignore,
    /// The book is to be replaced by it and by what is queued behind it.
    Replace,
    /// It does not reach the queued entries; a later cycle will.
    TooOld,
}

impl Channel {
    /// Takes the number of an entry if it is the next one of a whole book, with nothing else to be
    /// done: the path of nearly every entry. `false` leaves all to [`Channel::price_entry`].
    #[inline]
    pub fn take_next(
        &mut self,
        instrument: Instrument,
        rpt_seq: u32,
        packet: u32,
        out: &mut Output<'_>,
    ) -> bool {
        let orders_seen = self.rows.orders_seen();
        let row = self.rows.row_mut(instrument);
        let marks = orders_seen && !row.orders.known;
        if marks || !row.price.is_next(rpt_seq, packet) {
            return false;
        }
        if row.price.take(rpt_seq, packet, self.epoch.lost()) {
            out.push(Event::Confirmed(instrument));
        }
        true
    }

    /// An entry of the packet being processed that [`Channel::take_next`] left.
    #[inline(never)]
    pub fn number_entry(
        &mut self,
        instrument: Instrument,
        work: Work,
        rpt_seq: u32,
        transact_ns: u64,
        out: &mut Output<'_>,
    ) {
        let entry = Queued {
            work,
            rpt_seq,
            packet: self.progress.packet(),
            transact_ns,
        };
        self.price_entry(instrument, entry, out);
    }

    /// An entry that takes a RptSeq: checks the number, then applies, queues or ignores it.
    fn price_entry(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let row = self.rows.row(instrument);
        if self.rows.orders_seen() && !row.orders.known && entry.work != Work::Nothing {
            self.mark_orders(instrument, &entry);
        }
        let price = &mut self.rows.row_mut(instrument).price;
        if price.is_next(entry.rpt_seq, entry.packet) {
            if price.take(entry.rpt_seq, entry.packet, self.epoch.lost()) {
                out.push(Event::Confirmed(instrument));
            }
            apply(instrument, entry.work, Validity::Live, out);
        } else if entry.packet < price.snapshot_sequence {
            // Whatever its number: between it and the snapshot there may be a reset.
            self.counters.entries_contained += 1;
        } else if entry.rpt_seq > price.last_rpt {
            self.open_gap(instrument, entry, out);
        } else if entry.packet > price.last_seen {
            self.counters.instrument_restarts += 1;
            self.restart_price(instrument, entry, out);
        } else {
            self.counters.entries_contained += 1;
        }
    }

    /// Begins recovery because the levels kept are of no use any more (a new depth). What waits for a snapshot is kept:
    /// it is of no depth.
    pub fn distrust_price(&mut self, instrument: Instrument, out: &mut Output<'_>) {
        let missing = self.missing();
        // mutant: a new depth forgets what waits for a snapshot
        self.rows.row_mut(instrument).price.gap = true;
        out.push(Event::BookLost(instrument, missing));
    }

    /// Judges a snapshot of a price book that is not live.
    pub fn judge(&self, instrument: Instrument, snapshot: PriceSnapshot) -> Use {
        let price = &self.rows.row(instrument).price;
        let PriceSnapshot {
            rpt_seq,
            snapshot_sequence,
        } = snapshot;
        if !price.gap {
            // Newer than all we have: it confirms the book, and where a reset that was lost lies in
            // between, its number may be anything.
            let news = rpt_seq > price.last_rpt || snapshot_sequence > price.last_seen;
            return if news { Use::Replace } else { Use::Ignore };
        }
        let mut expected = rpt_seq;
        let mut rest = self
            .rows
            .price_entries(instrument)
            .filter(|entry| is_behind(entry, snapshot));
        let contiguous = rest.all(|entry| {
            expected = expected.wrapping_add(1);
            entry.rpt_seq == expected
        });
        // With nothing queued behind it, the snapshot itself must reach what we have seen.
        let reaches = expected >= price.last_rpt || snapshot_sequence > price.last_seen;
        // mutant: feed: a snapshot that is too old is used
        if contiguous && reaches {
            Use::Replace
        } else {
            Use::TooOld
        }
    }

    /// Replays what is queued behind a snapshot whose levels have just been given as events: the
    /// book is whole then.
    pub fn replay(
        &mut self,
        instrument: Instrument,
        snapshot: PriceSnapshot,
        out: &mut Output<'_>,
    ) {
        let mut confirmed = snapshot.snapshot_sequence;
        let mut last_rpt = snapshot.rpt_seq;
        for entry in self
            .rows
            .price_entries(instrument)
            .filter(|entry| is_behind(entry, snapshot))
        {
            confirmed = confirmed.max(entry.packet);
            last_rpt = entry.rpt_seq;
            match entry.work {
                // mutant: feed: the queue is not replayed
                Work::Level(level) => out.push(Event::RebuildLevel(level)),
                Work::Empty => out.push(Event::RebuildBook(instrument)),
                Work::Nothing | Work::Order(_) => {}
            }
        }
        self.rows.forget_prices(instrument);
        let price = &mut self.rows.row_mut(instrument).price;
        price.gap = false;
        price.last_rpt = last_rpt;
        price.snapshot_sequence = price.snapshot_sequence.max(snapshot.snapshot_sequence);
        price.last_seen = price.last_seen.max(confirmed);
        price.confirmed = price.confirmed.max(confirmed);
        let validity = self.validity(self.rows.row(instrument));
        out.push(Event::BookRebuilt(instrument, validity));
    }

    /// A number is missing: the book is emptied and the entry queued.
    fn open_gap(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let price = &mut self.rows.row_mut(instrument).price;
        let grows = entry.rpt_seq > price.last_rpt.saturating_add(1);
        let first = !std::mem::replace(&mut price.gap, true);
        self.counters.instrument_gaps += u64::from(first);
        // A book refilled from live updates alone is wrong after a further gap, too.
        // mutant: feed: a hole does not empty the book
        // mutant: feed: a further hole leaves a naturally refreshed book
        if first || grows && self.missing() == Validity::Natural {
            out.push(Event::BookLost(instrument, self.missing()));
        }
        self.queue_price(instrument, entry, out);
    }

    /// RptSeq started again, so a reset was lost: the book is empty, and whole if this is entry 1.
    fn restart_price(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let lacks_definition = self.lacks_definition(self.rows.row(instrument));
        self.rows.forget_prices(instrument);
        let price = &mut self.rows.row_mut(instrument).price;
        price.gap = entry.rpt_seq != 1 || lacks_definition;
        price.last_rpt = 0;
        if price.gap {
            out.push(Event::BookLost(instrument, self.missing()));
            self.queue_price(instrument, entry, out);
        } else {
            out.push(Event::RebuildBook(instrument));
            out.push(Event::BookRebuilt(instrument, Validity::Live));
            self.price_entry(instrument, entry, out);
        }
    }

    /// Takes an entry in behind a gap; with natural refresh it is shown as well.
    fn queue_price(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let natural = self.missing() == Validity::Natural;
        let price = &mut self.rows.row_mut(instrument).price;
        price.last_rpt = entry.rpt_seq;
        price.last_seen = price.last_seen.max(entry.packet);
        self.counters.entries_queued += 1;
        if self.rows.queue_price(instrument, entry).is_err() {
            self.counters.queue_full += 1;
        }
        if natural {
            apply(instrument, entry.work, Validity::Natural, out);
        }
    }
}

/// Whether an entry is to be replayed on top of a snapshot. Source: CME client systems wiki,
/// "MBP and MBOFD Market Recovery".
fn is_behind(entry: &Queued, snapshot: PriceSnapshot) -> bool {
    // mutant: feed: what the snapshot contains is replayed
    entry.rpt_seq > snapshot.rpt_seq && entry.packet >= snapshot.snapshot_sequence
}

#[inline]
fn apply(instrument: Instrument, work: Work, validity: Validity, out: &mut Output<'_>) {
    match work {
        Work::Level(level) => out.push(Event::Level(level, validity)),
        Work::Empty => out.push(Event::BookEmptied(instrument, validity)),
        Work::Nothing | Work::Order(_) => {}
    }
}
