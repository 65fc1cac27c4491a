//! Backlog of a subscriber: the messages before the ring's position, which the ring has lost and a tape has. The receiver gives
//! them in order, and they are judged, decoded and handed out as those of the ring; then the ring goes on at exactly the next message.
//!
//! Meanwhile the ring stays at a join point whose number is known. If that is overrun, too, the same follows from there on.

use super::joining::Joining;
use super::{Frame, Item, Received, Step, Subscriber};
use crate::SubscriptionEvent;
use crate::bus::Polled;
use touchline_shm::broadcast::{JoinPoint, RingEvent};
use touchline_types::Validity;
use touchline_types::native::{Body, Decoder, Flags, Message};
use zerocopy::IntoBytes;

/// Messages that a tape gives.
#[derive(Debug)]
pub(super) struct Backlog {
    /// Place of the next message; its number is unknown before the first message of a state or behind a loss.
    next: JoinPoint,
    is_numbered: bool,
    /// Positions are those of the ring. History from before the join has none, and gets positions that grow.
    is_exact: bool,
    /// The last message that was handed out, or a later one, was met: messages of the recorder before it are old.
    is_reached: bool,
    /// The tape is at an earlier publication of the bus.
    is_earlier: bool,
    /// The recorder has stated that the publisher was gone or stalled, and not yet that it works.
    is_down: bool,
    /// For messages of the recorder, which may stand between two parts of an update.
    own: Decoder,
}

/// Bytes of a tape.
#[derive(Clone, Copy, Debug)]
pub enum TapedMessage<'a> {
    /// A message of the bus, or, with number 0, one of the recorder.
    Message(&'a [u8]),
    /// A message of a state.
    State(&'a [u8]),
}

/// The tape does not go on with the next message: messages are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Unread messages above which the ring's position follows the publisher: a lossless one does not wait for a reader that is far behind.
const FOLLOWED: i64 = 16_384;
/// Messages of the tape from one such step to the next.
const FOLLOWED_EVERY: u64 = 1_024;
/// Distance of the positions that messages without one get: less than any message has.
const STEP: u64 = 8;

impl Subscriber {
    /// Messages that the receiver gives by [`give`](Subscriber::give) before it polls again; `None`: there are none. An overrun of a
    /// subscriber [with a tape](super::Join::has_tape) begins such a backlog, and so does [`begin_backlog`](Subscriber::begin_backlog).
    #[inline]
    pub fn backlog(&self) -> Option<u64> {
        let backlog = self.backlog.as_ref()?;
        Some(self.sequences_behind(backlog.next.sequence).max(0) as u64)
    }

    /// Begins with a tape instead of the tables: the tape gives a state, then its messages. `is_earlier`: they
    /// are of an earlier publication of the bus.
    pub fn begin_backlog(&mut self, is_earlier: bool) {
        let position = self.reading.ring.next().position;
        self.begin_backlog_at(position, is_earlier);
    }

    /// Begins with the tables after all.
    pub fn join_anew(&mut self) {
        self.backlog = None;
        self.reading.ring.skip_to_join_point();
        self.rows.restart(self.reading.ring.next().position);
        self.rows.forget_orders();
        self.joining = Some(Joining::new());
    }

    /// The tape continues with another publication of the bus, which is the present one or not.
    pub fn restart_backlog<T>(
        &mut self,
        generation: u64,
        is_earlier: bool,
        mut take: impl FnMut(Item<'_>) -> T,
    ) -> T {
        self.begin_backlog(is_earlier);
        self.show(|counters| counters.restarts += 1);
        take(Item::SubscriptionEvent(SubscriptionEvent::Restarted {
            generation,
        }))
    }

    /// The tape states a loss: a state of it follows.
    pub fn lose_backlog<T>(&mut self, messages: u64, mut take: impl FnMut(Item<'_>) -> T) -> T {
        let position = self.next().position;
        let is_earlier = self
            .backlog
            .as_ref()
            .is_some_and(|backlog| backlog.is_earlier);
        self.begin_backlog_at(position, is_earlier);
        let bytes = 0;
        take(Item::SubscriptionEvent(SubscriptionEvent::Overrun {
            messages,
            bytes,
        }))
    }

    /// The state of the tape is complete, and the messages behind this number follow.
    pub fn expect_after(&mut self, sequence: u64) {
        if let Some(backlog) = &mut self.backlog {
            backlog.next.sequence = sequence.wrapping_add(1);
            backlog.is_numbered = true;
        }
        self.close_backlog();
    }

    /// Follows the publisher while the tape has no further message: a lossless publisher does not wait for a reader that waits for its tape.
    /// It does so when half of the ring is unread, so that a tape that is a little behind reaches the ring's position.
    #[cold]
    pub fn follow(&mut self) {
        let ring = &self.reading.ring;
        let unread = |last: JoinPoint| last.position.wrapping_sub(ring.next().position) as i64;
        let half = (ring.geometry().capacity() / 2) as i64;
        let is_far = ring.join_point().is_some_and(|last| unread(last) > half);
        // mutant: tape: a lossless publisher waits for a reader that waits for its tape
        if self.backlog.is_some() && is_far {
            self.follow_ring();
        }
    }

    /// Takes the next message of the tape. A message that was handed out before is passed over.
    ///
    /// # Errors
    /// The message is not the next one, or cannot be read: the receiver calls [`leave_backlog`](Subscriber::leave_backlog).
    pub fn give<T>(
        &mut self,
        message: TapedMessage<'_>,
        mut take: impl FnMut(Item<'_>) -> T,
    ) -> Result<Polled<T>, Lost> {
        let step = match message {
            TapedMessage::State(bytes) => self.give_state(bytes, &mut take)?,
            TapedMessage::Message(bytes) => self.give_message(bytes, &mut take)?,
        };
        Ok(match step {
            Step::Given(given) => Polled::Given(given),
            Step::Passed | Step::Nothing => Polled::Passed(1),
        })
    }

    /// Hands out what tables have, where a message of the tape made that necessary: [`Polled::Nothing`] if there is nothing to do.
    pub fn poll_tables<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Polled<T> {
        while self.joining.is_some() {
            match self.join_step(&mut take) {
                Step::Given(given) => return Polled::Given(given),
                Step::Passed => {}
                Step::Nothing => return Polled::Passed(0),
            }
        }
        Polled::Nothing
    }

    /// The tape does not have the rest of the backlog: reports the loss, and goes on as after an overrun.
    pub fn leave_backlog<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> T {
        let from = self.next();
        let left = self.backlog.take();
        self.reading.ring.skip_to_join_point();
        let next = self.reading.ring.next();
        if left.is_some_and(|left| left.is_earlier) {
            // The tape ends before the present publication.
            let restarted = RingEvent::Generation(self.reading.generation);
            let event = self.interrupted(restarted);
            self.joining = Some(Joining::new());
            return take(Item::SubscriptionEvent(event));
        }
        let behind = |to: u64, from: u64| (to.wrapping_sub(from) as i64).max(0) as u64;
        let event = self.interrupted(RingEvent::Overrun(touchline_shm::broadcast::Overrun {
            bytes: behind(next.position, from.position),
            messages: behind(next.sequence, from.sequence),
        }));
        take(Item::SubscriptionEvent(event))
    }

    /// Whether everything is handed out that the tables had at the join or after the last loss; true once. A poll without a message reports
    /// it as [`SubscriptionEvent::CaughtUp`]: this is for readers of a bus that may never be idle.
    pub fn has_caught_up(&mut self) -> bool {
        let position = self.reading.ring.next().position;
        // mutant: tape: a recorder of a busy bus never has a state after an overrun
        self.joining.is_none() && self.backlog.is_none() && self.rows.has_caught_up(position, false)
    }

    /// Place of the next message, of the tape or of the ring.
    pub(super) fn next(&self) -> JoinPoint {
        let of_tape = self.backlog.as_ref().map(|backlog| backlog.next);
        of_tape.unwrap_or_else(|| self.reading.ring.next())
    }

    /// Whether an overrun begins a backlog. Lost messages of another publisher are not waited for.
    #[cold]
    pub(super) fn begins_backlog(&mut self, event: &RingEvent) -> bool {
        let RingEvent::Overrun(lost) = event else {
            return false;
        };
        if !self.settings.has_tape || self.reading.ring.generation() != self.generation {
            return false;
        }
        self.reading.keep_place(&mut self.guard);
        let next = self.reading.ring.next();
        self.backlog = Some(Backlog {
            next: JoinPoint {
                position: next.position.wrapping_sub(lost.bytes),
                sequence: next.sequence.wrapping_sub(lost.messages),
            },
            is_numbered: true,
            is_exact: true,
            is_reached: false,
            is_earlier: false,
            is_down: false,
            own: Decoder::new(),
        });
        true
    }

    fn begin_backlog_at(&mut self, position: u64, is_earlier: bool) {
        self.scratch.decoder.forget();
        (self.batch_open, self.at_batch_end) = (false, false);
        self.joining = None;
        // Books are as at the start of a publisher: the state brings them. The ring's positions are above those of the backlog.
        let sequence = self.reading.ring.next().sequence;
        let before = position.wrapping_sub(STEP.wrapping_mul(sequence.wrapping_add(1)));
        self.rows.restart(before);
        self.backlog = Some(Backlog {
            next: JoinPoint {
                position: before.wrapping_add(STEP),
                sequence,
            },
            is_numbered: false,
            is_exact: false,
            is_reached: true,
            is_earlier,
            is_down: false,
            own: Decoder::new(),
        });
    }

    fn give_state<T>(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Result<Step<T>, Lost> {
        let end = self.next().position;
        let frame = self.frame(bytes, end)?;
        let step = self.message(frame, &mut |item| take(as_image(item)));
        // A state belongs to no batch.
        self.batch_open = false;
        Ok(step)
    }

    fn give_message<T>(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Result<Step<T>, Lost> {
        let next = self.next();
        let mut frame = self.frame(bytes, next.position)?;
        let Some(backlog) = &mut self.backlog else {
            return Err(Lost);
        };
        if frame.sequence == 0 {
            // mutant: tape: an old state of the channel is handed out again
            return Ok(match backlog.is_reached {
                true => self.give_own(frame, take),
                false => Step::Passed,
            });
        }
        backlog.is_reached |= frame.sequence.wrapping_add(1) >= backlog.next.sequence;
        if !backlog.is_numbered {
            (backlog.next.sequence, backlog.is_numbered) = (frame.sequence, true);
        }
        // mutant: tape: messages before an overrun are handed out again
        if frame.sequence < backlog.next.sequence {
            return Ok(Step::Passed);
        }
        // mutant: tape: a gap of the tape is not noticed
        if frame.sequence > backlog.next.sequence {
            return Err(Lost);
        }
        frame.end = match backlog.is_exact {
            true => self
                .reading
                .ring
                .geometry()
                .behind(next.position, frame.length),
            false => next.position.wrapping_add(STEP),
        };
        backlog.next = JoinPoint {
            position: frame.end,
            sequence: frame.sequence.wrapping_add(1),
        };
        self.at_batch_end = frame.is_batch_end;
        let step = self.message(frame, take);
        self.close_backlog();
        Ok(step)
    }

    /// A message of the recorder: the state of the channel while the publisher was away, and the end of a batch.
    fn give_own<T>(&mut self, frame: Frame, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let (_, message, ..) = self.scratch.decoding(frame.length);
        let channel = match message.map(|message| message.body) {
            Ok(Body::Channel(state)) => Some(state),
            _ => None,
        };
        if let (Some(state), Some(backlog)) = (channel, &mut self.backlog) {
            let away = (Validity::Stale, Validity::Stale);
            backlog.is_down = (state.price, state.orders) == away;
            // It has the position of the message before it.
            self.rows.forget_told_state();
        }
        self.exchange_decoders();
        let step = self.message(frame, take);
        self.exchange_decoders();
        step
    }

    fn exchange_decoders(&mut self) {
        if let Some(backlog) = &mut self.backlog {
            std::mem::swap(&mut backlog.own, &mut self.scratch.decoder);
        }
    }

    /// Copies a message into the buffer of the ring's messages.
    fn frame(&mut self, bytes: &[u8], end: u64) -> Result<Frame, Lost> {
        let parsed = Message::parse(bytes).map_err(|_| Lost)?;
        let (sequence, flags) = (parsed.sequence(), parsed.flags());
        let room = self.scratch.message.as_mut_bytes();
        room.get_mut(..bytes.len())
            .ok_or(Lost)?
            .copy_from_slice(bytes);
        let words = &self.scratch.message;
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        Ok(Frame {
            length: bytes.len(),
            sequence,
            end,
            is_batch_end: flags.has(Flags::END_OF_BATCH),
            is_selected: self
                .rows
                .selects(word(super::TEMPLATE_WORD), word(super::INSTRUMENT_WORD)),
        })
    }

    /// Ends the backlog if the ring has the next message.
    fn close_backlog(&mut self) {
        let Some(backlog) = &self.backlog else {
            return;
        };
        let next = backlog.next.sequence;
        if backlog.is_earlier || !backlog.is_numbered {
            if next.is_multiple_of(FOLLOWED_EVERY) {
                self.follow();
            }
            return;
        }
        // mutant: tape: a message at the joint is handed out twice
        let mut behind = self.sequences_behind(next);
        // A state of the tape may be of a later place than the ring's position.
        while behind < 0 && matches!(self.reading.ring.read(|_| ()), Ok(Some(()))) {
            behind = self.sequences_behind(next);
        }
        // The recorder states when a publisher that was away works again; behind the joint nothing would say so.
        let is_down = self.backlog.as_ref().is_some_and(|backlog| backlog.is_down);
        let waits = is_down && self.reading.is_published().unwrap_or(false);
        match behind {
            // mutant: tape: a message is missing at the joint
            0 if !waits => self.backlog = None,
            0 => self.follow_ring(),
            1.. if behind > FOLLOWED && next.is_multiple_of(FOLLOWED_EVERY) => self.follow_ring(),
            _ => {}
        }
    }

    /// Messages from this number to the ring's position.
    fn sequences_behind(&self, next: u64) -> i64 {
        let ring = self.reading.ring.next().sequence;
        ring.wrapping_sub(next) as i64
    }

    /// Moves the ring's position to the last join point.
    #[cold]
    fn follow_ring(&mut self) {
        self.reading.ring.skip_to_join_point();
    }
}

/// An item of a state.
fn as_image(item: Item<'_>) -> Item<'_> {
    match item {
        Item::Update(received) => Item::Update(Received {
            batch_end: false,
            is_image: true,
            bytes: None,
            ..received
        }),
        Item::Top {
            sequence,
            timestamps,
            top,
            ..
        } => Item::Top {
            sequence,
            timestamps,
            top,
            is_image: true,
            bytes: None,
        },
        other => other,
    }
}
