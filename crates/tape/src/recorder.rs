//! The writing side: items of subscribers as records of a journal.

mod segments;

use crate::counters::RecorderCounters;
use crate::last_run::{LastRun, LastStream};
use crate::messages::MessagesMut;
use crate::publication::{Publication, StreamPlace};
use crate::upkeep::LeftJournal;
use std::collections::VecDeque;
use std::time::Duration;
use touchline_journal::format::kind;
use touchline_journal::records::{Clock, Gap};
use touchline_journal::{Journal, Refused};
use touchline_transport::SubscriptionEvent;
use touchline_transport::clock::wall_error_ns_max;
use touchline_transport::market::{EVENT_ORDERS_MAX, Item, Received, StreamState, Subscriber};
use touchline_types::native::{self, Flags};
use touchline_types::{ChannelState, Timestamps, Update, Validity};

/// Stream of the records about the journal itself.
const OF_JOURNAL: u16 = 0;

/// Settings of a recorder.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Longest body of a record of messages, bytes; a longer message is a record alone.
    pub body_bytes_max: usize,
    /// Longest time of a segment, ns; `None`: it ends when it is full.
    pub segment_ns_max: Option<u64>,
    /// A state follows this number of bytes of messages, so that a reader that goes to a place has few messages before it; more bytes if the
    /// state is large.
    pub state_bytes: u64,
}

/// Bytes of messages for each byte of states: a tape is longer by less than a sixteenth.
const STATE_SHARE: u64 = 16;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            body_bytes_max: 64 << 10,
            segment_ns_max: None,
            state_bytes: 16 << 20,
        }
    }
}

/// Times of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Wall clock, ns since the Unix epoch.
    pub wall_ns: u64,
    /// Counter of the processor.
    pub ticks: u64,
}

impl Now {
    /// The record of both clocks, with the error of the wall clock as the host knows it.
    pub(crate) fn clock(self) -> Clock {
        let error_ns = wall_error_ns_max();
        Clock {
            ticks: self.ticks,
            wall_ns: self.wall_ns,
            uncertainty_ns: u32::try_from(error_ns.unwrap_or(0)).unwrap_or(u32::MAX),
            state: match error_ns {
                Some(_) => Clock::SYNCHRONIZED,
                None => Clock::FREE,
            },
        }
    }
}

/// Records buses in a journal. Without I/O of its own and without waiting: if the journal takes no record, the caller reads no bus until
/// it does.
///
/// A stream has the messages of a bus in their order. Its state follows as `Definitions` records where a reader needs it: when all books
/// are consistent after a join or a loss, and at the start of each segment. The state is exactly that of its place in the stream.
#[derive(Debug)]
pub struct Recorder {
    /// `None` after a failure, until it is open again.
    journal: Option<Journal>,
    /// The journal that has failed.
    left: LeftJournal,
    settings: Settings,
    buses: Vec<Bus>,
    /// Last streams of buses that this run does not record, so far: each segment names them, and their numbers are not used again.
    old: Vec<LastStream>,
    /// Number of the next stream.
    next_stream: u16,
    /// Records that wait for the journal.
    waiting: VecDeque<Waiting>,
    segment_began_ns: u64,
    /// The segment is nearly full or old: the next one begins when no record waits.
    ends_segment: bool,
    /// Attempts to begin it.
    tries: u32,
    counters: RecorderCounters,
}

/// A bus that is recorded.
#[derive(Debug)]
struct Bus {
    publication: Publication,
    stream: u16,
    state: StreamState,
    /// Number of the last message of the publication in the tape.
    sequence: u64,
    /// Place at which this run began the stream.
    begin: StreamPlace,
    /// The stream that the journal has: records of it may wait while its publisher has started again.
    described: Option<Described>,
    /// Position behind the last record that the journal has.
    given_end: u64,
    /// Position behind the last record whose loss is one of an unknown number of messages.
    unknown_end: u64,
    /// Time of the last item.
    at_ns: u64,
    /// Messages of the next record.
    body: MessagesMut,
    /// The state comes from the tables of the bus, until all books are consistent.
    is_joining: bool,
    /// The last message is a part of an update that goes on: the state of this place would lack its first parts.
    is_in_parts: bool,
    /// The state is written at the end of the update.
    is_state_due: bool,
    /// Bytes of messages since the last state, and those after which the next one is due.
    since_state: u64,
    next_state: u64,
    /// The publisher has ended or is stalled: no book is live.
    is_down: bool,
    /// The journal took no record since the last message of the ring: a loss is of the disk.
    was_refused: bool,
}

/// A stream whose description the journal has.
#[derive(Debug)]
struct Described {
    stream: u16,
    publication: Publication,
    /// Place at which this run began it.
    begin: StreamPlace,
    /// Number of the last message of the last record that the journal has; gaps and states count, too.
    reached: u64,
}

/// A record that waits for the journal.
#[derive(Debug)]
struct Waiting {
    stream: u16,
    kind: u16,
    /// Number of the last message of the stream that the tape accounts for at its end; 0: as before it.
    sequence: u64,
    body: Vec<u8>,
}

impl Recorder {
    /// A recorder that continues a tape, or begins one.
    pub fn new(journal: Journal, settings: Settings, last: &LastRun, now: Now) -> Recorder {
        let mut recorder = Recorder {
            settings: Settings {
                body_bytes_max: settings.body_bytes_max.min(journal.body_bytes_max() / 16),
                ..settings
            },
            journal: Some(journal),
            left: LeftJournal::default(),
            buses: Vec::new(),
            old: last.streams().cloned().collect(),
            next_stream: last.next_stream(),
            waiting: VecDeque::new(),
            segment_began_ns: now.wall_ns,
            ends_segment: false,
            tries: 0,
            counters: RecorderCounters::default(),
        };
        recorder.clock(now);
        recorder.waiting.extend(recorder.descriptions());
        recorder
    }

    /// Begins to record a bus that was joined now, whose next message has this number; returns its number for [`Recorder::item`].
    pub fn add(&mut self, publication: Publication, next: u64, last: &LastRun, now: Now) -> usize {
        let (instruments_max, orders_max) = (publication.instruments_max, publication.orders_max);
        let before = last.of(&publication.bus);
        self.old
            .retain(|old| old.publication.bus != publication.bus);
        let bus = self.buses.len();
        self.buses.push(Bus {
            state: StreamState::new(instruments_max, orders_max + EVENT_ORDERS_MAX),
            stream: 0,
            sequence: next.saturating_sub(1),
            begin: StreamPlace::default(),
            described: None,
            given_end: 0,
            unknown_end: 0,
            at_ns: now.wall_ns,
            body: MessagesMut::default(),
            is_joining: true,
            is_in_parts: false,
            is_state_due: false,
            since_state: 0,
            next_state: self.settings.state_bytes,
            is_down: false,
            was_refused: false,
            publication,
        });
        let open = &mut self.buses[bus];
        let same = before.filter(|before| open.publication.is_same(&before.publication));
        match same {
            Some(same) => {
                (open.stream, open.sequence) = (same.stream, same.sequence);
                self.describe_stream(bus);
            }
            None => self.begin_stream(bus),
        }
        if let Some(before) = before {
            let is_same = same.is_some();
            let first = before.sequence + 1;
            let lost = next.saturating_sub(first);
            self.gap(
                bus,
                Gap {
                    cause: Gap::NOT_RUNNING,
                    first: if is_same { first } else { 0 },
                    last: if is_same && lost > 0 { next - 1 } else { 0 },
                    count: if is_same { lost } else { Gap::UNKNOWN },
                    from_ns: before.time_ns,
                    to_ns: now.wall_ns,
                },
            );
        }
        bus
    }

    /// The journal; `None` between [`Recorder::leave_journal`] and [`Recorder::reopened`].
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Counters; those of the disk and of the buses are the caller's.
    pub fn counters(&mut self) -> &mut RecorderCounters {
        &mut self.counters
    }

    /// Whether records wait for the journal: then the caller reads no bus, and calls [`Recorder::flush`] until they do not.
    pub fn is_blocked(&self) -> bool {
        self.journal.is_none() || self.may_end_segment() || !self.waiting.is_empty()
    }

    /// Whether the segment is to end, and every update is whole.
    fn may_end_segment(&self) -> bool {
        self.ends_segment && !self.buses.iter().any(|bus| bus.is_in_parts)
    }

    /// Takes an item of a bus.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn item(&mut self, bus: usize, item: &Item<'_>, now: Now) -> Result<(), Refused> {
        let open = &mut self.buses[bus];
        open.at_ns = now.wall_ns;
        open.is_in_parts = match item {
            // mutant: tape: a segment begins between the parts of an update
            Item::Undecoded(bytes) => is_continued(bytes),
            Item::Update(received) => received.bytes.is_none() && open.is_in_parts,
            // mutant: tape: an event ends an update between its parts
            Item::SubscriptionEvent(event) => open.is_in_parts && !interrupts(event),
            Item::Top { .. } | Item::BatchEnd => open.is_in_parts,
        };
        match item {
            Item::Update(received) => self.update(bus, received, now),
            // A top of a table follows from the books.
            Item::Top { bytes: None, .. } => {}
            Item::Top {
                bytes: Some(bytes),
                sequence,
                ..
            } => self.message(bus, *sequence, bytes, now),
            Item::Undecoded(bytes) => self.message(bus, sequence_of(bytes), bytes, now),
            Item::BatchEnd => self.end_of_batch(bus),
            Item::SubscriptionEvent(event) => self.event(bus, event, now),
        }
        self.write_due_states();
        self.hand_over(now)
    }

    /// Hands the open records over. The caller calls it when the buses are empty, and regularly while they are not.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn flush(&mut self, now: Now) -> Result<(), Refused> {
        for bus in 0..self.buses.len() {
            self.close_body(bus);
        }
        self.hand_over(now)
    }

    /// Ends the segment if it is old, and states the clock. The caller calls it once a second.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn tick(&mut self, now: Now) -> Result<(), Refused> {
        let age_ns = now.wall_ns.saturating_sub(self.segment_began_ns);
        self.tries = 0;
        self.ends_segment |= self
            .settings
            .segment_ns_max
            .is_some_and(|most| age_ns >= most);
        if !self.is_blocked() {
            self.clock(now);
        }
        self.flush(now)
    }

    /// Ends the tape. A disk that does not answer is waited for at most this long.
    ///
    /// # Errors
    /// The journal had failed, or fails at this; or records still wait for the disk.
    pub fn close(mut self, now: Now, wait: Duration) -> Result<RecorderCounters, Refused> {
        self.flush(now)?;
        let Some(journal) = self.journal.take() else {
            return Err(Refused::Closed);
        };
        let closed = journal.close_within(now.wall_ns, wait);
        // The end of the journal is a right one, and the tape lacks these records.
        if closed.is_ok() && !self.waiting.is_empty() {
            return Err(Refused::NoSegment);
        }
        closed.map(|()| self.counters)
    }

    fn update(&mut self, bus: usize, received: &Received<'_>, now: Now) {
        let open = &mut self.buses[bus];
        let (update, timestamps) = (&received.update, &received.timestamps);
        open.state
            .update(received.sequence, update, timestamps, received.is_image);
        match received.bytes {
            Some(bytes) => self.message(bus, received.sequence, bytes, now),
            // The state follows as a whole when all books are consistent.
            None if received.is_image && open.is_joining => {}
            // A book was read from its table instead of a message, which the tape does not have.
            None if received.is_image => self.missing(bus, 0, 0, Gap::UNKNOWN, now),
            None => {
                let flags = Flags::END_OF_BATCH.when(received.batch_end);
                self.own_message(bus, update, timestamps, flags);
            }
        }
    }

    /// A message of the ring, unchanged. A recorder that was started again soon reads some that the tape has.
    fn message(&mut self, bus: usize, sequence: u64, bytes: &[u8], now: Now) {
        let open = &mut self.buses[bus];
        // mutant: tape: a recorder that starts again repeats messages
        if sequence <= open.sequence {
            return;
        }
        let before = open.sequence;
        let skipped = sequence - before - 1;
        match open.is_joining {
            true => self.counters.record_in_states += skipped,
            false if skipped == 0 => {}
            false => self.missing(bus, before + 1, sequence - 1, skipped, now),
        }
        self.counters.record_messages += 1;
        self.counters.record_bytes += bytes.len() as u64;
        self.push(bus, bytes.len(), |place| place.copy_from_slice(bytes));
        let open = &mut self.buses[bus];
        open.was_refused = false;
        open.since_state += bytes.len() as u64;
        open.is_state_due |= !open.is_joining && open.since_state >= open.next_state;
        self.buses[bus].sequence = sequence;
    }

    /// Messages that the subscriber skipped outside of a join: readers take the state instead.
    fn missing(&mut self, bus: usize, first: u64, last: u64, count: u64, now: Now) {
        self.close_body(bus);
        let (from_ns, to_ns) = (self.buses[bus].at_ns, now.wall_ns);
        self.gap(
            bus,
            Gap {
                cause: Gap::OF_SOURCE,
                first,
                last,
                count,
                from_ns,
                to_ns,
            },
        );
        self.buses[bus].is_state_due = true;
    }

    /// A message of the recorder itself, with number 0; it is short.
    fn own_message(
        &mut self,
        bus: usize,
        update: &Update<'_>,
        timestamps: &Timestamps,
        flags: Flags,
    ) {
        for part in native::parts(update, native::PART_BYTES_MAX) {
            self.push(bus, part.len(), |mut place| {
                part.write(0, flags, timestamps, &mut place);
            });
        }
    }

    /// The end of a batch whose last message was not handed out.
    fn end_of_batch(&mut self, bus: usize) {
        self.push(bus, native::HEARTBEAT_BYTES, |mut place| {
            native::write_heartbeat(0, Flags::END_OF_BATCH, &Timestamps::default(), &mut place);
        });
    }

    fn event(&mut self, bus: usize, event: &SubscriptionEvent, now: Now) {
        match *event {
            SubscriptionEvent::Overrun { messages, .. } => {
                let cause = match std::mem::take(&mut self.buses[bus].was_refused) {
                    true => Gap::DISK,
                    false => Gap::OVERRUN,
                };
                self.lost(bus, event, cause, messages, now);
            }
            SubscriptionEvent::Corrupt { .. } => {
                self.lost(bus, event, Gap::OF_SOURCE, Gap::UNKNOWN, now);
            }
            // The caller says at which message, and what the new publication is: `caught_up`, `restarted`.
            SubscriptionEvent::CaughtUp | SubscriptionEvent::Restarted { .. } => {}
            SubscriptionEvent::NotWaitedFor => {}
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => self.set_down(bus, true),
            SubscriptionEvent::PublisherResumed => self.set_down(bus, false),
        }
    }

    /// A subscriber has read as far as the tables went at its join, or after a loss: the state is that in front of the message `next`.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn caught_up(&mut self, bus: usize, next: u64, now: Now) -> Result<(), Refused> {
        self.close_body(bus);
        let open = &mut self.buses[bus];
        if std::mem::take(&mut open.is_joining) {
            // mutant: tape: the state of a join has the number of an earlier message
            let last = open.sequence.max(next.saturating_sub(1));
            self.counters.record_in_states += last - open.sequence;
            (open.sequence, open.is_state_due) = (last, true);
        }
        self.write_due_states();
        self.hand_over(now)
    }

    /// Another publisher has started on a bus: its instruments have other numbers.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn restarted(
        &mut self,
        bus: usize,
        subscriber: &Subscriber,
        now: Now,
    ) -> Result<(), Refused> {
        self.close_body(bus);
        let open = &mut self.buses[bus];
        open.publication = Publication::read_by(subscriber);
        let orders_max = open.publication.orders_max + EVENT_ORDERS_MAX;
        open.state
            .restart(open.publication.instruments_max, orders_max);
        open.sequence = subscriber.next_sequence().saturating_sub(1);
        (open.is_down, open.is_in_parts) = (false, false);
        // Without a join the tables are empty, and so is the state.
        open.is_joining = subscriber.is_joining();
        open.is_state_due = !open.is_joining;
        self.begin_stream(bus);
        self.write_due_states();
        self.hand_over(now)
    }

    /// Messages of the bus were lost: its books follow from the tables.
    fn lost(&mut self, bus: usize, event: &SubscriptionEvent, cause: u16, count: u64, now: Now) {
        self.close_body(bus);
        let open = &mut self.buses[bus];
        open.state.event(event);
        open.is_joining = true;
        let first = open.sequence + 1;
        let last = match count {
            Gap::UNKNOWN => 0,
            count => open.sequence + count,
        };
        open.sequence = open.sequence.max(last);
        let gap = Gap {
            cause,
            first,
            last,
            count,
            from_ns: open.at_ns,
            to_ns: now.wall_ns,
        };
        self.gap(bus, gap);
    }

    /// Books keep their own validity: the state of the channel makes all of them not live.
    fn set_down(&mut self, bus: usize, is_down: bool) {
        let open = &mut self.buses[bus];
        if std::mem::replace(&mut open.is_down, is_down) != is_down {
            self.state_channel(bus);
        }
    }

    /// A message with the state of the channel.
    fn state_channel(&mut self, bus: usize) {
        let channel = self.buses[bus].channel();
        let none = Timestamps::default();
        self.own_message(bus, &Update::Channel(&channel), &none, Flags::END_OF_BATCH);
        self.close_body(bus);
    }

    fn gap(&mut self, bus: usize, gap: Gap) {
        self.counters.record_gaps += 1;
        if gap.count != Gap::UNKNOWN {
            self.counters.record_lost += gap.count;
        }
        self.waiting.push_back(Waiting {
            stream: self.buses[bus].stream,
            kind: kind::GAP,
            sequence: gap.last,
            body: gap.encode().to_vec(),
        });
    }

    /// Appends a message to the next record of a bus.
    fn push(&mut self, bus: usize, length: usize, write: impl FnOnce(&mut [u8])) {
        if self.buses[bus].body.bytes_with(length) > self.settings.body_bytes_max {
            self.close_body(bus);
        }
        self.buses[bus].body.push(length, write);
    }

    fn close_body(&mut self, bus: usize) {
        let open = &mut self.buses[bus];
        if open.body.count() > 0 {
            self.waiting.push_back(Waiting {
                stream: open.stream,
                kind: kind::MESSAGES,
                sequence: open.sequence,
                body: open.body.take(),
            });
        }
    }

    fn wait(&mut self, stream: u16, kind: u16, body: Vec<u8>) {
        self.waiting.push_back(Waiting {
            stream,
            kind,
            sequence: 0,
            body,
        });
    }
}

impl Bus {
    /// State of the channel as readers of the tape have it.
    fn channel(&self) -> ChannelState {
        let channel = *self.state.books().channel();
        match self.is_down {
            true => ChannelState {
                price: Validity::Stale,
                orders: Validity::Stale,
                ..channel
            },
            false => channel,
        }
    }
}

/// Whether an event ends an update whose last parts did not come.
fn interrupts(event: &SubscriptionEvent) -> bool {
    matches!(
        event,
        SubscriptionEvent::Overrun { .. }
            | SubscriptionEvent::Corrupt { .. }
            | SubscriptionEvent::Restarted { .. }
            | SubscriptionEvent::PublisherGone
    )
}

/// Whether further parts of the update follow.
fn is_continued(bytes: &[u8]) -> bool {
    native::Message::parse(bytes).is_ok_and(|message| message.flags().has(Flags::MORE))
}

/// Sequence of a native message, which every message begins with.
fn sequence_of(bytes: &[u8]) -> u64 {
    native::Message::parse(bytes).map_or(0, |message| message.sequence())
}
