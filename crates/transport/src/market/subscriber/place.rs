//! Name, place and memory of a reader.

use super::super::reading::{self, MarketReading};
use super::{Item, Join, Subscriber};
use crate::SubscriptionEvent;
use crate::bus::{Error, Holder, Liveness, Place, Polled};
use crate::memory::has_room;
use crate::stats::{ReaderCounters, ReaderStats};
use touchline_shm::Process;

/// Looks for the memory of a reader before any of it is allocated.
pub(super) fn check_memory(
    reading: &MarketReading,
    bus: &str,
    settings: &Join,
) -> Result<(), Error> {
    let slots = |table: usize| reading.tables[table].shape().slots;
    let bytes = (settings.memory)(slots(reading::DEFINITIONS), slots(reading::ORDERS));
    match has_room(bytes) {
        true => Ok(()),
        false => Err(Error::Memory {
            bus: bus.to_owned(),
            bytes,
        }),
    }
}

impl Subscriber {
    /// Process that publishes; `None` if there is none. A few system calls.
    ///
    /// # Errors
    /// A system call failed.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        self.reading.publisher()
    }

    /// Whether a process publishes, without allocating. [`publisher`](Subscriber::publisher)
    /// identifies it.
    ///
    /// # Errors
    /// A system call failed.
    pub fn is_published(&self) -> Result<bool, Error> {
        self.reading.is_published()
    }

    /// Whether the bus was created again in other files, to which the next poll without a message moves.
    pub fn is_replaced(&self) -> bool {
        self.reading.is_replaced()
    }

    /// Present liveness of the publisher; `None` if it states no activity.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// Statistics of this reader, if it is named.
    pub fn reader_stats(&self) -> Option<&ReaderStats> {
        self.settings.reader_stats.as_ref()
    }

    /// The process that owns the name or place of this reader, if this process was forked from it: the reader belongs to that process, and the
    /// child neither frees, changes nor reads it.
    #[inline]
    pub fn forked_from(&self) -> Option<Process> {
        self.owner.filter(|owner| !owner.is_this())
    }

    /// A poll in a forked child: reports the fork once.
    #[cold]
    pub(super) fn forked<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Polled<T> {
        match std::mem::replace(&mut self.fork_notified, true) {
            false => Polled::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Forked))),
            true => Polled::Nothing,
        }
    }

    /// Writes an event of the subscription and its position to the reader's statistics.
    pub(super) fn show(&mut self, note: impl FnOnce(&mut ReaderCounters)) {
        let place = self.guard.as_mut().map(Place::number);
        let position = self.reading.ring.next().position;
        if let Some(reader_stats) = &mut self.settings.reader_stats {
            reader_stats.note(position, |counters| {
                counters.place = place.unwrap_or(0);
                note(counters);
            });
        }
    }
}
