//! The reading side of a bus.

mod joining;
mod order_scan;
mod rows;
mod scratch;
mod stall;
mod starting_again;

use super::Kinds;
use super::reading::{self, MarketReading};
use crate::bus::{END_OF_BATCH, Error, Holder, Liveness, Polled, Root, SlotGuard, Watch};
use crate::stats::{ReaderCounters, ReaderStats};
use crate::{Envelope, Subscribe, SubscriptionEvent};
use joining::Joining;
use rows::{Rows, Verdict};
use scratch::Scratch;
use touchline_shm::broadcast;
use touchline_types::native::{Body, Flags, Message, TopOfBook, Unfit};
use touchline_types::{InstrumentDefinition, OrdersUpdate, State, Timestamps, Update};

/// How to join a bus.
pub struct Join {
    /// Shows this reader to those who look at the bus, by name; `None` reads unseen.
    pub reader_stats: Option<ReaderStats>,
    /// Takes a place among the readers that a lossless publisher waits for.
    pub registered: bool,
    /// Hands out live books only, price books and order books: those that are live by themselves, of a channel that is live for
    /// them. A book that stops being live is told of by its state alone; it comes back whole.
    pub live_only: bool,
    /// After a loss, takes every book from its image again at once. Without it each book comes back
    /// from its image when it changes next.
    pub resync: bool,
    /// Hands out last trades, figures and statuses with the books while joining, as images; a trade comes again
    /// where the ring brings it, too.
    pub last_values: bool,
    /// Which instruments; `None` is all of them.
    pub filter: Option<Filter>,
    /// Which kinds of messages. The others are passed over by their heads, neither copied nor decoded.
    pub kinds: Kinds,
    /// Most changes of one event, or levels of one book. Takes no memory where `kinds` leave price books out.
    pub changes_max: usize,
    /// Most orders of one whole order book in a message, or changes of one event. From its image an order book comes whatever
    /// its length is, and so does one that was longer than this. Takes no memory where `kinds` leave order books out.
    pub orders_max: usize,
}

/// Says of an instrument whether it is wanted, when it is defined.
pub type Filter = Box<dyn FnMut(&InstrumentDefinition) -> bool + Send + Sync>;

impl Default for Join {
    fn default() -> Join {
        Join {
            reader_stats: None,
            registered: false,
            live_only: false,
            resync: true,
            last_values: false,
            filter: None,
            kinds: Kinds::ALL,
            changes_max: 65_536,
            orders_max: 65_536,
        }
    }
}

/// A subscription to a bus, by [`poll`](Subscriber::poll) or by [`drain`](Subscriber::drain).
pub struct Subscriber {
    root: Root,
    bus: String,
    settings: Join,
    reading: MarketReading,
    /// The place among named readers.
    guard: Option<SlotGuard>,
    /// The writer that is being read, its number in the ring.
    generation: u64,
    /// Another writer has begun, and its beginning may be among what was lost.
    restart_missed: bool,
    joining: Option<Joining>,
    rows: Rows,
    scratch: Scratch,
    watch: Watch,
    /// Whether something of the batch that is being read was handed out.
    batch_open: bool,
    /// Whether the ring's place is known to be between two batches.
    at_batch_end: bool,
    /// Messages of templates that this program does not know.
    unknown_messages: u64,
}

/// What a poll gives.
#[derive(Debug)]
pub enum Item<'a> {
    /// An update.
    Update(Received<'a>),
    /// The top of a book; the whole change follows.
    Top {
        /// Number of the message.
        sequence: u64,
        /// When things happened: the venue's time and that of receipt.
        timestamps: Timestamps,
        /// The top.
        top: TopOfBook,
    },
    /// The batch of one packet ends, and its last message was not for this subscriber.
    BatchEnd,
    /// About the subscription itself.
    SubscriptionEvent(SubscriptionEvent),
}

/// An update as it was received.
#[derive(Debug)]
pub struct Received<'a> {
    /// Number of its message in the publication; of the last one that it holds, if it is an image.
    pub sequence: u64,
    /// When things happened; of an image, only the venue's time and that of receipt.
    pub timestamps: Timestamps,
    /// The update.
    pub update: Update<'a>,
    /// Whether the batch of one packet ends with it: now is the time to act.
    pub batch_end: bool,
    /// Whether it was taken from a table, and not read from the ring.
    pub is_image: bool,
}

/// What a step came to.
enum Step<T> {
    /// Something was handed out.
    Given(T),
    /// There was something, and it is not to be handed out.
    Passed,
    /// There is nothing.
    Nothing,
}

/// A message in the buffer.
#[derive(Clone, Copy)]
struct Frame {
    length: usize,
    sequence: u64,
    end: u64,
    is_batch_end: bool,
    /// Whether its head says that it may be for this subscriber; else it may not have been copied.
    is_selected: bool,
}

/// Word of a message where its template is.
const TEMPLATE_WORD: usize = 0;
/// Word of a message where its instrument is.
const INSTRUMENT_WORD: usize = 4;

/// Messages that one poll may pass over.
const PASSED_MAX: usize = 256;

impl Subscriber {
    /// Joins a bus: the first polls give definitions and books, then everything that is published.
    ///
    /// # Errors
    /// Among others: there is no such bus, or it is not ours to read.
    pub fn join(root: &Root, bus: &str, settings: Join) -> Result<Subscriber, Error> {
        let (reading, guard) = reading::join(root, bus, settings.registered)?;
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
            watch,
            batch_open: false,
            at_batch_end: false,
            unknown_messages: 0,
            root: root.clone(),
            bus: bus.to_owned(),
            settings,
            reading,
            guard,
        };
        subscriber.show(|_| ());
        Ok(subscriber)
    }

    /// Hands the next thing that happened to `take`, if there is one.
    ///
    /// Passes over at most 256 messages that are not for this subscriber, and says how many: who gets that polls
    /// again, and does not sleep.
    ///
    /// Never waits: an image that the publisher is changing is tried again by the next poll, and this one
    /// finds nothing. A publisher that died or was stopped in that change delays joining by 10 ms at most, if
    /// it is not known to be gone already: then the book of that image is handed out as not live.
    #[inline]
    pub fn poll<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Polled<T> {
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

    /// Hands things to a handler until there is nothing, or `limit` were handed out or passed over. Says how many
    /// there were: 0 if there was nothing.
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

    /// Who publishes at this moment; `None` if nobody does. A few system calls.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn publisher(&self) -> Result<Option<Holder>, Error> {
        self.reading.publisher()
    }

    /// Whether anybody publishes at this moment: a look that allocates nothing. Who it is says
    /// [`publisher`](Subscriber::publisher).
    ///
    /// # Errors
    /// If the system does not say.
    pub fn is_published(&self) -> Result<bool, Error> {
        self.reading.is_published()
    }

    /// Whether the bus was begun again in other files, which the next poll that finds nothing goes to.
    pub fn is_replaced(&self) -> bool {
        self.reading.is_replaced()
    }

    /// When the publisher last gave a sign of life, as of now; `None` of one that states no such
    /// thing.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// Has the next poll that finds nothing look whether the publisher is at work, however short ago
    /// that was done: for who is about to say what the books are.
    pub fn look_again(&mut self) {
        self.watch.look_again();
    }

    /// What this reader shows of itself, if it gave a name.
    pub fn reader_stats(&self) -> Option<&ReaderStats> {
        self.settings.reader_stats.as_ref()
    }

    /// Whether definitions and books are still being handed out.
    pub fn is_joining(&self) -> bool {
        self.joining.is_some()
    }

    /// Bytes of the publication that wait to be read, as of the publisher's last join point: exact to some
    /// tens of KiB.
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
            // The last one of a batch says how long things took, to who shows that.
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
            // Of a file that was made shorter nothing is read any more.
            Err(_) if !self.reading.is_intact() => self.damaged(take),
            Err(event) => Step::Given(take(Item::SubscriptionEvent(self.interrupted(event)))),
        }
    }

    /// A message was read: hands it out, or what is to be handed out instead.
    #[inline]
    fn message<T>(&mut self, frame: Frame, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if !frame.is_selected {
            return self.pass_over(frame, take);
        }
        if self.watch.is_stalled {
            self.distrust_message(frame.length);
        }
        let Subscriber {
            rows,
            scratch,
            settings,
            unknown_messages,
            ..
        } = self;
        let (message, decoder, room) = scratch.decoding(frame.length);
        let Ok(message) = message else {
            return self.corrupt(frame.sequence, take);
        };
        *unknown_messages += u64::from(matches!(message.body, Body::Unknown { .. }));
        let batch_end = message.flags().has(Flags::END_OF_BATCH);
        // Before it is handed out: what the reader does with it is its own time.
        let consumed = match &mut settings.reader_stats {
            Some(reader_stats) if batch_end => Some(reader_stats.consumed(&message.timestamps())),
            Some(reader_stats) => {
                reader_stats.message();
                None
            }
            None => None,
        };
        let mut give = |update| Step::Given(take(received(frame, &message, update)));
        let step = match rows.judge(&message, frame.end, &mut settings.filter) {
            verdict @ (Verdict::Deliver | Verdict::DeliverAndRejoin) => {
                if verdict == Verdict::DeliverAndRejoin {
                    Joining::begin_again(&mut self.joining);
                }
                match (message.body, decoder.update(&message, room)) {
                    (Body::TopOfBook(top), _) => {
                        let sequence = frame.sequence;
                        let timestamps = message.timestamps();
                        Step::Given(take(Item::Top {
                            sequence,
                            timestamps,
                            top,
                        }))
                    }
                    (_, Ok(Some(update))) => give(update),
                    (_, Ok(None)) => Step::Passed,
                    // The beginning of a long update was before ours, or it is longer than we are
                    // prepared for: its book is unknown until it comes whole.
                    (Body::OrderUpdate(_) | Body::OrdersSnapshot(_), Err(_)) => {
                        let orders = message.instrument().map(|instrument| OrdersUpdate {
                            instrument,
                            validity: rows.forget_orders_of(instrument),
                            changes: &[],
                        });
                        orders.map_or(Step::Passed, |orders| give(Update::Orders(orders)))
                    }
                    (_, Err(Unfit::PartMissing | Unfit::NoRoom)) => {
                        let state = message.instrument().map(|instrument| State {
                            instrument,
                            validity: rows.forget_book_of(instrument),
                        });
                        state.map_or(Step::Passed, |state| give(Update::State(state)))
                    }
                }
            }
            Verdict::Skip => Step::Passed,
            Verdict::OrderImages => {
                self.joining = Some(Joining::orders_alone());
                Step::Passed
            }
            Verdict::Image(instrument) => self.image_instead(instrument, batch_end, take),
            Verdict::BookState(instrument, validity) => give(Update::State(State {
                instrument,
                validity,
            })),
            Verdict::OrdersState(instrument, validity) => give(Update::Orders(OrdersUpdate {
                instrument,
                validity,
                changes: &[],
            })),
        };
        if let (Some(consumed), Some(reader_stats)) = (consumed, &mut self.settings.reader_stats) {
            reader_stats.batch(consumed, frame.end);
        }
        self.close_batch(step, batch_end, take)
    }

    /// A message is not for this subscriber, by its head.
    #[inline]
    fn pass_over<T>(&mut self, frame: Frame, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if let Some(reader_stats) = &mut self.settings.reader_stats {
            match (frame.is_batch_end, self.scratch.decoding(frame.length).0) {
                (true, Ok(message)) => {
                    let consumed = reader_stats.consumed(&message.timestamps());
                    reader_stats.batch(consumed, frame.end);
                }
                _ => reader_stats.message(),
            }
        }
        self.close_batch(Step::Passed, frame.is_batch_end, take)
    }

    /// What was handed out last may have been the end of the batch, or not for this subscriber.
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

    /// The reader was told something instead of a message.
    #[cold]
    fn interrupted(&mut self, event: broadcast::RingEvent) -> SubscriptionEvent {
        self.scratch.decoder.forget();
        self.batch_open = false;
        self.at_batch_end = false;
        let next = self.reading.ring.next();
        match event {
            // mutant: bus: after a loss books are not taken anew
            broadcast::RingEvent::Overrun(overrun) => {
                self.resync();
                self.show(|counters| {
                    counters.overruns += 1;
                    // mutant: bus: what a reader has lost is not seen
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
                self.show(|counters| counters.restarts += 1);
                SubscriptionEvent::Restarted { generation }
            }
        }
    }

    /// A message makes no sense.
    #[cold]
    fn corrupt<T>(&mut self, sequence: u64, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        self.scratch.decoder.forget();
        self.resync();
        self.show(|counters| counters.corrupt += 1);
        Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Corrupt {
            sequence,
        })))
    }

    /// A file of the bus is not what it was: says so once, and waits for another.
    #[cold]
    fn damaged<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        self.joining = None;
        if !std::mem::replace(&mut self.watch.damage_notified, true) {
            return Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::Damaged)));
        }
        let due = self.watch.is_due();
        match due.then(|| self.look()).flatten() {
            Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
            None => Step::Nothing,
        }
    }

    /// Nothing is there: books may be as of one place now, or the publisher gone.
    #[inline]
    fn nothing<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if self.rows.has_caught_up(self.reading.ring.next().position) {
            return Step::Given(take(Item::SubscriptionEvent(SubscriptionEvent::CaughtUp)));
        }
        if std::mem::take(&mut self.watch.gone_seen) {
            self.watch.gone_notified = true;
            return Step::Given(take(Item::SubscriptionEvent(
                SubscriptionEvent::PublisherGone,
            )));
        }
        if std::mem::take(&mut self.watch.turn_seen) {
            return Step::Given(take(Item::SubscriptionEvent(self.turn())));
        }
        if !self.watch.is_due() {
            return Step::Nothing;
        }
        match self.look() {
            Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
            // It may have published until just now.
            // mutant: live: books are live before what came before is read
            None if self.watch.is_any_seen() => Step::Passed,
            None => Step::Nothing,
        }
    }

    /// Looks at files and publisher.
    #[cold]
    fn look(&mut self) -> Option<SubscriptionEvent> {
        if self.reading.is_replaced() {
            match self.reattach() {
                Ok(event) => return Some(event),
                Err(Error::Format { layout, .. }) => return self.incompatible(layout),
                // Its publisher is just beginning.
                Err(_) => {}
            }
        }
        if !self.reading.is_intact() {
            return (!std::mem::replace(&mut self.watch.damage_notified, true))
                .then_some(SubscriptionEvent::Damaged);
        }
        let is_gone = matches!(self.reading.is_published(), Ok(false));
        self.watch.is_gone = is_gone;
        self.watch.gone_notified &= is_gone;
        self.watch.gone_seen = is_gone && !self.watch.gone_notified;
        let is_stalled = self.reading.is_stalled();
        self.watch.turn_seen = !is_gone && is_stalled != self.watch.is_stalled;
        None
    }

    /// Shows on its counters file what happened to the subscription, and where it is now.
    fn show(&mut self, note: impl FnOnce(&mut ReaderCounters)) {
        let place = self.guard.as_ref().map(|guard| guard.index() + 1);
        let position = self.reading.ring.next().position;
        if let Some(reader_stats) = &mut self.settings.reader_stats {
            reader_stats.note(position, |counters| {
                counters.place = place.map_or(0, u64::from);
                note(counters);
            });
        }
    }
}

/// An update of the ring.
#[inline]
fn received<'a>(frame: Frame, message: &Message<'_>, update: Update<'a>) -> Item<'a> {
    Item::Update(Received {
        sequence: frame.sequence,
        timestamps: message.timestamps(),
        update,
        batch_end: message.flags().has(Flags::END_OF_BATCH),
        is_image: false,
    })
}

/// Hands an item to a handler.
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
        Item::BatchEnd => handler.batch_end(),
        Item::SubscriptionEvent(event) => handler.event(&event),
    }
}
