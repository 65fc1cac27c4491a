//! Raw reading side of a bus: messages as bytes, with number and position.

use super::error::Error;
use super::files::Reading;
use super::{Flags, Found, Holder, Liveness, Place, Root, Watch};
use touchline_shm::broadcast::RingEvent;
use zerocopy::IntoBytes;

/// Subscription to the messages of a bus as bytes, and to `N` of its tables: for recorders, relays, and publications
/// with their own kinds of messages.
///
/// It starts at the last join point of the publisher. The tables contain everything older that is still valid:
/// [`latest`](Subscription::latest) returns each slot with the position after its last change, and messages that end at
/// or before that position are included in it.
pub struct Subscription<const N: usize> {
    root: Root,
    bus: String,
    tables: [&'static str; N],
    registered: bool,
    reading: Reading<N>,
    /// Slot of a registered reader.
    guard: Option<Place>,
    watch: Watch,
    /// Another publisher has started, and its announcement may be among the lost messages.
    restart_missed: bool,
    message: Box<[u64]>,
    /// Why the bus that was created again cannot be joined.
    refusal: Option<Error>,
}

/// A published message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Sequence number in the publication, gap-free from 1.
    pub sequence: u64,
    /// Position after it in the stream, bytes.
    pub end: u64,
    /// Whether the message ends the batch of one packet.
    pub is_batch_end: bool,
}

/// Result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled<T> {
    /// A message was handed out, with this result.
    Given(T),
    /// This many messages were not for this subscriber; there may be more.
    Passed(usize),
    /// No message.
    Nothing,
}

impl<T> Polled<T> {
    /// The result, if a message was handed out.
    #[inline]
    pub fn given(self) -> Option<T> {
        match self {
            Polled::Given(given) => Some(given),
            Polled::Passed(_) | Polled::Nothing => None,
        }
    }
}

/// Event of a subscription, instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// The publisher has overrun this subscription, which continues at the last join point.
    Overrun {
        /// Lost messages.
        messages: u64,
        /// Lost bytes.
        bytes: u64,
    },
    /// Another publisher has started, with empty tables.
    Restarted {
        /// Its number, from 1.
        generation: u64,
    },
    /// The publisher has ended.
    PublisherGone,
    /// The shared memory contains an invalid message; the subscription continues at the last join point.
    Corrupt,
    /// A file of the bus was truncated: nothing can be read until the bus is created again.
    Damaged,
    /// Another publisher has started with a layout that this program cannot read; the subscription waits for a readable
    /// one.
    Incompatible {
        /// Layout number.
        layout: u64,
    },
    /// The bus was created again, and this process cannot join it: nothing can be read. [`Subscription::refusal`] has the reason; the
    /// subscription tries again ten times a second.
    Refused,
    /// The present publisher does not wait for this registered subscription: its bus is not lossless, or all places are taken. Messages
    /// can be lost from here on. A reader of another user than the publisher's learns of taken places by its first [`BusEvent::Overrun`] alone.
    NotWaitedFor,
}

impl<const N: usize> Subscription<N> {
    /// Joins a bus with these tables. A registered subscription takes a slot, and the publisher of a lossless bus waits
    /// for it.
    ///
    /// # Errors
    /// Among others: the bus does not exist, does not belong to this user, or has no such table.
    pub fn join(
        root: &Root,
        bus: &str,
        tables: [&'static str; N],
        registered: bool,
    ) -> Result<Subscription<N>, Error> {
        let (reading, guard) = Reading::join(root, bus, tables, registered)?;
        let is_gone = !reading.is_published()?;
        let message_bytes_max = reading.ring.geometry().message_max();
        Ok(Subscription {
            root: root.clone(),
            bus: bus.to_owned(),
            tables,
            registered,
            watch: Watch::new(is_gone, false),
            restart_missed: false,
            message: vec![0; message_bytes_max.div_ceil(8)].into(),
            reading,
            guard,
            refusal: None,
        })
    }

    /// Passes the next message to `take`, if there is one; never waits.
    ///
    /// # Errors
    /// A [`BusEvent`] instead of a message; the next poll continues after it.
    #[inline]
    pub fn poll<T>(&mut self, take: impl FnOnce(Message<'_>) -> T) -> Result<Polled<T>, BusEvent> {
        if self.restart_missed {
            return self.find_restart();
        }
        let room = &mut self.message;
        let read = self.reading.ring.read(|frame| {
            frame.copy_to(room);
            (frame.len(), frame.sequence, frame.end, frame.flags)
        });
        match read {
            Ok(Some((length, sequence, end, Flags(flags)))) => {
                let bytes = &self.message.as_bytes()[..length];
                Ok(Polled::Given(take(Message {
                    bytes,
                    sequence,
                    end,
                    is_batch_end: flags & super::END_OF_BATCH.0 != 0,
                })))
            }
            Ok(None) => self.nothing(),
            Err(_) if !self.reading.is_intact() => self.damaged(),
            Err(event)
                if self
                    .watch
                    .is_repeated(&event, self.reading.ring.next().position) =>
            {
                self.nothing()
            }
            Err(event) => Err(self.interrupted(event)),
        }
    }

    /// Copies as much of a slot's latest value as fits. One attempt without waiting.
    ///
    /// # Panics
    /// There is no such table: tables are numbered as in [`join`](Subscription::join).
    pub fn latest(&self, table: usize, slot: usize, room: &mut [u64]) -> Found {
        self.reading.tables[table].read(slot, room)
    }

    /// Number of slots in use; all later ones are empty.
    ///
    /// # Panics
    /// There is no such table.
    pub fn slots(&self, table: usize) -> usize {
        self.reading.tables[table].used()
    }

    /// Position of the next message, bytes.
    pub fn position(&self) -> u64 {
        self.reading.ring.next().position
    }

    /// Number of the next message.
    pub fn sequence_next(&self) -> u64 {
        self.reading.ring.next().sequence
    }

    /// Number of the present publisher, from 1.
    pub fn generation(&self) -> u64 {
        self.reading.generation
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        &self.bus
    }

    /// Process that publishes; `None` if there is none. A few system calls.
    ///
    /// # Errors
    /// A system call failed.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        self.reading.publisher()
    }

    /// Last activity of the publisher; `None` if it states none.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// Why the bus that was created again cannot be joined, since [`BusEvent::Refused`].
    pub fn refusal(&self) -> Option<&Error> {
        self.refusal.as_ref()
    }

    /// No message: checks whether the publisher has ended, or the bus was created again.
    #[inline]
    fn nothing<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        if std::mem::take(&mut self.watch.unwaited_seen) {
            return Err(BusEvent::NotWaitedFor);
        }
        if std::mem::take(&mut self.watch.gone_seen) {
            self.watch.gone_notified = true;
            return Err(BusEvent::PublisherGone);
        }
        match self.watch.move_seen || self.watch.is_due() {
            true => self.look(),
            false => Ok(Polled::Nothing),
        }
    }

    #[cold]
    fn look<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        let numbers = (self.reading.generation, self.reading.ring.generation());
        let is_elsewhere =
            self.watch.is_start_lost(numbers.0, numbers.1) || self.reading.is_replaced();
        if self.watch.is_moving(is_elsewhere)
            && let Some(event) = self.move_on()
        {
            return Err(event);
        }
        if !self.reading.is_intact() {
            return self.damaged();
        }
        let is_gone = self.reading.look_for_publisher(&mut self.guard);
        self.watch.is_gone = is_gone;
        self.watch.gone_notified &= is_gone;
        // The publisher may have published until just now: its end is reported once everything is read.
        self.watch.gone_seen = is_gone && !self.watch.gone_notified;
        Ok(match self.watch.is_any_seen() {
            true => Polled::Passed(0),
            false => Polled::Nothing,
        })
    }

    /// A file of the bus is damaged: reports it once, and waits for another.
    #[cold]
    fn damaged<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        if !std::mem::replace(&mut self.watch.damage_notified, true) {
            return Err(BusEvent::Damaged);
        }
        if self.watch.is_due()
            && self.reading.is_replaced()
            && let Some(event) = self.move_on()
        {
            return Err(event);
        }
        Ok(Polled::Nothing)
    }

    /// Moves to the bus created again in other files, or reports once that it cannot.
    fn move_on(&mut self) -> Option<BusEvent> {
        match self.reattach() {
            Ok(event) => Some(event),
            Err(Error::Format { layout, .. }) => {
                let is_new = !std::mem::replace(&mut self.watch.damage_notified, true);
                is_new.then_some(BusEvent::Incompatible { layout })
            }
            Err(error) => {
                let is_due = self.watch.is_refusal_due(&error);
                self.refusal = Some(error);
                is_due.then_some(BusEvent::Refused)
            }
        }
    }

    #[cold]
    fn interrupted(&mut self, event: RingEvent) -> BusEvent {
        match event {
            RingEvent::Overrun(overrun) => {
                self.restart_missed = self.reading.ring.generation() != self.reading.generation;
                self.reading.keep_place(&mut self.guard);
                BusEvent::Overrun {
                    messages: overrun.messages,
                    bytes: overrun.bytes,
                }
            }
            RingEvent::Corrupt { .. } => BusEvent::Corrupt,
            RingEvent::Generation(generation) => {
                self.reading.generation = generation;
                self.watch.is_back();
                self.refusal = None;
                self.watch.unwaited_seen =
                    self.registered && !self.reading.follow_place(&mut self.guard);
                BusEvent::Restarted { generation }
            }
        }
    }

    /// Another publisher has started, and its announcement may be lost: moves after its start.
    #[cold]
    fn find_restart<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        let Some(generation) = self.reading.writer() else {
            return self.nothing();
        };
        let lost = self.reading.ring.skip_to_join_point();
        if lost.bytes > 0 {
            return Err(BusEvent::Overrun {
                messages: lost.messages,
                bytes: lost.bytes,
            });
        }
        // The start of the next publisher is about to be written, or was overwritten: no progress until then.
        if self.reading.ring.generation() != generation {
            return self.nothing();
        }
        self.restart_missed = false;
        Err(self.interrupted(RingEvent::Generation(generation)))
    }

    /// Attaches to a bus created again in other files.
    fn reattach(&mut self) -> Result<BusEvent, Error> {
        let (reading, guard) = Reading::rejoin(
            &self.root,
            &self.bus,
            self.tables,
            self.registered,
            &mut self.guard,
        )?;
        let message_bytes_max = reading.ring.geometry().message_max();
        self.message = vec![0; message_bytes_max.div_ceil(8)].into();
        let is_gone = matches!(reading.is_published(), Ok(false));
        self.watch = Watch::new(is_gone, false);
        self.watch.unwaited_seen = self.registered && guard.is_none();
        self.refusal = None;
        self.restart_missed = false;
        self.reading = reading;
        self.guard = guard;
        Ok(BusEvent::Restarted {
            generation: self.reading.generation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, Lock, Publication};
    use super::*;
    use touchline_testing::Folder;

    /// Messages published in the old files between the last read and the check are read before the move.
    #[test]
    fn messages_before_a_move_to_other_files_are_read_first() {
        let folder = Folder::new("raw-before-move");
        let root = Root::at(&folder);
        let open = |ring_bytes| {
            let layout = Layout::<0> {
                ring_bytes,
                message_bytes_min: 64,
                schema: 0,
                tables: [],
                lossless: None,
                huge_pages: false,
                lock: Lock::No,
            };
            Publication::open(&root, "raw", &layout).expect("nobody else has it")
        };
        let (mut publication, []) = open(4096);
        let mut subscription =
            Subscription::join(&root, "raw", [], false).expect("the bus is there");
        // The two halves of a poll: the read finds no message, and the bus is created again before the check.
        assert!(matches!(subscription.reading.ring.read(|_| ()), Ok(None)));
        publication.stage(8, |frame| {
            frame.put(&7_u64);
            frame.finish();
        });
        publication.release(super::super::END_OF_BATCH);
        drop(publication);
        let _next = open(8192);
        let mut seen = Vec::new();
        let mut note = |polled: Result<Polled<u8>, BusEvent>| match polled {
            Ok(polled) => seen.extend(polled.given().map(Ok)),
            Err(event) => seen.push(Err(event)),
        };
        note(subscription.look());
        (0..3).for_each(|_| note(subscription.poll(|message| message.bytes[0])));
        assert_eq!(seen, [Ok(7), Err(BusEvent::Restarted { generation: 1 })]);
    }
}
