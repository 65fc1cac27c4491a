//! Price books: the RptSeq check of each instrument, and recovery from snapshots.

use super::channel::Channel;
use super::queue::{Queued, Work};
use crate::Output;
use touchline_types::{Event, Instrument, LevelEvent, Validity};

/// A price snapshot of one instrument, without its levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriceSnapshot {
    /// RptSeq of the last entry inside it.
    pub rpt_seq: u32,
    /// LastMsgSeqNumProcessed: the last packet inside it.
    pub snapshot_sequence: u32,
}

/// Use of a price snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// None: it is older than the book.
    Ignore,
    /// The snapshot replaces the book, and the entries queued behind it are replayed.
    Replace,
    /// The snapshot ends before the queued entries; a later cycle will reach them.
    TooOld,
}

impl Channel {
    /// Processes the number of the next entry of a complete book, if nothing else is necessary: the path of nearly
    /// every entry. `false` leaves all to [`Channel::price_entry`].
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

    /// An entry of the current packet that [`Channel::take_next`] did not process.
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
            if entry.work.is_negative() {
                return self.distrust_price(instrument, out);
            }
            apply(instrument, entry.work, Validity::Live, out);
        } else if entry.packet < price.snapshot_sequence {
            // The entry is queued with any number: a reset may lie between it and the snapshot.
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

    /// A level with a negative quantity: no book has one, so the venue's level is unknown, and the book with it. A later
    /// snapshot contains the entry.
    #[cold]
    #[inline(never)]
    pub fn negative_level(
        &mut self,
        instrument: Instrument,
        level: LevelEvent,
        rpt_seq: u32,
        transact_ns: u64,
        out: &mut Output<'_>,
    ) {
        self.counters.quantities_negative += 1;
        if self.take_next(instrument, rpt_seq, self.progress.packet(), out) {
            self.distrust_price(instrument, out);
        } else {
            self.number_entry(instrument, Work::Level(level), rpt_seq, transact_ns, out);
        }
    }

    /// Starts recovery because the stored levels are useless (a new depth). Queued entries stay: they do not depend on
    /// the depth.
    pub fn distrust_price(&mut self, instrument: Instrument, out: &mut Output<'_>) {
        let missing = self.missing();
        self.rows.row_mut(instrument).price.gap = true;
        out.push(Event::BookLost(instrument, missing));
    }

    /// Decides about a snapshot of a price book that is not live.
    pub fn judge(&self, instrument: Instrument, snapshot: PriceSnapshot) -> Use {
        let price = &self.rows.row(instrument).price;
        let PriceSnapshot {
            rpt_seq,
            snapshot_sequence,
        } = snapshot;
        if !price.gap {
            // A snapshot newer than all received entries confirms the book. After a lost reset, or with a reset in
            // between, its number may have any value.
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
            entry.rpt_seq == expected && !entry.work.is_negative()
        });
        // With an empty queue, the snapshot itself must contain all received entries.
        let reaches = expected >= price.last_rpt || snapshot_sequence > price.last_seen;
        // mutant: feed: a snapshot that is too old is used
        if contiguous && reaches {
            Use::Replace
        } else {
            Use::TooOld
        }
    }

    /// Replays the entries queued behind a snapshot whose levels were published as events: the book is then complete.
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
        out.push(Event::BookRebuilt(instrument, validity, None));
    }

    /// A number is missing: the book is emptied and the entry queued.
    fn open_gap(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let price = &mut self.rows.row_mut(instrument).price;
        let grows = entry.rpt_seq > price.last_rpt.saturating_add(1);
        let first = !std::mem::replace(&mut price.gap, true);
        self.counters.instrument_gaps += u64::from(first);
        // A book refilled from live updates is wrong after a further gap, too.
        // mutant: feed: a gap does not empty the book
        if first || grows && self.missing() == Validity::Natural {
            out.push(Event::BookLost(instrument, self.missing()));
        }
        self.queue_price(instrument, entry, out);
    }

    /// RptSeq restarted, so a reset was lost: the book is empty, and complete if this is entry 1.
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
            out.push(Event::BookRebuilt(instrument, Validity::Live, None));
            self.price_entry(instrument, entry, out);
        }
    }

    /// Queues an entry behind a gap; with natural refresh it is published as well.
    fn queue_price(&mut self, instrument: Instrument, entry: Queued, out: &mut Output<'_>) {
        let natural = self.missing() == Validity::Natural;
        let price = &mut self.rows.row_mut(instrument).price;
        price.last_rpt = entry.rpt_seq;
        price.last_seen = price.last_seen.max(entry.packet);
        self.counters.entries_queued += 1;
        if self.rows.queue_price(instrument, entry).is_err() {
            self.counters.queue_full += 1;
        }
        if natural && !entry.work.is_negative() {
            apply(instrument, entry.work, Validity::Natural, out);
        }
    }
}

/// Whether an entry must be replayed on top of a snapshot. Source: CME client systems wiki,
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
