//! A bus that is read with a tape of it: history before the join, and the messages that an overrun has lost, come from the tape, and the
//! bus goes on at exactly the next message.

use super::step::{ROUNDS_MAX, Step, live_step};
use crate::error::of_tape;
use crate::reading::{Given, Reading, Took};
use crate::{Error, Stats, Stopper};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_tape::{Publication, ReadOptions, Reader, TapePlace, Taped};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::{Item, Lost, TapedMessage};
use touchline_transport::shm::{Polled, Subscriber};
use touchline_types::native::Message;

/// A subscription with a tape.
pub struct WithTape {
    pub subscriber: Subscriber,
    directory: PathBuf,
    wait: Duration,
    /// Place at which history begins.
    from: Option<TapePlace>,
    /// The tape, while messages are read from it.
    reader: Option<Reader>,
    part: Part,
    /// Number of the message before the state that is read from the tape.
    state_at: Option<u64>,
    /// Since when the tape has no further record.
    waits_since: Option<Instant>,
    /// Position of a tape without a recorder at which one was awaited in vain: the next loss does not wait for it again there.
    given_up_at: Option<u64>,
    /// Number of the message at which a reader that joined the bus behind its history has caught up.
    joins: Option<u64>,
    messages: u64,
    fall_backs: u64,
    losses: u64,
}

/// Part of the tape that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Messages before the place at which history begins.
    Lead,
    /// History from that place on, with states where the tape has gaps.
    History,
    /// Messages that an overrun has lost, without a state.
    Lost,
}

/// Result of reading the tape.
enum Read {
    Took(Took),
    Passed,
    /// The tape has no further record, which may still come.
    Awaited,
    /// It does not have the next message.
    Missing,
    /// It states a gap, or goes on with another publication.
    Event(SubscriptionEvent),
}

impl WithTape {
    pub fn new(subscriber: Subscriber, directory: &Path, wait: Duration) -> WithTape {
        WithTape {
            subscriber,
            directory: directory.to_owned(),
            wait,
            from: None,
            reader: None,
            part: Part::Lost,
            state_at: None,
            waits_since: None,
            given_up_at: None,
            joins: None,
            messages: 0,
            fall_backs: 0,
            losses: 0,
        }
    }

    /// Begins with the history from a place on.
    pub fn begin_at(&mut self, place: TapePlace) -> Result<(), Error> {
        let options = ReadOptions {
            bus: Some(self.subscriber.bus().to_owned()),
            from: Some(place),
            ..ReadOptions::default()
        };
        let reader = Reader::open_with(&self.directory, options).map_err(of_tape)?;
        self.reader = Some(reader);
        self.from = Some(place);
        self.part = Part::Lead;
        // The publication of the history is unknown until it begins.
        self.subscriber.begin_backlog(true);
        Ok(())
    }

    /// Counts with those of the tape.
    pub fn counts(&self, stats: Stats) -> Stats {
        Stats {
            tape_messages: self.messages,
            tape_fall_backs: self.fall_backs,
            tape_losses: self.losses,
            ..stats
        }
    }

    fn is_on_tape(&self) -> bool {
        self.subscriber.backlog().is_some()
    }

    /// One step of reading.
    pub fn step(&mut self, reading: &mut Reading, stopper: &Stopper) -> Step {
        if self.is_on_tape() && self.subscriber.forked_from().is_none() {
            return self.tape_step(reading);
        }
        // The bus may never be idle.
        let subscriber = &mut self.subscriber;
        if self
            .joins
            .is_some_and(|until| subscriber.next_sequence() >= until)
        {
            self.joins = None;
            if !subscriber.has_caught_up() {
                return Step::Progress;
            }
            let event = Item::SubscriptionEvent(SubscriptionEvent::CaughtUp);
            let took = reading.take(event);
            return given(reading.after(took));
        }
        match live_step(&mut self.subscriber, reading, stopper) {
            // A forked child that may not read keeps its backlog.
            Step::Nothing if self.is_on_tape() && self.subscriber.forked_from().is_none() => {
                self.fall_backs += 1;
                Step::Progress
            }
            step => step,
        }
    }

    fn tape_step(&mut self, reading: &mut Reading) -> Step {
        for _ in 0..ROUNDS_MAX {
            if !self.is_on_tape() {
                let (unread, _) = self.subscriber.lag();
                let until = self.subscriber.next_sequence() + unread;
                self.joins = (self.part != Part::Lost).then_some(until);
                self.end();
                break;
            }
            let took = match self.subscriber.poll_tables(|item| reading.take(item)) {
                Polled::Given(took) => took,
                Polled::Passed(_) => return Step::Nothing,
                Polled::Nothing => match self.read(reading) {
                    Ok(Read::Took(took)) => took,
                    Ok(Read::Passed) => continue,
                    Ok(Read::Awaited) => {
                        self.subscriber.follow();
                        return Step::Nothing;
                    }
                    Ok(Read::Event(event)) => match self.event(event, reading) {
                        Some(took) => took,
                        None => continue,
                    },
                    Ok(Read::Missing) | Err(_) => match self.leave(reading) {
                        Some(took) => took,
                        None => continue,
                    },
                },
            };
            if took == Took::Event {
                self.set_next_room(reading);
            }
            if let Given::Event(event) = reading.after(took) {
                return Step::Event(event);
            }
        }
        Step::Progress
    }

    /// Room of the publication that is read: of the tape, or of the bus.
    #[cold]
    fn set_next_room(&self, reading: &mut Reading) {
        let bus = &self.subscriber;
        let of_tape = self.reader.as_ref().and_then(Reader::publication);
        let (instruments_max, orders_max) = match of_tape {
            Some(of) => (of.instruments_max, of.orders_max),
            None => (bus.instruments_max(), bus.orders_max()),
        };
        reading.kept.set_next_room(instruments_max, orders_max);
    }

    /// Reads the next message of the tape.
    fn read(&mut self, reading: &mut Reading) -> Result<Read, Error> {
        self.open()?;
        let has_led = self
            .reader
            .as_ref()
            .is_some_and(|reader| !reader.is_before_place());
        if self.part == Part::Lead && has_led {
            self.part = Part::History;
            self.set_next_room(reading);
            reading.kept.make_room();
            let is_earlier = self.is_earlier();
            self.subscriber.begin_backlog(is_earlier);
        }
        let WithTape {
            subscriber,
            reader,
            state_at,
            messages,
            ..
        } = self;
        let Some(reader) = reader else {
            return Ok(Read::Missing);
        };
        let polled = reader.poll_messages(|message| {
            let message = match message {
                Ok(message) => message,
                Err(event) => return Read::Event(event),
            };
            match message {
                TapedMessage::Message(_) => *messages += 1,
                TapedMessage::State(bytes) if state_at.is_none() => {
                    *state_at = Message::parse(bytes).ok().map(|first| first.sequence());
                }
                TapedMessage::State(_) => {}
            }
            match subscriber.give(message, |item| reading.take(item)) {
                Ok(Polled::Given(took)) => Read::Took(took),
                Ok(Polled::Passed(_) | Polled::Nothing) => Read::Passed,
                Err(Lost) => Read::Missing,
            }
        });
        let read = match polled.map_err(of_tape)? {
            Taped::Given(read) => read,
            Taped::Passed => Read::Passed,
            Taped::Nothing if self.has_time() => return Ok(Read::Awaited),
            Taped::Nothing => return Ok(Read::Missing),
            Taped::End => {
                let position = self.reader.as_ref().map(Reader::position);
                // mutant: tape: a loss is stated while a recorder starts again
                if self.given_up_at != position && self.has_time() {
                    return Ok(Read::Awaited);
                }
                self.given_up_at = position;
                return Ok(Read::Missing);
            }
        };
        self.waits_since = None;
        Ok(read)
    }

    /// Opens the tape after an overrun.
    fn open(&mut self) -> Result<(), Error> {
        if self.reader.is_none() {
            let live = Publication::read_by(&self.subscriber);
            // A publication that cannot be known again is another one.
            if live.is_same(&live) {
                let next = self.subscriber.next_sequence();
                let reader = Reader::resume(&self.directory, &live, next).map_err(of_tape)?;
                self.reader = Some(reader);
            }
        }
        Ok(())
    }

    /// An event of the tape.
    fn event(&mut self, event: SubscriptionEvent, reading: &mut Reading) -> Option<Took> {
        let state_at = self.state_at.take();
        match (event, self.part) {
            (SubscriptionEvent::CaughtUp, _) => {
                if let Some(sequence) = state_at {
                    self.subscriber.expect_after(sequence);
                }
                None
            }
            (SubscriptionEvent::Overrun { messages, .. }, Part::History) => {
                self.losses += 1;
                let take = |item: Item<'_>| reading.take(item);
                Some(self.subscriber.lose_backlog(messages, take))
            }
            (SubscriptionEvent::Restarted { generation }, Part::History) => {
                let is_earlier = self.is_earlier();
                let take = |item: Item<'_>| reading.take(item);
                let subscriber = &mut self.subscriber;
                Some(subscriber.restart_backlog(generation, is_earlier, take))
            }
            _ => self.leave(reading),
        }
    }

    /// Whether the tape is at another publication than the bus.
    fn is_earlier(&self) -> bool {
        let live = Publication::read_by(&self.subscriber);
        let of_tape = self.reader.as_ref().and_then(Reader::publication);
        !of_tape.is_some_and(|of_tape| live.is_same(of_tape))
    }

    /// Whether the tape may still come.
    fn has_time(&mut self) -> bool {
        let since = self.waits_since.get_or_insert_with(Instant::now);
        since.elapsed() < self.wait
    }

    /// The tape does not have the next message: goes on with the bus. `None`: without an overrun, because history begins later.
    #[cold]
    fn leave(&mut self, reading: &mut Reading) -> Option<Took> {
        if self.part == Part::Lead {
            let lost = self.lost_history();
            self.join_anew();
            // mutant: tape: history that the tape does not have is not reported
            let messages = lost?;
            self.losses += 1;
            let event = SubscriptionEvent::Overrun { messages, bytes: 0 };
            return Some(reading.take(Item::SubscriptionEvent(event)));
        }
        self.end();
        self.losses += 1;
        Some(self.subscriber.leave_backlog(|item| reading.take(item)))
    }

    /// Messages from the place of the history on, 0 if their number is unknown; `None` for a place that is still to come, and where the bus has
    /// no message that the tape lacks.
    fn lost_history(&self) -> Option<u64> {
        let (unread, _) = self.subscriber.lag();
        let next = self.subscriber.next_sequence() + unread;
        let reader = self.reader.as_ref().filter(|_| !self.is_earlier());
        let is_on_tape = reader.is_some_and(|reader| reader.last_sequence() + 1 >= next);
        match self.from? {
            TapePlace::Sequence(sequence) => next.checked_sub(sequence).filter(|lost| *lost > 0),
            // mutant: tape: history of a bus without a further message is lost
            TapePlace::Time(_) | TapePlace::Position(_) if is_on_tape => None,
            TapePlace::Time(ns) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let is_over = now.is_ok_and(|now| now.as_nanos() > u128::from(ns));
                is_over.then_some(0)
            }
            TapePlace::Position(_) => Some(0),
        }
    }

    /// Goes on with the bus as a reader without history.
    fn join_anew(&mut self) {
        self.end();
        self.subscriber.join_anew();
    }

    fn end(&mut self) {
        (self.reader, self.waits_since, self.state_at) = (None, None, None);
        self.part = Part::Lost;
    }
}

fn given(given: Given) -> Step {
    match given {
        Given::Event(event) => Step::Event(event),
        Given::Nothing => Step::Progress,
    }
}
