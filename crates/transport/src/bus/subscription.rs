//! The raw reading side of a bus: messages as bytes, with number and position.

use super::files::{Error, Reading};
use super::{Flags, Found, Holder, Liveness, Root, SlotGuard, Watch};
use touchline_shm::broadcast::RingEvent;
use zerocopy::IntoBytes;

/// Subscription to the messages of a bus, whatever they are, and to `N` of its tables: for recorders and
/// relays, and for what carries its own kind of messages.
///
/// It begins at the last join point of the publisher. Everything before that which still holds is in the
/// tables: [`latest`](Subscription::latest) gives each slot with the position behind its last change, and
/// messages that end at or before that position are in it already.
pub struct Subscription<const N: usize> {
    root: Root,
    bus: String,
    tables: [&'static str; N],
    registered: bool,
    reading: Reading<N>,
    /// The place among named readers.
    guard: Option<SlotGuard>,
    watch: Watch,
    /// Another publisher has begun, and its beginning may be among what was lost.
    restart_missed: bool,
    message: Box<[u64]>,
}

/// A message as it was published.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its number in the publication, gap-free from 1.
    pub sequence: u64,
    /// Position behind it in the stream, bytes.
    pub end: u64,
    /// Whether the batch of one packet ends with it.
    pub is_batch_end: bool,
}

/// What a poll came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled<T> {
    /// Something was handed out, and this came of it.
    Given(T),
    /// So many messages were there that are not for this subscriber; there may be more.
    Passed(usize),
    /// There is nothing.
    Nothing,
}

impl<T> Polled<T> {
    /// What was handed out, if something was.
    #[inline]
    pub fn given(self) -> Option<T> {
        match self {
            Polled::Given(given) => Some(given),
            Polled::Passed(_) | Polled::Nothing => None,
        }
    }
}

/// What happened to a subscription, instead of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// The publisher has overtaken this subscription, which goes on at the last join point.
    Overrun {
        /// Messages that were lost.
        messages: u64,
        /// Bytes of them.
        bytes: u64,
    },
    /// Another publisher goes on: tables begin empty with it. Its number, from 1.
    Restarted {
        /// Counted from 1.
        generation: u64,
    },
    /// The publisher is gone.
    PublisherGone,
    /// The shared memory holds what no publisher writes; the subscription goes on at the last join point.
    Corrupt,
    /// A file of the bus was made shorter by somebody: nothing can be read until it is begun again.
    Damaged,
    /// Another publisher goes on in a layout that this program cannot read; the subscription waits for one that it can.
    Incompatible {
        /// Number of the layout.
        layout: u64,
    },
}

impl<const N: usize> Subscription<N> {
    /// Joins a bus, with these tables of it. A registered subscription has a place among those that the
    /// publisher of a lossless bus waits for.
    ///
    /// # Errors
    /// Among others: there is no such bus, it is not ours to read, or has no such table.
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
        })
    }

    /// Hands the next message to `take`, if there is one; never waits.
    ///
    /// # Errors
    /// A [`BusEvent`] instead of a message; the next poll goes on behind it.
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
            Err(event) => Err(self.interrupted(event)),
        }
    }

    /// Copies the latest value of a slot, as far as there is room. One attempt, which never waits.
    ///
    /// # Panics
    /// If there is no such table: they are counted as they were given to [`join`](Subscription::join).
    pub fn latest(&self, table: usize, slot: usize, room: &mut [u64]) -> Found {
        self.reading.tables[table].read(slot, room)
    }

    /// Slots of a table that are in use: all behind them are empty.
    ///
    /// # Panics
    /// If there is no such table.
    pub fn slots(&self, table: usize) -> usize {
        self.reading.tables[table].used()
    }

    /// Position in the stream of the next message, bytes.
    pub fn position(&self) -> u64 {
        self.reading.ring.next().position
    }

    /// Number of the next message.
    pub fn sequence_next(&self) -> u64 {
        self.reading.ring.next().sequence
    }

    /// Number of the publisher that is read, from 1.
    pub fn generation(&self) -> u64 {
        self.reading.generation
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        &self.bus
    }

    /// Who publishes at this moment; `None` if nobody does. A few system calls.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        self.reading.publisher()
    }

    /// When the publisher last gave a sign of life; `None` of one that states no such thing.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// Nothing is there: the publisher may be gone, or the bus begun again in other files.
    #[inline]
    fn nothing<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        if std::mem::take(&mut self.watch.gone_seen) {
            self.watch.gone_notified = true;
            return Err(BusEvent::PublisherGone);
        }
        match self.watch.is_due() {
            true => self.look(),
            false => Ok(Polled::Nothing),
        }
    }

    #[cold]
    fn look<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        if self.reading.is_replaced() {
            match self.reattach() {
                Ok(event) => return Err(event),
                Err(Error::Format { layout, .. }) if !self.watch.damage_notified => {
                    self.watch.damage_notified = true;
                    return Err(BusEvent::Incompatible { layout });
                }
                // It was said, or its publisher is just beginning.
                Err(_) => {}
            }
        }
        if !self.reading.is_intact() {
            return self.damaged();
        }
        let is_gone = matches!(self.reading.is_published(), Ok(false));
        self.watch.is_gone = is_gone;
        self.watch.gone_notified &= is_gone;
        // It may have published until just now: told once everything is read.
        self.watch.gone_seen = is_gone && !self.watch.gone_notified;
        Ok(match self.watch.gone_seen {
            true => Polled::Passed(0),
            false => Polled::Nothing,
        })
    }

    /// A file of the bus is not what it was: says so once, and waits for another.
    #[cold]
    fn damaged<T>(&mut self) -> Result<Polled<T>, BusEvent> {
        if !std::mem::replace(&mut self.watch.damage_notified, true) {
            return Err(BusEvent::Damaged);
        }
        if self.watch.is_due()
            && self.reading.is_replaced()
            && let Ok(event) = self.reattach()
        {
            return Err(event);
        }
        Ok(Polled::Nothing)
    }

    #[cold]
    fn interrupted(&mut self, event: RingEvent) -> BusEvent {
        match event {
            RingEvent::Overrun(overrun) => {
                self.restart_missed = self.reading.ring.generation() != self.reading.generation;
                BusEvent::Overrun {
                    messages: overrun.messages,
                    bytes: overrun.bytes,
                }
            }
            RingEvent::Corrupt { .. } => BusEvent::Corrupt,
            RingEvent::Generation(generation) => {
                self.reading.generation = generation;
                self.watch.is_back();
                BusEvent::Restarted { generation }
            }
        }
    }

    /// Another publisher has begun, and the ring may not say so any more: goes behind its beginning.
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
        if self.reading.ring.generation() != generation {
            return Ok(Polled::Passed(0));
        }
        self.restart_missed = false;
        Err(self.interrupted(RingEvent::Generation(generation)))
    }

    /// The bus was begun again, in other files.
    fn reattach(&mut self) -> Result<BusEvent, Error> {
        // Its place was in the old files.
        self.guard = None;
        let (reading, guard) =
            Reading::try_join(&self.root, &self.bus, self.tables, self.registered)?;
        let message_bytes_max = reading.ring.geometry().message_max();
        self.message = vec![0; message_bytes_max.div_ceil(8)].into();
        let is_gone = matches!(reading.is_published(), Ok(false));
        self.watch = Watch::new(is_gone, false);
        self.restart_missed = false;
        self.reading = reading;
        self.guard = guard;
        Ok(BusEvent::Restarted {
            generation: self.reading.generation,
        })
    }
}
