//! The sending side, without I/O: items of a bus subscriber as numbered batches.
//!
//! The stream of the link has the subscriber's items in their order: messages of the ring byte for byte, and data from
//! tables (at a join, after an overrun) as messages of the same format. Books are built from this same stream, so a
//! refresh has the state at its place in the stream, and receivers need not match sequence numbers.

mod refresh;

use crate::SenderCounters;
use crate::batch::{Batch, MESSAGE_LENGTH_BYTES};
use crate::head::{Epoch, HEAD_BYTES, HOPS_MAX, Head, HeadFlags, Source};
use crate::link::{Kind, SendLink};
use refresh::Refresh;
use std::collections::VecDeque;
use touchline_transport::market::{InstrumentImage, Item, StreamState};
use touchline_transport::{Mirror, SubscriptionEvent};
use touchline_types::native::{self, Flags};
use touchline_types::{Gap, Timestamps, Update, Validity};

/// Settings of a sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderSettings {
    /// Origin of the data.
    pub source: Source,
    /// Relays that the data has passed.
    pub hops: u8,
    /// Instruments of the bus.
    pub instruments_max: usize,
    /// Most orders of all instruments.
    pub orders_max: usize,
    /// Longest batch, header included; a longer message is sent alone.
    pub batch_bytes_max: usize,
    /// Longest time between two batches: then a heartbeat is sent.
    pub heartbeat_ns: u64,
    /// Cyclic refreshes, for links whose receivers may lose batches.
    pub cyclic: Option<Cyclic>,
}

/// Pace of cyclic refreshes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cyclic {
    /// Share of the sent bytes.
    pub share: f64,
    /// Longest duration of one round, nanoseconds.
    pub round_ns_max: u64,
}

/// The sending side of a link.
#[derive(Debug)]
pub struct Sender {
    settings: SenderSettings,
    epoch: Epoch,
    /// Number of the next message.
    next: u64,
    /// Whether the messages of `open` come from tables.
    is_image: bool,
    /// Whether the publisher of the bus has ended or is stalled.
    is_down: bool,
    /// Whether the state of the source changed since the last batch.
    is_to_tell: bool,
    /// The batch that is being filled.
    open: Batch,
    /// Batches that wait until the link accepts them.
    waiting: VecDeque<(Batch, Kind)>,
    /// Free batches.
    spare: Vec<Batch>,
    state: StreamState,
    /// State of the instrument that is refreshed.
    image: InstrumentImage,
    refresh: Refresh,
    /// Time of the last batch handed to the link.
    sent_at_ns: u64,
    counters: SenderCounters,
}

/// Time of one step, by the monotonic and the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic clock, nanoseconds.
    pub mono_ns: u64,
    /// Wall clock, nanoseconds since 1970.
    pub wall_ns: u64,
}

impl Sender {
    /// A sender whose stream starts now. Allocates all memory, except for instruments that are defined later.
    ///
    /// # Panics
    /// The data has passed [`HOPS_MAX`] relays; the caller rejects that before.
    pub fn new(settings: SenderSettings, epoch: Epoch) -> Sender {
        assert_hops(settings.hops);
        Sender {
            epoch,
            next: 1,
            is_image: false,
            is_down: false,
            is_to_tell: true,
            open: Batch::new(),
            waiting: VecDeque::with_capacity(16),
            spare: Vec::with_capacity(16),
            state: StreamState::new(settings.instruments_max, settings.orders_max),
            image: InstrumentImage::default(),
            refresh: Refresh::new(settings.cyclic),
            sent_at_ns: 0,
            counters: SenderCounters::default(),
            settings,
        }
    }

    /// Counters.
    pub fn counters(&mut self) -> &mut SenderCounters {
        &mut self.counters
    }

    /// Number of the next message of the link.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Epoch of this sender.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the publisher of the bus has ended or is stalled.
    #[inline]
    pub fn is_source_down(&self) -> bool {
        self.is_down
    }

    /// Books built from the stream.
    pub fn books(&self) -> &Mirror {
        self.state.books()
    }

    /// The bus has restarted with data of this origin, and with limits of instruments and orders. The caller calls it before any item
    /// behind the restart.
    ///
    /// # Panics
    /// As [`Sender::new`].
    pub fn continue_with(&mut self, source: Source, hops: u8, limits: (usize, usize)) {
        assert_hops(hops);
        (self.settings.source, self.settings.hops) = (source, hops);
        self.state.restart(limits.0, limits.1);
    }

    /// Whether batches wait for the link: then the caller reads nothing more from the bus.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Processes one item of the bus.
    #[inline]
    pub fn item(&mut self, item: &Item<'_>, now: Now, link: &mut impl SendLink) {
        match item {
            Item::Update(received) => {
                let (update, timestamps) = (&received.update, &received.timestamps);
                self.state
                    .update(received.sequence, update, timestamps, received.is_image);
                match received.bytes {
                    Some(bytes) => self.message(bytes, now, link),
                    None => {
                        let end = Flags::END_OF_BATCH.when(received.batch_end || received.is_image);
                        let (update, timestamps) = (&received.update, &received.timestamps);
                        self.encode(update, end, timestamps, received.is_image, now, link);
                    }
                }
            }
            Item::Undecoded(bytes) => self.message(bytes, now, link),
            // Tops are not sent: the receiving publisher creates them.
            Item::Top { .. } => {}
            Item::BatchEnd => self.end_of_batch(now, link),
            Item::SubscriptionEvent(event) => self.event(event, now, link),
        }
    }

    /// Hands over the open batch. The caller calls it when the bus is empty, and regularly while it is not.
    pub fn flush(&mut self, now: Now, link: &mut impl SendLink) {
        self.retry(now, link);
        if self.open.count() > 0 {
            self.close(now, link);
        }
    }

    /// Sends heartbeats, due refreshes, and requested ones; returns the number of batches handed to the link.
    ///
    /// A refresh of one instrument is sent between two batches of the stream, without interruption.
    pub fn tick(&mut self, now: Now, link: &mut impl SendLink) -> usize {
        let before = self.counters.relay_batches_sent;
        self.flush(now, link);
        self.counters.relay_source_down = u64::from(self.is_down);
        let asked = link.asked();
        self.counters.relay_refreshes_requested += u64::from(asked);
        if asked > 0 {
            self.refresh.demand(now.mono_ns);
            // A new receiver learns the current sequence number at once.
            self.is_to_tell = true;
        }
        let silent_ns = now.mono_ns.saturating_sub(self.sent_at_ns);
        if !self.is_blocked() && (self.is_to_tell || silent_ns >= self.settings.heartbeat_ns) {
            self.is_to_tell = false;
            self.close(now, link);
        }
        if !self.is_blocked() && link.has_room() {
            self.refresh_some(now, link);
        }
        (self.counters.relay_batches_sent - before) as usize
    }

    /// Answers probes. The caller must have read the bus to its end: then every message that the bus had when the
    /// probes arrived was sent.
    pub fn answer(&mut self, now: Now, link: &mut impl SendLink) {
        self.flush(now, link);
        if self.is_blocked() {
            return;
        }
        link.answer(&Head {
            source: self.settings.source,
            epoch: self.epoch,
            first_sequence: self.next,
            count: 0,
            hops: self.settings.hops,
            flags: HeadFlags::PROBE | HeadFlags::SOURCE_DOWN.when(self.is_down),
            sent_ns: 0,
        });
    }

    /// A message of the ring, unchanged.
    #[inline]
    fn message(&mut self, bytes: &[u8], now: Now, link: &mut impl SendLink) {
        self.make_room(bytes.len(), false, now, link);
        self.open
            .push(bytes.len(), |place| place.copy_from_slice(bytes));
        self.count_message();
    }

    /// Longest message encoded here; it fits a batch.
    fn part_bytes_max(&self) -> usize {
        self.settings.batch_bytes_max.min(native::PART_BYTES_MAX)
            - HEAD_BYTES
            - MESSAGE_LENGTH_BYTES
    }

    /// An update that is not a message of the ring.
    fn encode(
        &mut self,
        update: &Update<'_>,
        flags: Flags,
        timestamps: &Timestamps,
        is_image: bool,
        now: Now,
        link: &mut impl SendLink,
    ) {
        for part in native::parts(update, self.part_bytes_max()) {
            self.make_room(part.len(), is_image, now, link);
            let sequence = self.next;
            self.open.push(part.len(), |mut place| {
                part.write(sequence, flags, timestamps, &mut place);
            });
            self.count_message();
        }
    }

    /// The packet's last message, which ended its batch, is not sent.
    fn end_of_batch(&mut self, now: Now, link: &mut impl SendLink) {
        self.make_room(native::HEARTBEAT_BYTES, false, now, link);
        let sequence = self.next;
        self.open.push(native::HEARTBEAT_BYTES, |mut place| {
            let timestamps = Timestamps::default();
            native::write_heartbeat(sequence, Flags::END_OF_BATCH, &timestamps, &mut place);
        });
        self.count_message();
    }

    #[cold]
    fn event(&mut self, event: &SubscriptionEvent, now: Now, link: &mut impl SendLink) {
        match *event {
            SubscriptionEvent::CaughtUp | SubscriptionEvent::NotWaitedFor => {}
            SubscriptionEvent::Overrun { messages, .. } => {
                self.counters.relay_overruns += 1;
                self.counters.relay_overrun_messages += messages;
                self.lost(now, link);
            }
            SubscriptionEvent::Corrupt { .. } => self.lost(now, link),
            SubscriptionEvent::Restarted { .. } => self.restart(now, link),
            // Books keep their own validity: the header of each batch marks all of them as not live.
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => self.set_down(true, now, link),
            SubscriptionEvent::PublisherResumed => self.set_down(false, now, link),
        }
        if matches!(
            event,
            SubscriptionEvent::Overrun { .. }
                | SubscriptionEvent::Corrupt { .. }
                | SubscriptionEvent::Restarted { .. }
        ) {
            self.state.event(event);
        }
    }

    /// Messages of the bus were lost before the link. For receivers that is a gap of the channel: books are gapped and
    /// order books empty until the tables, which follow in the stream, restore them.
    fn lost(&mut self, now: Now, link: &mut impl SendLink) {
        let gap = Update::Gap(Gap {
            first: 0,
            last: 0,
            orders: Validity::Recovering,
        });
        let timestamps = Timestamps::default();
        self.encode(&gap, Flags::END_OF_BATCH, &timestamps, false, now, link);
    }

    /// Another publisher continues: its instruments have other numbers, so the stream restarts with another epoch.
    fn restart(&mut self, now: Now, link: &mut impl SendLink) {
        self.flush(now, link);
        self.epoch = self.epoch.restarted();
        self.next = 1;
        self.refresh.restart();
        self.is_down = false;
        self.is_to_tell = true;
    }

    fn set_down(&mut self, is_down: bool, now: Now, link: &mut impl SendLink) {
        if self.is_down != is_down {
            self.flush(now, link);
            self.is_down = is_down;
            self.is_to_tell = true;
        }
    }

    /// Space for a message of the stream in the open batch.
    #[inline]
    fn make_room(&mut self, length: usize, is_image: bool, now: Now, link: &mut impl SendLink) {
        let has_room = self.open.has_room(length, self.settings.batch_bytes_max);
        if !has_room || self.is_image != is_image && self.open.count() > 0 {
            self.close(now, link);
        }
        self.is_image = is_image;
    }

    #[inline]
    fn count_message(&mut self) {
        self.next += 1;
        self.counters.relay_messages_sent += 1;
    }

    /// Ends the open batch of the stream; an empty one is a heartbeat.
    fn close(&mut self, now: Now, link: &mut impl SendLink) {
        let count = self.open.count();
        let is_image = self.is_image && count > 0;
        let flags = HeadFlags::IMAGE.when(is_image);
        let first = self.next - u64::from(count);
        self.send(flags, first, Kind::Stream, now, link);
    }

    /// Hands the open batch to the link, or queues it.
    fn send(
        &mut self,
        flags: HeadFlags,
        first_sequence: u64,
        kind: Kind,
        now: Now,
        link: &mut impl SendLink,
    ) {
        self.open.close(&Head {
            source: self.settings.source,
            epoch: self.epoch,
            first_sequence,
            count: self.open.count(),
            hops: self.settings.hops,
            flags: flags | HeadFlags::SOURCE_DOWN.when(self.is_down),
            sent_ns: now.wall_ns,
        });
        self.sent_at_ns = now.mono_ns;
        self.counters.relay_batches_sent += 1;
        self.counters.relay_bytes_sent += self.open.datagram().len() as u64;
        if self.waiting.is_empty() && link.send(&self.open, kind) {
            self.open.clear();
            return;
        }
        self.counters.relay_back_pressure += 1;
        let next = self.spare.pop().unwrap_or_default();
        let full = std::mem::replace(&mut self.open, next);
        self.waiting.push_back((full, kind));
    }

    /// Hands over queued batches.
    fn retry(&mut self, now: Now, link: &mut impl SendLink) {
        while let Some((batch, kind)) = self.waiting.front() {
            if !link.send(batch, *kind) {
                return;
            }
            self.sent_at_ns = now.mono_ns;
            if let Some((mut batch, _)) = self.waiting.pop_front() {
                batch.clear();
                self.spare.push(batch);
            }
        }
    }
}

fn assert_hops(hops: u8) {
    assert!(
        hops < HOPS_MAX,
        "data that passed {HOPS_MAX} relays is not sent on"
    );
}
