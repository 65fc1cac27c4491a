//! Restart of a subscription: after a loss, after the start of another publisher, or in other
//! files.

use super::joining::Joining;
use super::scratch::Scratch;
use super::{Item, Step, Subscriber, place, reading};
use crate::SubscriptionEvent;
use crate::bus::{Error, RING, Watch};
use touchline_shm::broadcast;

impl Subscriber {
    /// After a loss, in which the start of another writer may be lost too.
    pub(super) fn resync(&mut self) {
        self.reading.keep_place(&mut self.guard);
        self.rows.forget_orders();
        self.restart_missed = self.reading.ring.generation() != self.generation;
        match self.restart_missed {
            true => self.rows.restart(self.reading.ring.next().position),
            // Books without a slot as well, which the tables do not bring.
            // mutant: image: a book without a slot goes on after a loss
            false => self.rows.forget_books(),
        }
        self.joining = Some(match self.settings.resync || self.restart_missed {
            true => Joining::new(),
            false => Joining::state_alone(),
        });
    }

    /// Another writer has started, and its announcement may be lost: moves after its start.
    #[cold]
    pub(super) fn find_restart<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let Some(generation) = self.reading.writer() else {
            return self.nothing(take);
        };
        let lost = self.reading.ring.skip_to_join_point();
        if lost.bytes > 0 {
            self.show(|counters| {
                counters.overruns += 1;
                counters.overrun_messages += lost.messages;
                counters.overrun_bytes += lost.bytes;
            });
            return Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Overrun {
                messages: lost.messages,
                bytes: lost.bytes,
            })));
        }
        // The start of the next publisher is about to be written, or was overwritten: no progress until then.
        if self.reading.ring.generation() != generation {
            return self.nothing(take);
        }
        let event = self.interrupted(broadcast::RingEvent::Generation(generation));
        self.rows.forget_orders();
        self.joining = Some(Joining::new());
        Step::Given(take(Item::SubscriptionEvent(event)))
    }

    /// Checks files and publisher.
    #[cold]
    pub(super) fn look(&mut self) -> Option<SubscriptionEvent> {
        let writer = self.reading.ring.generation();
        let is_elsewhere =
            self.watch.is_start_lost(self.generation, writer) || self.reading.is_replaced();
        if self.watch.is_moving(is_elsewhere) {
            match self.reattach() {
                Ok(event) => return Some(event),
                Err(Error::Format { layout, .. } | Error::DirectTops { schema: layout, .. }) => {
                    return self.incompatible(layout);
                }
                Err(error) => {
                    let is_due = self.watch.is_refusal_due(&error);
                    self.refusal = Some(error);
                    if is_due {
                        return Some(SubscriptionEvent::Refused);
                    }
                }
            }
        }
        if !self.reading.is_intact() {
            return (!std::mem::replace(&mut self.watch.damage_notified, true))
                .then_some(SubscriptionEvent::Damaged);
        }
        // An older publisher may have taken over these files as well.
        if !self.watch.damage_notified
            && let Err(Error::DirectTops { schema, .. }) =
                self.settings.refuse_direct_tops(&self.reading, &self.bus)
        {
            return self.incompatible(schema);
        }
        let is_gone = self.reading.look_for_publisher(&mut self.guard);
        self.watch.is_gone = is_gone;
        self.watch.gone_notified &= is_gone;
        self.watch.gone_seen = is_gone && !self.watch.gone_notified;
        let is_stalled = self.reading.is_stalled();
        self.watch.turn_seen = !is_gone && is_stalled != self.watch.is_stalled;
        None
    }

    /// Takes its place at the next publisher in the same files. A reader that wants one and finds none gets an event when it has read everything.
    pub(super) fn follow_place(&mut self) {
        self.refusal = None;
        self.watch.unwaited_seen =
            self.settings.registered && !self.reading.follow_place(&mut self.guard);
    }

    /// Why the bus that was created again cannot be joined, since [`SubscriptionEvent::Refused`].
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// The present bus cannot be read: reported once.
    fn incompatible(&mut self, layout: u64) -> Option<SubscriptionEvent> {
        let is_new = !std::mem::replace(&mut self.watch.damage_notified, true);
        is_new.then_some(SubscriptionEvent::Incompatible { layout })
    }

    /// Unread messages and bytes as of the publisher's last join point: exact to some tens of KiB.
    pub fn lag(&self) -> (u64, u64) {
        let join_point = self.reading.ring.join_point().unwrap_or_default();
        let next = self.next();
        let behind =
            |published: u64, read: u64| (published.wrapping_sub(read) as i64).max(0) as u64;
        (
            behind(join_point.sequence, next.sequence),
            behind(join_point.position, next.position),
        )
    }

    /// Number of the file of the ring, which another bus of this name does not have; `None` if the file is gone. It is made of the inode,
    /// which a file system may give again, and the time at which it was made, where the file system states that.
    pub fn ring_file(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        let ring = self.root.path().join(&self.bus).join(RING);
        let file = std::fs::metadata(ring).ok()?;
        let made = file.created().ok();
        let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        let made_ns = since.map_or(0, |since| since.as_nanos() as u64);
        Some(file.ino().rotate_left(32) ^ made_ns)
    }

    /// Number of the next message.
    pub fn next_sequence(&self) -> u64 {
        self.next().sequence
    }

    /// Number of the present publisher, from 1.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of instruments for which the tables have room.
    pub fn instruments_max(&self) -> usize {
        self.reading.tables[reading::DEFINITIONS].shape().slots
    }

    /// Number of orders for which the tables have room.
    pub fn orders_max(&self) -> usize {
        self.reading.tables[reading::ORDERS].shape().slots
    }

    /// Whether [`Join::filter`](super::Join::filter) selects instruments, and some are defined: selected or not.
    pub fn has_unselected(&self) -> bool {
        self.settings.filter.is_some() && self.reading.tables[reading::DEFINITIONS].used() > 0
    }

    /// Messages of a newer schema skipped since this subscriber joined.
    pub fn unknown_messages(&self) -> u64 {
        self.unknown_messages
    }

    /// Attaches to a bus created again in other files.
    fn reattach(&mut self) -> Result<SubscriptionEvent, Error> {
        let registered = self.settings.registered;
        let (reading, guard) = reading::rejoin(&self.root, &self.bus, registered, &mut self.guard)?;
        self.settings.refuse_direct_tops(&reading, &self.bus)?;
        // mutant: bus: the memory of a larger bus is not looked for before it is joined again
        place::check_memory(&reading, &self.bus, &self.settings)?;
        let next = reading.ring.next();
        self.scratch = Scratch::new(&reading, &self.settings);
        self.at_batch_end = false;
        self.rows.restart(next.position);
        self.rows
            .take_order_images(self.scratch.orders_scan.is_some());
        self.generation = reading.generation;
        self.restart_missed = false;
        self.joining = Some(Joining::new());
        let is_gone = matches!(reading.is_published(), Ok(false));
        self.watch = Watch::new(is_gone, reading.is_stalled());
        self.watch.unwaited_seen = registered && guard.is_none();
        self.refusal = None;
        self.reading = reading;
        self.guard = guard;
        if let Some(reader_stats) = &mut self.settings.reader_stats {
            reader_stats.follow();
        }
        self.show(|counters| counters.restarts += 1);
        Ok(SubscriptionEvent::Restarted {
            generation: self.generation,
        })
    }
}
