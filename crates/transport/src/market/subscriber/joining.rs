//! Joining: state of the channel, then each instrument's definition and book, then all order books, from the tables.
//!
//! The ring is positioned at a join point before the first table is read, so a table contains everything up to that
//! point, or more. Each slot's position states how much more, and [`Rows`](super::rows::Rows) skips that part of the
//! ring for each instrument.
//!
//! No step waits for a slot. One with a change in progress is tried again by the next poll, and joining stays there; a
//! running publisher ends a change within microseconds. If the publisher has ended, or [`MAX`](busy::MAX) has passed
//! with such slots, joining continues without that slot: its book is not live, and is taken from its slot at its next
//! change, or arrives as a whole. The change in progress belongs to a message that is not in the ring yet, so a
//! publisher that continues brings that next change.

mod busy;
mod last_values;
mod orders;
#[cfg(test)]
mod tests;

use super::stall::Resumed;
use super::{Item, Received, Step, Subscriber};
use crate::SubscriptionEvent;
use crate::market::Kinds;
use crate::market::book_image;
use crate::market::channel_image::{self, ChannelImage};
use crate::market::reading::{DEFINITIONS, IMAGES};
use crate::market::tables::slot_of;
use busy::Busy;
use orders::OrderPart;
use std::time::Instant;
use touchline_shm::last_value::Found;
use touchline_types::native::{Body, TopOfBook};
use touchline_types::{
    ChannelState, Instrument, PacketInfo, Phase, State, Timestamps, Update, Validity,
};

/// State of joining.
#[derive(Debug)]
pub struct Joining {
    /// `None` before it is read, and if it cannot be read. Without it the validity of a slot's book is unknown.
    channel: Option<ChannelImage>,
    next: Part,
    busy: Busy,
    /// Whether only order books are handed out.
    orders_alone: bool,
}

/// Next part.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Read the state of the channel; only the absence of a publisher is handed out.
    Channel,
    /// State of the channel, before every book that it may worsen; whether tables are read afterwards.
    State(bool),
    /// Read only the state of the channel.
    StateAlone,
    /// Definition of an instrument.
    Definition(u32),
    /// Book of an instrument.
    Book(u32),
    /// Last values of an instrument, from an entry on.
    LastValues(u32, usize),
    /// Status of a product group.
    Group(usize),
    /// The order books.
    Orders(OrderPart),
    /// Report that the publisher has ended or is stalled, after a message that implies otherwise; whether tables
    /// are read afterwards.
    Away(bool),
    /// Download phase of the venue. A running download is reported before the definitions, a completed one after the
    /// last book: the receiver has everything then.
    Download(Phase),
    /// Books and states that are live again after a stall.
    Resumed(Resumed),
}

/// Result of reading a slot.
enum SlotCopy {
    /// The scratch book.
    Book,
    /// No usable book; its validity.
    Unfit(Validity),
    /// Empty.
    Nothing,
    /// A change is in progress.
    Busy,
}

/// A change is in progress: the next poll reads the slot again.
struct TryLater;

impl Joining {
    /// Starts joining, with the ring positioned.
    pub fn new() -> Joining {
        Joining {
            channel: None,
            next: Part::Channel,
            busy: Busy::default(),
            orders_alone: false,
        }
    }

    /// Only reports that the publisher has ended or is stalled.
    pub fn away() -> Joining {
        Joining {
            next: Part::Away(false),
            ..Joining::new()
        }
    }

    /// Hands out only order books.
    pub fn orders_alone() -> Joining {
        Joining {
            next: Part::Orders(OrderPart::Begin),
            orders_alone: true,
            ..Joining::new()
        }
    }

    /// Hands out only the state of the channel.
    pub fn state_alone() -> Joining {
        Joining {
            next: Part::StateAlone,
            ..Joining::new()
        }
    }

    /// Hands out the books and states that are live again after a stall.
    pub fn resumed() -> Joining {
        Joining {
            next: Part::Resumed(Resumed::Channel),
            ..Joining::new()
        }
    }

    /// Goes on with this part of it.
    pub fn resume_at(&mut self, part: Resumed) {
        self.next = Part::Resumed(part);
    }

    /// Reads the tables after the pending reports.
    pub fn begin_again(joining: &mut Option<Joining>) {
        match joining {
            Some(joining) => joining.next = Part::Away(true),
            None => *joining = Some(Joining::new()),
        }
    }
}

impl Subscriber {
    /// One step of joining.
    pub(super) fn join_step<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let joining = self.joining.as_ref();
        let joining = joining.expect("a step of joining is made by a reader that joins");
        match joining.next {
            Part::Channel => self.join_channel(take),
            Part::State(goes_on) => self.join_state(goes_on, take),
            Part::StateAlone => self.join_state_alone(),
            Part::Definition(index) => self.join_definition(Instrument(index), take),
            Part::Book(index) => {
                self.join_book(Instrument(index), Part::LastValues(index, 0), take)
            }
            Part::LastValues(index, entry) => self.join_last_values(Instrument(index), entry, take),
            Part::Group(slot) => self.join_group(slot, take),
            Part::Orders(part) => self.join_orders(part, take),
            Part::Away(rejoins) => {
                self.joining = rejoins.then(Joining::new);
                match self.away_event() {
                    Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
                    None => Step::Passed,
                }
            }
            Part::Download(phase) => self.join_download(phase, take),
            Part::Resumed(part) => self.resume(part, take),
        }
    }

    fn join_channel<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        if self.restart_missed {
            return self.find_restart(take);
        }
        let Ok(channel) = self.read_channel() else {
            // mutant: image: a poll waits for the channel state
            return Step::Nothing;
        };
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        if let Some(joining) = &mut self.joining {
            joining.channel = channel;
        }
        self.rows
            .begin_images(self.reading.ring.next().position, channel);
        self.go_on(
            match channel.is_some_and(|channel| channel.state.is_none()) {
                true => self.first_part(),
                false => Part::State(true),
            },
        );
        match self.away_event() {
            Some(event) => Step::Given(take(Item::SubscriptionEvent(event))),
            None => Step::Passed,
        }
    }

    /// Event of a publisher that has ended or is stalled.
    fn away_event(&mut self) -> Option<SubscriptionEvent> {
        let is_gone = self.watch.is_gone;
        self.watch.gone_notified |= is_gone;
        match is_gone {
            true => Some(SubscriptionEvent::PublisherGone),
            false => (self.watch.is_stalled).then_some(SubscriptionEvent::PublisherStalled),
        }
    }

    /// State of the channel; `None` if it cannot be read, and an error if the next poll must try again.
    fn read_channel(&mut self) -> Result<Option<ChannelImage>, TryLater> {
        let mut content = [0; channel_image::WORDS];
        let found = self.reading.tables[IMAGES].read(channel_image::SLOT, &mut content);
        let mut channel = match found {
            Found::Content { .. } => Some(ChannelImage::take(&content)),
            Found::Nothing => Some(NOTHING_HAPPENED),
            Found::Busy(_) | Found::Overwritten if self.tries_later() => return Err(TryLater),
            // mutant: image: a reset in progress is ignored
            Found::Busy(_) | Found::Overwritten => None,
        };
        // A receiver that was notified of a gapped or stale channel is notified of its recovery.
        if let Some(channel) = &mut channel
            && channel.state.is_none()
            && self.rows.is_doubted()
        {
            channel.state = Some((0, ChannelState::LIVE));
        }
        Ok(channel)
    }

    /// First part of the tables, after the state of the channel.
    fn first_part(&self) -> Part {
        match self.channel().download {
            Some((_, Phase::Begun)) => Part::Download(Phase::Begun),
            Some((_, Phase::Ended)) | None => Part::Definition(0),
        }
    }

    /// Hands out the state of the channel: earlier items may be from before a loss.
    fn join_state<T>(&mut self, goes_on: bool, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let state = match self.is_publisher_away() {
            true => self.rows.state().stale(),
            false => self.rows.state(),
        };
        match goes_on {
            true => self.go_on(self.first_part()),
            false => self.joining = None,
        }
        let update = Update::Channel(&state);
        Step::Given(take(image_item(0, Timestamps::default(), update)))
    }

    /// Reads the state of the channel for a subscriber that takes no snapshots after a loss: no book would bring it.
    fn join_state_alone<T>(&mut self) -> Step<T> {
        let Ok(channel) = self.read_channel() else {
            return Step::Nothing;
        };
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        self.rows.note_channel(channel.as_ref());
        match channel.is_some_and(|channel| channel.state.is_none()) {
            true => self.joining = None,
            false => self.go_on(Part::State(false)),
        }
        Step::Passed
    }

    fn join_definition<T>(
        &mut self,
        instrument: Instrument,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let books = self.reading.tables[IMAGES].used().saturating_sub(1);
        if instrument.index() >= self.reading.tables[DEFINITIONS].used().max(books) {
            // mutant: image: a book without a slot is built from the updates after the join
            self.rows.tables_read();
            self.go_on(Part::Group(0));
            return Step::Passed;
        }
        let found =
            self.reading.tables[DEFINITIONS].read(instrument.index(), &mut self.scratch.definition);
        // mutant: image: a poll waits for a definition
        if matches!(found, Found::Busy(_) | Found::Overwritten) && self.tries_later() {
            return Step::Nothing;
        }
        self.go_on(Part::Book(instrument.0));
        let Found::Content { position } = found else {
            return Step::Passed;
        };
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        let message = self.scratch.definition_message();
        let Some((message, Body::InstrumentDefinition(view))) =
            message.map(|message| (message, message.body))
        else {
            return Step::Passed;
        };
        let definition = view.value();
        // Another process wrote the memory: the slot has the definition of another instrument.
        // mutant: image: a definition of another instrument is taken from its slot
        if definition.instrument != instrument {
            return Step::Passed;
        }
        let filter = &mut self.settings.filter;
        let wanted = || filter.as_mut().is_none_or(|filter| filter(&definition));
        match self.rows.definition_taken(instrument, position, wanted) {
            true => {
                let update = Update::Definition(&definition);
                Step::Given(take(image_item(
                    message.sequence(),
                    message.timestamps(),
                    update,
                )))
            }
            false => Step::Passed,
        }
    }

    /// All order books were handed out.
    fn end_orders(&mut self) {
        let is_alone = self
            .joining
            .as_ref()
            .is_some_and(|joining| joining.orders_alone);
        match self.channel().download {
            Some((_, Phase::Ended)) if !is_alone => self.go_on(Part::Download(Phase::Ended)),
            _ => self.joining = None,
        }
    }

    fn join_download<T>(&mut self, phase: Phase, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        match phase {
            Phase::Begun => self.go_on(Part::Definition(0)),
            Phase::Ended => self.joining = None,
        }
        let update = Update::Download(phase);
        Step::Given(take(image_item(0, Timestamps::default(), update)))
    }

    /// Hands out the book of an instrument from its slot, or reports that there is none yet.
    fn join_book<T>(
        &mut self,
        instrument: Instrument,
        after: Part,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let kinds = self.settings.kinds;
        if !self.rows.is_wanted(instrument) || !kinds.has_any(Kinds::BOOKS | Kinds::TOPS) {
            self.go_on(after);
            return Step::Passed;
        }
        let is_channel_known = matches!(&self.joining, Some(joining) if joining.channel.is_some());
        let taken = match is_channel_known {
            true => match self.take_image(instrument) {
                SlotCopy::Nothing => self.take_unnamed(instrument),
                taken => taken,
            },
            false => SlotCopy::Busy,
        };
        // mutant: image: a poll waits for a book
        if matches!(taken, SlotCopy::Busy) && is_channel_known && self.tries_later() {
            return Step::Nothing;
        }
        self.go_on(after);
        match taken {
            SlotCopy::Book if kinds.has_any(Kinds::BOOKS) => {
                Step::Given(take(self.book_item(instrument, false)))
            }
            SlotCopy::Book => Step::Given(take(self.top_item(instrument))),
            SlotCopy::Unfit(validity) => Step::Given(take(state_item(instrument, validity))),
            SlotCopy::Nothing => Step::Passed,
            SlotCopy::Busy => self.join_without(instrument, take),
        }
    }

    /// Reports a book whose slot cannot be read as not live. The ring brings it later.
    fn join_without<T>(
        &mut self,
        instrument: Instrument,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let position = self.reading.ring.next().position;
        self.rows
            .image_copied(instrument, position, false, Validity::Recovering);
        let validity = match self.is_publisher_away() {
            true => Validity::Stale,
            false => Validity::Recovering,
        };
        Step::Given(take(state_item(instrument, validity)))
    }

    /// Whether the next poll reads again a slot with a change in progress. False if no publisher can end the change, or
    /// if the change has taken too long.
    #[cold]
    fn tries_later(&mut self) -> bool {
        let is_gone = self.watch.is_gone;
        match &mut self.joining {
            // mutant: image: joining retries a book without end
            // mutant: image: joining retries a book of an ended publisher
            // mutant: image: joining never retries
            Some(joining) => !is_gone && !joining.busy.is_over(Instant::now()),
            None => false,
        }
    }

    /// Hands out a book from its slot, because the receiver lacks the book that the message refers to. With a change in
    /// progress, the message of that change follows, and is the next occasion.
    #[cold]
    pub(super) fn image_instead<T>(
        &mut self,
        instrument: Instrument,
        batch_end: bool,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        match self.take_image(instrument) {
            SlotCopy::Book => Step::Given(take(self.book_item(instrument, batch_end))),
            // Its instrument was refused a slot: after a reset the receiver takes its book for empty.
            // mutant: image: a book without a slot stays live
            SlotCopy::Nothing if self.reading.is_of_writer(self.generation) => {
                let mut item = state_item(instrument, Validity::Recovering);
                if let Item::Update(received) = &mut item {
                    received.batch_end = batch_end;
                }
                Step::Given(take(item))
            }
            SlotCopy::Unfit(_) | SlotCopy::Nothing | SlotCopy::Busy => Step::Passed,
        }
    }

    /// Reads a slot into the scratch book, with its present validity. One attempt.
    fn take_image(&mut self, instrument: Instrument) -> SlotCopy {
        let content = &mut self.scratch.content;
        let levels_max = book_image::levels_max(content.len());
        let found = self.reading.tables[IMAGES].read_parts(
            slot_of(instrument),
            content,
            book_image::HEAD_WORDS,
            |head| book_image::used(head, levels_max),
        );
        if !self.is_of_the_same_writer() {
            return SlotCopy::Nothing;
        }
        let position = match found {
            Found::Nothing => return SlotCopy::Nothing,
            Found::Busy(_) | Found::Overwritten => return SlotCopy::Busy,
            Found::Content { position } => position,
        };
        let whole = self.scratch.book.take(&self.scratch.content, levels_max);
        self.judge_image(instrument, position, whole)
    }

    /// The book of an instrument whose slot is empty: it was never published, so a reset leaves it as any other.
    fn take_unnamed(&mut self, instrument: Instrument) -> SlotCopy {
        let Some(reset) = self.channel().reset else {
            return SlotCopy::Nothing;
        };
        self.scratch.book.forget();
        // mutant: image: a book that was never published is not live after a reset
        self.judge_image(instrument, reset.wrapping_sub(1), true)
    }

    /// Present validity of the scratch book, which was in its slot at this position, and whether it is handed out.
    fn judge_image(&mut self, instrument: Instrument, position: u64, mut whole: bool) -> SlotCopy {
        let (channel, is_away) = (self.channel(), self.is_publisher_away());
        let book = &mut self.scratch.book;
        if channel.is_reset_since(position) {
            book.clear(Validity::Live);
            whole = true;
        }
        let published = channel.validity_since(position, book.validity);
        book.validity = published;
        if is_away && book.validity == Validity::Live {
            book.validity = Validity::Stale;
        }
        // For `live_only` the visible validity decides; other readers combine it with the channel's.
        let validity = match self.settings.live_only {
            true => self.rows.seen(book.validity),
            false => book.validity,
        };
        let hidden = self.settings.live_only && validity != Validity::Live;
        self.rows
            .image_copied(instrument, position, whole && !hidden, published);
        match whole && !hidden {
            true => SlotCopy::Book,
            false => SlotCopy::Unfit(validity),
        }
    }

    /// Top of the scratch book, for receivers without books.
    fn top_item(&self, instrument: Instrument) -> Item<'_> {
        let book = &self.scratch.book;
        Item::Top {
            sequence: book.sequence,
            timestamps: self.image_timestamps(),
            top: TopOfBook::from(&book.snapshot(instrument)),
            is_image: true,
            bytes: None,
        }
    }

    fn image_timestamps(&self) -> Timestamps {
        let book = &self.scratch.book;
        Timestamps {
            exchange_ns: book.exchange_ns,
            packet: PacketInfo {
                receive_ns: book.receive_ns,
                ..PacketInfo::default()
            },
            ..Timestamps::default()
        }
    }

    /// The scratch book.
    fn book_item(&self, instrument: Instrument, batch_end: bool) -> Item<'_> {
        let book = &self.scratch.book;
        Item::Update(Received {
            sequence: book.sequence,
            timestamps: self.image_timestamps(),
            update: Update::BookSnapshot(book.snapshot(instrument)),
            batch_end,
            is_image: true,
            bytes: None,
        })
    }

    /// Whether the tables still belong to the same writer. If not, joining ends here: the ring will
    /// announce the restart, and everything handed out is void.
    fn is_of_the_same_writer(&mut self) -> bool {
        let same = self.reading.is_of_writer(self.generation);
        if !same {
            self.joining = None;
            // Messages before that announcement refer to books that were not handed out.
            self.rows.await_restart();
        }
        same
    }

    fn channel(&self) -> ChannelImage {
        let joining = self.joining.as_ref();
        let channel = joining.and_then(|joining| joining.channel);
        channel.unwrap_or(NOTHING_HAPPENED)
    }

    /// Whether live books are handed out as stale.
    #[inline]
    pub(super) fn is_publisher_away(&self) -> bool {
        self.watch.is_gone || self.watch.is_stalled
    }

    fn go_on(&mut self, next: Part) {
        if let Some(joining) = &mut self.joining {
            joining.next = next;
            joining.busy.end();
        }
    }
}

/// A channel without a reset or a loss.
const NOTHING_HAPPENED: ChannelImage = ChannelImage {
    reset: None,
    gap: None,
    download: None,
    state: None,
};

pub(super) fn state_item<'a>(instrument: Instrument, validity: Validity) -> Item<'a> {
    let state = State {
        instrument,
        validity,
    };
    image_item(0, Timestamps::default(), Update::State(state))
}

pub(super) fn image_item<'a>(
    sequence: u64,
    timestamps: Timestamps,
    update: Update<'a>,
) -> Item<'a> {
    Item::Update(Received {
        sequence,
        timestamps,
        update,
        batch_end: false,
        is_image: true,
        bytes: None,
    })
}
