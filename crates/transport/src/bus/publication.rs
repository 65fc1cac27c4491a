//! Writing side of a bus: messages of any kind, and tables.

use super::cursors::renew_cursors;
use super::damage::Damage;
use super::error::Error;
use super::files::{TableWriter, Writing};
use super::flow_control::{FlowCounts, SlowReaderPolicy, Verdict};
use super::places::{ENTRIES_MAX, HeldPlaces, Stream};
use super::registered::judge;
use super::{Activity, Flags, Frame, Layout, Root, Warning};
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use touchline_shm::broadcast::{self, Cursors, NoRoom};
use touchline_shm::segment::{Guests, Look, Mapping, Pass, WriterLock};

/// Publishes messages on a bus. It interprets none of them: a message is bytes of a stated length.
///
/// A message is written once, in place: [`stage`](Publication::stage) claims its room in the ring and writes it,
/// [`release`](Publication::release) makes it visible. In between the tables are changed, with the message's position;
/// a publisher that dies in between did not publish the message.
#[derive(Debug)]
pub struct Publication {
    ring: broadcast::Writer<Mapping>,
    policy: Option<SlowReaderPolicy>,
    places: Option<HeldPlaces>,
    /// Named readers of other users, if the bus is shared.
    guests: Option<Guests>,
    guests_pass: Option<Pass>,
    flow: FlowCounts,
    /// The right to write; released last.
    lock: WriterLock,
}

impl Publication {
    /// Takes over a bus without a writer, or creates it; returns its tables, in the order of the layout. All memory is
    /// reserved here.
    ///
    /// # Errors
    /// Among others [`Error::Segment`] with the present writer or the missing memory.
    pub fn open<const N: usize>(
        root: &Root,
        bus: &str,
        layout: &Layout<N>,
    ) -> Result<(Publication, [TableWriter; N]), Error> {
        let Writing {
            lock,
            ring,
            tables,
            policy,
            places,
        } = Writing::open(root, bus, layout)?;
        let publication = Publication {
            ring,
            policy,
            places,
            guests: Guests::of(lock.directory())?,
            guests_pass: None,
            flow: FlowCounts::default(),
            lock,
        };
        Ok((publication, tables))
    }

    /// Claims room for a message of `length` bytes and calls `write` to fill it, invisible to readers. Waits for slow
    /// readers if the bus is lossless.
    ///
    /// # Panics
    /// A message is staged already, or the ring cannot contain one of this length.
    #[inline]
    pub fn stage<T>(&mut self, length: usize, write: impl FnOnce(&mut Frame<'_>) -> T) -> T {
        while let Err(no_room) = self.ring.stage(length) {
            self.wait(no_room);
        }
        write(&mut Frame::new(self.ring.staged_words()))
    }

    /// The staged message, with its position in the stream; `None` if there is none.
    #[inline]
    pub fn staged(&self) -> Option<Staged<'_>> {
        let broadcast::Staged { length, end } = self.ring.staged()?;
        Some(Staged {
            sequence: self.ring.next().sequence,
            end,
            length,
            ring: &self.ring,
        })
    }

    /// Makes the staged message visible, with these flags of its frame.
    ///
    /// # Panics
    /// No message is staged.
    #[inline]
    pub fn release(&mut self, flags: Flags) {
        self.ring.commit_staged(flags);
        if let Some(policy) = &mut self.policy {
            policy.relax();
        }
    }

    /// Number of the next message.
    #[inline]
    pub fn sequence_next(&self) -> u64 {
        self.ring.next().sequence
    }

    /// Maximum size of a message, bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.ring.geometry().message_max()
    }

    /// Fetches the next bytes of the ring, so that they are in the caches when they are written.
    pub fn warm(&self, bytes: u64) {
        self.ring.warm(bytes);
    }

    /// States that the duty cycle runs and that published data is current.
    pub fn state_activity(&mut self, activity: Activity) {
        self.ring.state_activity(activity);
    }

    /// Counts of waits; `None` if the bus is not lossless.
    #[inline]
    pub fn flow_counts(&self) -> Option<&FlowCounts> {
        self.policy.as_ref().map(|_| &self.flow)
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        self.lock.directory().name()
    }

    /// Number of writers that the bus has had, this one included.
    pub fn generation(&self) -> u64 {
        self.ring.generation()
    }

    /// The right to write the bus, for its other files.
    pub fn lock(&self) -> &WriterLock {
        &self.lock
    }

    /// Rejected requests without which everything works, but slower.
    pub fn warnings(&self) -> &[Warning] {
        self.ring.memory().warnings()
    }

    /// Checks that readers still find its files. Three system calls, five on a lossless bus; on one that is shared with a group four
    /// more for each folder of readers of other users, and up to two for each of these readers.
    ///
    /// Cursors of another length are made again: readers write them, and must not end the publisher by that. Readers of other users
    /// have their slots from here on.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&mut self) -> Result<(), Damage> {
        Damage::of_name(self.lock.lost_name())?;
        Damage::of_file(self.ring.memory())?;
        if let (Some(registered), Some(policy)) = (self.ring.registered(), &self.policy) {
            policy.check()?;
            let old = registered.memory();
            match old.look() {
                Look::Whole => {}
                Look::NameLost => Damage::of_name(Some(old.path()))?,
                Look::OtherLength => {
                    // Without memory for the new file the next check tries again.
                    if let Ok(new) = renew_cursors(&self.lock, old) {
                        self.ring.move_cursors(Cursors::new(new));
                        self.flow.cursors_renewed += 1;
                        self.move_places();
                    }
                }
            }
        }
        if let Some(guests) = &self.guests {
            guests.sweep_strangers(&mut self.guests_pass, ENTRIES_MAX);
        }
        let stream = self.stream();
        if let (Some(places), Some(registered)) = (&mut self.places, self.ring.registered()) {
            places.follow(registered, stream);
        }
        Ok(())
    }

    fn move_places(&mut self) {
        let stream = self.stream();
        if let (Some(places), Some(registered)) = (&mut self.places, self.ring.registered()) {
            places.move_to(registered, stream);
        }
    }

    fn stream(&self) -> Stream {
        Stream {
            oldest: self.ring.oldest(),
            join_point: self.ring.join_point(),
            next: self.ring.next().position,
        }
    }

    /// Handles a reader of a lossless bus that blocks the writer: waits briefly, or frees its slot.
    #[cold]
    fn wait(&mut self, no_room: NoRoom) {
        let (NoRoom::Full { slot }, Some(policy), Some(registered)) =
            (no_room, &mut self.policy, self.ring.registered())
        else {
            unreachable!("messages fit the ring, and only a lossless one is ever full");
        };
        // Before the decision: a reader that takes the slot afterwards has another lease.
        let Some(lease) = registered.lease(slot) else {
            return;
        };
        let next = Some(self.ring.next().position);
        let was_waiting = policy.is_waiting();
        let verdict = judge(policy, &mut self.places, slot, registered, next);
        // One for each message that waits, however often it looks at its readers.
        // mutant: bus: each look at a reader is counted as a wait
        let begins = !was_waiting && policy.is_waiting();
        self.flow.waits += u64::from(begins && verdict != Some(Verdict::Dead));
        let Some(verdict) = verdict else {
            return;
        };
        match verdict {
            Verdict::Wait => (0..64).for_each(|_| spin_loop()),
            Verdict::Dead => {
                self.flow.readers_dead += 1;
                self.flow.dead_place = slot as u64 + 1;
                registered.free(slot, lease);
            }
            Verdict::TooSlow => {
                self.flow.readers_left_behind += 1;
                self.flow.left_behind_place = slot as u64 + 1;
                registered.free(slot, lease);
            }
        }
    }
}

/// A message that is written and not yet visible.
#[derive(Clone, Copy, Debug)]
pub struct Staged<'a> {
    /// Its number.
    pub sequence: u64,
    /// Position after it.
    pub end: u64,
    /// Its bytes.
    pub length: usize,
    ring: &'a broadcast::Writer<Mapping>,
}

impl<'a> Staged<'a> {
    /// Its words in place; the last one may be padded with zeros.
    #[inline]
    pub fn words(&self) -> &'a [AtomicU64] {
        self.ring.staged_words()
    }
}

#[cfg(test)]
mod tests;
