//! Writing side of a bus of market data.

use super::Settings;
use super::counters::PublisherCounters;
use super::stored::Stored;
use super::tables::Tables;
use super::tops::Tops;
use crate::bus::{
    Activity, Damage, END_OF_BATCH, Error, Flags as FrameFlags, Frame, Publication, Root, Warning,
    WriterLock,
};
use crate::{Publish, stats};
use std::sync::atomic::Ordering;
use touchline_types::native::{self, FLAGS_AT, Flags, Sink};
use touchline_types::{Instrument, Timestamps, Update};
use zerocopy::{Immutable, IntoBytes};

/// Bytes of the ring that a packet's messages take, mostly.
const WARM_BYTES: u64 = 2_048;

/// Publisher of a bus: messages to the ring, and values to the tables.
///
/// A message becomes visible with the next one or at the end of the batch, because only then is it
/// known whether it is the last of its batch. Its slot is changed just before that.
#[derive(Debug)]
pub struct Publisher {
    publication: Publication,
    tables: Tables,
    tops: Option<Tops>,
    message_bytes_max: usize,
    counters: PublisherCounters,
}

/// A message is written in place.
impl Sink for Frame<'_> {
    #[inline(always)]
    fn put<T: IntoBytes + Immutable>(&mut self, piece: &T) {
        Frame::put(self, piece);
    }
}

impl Publisher {
    /// Takes over a bus without a writer, or creates it. All memory is reserved here.
    ///
    /// # Errors
    /// Among others [`Error::Segment`] with the present writer or the missing memory.
    pub fn open(root: &Root, bus: &str, settings: &Settings) -> Result<Publisher, Error> {
        let (publication, tables) = Publication::open(root, bus, &settings.layout())?;
        stats::sweep_of(root, bus);
        let message_bytes_max = publication.message_bytes_max().min(native::PART_BYTES_MAX);
        Ok(Publisher {
            counters: counted(publication.warnings()),
            publication,
            tables: Tables::new(tables, settings.instruments_max, settings.image_levels_max)?,
            tops: settings.tops.then(|| Tops::new(settings.instruments_max)),
            message_bytes_max,
        })
    }

    /// Counters.
    pub fn counters(&self) -> &PublisherCounters {
        &self.counters
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        self.publication.bus()
    }

    /// Number of writers that the bus has had, this one included.
    pub fn generation(&self) -> u64 {
        self.publication.generation()
    }

    /// The right to write the bus, for its other files.
    pub fn lock(&self) -> &WriterLock {
        self.publication.lock()
    }

    /// Rejected requests without which everything works, but slower.
    pub fn warnings(&self) -> &[Warning] {
        self.publication.warnings()
    }

    /// Publishes the top of book first, for readers that only need the top.
    #[inline]
    fn publish_top(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        let changed = self.tops.as_mut().and_then(|tops| tops.changed_by(update));
        let Some(top) = changed else { return };
        self.stage(native::TOP_OF_BOOK_BYTES, |sequence, frame| {
            native::write_top_of_book(&top, sequence, Flags::NONE, timestamps, frame);
        });
        self.counters.tops_published += 1;
    }

    /// Publishes an update that is longer than a message as several.
    #[cold]
    #[inline(never)]
    fn publish_parts(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        for part in native::parts(update, self.message_bytes_max) {
            self.stage(part.len(), |sequence, frame| {
                part.write(sequence, Flags::NONE, timestamps, frame);
            });
        }
    }

    /// Writes one message in place after the released ones.
    #[inline(always)]
    fn stage(&mut self, length: usize, write: impl FnOnce(u64, &mut Frame<'_>)) {
        self.release(FrameFlags::default());
        let sequence = self.publication.sequence_next();
        self.publication.stage(length, |frame| {
            write(sequence, frame);
            frame.finish();
        });
        self.counters.messages_published += 1;
        self.counters.bytes_published += length as u64;
    }

    /// Keeps the values of the update whose last message is staged, for late joiners.
    #[inline]
    fn store(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        let staged = self.publication.staged();
        let staged = staged.expect("an update has one message at least");
        match self.tables.store(update, timestamps, &staged) {
            Stored::Whole => {}
            Stored::Cut => self.counters.images_cut += 1,
            Stored::Refused => self.counters.images_refused += 1,
        }
    }

    /// Makes the staged message visible as the last of its batch; returns whether there was one.
    #[inline]
    fn end_batch(&mut self) -> bool {
        if let Some(staged) = self.publication.staged() {
            // The word was stored by this thread, and readers read it only after the header.
            let word = &staged.words()[FLAGS_AT / 8];
            let bit = u64::from(Flags::END_OF_BATCH.0) << (FLAGS_AT % 8 * 8);
            let flagged = word.load(Ordering::Relaxed) | bit.to_le();
            word.store(flagged, Ordering::Relaxed);
        }
        self.release(END_OF_BATCH)
    }

    /// Makes the staged message visible, with these flags of its frame; returns whether there was one.
    #[inline]
    fn release(&mut self, flags: FrameFlags) -> bool {
        if self.publication.staged().is_none() {
            return false;
        }
        self.publication.release(flags);
        if let Some(flow) = self.publication.flow_counts() {
            self.counters.waits = flow.waits;
            self.counters.readers_dead = flow.readers_dead;
            self.counters.readers_left_behind = flow.readers_left_behind;
            self.counters.dead_place = flow.dead_place;
            self.counters.left_behind_place = flow.left_behind_place;
        }
        true
    }
}

impl Publish for Publisher {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.publish_top(update, timestamps);
        let length = native::encoded_len(update);
        if length <= self.message_bytes_max {
            self.stage(length, |sequence, frame| {
                native::write_update(update, sequence, Flags::NONE, timestamps, frame);
            });
        } else {
            self.publish_parts(update, timestamps);
        }
        self.store(update, timestamps);
    }

    #[inline]
    fn commit(&mut self) {
        let is_any = self.end_batch();
        self.counters.batches_published += u64::from(is_any);
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        assert!(
            self.publication.staged().is_none(),
            "a heartbeat is a batch of its own: it would end the open batch in its middle"
        );
        self.stage(native::HEARTBEAT_BYTES, |sequence, frame| {
            native::write_heartbeat(sequence, Flags::NONE, timestamps, frame);
        });
        self.end_batch();
    }

    /// A heartbeat takes the place of its message in the ring.
    fn keep(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.stage(native::HEARTBEAT_BYTES, |sequence, frame| {
            native::write_heartbeat(sequence, Flags::NONE, timestamps, frame);
        });
        if let Update::Trade(trade) = update {
            self.tables.expect_trade(trade);
        }
        self.store(update, timestamps);
    }

    fn state_activity(&mut self, activity: Activity) {
        self.publication.state_activity(activity);
    }

    fn warm(&self, instrument: Instrument) {
        self.tables.warm(instrument);
        if let Some(tops) = &self.tops {
            tops.warm(instrument);
        }
        self.publication.warm(WARM_BYTES);
    }

    fn counters(&self) -> Option<&PublisherCounters> {
        Some(&self.counters)
    }

    /// Seven system calls, nine on a lossless bus, and one for each table that was refused memory.
    fn check(&mut self) -> Result<(), Damage> {
        self.tables.retry();
        self.publication.check()?;
        if let Some(flow) = self.publication.flow_counts() {
            self.counters.cursors_renewed = flow.cursors_renewed;
        }
        self.tables.check()
    }
}

/// Rejected requests as counters, visible from outside.
fn counted(warnings: &[Warning]) -> PublisherCounters {
    let mut counters = PublisherCounters::default();
    for warning in warnings {
        match warning {
            Warning::NotLocked { needed_bytes, .. } => counters.bytes_not_locked += needed_bytes,
            Warning::NoHugePages { .. } => counters.huge_pages_refused += 1,
        }
    }
    counters
}
