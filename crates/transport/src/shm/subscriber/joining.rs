//! Joining: what holds for the channel, then each instrument's definition and book, from the tables.
//!
//! The ring was put at a mark before the first table is read, so a table holds everything up to
//! there, or more. How much more is in each slot's position, and [`Rows`](super::rows::Rows) skips that
//! much of the ring for each instrument.

use super::{Item, Received, Step, Subscriber};
use crate::shm::book_image;
use crate::shm::channel_state::{self, ChannelState};
use crate::shm::tables::slot_of;
use touchline_shm::image::Found;
use touchline_types::native::Body;
use touchline_types::{Headline, Instrument, Stamps, State, Update, Validity};

/// How far joining has come.
#[derive(Debug)]
pub struct Joining {
    channel: ChannelState,
    next: Part,
}

/// What is handed out next.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// The channel's state is to be read.
    Channel,
    /// The last loss, if there was one.
    Gap,
    /// Definition of an instrument.
    Definition(u32),
    /// Book of an instrument.
    Book(u32),
}

impl Joining {
    /// Begins, with the ring at its place already.
    pub fn new() -> Joining {
        Joining {
            channel: NOTHING_HAPPENED,
            next: Part::Channel,
        }
    }
}

impl Subscriber {
    /// One part of joining.
    pub(super) fn join_step<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let Some(joining) = &self.joining else {
            return Step::Passed;
        };
        match joining.next {
            Part::Channel => self.join_channel(take),
            Part::Gap => self.join_gap(take),
            Part::Definition(index) => self.join_definition(Instrument(index), take),
            Part::Book(index) => {
                self.go_on(Part::Definition(index + 1));
                self.image(Instrument(index), false, take)
            }
        }
    }

    fn join_channel<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        let mut content = [0; channel_state::WORDS];
        let found = self.reading.images.read(channel_state::SLOT, &mut content);
        let channel = match found {
            Found::Content { .. } => ChannelState::take(&content),
            Found::Nothing | Found::Busy => NOTHING_HAPPENED,
        };
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        if let Some(joining) = &mut self.joining {
            joining.channel = channel;
        }
        self.rows
            .begin_images(self.reading.ring.next().position, channel);
        self.go_on(Part::Gap);
        match channel.reset {
            Some(_) => Step::Given(take(image_item(0, Stamps::default(), Update::Reset))),
            None => Step::Passed,
        }
    }

    fn join_gap<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Step<T> {
        self.go_on(Part::Definition(0));
        match self.channel().gap {
            Some((_, gap)) => Step::Given(take(image_item(0, Stamps::default(), Update::Gap(gap)))),
            None => Step::Passed,
        }
    }

    fn join_definition<T>(
        &mut self,
        instrument: Instrument,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        let books = self.reading.images.used().saturating_sub(1);
        if instrument.index() >= self.reading.definitions.used().max(books) {
            self.joining = None;
            return Step::Passed;
        }
        self.go_on(Part::Book(instrument.0));
        let found = self
            .reading
            .definitions
            .read(instrument.index(), &mut self.scratch.definition);
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
        let filter = &mut self.settings.filter;
        let wanted = || filter.as_mut().is_none_or(|filter| filter(&definition));
        match self.rows.definition_taken(instrument, position, wanted) {
            Some(true) => {
                let update = Update::Definition(&definition);
                Step::Given(take(image_item(
                    message.sequence(),
                    message.stamps(),
                    update,
                )))
            }
            Some(false) | None => Step::Passed,
        }
    }

    /// Hands out the book of an instrument as it is in its image, or says that there is none yet.
    pub(super) fn image<T>(
        &mut self,
        instrument: Instrument,
        batch_end: bool,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Step<T> {
        if !self.rows.is_wanted(instrument) {
            return Step::Passed;
        }
        let content = &mut self.scratch.content;
        let found = self.reading.images.read(slot_of(instrument), content);
        if !self.is_of_the_same_writer() {
            return Step::Passed;
        }
        let position = match found {
            Found::Nothing => return Step::Passed,
            Found::Busy => self.reading.ring.next().position,
            Found::Content { position } => position,
        };
        let book = &mut self.scratch.book;
        let levels_max = book_image::levels_max(self.scratch.content.len());
        let whole =
            matches!(found, Found::Content { .. }) && book.take(&self.scratch.content, levels_max);
        let channel = self
            .joining
            .as_ref()
            .map_or(NOTHING_HAPPENED, |joining| joining.channel);
        if whole && channel.is_reset_since(position) {
            book.clear(Validity::Live);
        }
        book.validity = channel.validity_since(position, book.validity);
        let hidden = self.settings.live_only && book.validity != Validity::Live;
        self.rows
            .image_taken(instrument, position, whole && !hidden);
        let stamps = Stamps {
            exchange_ns: book.exchange_ns,
            packet: Headline {
                receive_ns: book.receive_ns,
                ..Headline::default()
            },
            ..Stamps::default()
        };
        let update = if whole && !hidden {
            Update::BookSnapshot(book.snapshot(instrument))
        } else {
            Update::State(State {
                instrument,
                validity: book.validity,
            })
        };
        Step::Given(take(Item::Update(Received {
            sequence: book.sequence,
            stamps,
            update,
            batch_end,
            is_image: true,
        })))
    }

    /// Another writer may have begun while tables were read. Then joining ends here: the ring will
    /// say so, and everything that was handed out is void.
    fn is_of_the_same_writer(&mut self) -> bool {
        let same = self.reading.is_of_writer(self.epoch);
        if !same {
            self.joining = None;
        }
        same
    }

    fn channel(&self) -> ChannelState {
        self.joining
            .as_ref()
            .map_or(NOTHING_HAPPENED, |joining| joining.channel)
    }

    fn go_on(&mut self, next: Part) {
        if let Some(joining) = &mut self.joining {
            joining.next = next;
        }
    }
}

/// Of a channel without a reset or a loss.
const NOTHING_HAPPENED: ChannelState = ChannelState {
    reset: None,
    gap: None,
};

fn image_item<'a>(sequence: u64, stamps: Stamps, update: Update<'a>) -> Item<'a> {
    Item::Update(Received {
        sequence,
        stamps,
        update,
        batch_end: false,
        is_image: true,
    })
}
