//! Reading side of a bus of market data.

mod backlog;
mod join;
mod joining;
mod order_scan;
mod place;
mod rows;
mod scratch;
mod stall;
mod starting_again;
mod verdict;

use super::reading::{self, MarketReading};
use crate::bus::{END_OF_BATCH, Error, Place, Polled, Root, Watch};
use crate::{Envelope, Subscribe, SubscriptionEvent};
use backlog::Backlog;
pub use backlog::{Lost, TapedMessage};
pub use join::{Filter, Join};
use joining::Joining;
use rows::Rows;
use scratch::Scratch;
use touchline_shm::{Process, broadcast};
use touchline_types::native::{Body, Flags, Message, TopOfBook};
use touchline_types::{Instrument, OrdersUpdate, State, Timestamps, Update, Validity};
use verdict::Verdict;

/// Subscription to a bus, read by [`poll`](Subscriber::poll) or [`drain`](Subscriber::drain).
pub struct Subscriber {
    root: Root,
    bus: String,
    settings: Join,
    reading: MarketReading,
    /// Slot of a registered reader.
    guard: Option<Place>,
    /// Number of the writer being read.
    generation: u64,
    /// Whether another writer has started and its announcement may be lost.
    restart_missed: bool,
    joining: Option<Joining>,
    /// Messages before the ring's position, which a tape has.
    backlog: Option<Backlog>,
    rows: Rows,
    scratch: Scratch,
    watch: Watch,
    /// Why the bus that was created again cannot be joined.
    refusal: Option<Error>,
    /// Whether a message of the present batch was handed out.
    batch_open: bool,
    /// Whether the ring's position is known to be between two batches.
    at_batch_end: bool,
    /// Messages of unknown templates.
    unknown_messages: u64,
    /// The process that owns the name or the slot of this reader; `None` for a reader without both.
    owner: Option<Process>,
    /// Whether the fork was reported: this process is a child of the one that joined.
    fork_notified: bool,
}

/// Item of a poll.
#[derive(Debug)]
pub enum Item<'a> {
    /// An update.
    Update(Received<'a>),
    /// The top of a book; the whole change follows.
    Top {
        /// Number of the message.
        sequence: u64,
        /// Times: the venue's and the receive time.
        timestamps: Timestamps,
        /// The top.
        top: TopOfBook,
        /// Whether the top was read from a table instead of the ring, as at the join: it belongs to no batch.
        is_image: bool,
        /// Its message as published; `None` if it was read from a table.
        bytes: Option<&'a [u8]>,
    },
    /// A message without an update of its own: a part of a longer update, a heartbeat, or a message of an unknown template.
    /// Only with [`Join::undecoded`].
    Undecoded(&'a [u8]),
    /// The batch of one packet ends, and its last message was not for this subscriber.
    BatchEnd,
    /// An event of the subscription.
    SubscriptionEvent(SubscriptionEvent),
}

/// A received update.
#[derive(Debug)]
pub struct Received<'a> {
    /// Number of the update's message; of a snapshot, number of the last message that it contains.
    pub sequence: u64,
    /// Times; a snapshot has the venue's time and the receive time only.
    pub timestamps: Timestamps,
    /// The update.
    pub update: Update<'a>,
    /// Whether the update ends the batch of one packet: the reader may act.
    pub batch_end: bool,
    /// Whether the update was read from a table instead of the ring.
    pub is_image: bool,
    /// The message as published; of an update in several parts, the last message. `None` for a snapshot, and if the update
    /// differs from the message.
    pub bytes: Option<&'a [u8]>,
}

/// Result of a step.
enum Step<T> {
    /// An item was handed out.
    Given(T),
    /// A message was skipped.
    Passed,
    /// No message.
    Nothing,
}

/// A message in the buffer.
#[derive(Clone, Copy)]
struct Frame {
    length: usize,
    sequence: u64,
    end: u64,
    is_batch_end: bool,
    /// Whether the header selects the message; the others may not have been copied.
    is_selected: bool,
}

/// Index of the word that holds a message's template.
const TEMPLATE_WORD: usize = 0;
/// Index of the word that holds a message's instrument.
const INSTRUMENT_WORD: usize = 4;

/// Maximum number of messages skipped by one poll.
const PASSED_MAX: usize = 256;

impl Subscriber {
    /// Joins a bus: the first polls return definitions and books, then all published messages.
    ///
    /// # Errors
    /// Among others: the bus does not exist or does not belong to this user.
    pub fn join(root: &Root, bus: &str, settings: Join) -> Result<Subscriber, Error> {
        let attached = reading::join(root, bus, settings.registered)?;
        Subscriber::over(attached, root, bus, settings)
    }

    /// [`Subscriber::join`] without waiting: a starting publisher is an error.
    ///
    /// # Errors
    /// As [`Subscriber::join`]; and [`Error::HalfStarted`].
    pub fn try_join(root: &Root, bus: &str, settings: Join) -> Result<Subscriber, Error> {
        let attached = reading::try_join(root, bus, settings.registered)?;
        Subscriber::over(attached, root, bus, settings)
    }

    fn over(
        (reading, guard): (MarketReading, Option<Place>),
        root: &Root,
        bus: &str,
        settings: Join,
    ) -> Result<Subscriber, Error> {
        settings.refuse_direct_tops(&reading, bus)?;
        place::check_memory(&reading, bus, &settings)?;
        let position = reading.ring.next().position;
        let is_gone = !reading.is_published()?;
        let watch = Watch::new(is_gone, reading.is_stalled());
        let mut rows = Rows::new(settings.filter.is_some(), settings.live_only, position);
        let instruments_max = reading.tables[reading::DEFINITIONS].shape().slots;
        rows.leave_out(settings.kinds, instruments_max);
        let scratch = Scratch::new(&reading, &settings);
        rows.take_order_images(scratch.orders_scan.is_some());
        let mut subscriber = Subscriber {
            scratch,
            rows,
            generation: reading.generation,
            restart_missed: false,
            joining: Some(Joining::new()),
            backlog: None,
            watch,
            refusal: None,
            batch_open: false,
            at_batch_end: false,
            unknown_messages: 0,
            owner: (settings.registered || settings.reader_stats.is_some()).then(Process::this),
            fork_notified: false,
            root: root.clone(),
            bus: bus.to_owned(),
            settings,
            reading,
            guard,
        };
        subscriber.show(|_| ());
        Ok(subscriber)
    }

    /// Passes the next item to `take`, if there is one.
    ///
    /// Skips at most 256 messages that are not for this subscriber, and returns their number: the caller polls again
    /// without idling.
    ///
    /// Never waits: a slot with a change in progress is tried again by the next poll. A publisher that died or was
    /// stopped in that change delays joining by at most 10 ms, unless it is known to have ended; then that book is
    /// handed out as not live.
    ///
    /// In a child that was forked from the process of a reader with a name or a place it hands out
    /// [`SubscriptionEvent::Forked`] and then nothing.
    #[inline]
    pub fn poll<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Polled<T> {
        if self.forked_from().is_some() {
            return self.forked(take);
        }
        for passed in 0..PASSED_MAX {
            match self.step(&mut take) {
                Step::Given(given) => return Polled::Given(given),
                Step::Passed => {}
                Step::Nothing if passed > 0 => return Polled::Passed(passed),
                Step::Nothing => return Polled::Nothing,
            }
        }
        Polled::Passed(PASSED_MAX)
    }

    /// Passes items to a handler until there are none, or `limit` were handed out or skipped. Returns their number.
    pub fn drain(&mut self, limit: usize, handler: &mut impl Subscribe) -> usize {
        let mut done = 0;
        while done < limit {
            match self.poll(|item| hand(item, handler)) {
                Polled::Given(()) => done += 1,
                Polled::Passed(passed) => done += passed,
                Polled::Nothing => break,
            }
        }
        done
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        &self.bus
    }

    /// Makes the next poll without a message check the publisher, even if the last check was recent. For programs that
    /// are about to report the state of the books.
    pub fn look_again(&mut self) {
        self.watch.look_again();
    }

    /// Whether definitions and books are still being handed out.
    pub fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Unread bytes as of the publisher's last join point: exact to some tens of KiB.
    pub fn lag_bytes(&self) -> u64 {
        self.lag().1
    }

    #[inline]
    fn step<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if self.joining.is_some() {
            return self.join_step(take);
        }
        let (message, rows) = (&mut self.scratch.message, &self.rows);
        let is_seen = self.settings.reader_stats.is_some();
        let read = self.reading.ring.read(|frame| {
            let is_batch_end = frame.flags.0 & END_OF_BATCH.0 != 0;
            let is_selected = rows.selects(frame.word(TEMPLATE_WORD), frame.word(INSTRUMENT_WORD));
            // The last message of a batch has the latencies for the reader's statistics.
            if is_selected || is_batch_end && is_seen {
                frame.copy_to(message);
            }
            Frame {
                length: frame.len(),
                sequence: frame.sequence,
                end: frame.end,
                is_batch_end,
                is_selected,
            }
        });
        match read {
            Ok(Some(frame)) => {
                self.at_batch_end = frame.is_batch_end;
                self.message(frame, take)
            }
            Ok(None) => self.nothing(take),
            // A truncated file is not read any more.
            Err(_) if !self.reading.is_intact() => self.damaged(take),
            Err(event)
                if self
                    .watch
                    .is_repeated(&event, self.reading.ring.next().position) =>
            {
                self.nothing(take)
            }
            // mutant: tape: an overrun reads the tables although a tape has the messages
            Err(event) if self.begins_backlog(&event) => Step::Nothing,
            Err(event) => Step::Given(take(Item::SubscriptionEvent(self.interrupted(event)))),
        }
    }

    /// Handles a read message: hands it out, or a replacement.
    #[inline]
    fn message<T>(&mut self, frame: Frame, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if !frame.is_selected {
            return self.pass_over(frame, take);
        }
        // mutant: image: a book from the ring of a dead publisher stays live
        let judged = match self.is_publisher_away() {
            true => self.judge_away(frame),
            false => None,
        };
        let Subscriber {
            rows,
            scratch,
            settings,
            unknown_messages,
            reading,
            ..
        } = self;
        let (bytes, message, decoder, room) = scratch.decoding(frame.length);
        let Ok(message) = message else {
            return self.corrupt(frame.sequence, take);
        };
        *unknown_messages += u64::from(matches!(message.body, Body::Unknown { .. }));
        let batch_end = message.flags().has(Flags::END_OF_BATCH);
        // Taken before the message is handed out: the latency excludes the reader's own work.
        let consumed = match &mut settings.reader_stats {
            Some(reader_stats) => reader_stats.taken(&message, batch_end),
            None => None,
        };
        let mut give = |update, bytes| Step::Given(take(received(frame, &message, update, bytes)));
        let definitions = || reading.tables[reading::DEFINITIONS].used();
        let verdict = match judged {
            Some(verdict) => verdict,
            None => rows.judge(&message, frame.end, &mut settings.filter, definitions),
        };
        let step = match verdict {
            verdict @ (Verdict::Deliver | Verdict::DeliverAndRejoin) => {
                if verdict == Verdict::DeliverAndRejoin {
                    Joining::begin_again(&mut self.joining);
                }
                match (&message.body, decoder.update(&message, room)) {
                    (Body::TopOfBook(top), _) if !Join::passes_top(&message) => {
                        Step::Given(take(top_received(frame, &message, *top, bytes)))
                    }
                    (_, Ok(Some(update))) => give(update, Some(bytes)),
                    (_, Ok(None)) if settings.undecoded => {
                        Step::Given(take(Item::Undecoded(bytes)))
                    }
                    (_, Ok(None)) => Step::Passed,
                    (_, Err(_)) => match forget(rows, &message) {
                        Some(update) => give(update, None),
                        None => Step::Passed,
                    },
                }
            }
            Verdict::Skip => Step::Passed,
            Verdict::OrderImages => {
                self.joining = Some(Joining::orders_alone());
                Step::Passed
            }
            Verdict::Image(instrument) => self.image_instead(instrument, batch_end, take),
            Verdict::BookState(of, validity) => give(book_state(of, validity), None),
            Verdict::OrdersState(of, validity) => give(orders_state(of, validity), None),
        };
        if let (Some(consumed), Some(reader_stats)) = (consumed, &mut self.settings.reader_stats) {
            reader_stats.batch(consumed, frame.end);
        }
        self.close_batch(step, batch_end, take)
    }

    /// Skips a message by its header.
    #[inline]
    fn pass_over<T>(&mut self, frame: Frame, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if let Some(reader_stats) = &mut self.settings.reader_stats {
            match (frame.is_batch_end, self.scratch.decoding(frame.length).1) {
                (true, Ok(message)) => {
                    let consumed = reader_stats.consumed(&message.timestamps());
                    reader_stats.batch(consumed, frame.end);
                }
                _ => reader_stats.message(),
            }
        }
        self.close_batch(Step::Passed, frame.is_batch_end, take)
    }

    /// Ends the batch if its last message was not for this subscriber.
    #[inline]
    fn close_batch<T>(
        &mut self,
        step: Step<T>,
        batch_end: bool,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        match step {
            Step::Given(given) => {
                self.batch_open = !batch_end;
                Step::Given(given)
            }
            _ if batch_end && std::mem::take(&mut self.batch_open) => {
                Step::Given(take(Item::BatchEnd))
            }
            other => other,
        }
    }

    /// Handles an event of the ring.
    #[cold]
    fn interrupted(&mut self, event: broadcast::RingEvent) -> SubscriptionEvent {
        self.scratch.decoder.forget();
        self.batch_open = false;
        self.at_batch_end = false;
        let next = self.reading.ring.next();
        match event {
            broadcast::RingEvent::Overrun(overrun) => {
                self.resync();
                self.show(|counters| {
                    counters.overruns += 1;
                    counters.overrun_messages += overrun.messages;
                    counters.overrun_bytes += overrun.bytes;
                });
                SubscriptionEvent::Overrun {
                    messages: overrun.messages,
                    bytes: overrun.bytes,
                }
            }
            broadcast::RingEvent::Corrupt { .. } => {
                self.resync();
                self.show(|counters| counters.corrupt += 1);
                SubscriptionEvent::Corrupt {
                    sequence: next.sequence,
                }
            }
            broadcast::RingEvent::Generation(generation) => {
                self.rows.restart(next.position);
                self.generation = generation;
                self.restart_missed = false;
                self.joining = None;
                self.watch.is_back();
                self.follow_place();
                self.show(|counters| counters.restarts += 1);
                SubscriptionEvent::Restarted { generation }
            }
        }
    }

    /// Handles an invalid message.
    #[cold]
    fn corrupt<T>(&mut self, sequence: u64, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        self.scratch.decoder.forget();
        self.resync();
        self.show(|counters| counters.corrupt += 1);
        Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Corrupt {
            sequence,
        })))
    }

    /// Handles a damaged file: reports it once, and waits for another.
    #[cold]
    fn damaged<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        self.joining = None;
        if !std::mem::replace(&mut self.watch.damage_notified, true) {
            return Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Damaged)));
        }
        let due = self.watch.is_due();
        // The old files are not read any more.
        self.watch.move_seen = true;
        match due.then(|| self.look()).flatten() {
            Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
            None => Step::Nothing,
        }
    }

    /// Handles an empty ring: the reader may have caught up, or the publisher may have ended.
    #[inline]
    fn nothing<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        // A publisher that died between the tables and the message of a change has left tables ahead of its ring.
        let is_gone = self.watch.gone_seen || self.watch.gone_notified;
        if self
            .rows
            .has_caught_up(self.reading.ring.next().position, is_gone)
        {
            return Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::CaughtUp)));
        }
        if std::mem::take(&mut self.watch.unwaited_seen) {
            let event = SubscriptionEvent::NotWaitedFor;
            return Step::Given(take(Item::SubscriptionEvent(event)));
        }
        if std::mem::take(&mut self.watch.gone_seen) {
            self.watch.gone_notified = true;
            let event = SubscriptionEvent::PublisherGone;
            return Step::Given(take(Item::SubscriptionEvent(event)));
        }
        if std::mem::take(&mut self.watch.turn_seen) {
            return Step::Given(take(Item::SubscriptionEvent(self.turn())));
        }
        if !self.watch.move_seen && !self.watch.is_due() {
            return Step::Nothing;
        }
        match self.look() {
            Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
            // The publisher may have published until just now.
            None if self.watch.is_any_seen() => Step::Passed,
            None => Step::Nothing,
        }
    }
}

/// An update from the ring.
#[inline]
fn received<'a>(
    frame: Frame,
    message: &Message<'_>,
    update: Update<'a>,
    bytes: Option<&'a [u8]>,
) -> Item<'a> {
    Item::Update(Received {
        sequence: frame.sequence,
        timestamps: message.timestamps(),
        update,
        batch_end: message.flags().has(Flags::END_OF_BATCH),
        is_image: false,
        bytes,
    })
}

/// The top of a book from the ring.
#[inline]
fn top_received<'a>(
    frame: Frame,
    message: &Message<'_>,
    top: TopOfBook,
    bytes: &'a [u8],
) -> Item<'a> {
    Item::Top {
        sequence: frame.sequence,
        timestamps: message.timestamps(),
        top,
        is_image: false,
        bytes: Some(bytes),
    }
}

/// Forgets the book of an update that cannot be read, until it arrives as a whole: the start of a long update was before ours, or it
/// exceeds our limits.
#[cold]
fn forget(rows: &mut Rows, message: &Message<'_>) -> Option<Update<'static>> {
    let instrument = message.instrument()?;
    Some(match &message.body {
        Body::OrderUpdate(_) | Body::OrdersSnapshot(_) => {
            orders_state(instrument, rows.forget_orders_of(instrument))
        }
        _ => book_state(instrument, rows.forget_book_of(instrument)),
    })
}

#[inline]
fn book_state(instrument: Instrument, validity: Validity) -> Update<'static> {
    Update::State(State {
        instrument,
        validity,
    })
}

#[inline]
fn orders_state(instrument: Instrument, validity: Validity) -> Update<'static> {
    Update::Orders(OrdersUpdate {
        instrument,
        validity,
        changes: &[],
    })
}

/// Passes an item to a handler.
#[inline]
fn hand(item: Item<'_>, handler: &mut impl Subscribe) {
    match item {
        Item::Update(received) => {
            handler.update(&Envelope {
                sequence: received.sequence,
                timestamps: &received.timestamps,
                update: &received.update,
            });
            if received.batch_end {
                handler.batch_end();
            }
        }
        Item::Top { sequence, top, .. } => handler.top(sequence, &top),
        Item::Undecoded(_) => {}
        Item::BatchEnd => handler.batch_end(),
        Item::SubscriptionEvent(event) => handler.event(&event),
    }
}
