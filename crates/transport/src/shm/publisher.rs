//! The writing side of a bus.

use super::counters::PublisherCounters;
use super::damage::Damage;
use super::files::{Error, Writing};
use super::lossless::{SlowReaderPolicy, Verdict};
use super::reader_stats;
use super::tables::{PublishedMessage, Stored, Tables};
use super::tops::Tops;
use super::{Root, Settings};
use crate::Publish;
use std::hint::spin_loop;
use touchline_shm::broadcast::{self, Activity, BATCH_END, NoRoom};
use touchline_shm::segment::{Mapping, Warning, WriterLock};
use touchline_types::native::{self, Flags};
use touchline_types::{Timestamps, Update};
use zerocopy::IntoBytes;

/// Publishes on a bus: messages into the ring, and each book into its image.
///
/// A message becomes visible when the next one comes, or the batch ends: only then is it known
/// whether it is the last of its batch. Its image is changed just before that.
#[derive(Debug)]
pub struct Publisher {
    ring: broadcast::Writer<Mapping>,
    staged: Staged,
    tables: Tables,
    tops: Option<Tops>,
    policy: Option<SlowReaderPolicy>,
    message_bytes_max: usize,
    counters: PublisherCounters,
    /// The right to write; given back last.
    lock: WriterLock,
}

/// The message that is written and not yet released.
#[derive(Debug)]
struct Staged {
    words: Box<[u64]>,
    /// 0 if there is none.
    length: usize,
}

impl Publisher {
    /// Takes over a bus that nobody writes, or begins it. All memory is taken here.
    ///
    /// # Errors
    /// Among others who writes it already, and how much memory is missing.
    pub fn open(root: &Root, bus: &str, settings: &Settings) -> Result<Publisher, Error> {
        let Writing {
            lock,
            ring,
            definitions,
            images,
            policy,
        } = Writing::open(root, bus, settings)?;
        reader_stats::sweep_of(root, bus);
        let counters = counted(ring.memory().warnings());
        let message_bytes_max = ring.geometry().message_max().min(native::PART_BYTES_MAX);
        Ok(Publisher {
            ring,
            staged: Staged {
                words: vec![0; message_bytes_max.div_ceil(8)].into(),
                length: 0,
            },
            tables: Tables::new(
                definitions,
                images,
                settings.instruments_max,
                settings.image_levels_max,
            )?,
            tops: settings.tops.then(|| Tops::new(settings.instruments_max)),
            policy,
            message_bytes_max,
            counters,
            lock,
        })
    }

    /// What it counted.
    pub fn counters(&self) -> &PublisherCounters {
        &self.counters
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        self.lock.directory().name()
    }

    /// How many writers the bus had, this one included.
    pub fn generation(&self) -> u64 {
        self.ring.generation()
    }

    /// The right to write the bus, for its other files.
    pub fn lock(&self) -> &WriterLock {
        &self.lock
    }

    /// What was asked of the system and could not be had, without which everything is but slower.
    pub fn warnings(&self) -> &[Warning] {
        self.ring.memory().warnings()
    }

    /// The top of book goes first: who waits for it alone has it soonest.
    #[inline]
    fn publish_top(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        let changed = self.tops.as_mut().and_then(|tops| tops.changed_by(update));
        let Some(top) = changed else { return };
        self.release(Flags::NONE);
        let sequence = self.ring.next().sequence;
        let bytes = self.staged.words.as_mut_bytes();
        let length = native::encode_top_of_book(&top, sequence, Flags::NONE, timestamps, bytes);
        self.staged.length = length.unwrap_or(0);
        self.counters.tops_published += 1;
    }

    /// Writes one message behind those that are released.
    #[inline]
    fn stage(&mut self, part: &native::Part<'_>, timestamps: &Timestamps) {
        self.release(Flags::NONE);
        let sequence = self.ring.next().sequence;
        let bytes = self.staged.words.as_mut_bytes();
        match part.encode(sequence, Flags::NONE, timestamps, bytes) {
            Some(length) => self.staged.length = length,
            None => self.counters.updates_refused += 1,
        }
    }

    /// What a late joiner needs of the update whose last message is staged.
    #[inline]
    fn store(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        let Staged { ref words, length } = self.staged;
        let message = PublishedMessage {
            sequence: self.ring.next().sequence,
            end: end_of(&mut self.ring, &mut self.policy, &mut self.counters, length),
            message: words,
            length,
        };
        match self.tables.store(update, timestamps, &message) {
            Stored::Whole => {}
            Stored::Cut => self.counters.images_cut += 1,
            Stored::Refused => self.counters.images_refused += 1,
        }
    }

    /// Commits the staged message, if there is one.
    #[inline]
    fn release(&mut self, flags: Flags) {
        let length = std::mem::take(&mut self.staged.length);
        if length == 0 {
            return;
        }
        let bytes = &mut self.staged.words.as_mut_bytes()[..length];
        let mut head = broadcast::Flags::default();
        if flags.has(Flags::END_OF_BATCH) {
            native::mark_end_of_batch(bytes);
            head = BATCH_END;
        }
        self.counters.messages_published += 1;
        self.counters.bytes_published += length as u64;
        while let Err(no_room) = self.ring.publish(bytes, head) {
            wait(&self.ring, &mut self.policy, &mut self.counters, no_room);
        }
        if let Some(policy) = &mut self.policy {
            policy.relax();
        }
    }
}

impl Publish for Publisher {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.publish_top(update, timestamps);
        for part in native::parts(update, self.message_bytes_max) {
            self.stage(&part, timestamps);
        }
        self.store(update, timestamps);
    }

    #[inline]
    fn commit(&mut self) {
        self.counters.batches_published += u64::from(self.staged.length > 0);
        self.release(Flags::END_OF_BATCH);
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        self.release(Flags::NONE);
        let sequence = self.ring.next().sequence;
        let bytes = self.staged.words.as_mut_bytes();
        self.staged.length =
            native::encode_heartbeat(sequence, Flags::NONE, timestamps, bytes).unwrap_or(0);
        self.release(Flags::END_OF_BATCH);
    }

    fn state_activity(&mut self, activity: Activity) {
        self.ring.state_activity(activity);
    }

    fn counters(&self) -> Option<&PublisherCounters> {
        Some(&self.counters)
    }

    /// Five system calls, seven of a lossless bus.
    fn check(&self) -> Result<(), Damage> {
        // mutant: names: the publisher does not look for its lock
        Damage::of_name(self.lock.lost_name())?;
        // mutant: names: the publisher does not look for its ring
        Damage::of_file(self.ring.memory())?;
        // mutant: names: the publisher does not look for its tables
        self.tables.check()?;
        if let (Some(registered), Some(policy)) = (self.ring.registered(), &self.policy) {
            // Not its length: readers of a group may cut it, and are not to end the publisher by that.
            Damage::of_name(registered.memory().lost_name())?;
            policy.check()?;
        }
        Ok(())
    }
}

/// What could not be had, as counters, so that it can be seen from outside.
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

/// Where the message that is staged will end.
#[inline]
fn end_of(
    ring: &mut broadcast::Writer<Mapping>,
    policy: &mut Option<SlowReaderPolicy>,
    counters: &mut PublisherCounters,
    length: usize,
) -> u64 {
    loop {
        match ring.claim(length) {
            Ok(claim) => return claim.end(),
            Err(no_room) => wait(ring, policy, counters, no_room),
        }
    }
}

/// A reader of a lossless bus has not read what would be overwritten: wait a little, or give it up.
#[cold]
fn wait(
    ring: &broadcast::Writer<Mapping>,
    policy: &mut Option<SlowReaderPolicy>,
    counters: &mut PublisherCounters,
    no_room: NoRoom,
) {
    let (NoRoom::Full { slot }, Some(policy), Some(registered)) =
        (no_room, policy, ring.registered())
    else {
        unreachable!("parts fit the ring, and only a lossless one is ever full");
    };
    // Before it is judged: who takes the slot after that is another.
    let Some(lease) = registered.lease(slot) else {
        return;
    };
    match policy.judge(slot) {
        Verdict::Wait => {
            counters.waits += 1;
            (0..64).for_each(|_| spin_loop());
        }
        Verdict::Dead => {
            counters.readers_dead += 1;
            registered.free(slot, lease);
        }
        Verdict::TooSlow => {
            counters.readers_left_behind += 1;
            registered.free(slot, lease);
        }
    }
}
