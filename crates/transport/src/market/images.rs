//! Occasional reads of a bus, without the stream.

use super::Overview;
use super::book_image::{self, BookImage};
use super::channel_image::{self, ChannelImage};
use super::last_values::{self, ENTRIES, LastValue};
use super::reading::{self, DEFINITIONS, IMAGES, LAST_VALUES, MarketReading};
use super::tables::slot_of;
use crate::bus::{Error, Holder, Liveness, ReadRetry, Root};
use crate::stats::{self, ReaderView};
use touchline_shm::last_value::Found;
use touchline_types::native::{Body, Message};
use touchline_types::{Instrument, InstrumentDefinition, Validity};
use zerocopy::IntoBytes;

/// Present definitions and books. For screens and reports: intermediate states between two reads
/// are not seen.
///
/// A book with a change in progress is waited for, at most 2 ms. While a publisher is dead or stopped in that change,
/// it is not waited for again: all books of a bus cost one wait together.
#[derive(Debug)]
pub struct Images {
    root: Root,
    bus: String,
    reading: MarketReading,
    /// Generation of the tables.
    generation: u64,
    /// Its process as of the last refresh; `None` if it has ended.
    publisher: Option<Holder>,
    content: Box<[u64]>,
    book: BookImage,
    last_values: Box<[u64]>,
    /// Wait limits of each table.
    definitions_retry: ReadRetry,
    images_retry: ReadRetry,
}

/// Reason why a book cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// The book was never published, and its channel was not reset; or there is no such instrument.
    #[error("no book was published yet")]
    Nothing,
    /// The book is deeper than its slot, or has missed updates while its slot was refused memory.
    #[error(
        "its snapshot slot has no whole book: the book is deeper (raise image_levels_max of the publisher), or /dev/shm was full when it changed; the next whole book fills it"
    )]
    TooDeep,
    /// Its publisher died or was stopped during a change.
    #[error(
        "its publisher died or was stopped while it wrote the snapshot slot: restart it if it has ended"
    )]
    Torn,
    /// The slot changed during each copy.
    #[error("its book changes faster than it can be copied: try again")]
    Overwritten,
    /// Another publisher has started since the last refresh.
    #[error("another publisher is starting: try again")]
    Restarted,
}

impl Images {
    /// Opens a bus.
    ///
    /// # Errors
    /// Among others: the bus does not exist or does not belong to this user.
    pub fn open(root: &Root, bus: &str) -> Result<Images, Error> {
        let (reading, _) = reading::join(root, bus, false)?;
        let content_words = reading.tables[IMAGES].shape().content_words;
        Ok(Images {
            root: root.clone(),
            bus: bus.to_owned(),
            generation: reading.generation,
            publisher: reading.publisher()?,
            content: vec![0; content_words.max(channel_image::WORDS)].into(),
            book: BookImage::with_room(book_image::levels_max(content_words)),
            last_values: vec![0; last_values::WORDS].into(),
            definitions_retry: ReadRetry::default(),
            images_retry: ReadRetry::default(),
            reading,
        })
    }

    /// Updates the publisher. `true` if another publisher has started: then instrument indexes are
    /// new.
    ///
    /// # Errors
    /// As for [`Images::open`].
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let is_same = !self.reading.is_replaced() && self.is_of_same_writer();
        if is_same {
            self.publisher = self.reading.publisher()?;
        } else {
            *self = Images::open(&self.root, &self.bus)?;
        }
        Ok(!is_same)
    }

    /// Present overview of the bus and its named readers, as [`Overview::with_readers`] without
    /// opening the bus again.
    ///
    /// # Errors
    /// As for [`Images::open`].
    pub fn overview(&mut self) -> Result<(Overview, Vec<ReaderView>), Error> {
        let mut readers = stats::views(&self.root, &self.bus)?;
        let overview = Overview::see(&mut self.reading, &self.bus)?;
        stats::measure(&mut readers, overview.position);
        Ok((overview, readers))
    }

    /// Publishing process as of the last refresh; `None` if there is none.
    pub fn publisher(&self) -> Option<&Holder> {
        self.publisher.as_ref()
    }

    /// Number of the writer, from 1.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All published instruments, possibly with unpublished ones between them.
    pub fn instruments(&self) -> impl Iterator<Item = Instrument> + use<> {
        (0..self.used() as u32).map(Instrument)
    }

    /// Instruments up to the last one that was published.
    fn used(&self) -> usize {
        let books = self.reading.tables[IMAGES].used().saturating_sub(1);
        self.reading.tables[DEFINITIONS].used().max(books)
    }

    /// The definition of an instrument, if there is one.
    pub fn definition(&self, instrument: Instrument) -> Option<InstrumentDefinition> {
        let definitions = &self.reading.tables[DEFINITIONS];
        // In the size of the slots, whichever version wrote them.
        let mut content = vec![0_u64; definitions.shape().content_words];
        let found = self.definitions_retry.read(definitions, |table| {
            table.read(instrument.index(), &mut content)
        });
        if !matches!(found, Found::Content { .. }) || !self.is_of_same_writer() {
            return None;
        }
        let (length, content) = content.split_first()?;
        let bytes = content.as_bytes().get(..usize::try_from(*length).ok()?)?;
        let message = Message::parse(bytes).ok()?;
        match message.body {
            Body::InstrumentDefinition(view) => {
                Some(view.value()).filter(|definition| definition.instrument == instrument)
            }
            _ => None,
        }
    }

    /// Stream position of an instrument's definition; `None` if there is none, or while it is written. A changed
    /// position means a changed definition.
    pub fn definition_version(&self, instrument: Instrument) -> Option<u64> {
        match self.reading.tables[DEFINITIONS].read(instrument.index(), &mut []) {
            Found::Content { position } => Some(position),
            Found::Nothing | Found::Busy(_) | Found::Overwritten => None,
        }
    }

    /// Directory of the buses.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The book of an instrument. A live book is returned as stale if its publisher has ended or
    /// stalled.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn book(&mut self, instrument: Instrument) -> Result<&BookImage, Unseen> {
        let levels_max = book_image::levels_max(self.content.len());
        // The channel is read before the slot as well: it may become live between the two reads, after the books of an
        // earlier connection were withdrawn one by one.
        let before = self.channel();
        let images = &self.reading.tables[IMAGES];
        let found = self.images_retry.read(images, |table| {
            table.read_parts(
                slot_of(instrument),
                &mut self.content,
                book_image::HEAD_WORDS,
                |head| book_image::used(head, levels_max),
            )
        });
        // The channel is read after the slot: a loss or a reset since the read of the slot counts.
        let channel = self.channel();
        if !self.is_of_same_writer() {
            return Err(Unseen::Restarted);
        }
        let position = position(found)?;
        // mutant: image: a book is published before the channel state is known
        let (before, channel) = (before?, channel?);
        let (position, whole) = match (position, channel.reset) {
            (Some(position), _) => (position, self.book.take(&self.content, levels_max)),
            // Never published: a reset leaves it as any other, as for a subscriber.
            // mutant: image: a lookup has no book that was never published after a reset
            (None, Some(reset)) if instrument.index() < self.used() => {
                self.book.forget();
                (reset.wrapping_sub(1), true)
            }
            (None, _) => return Err(Unseen::Nothing),
        };
        if channel.is_reset_since(position) {
            self.book.clear(Validity::Live);
        } else if !whole {
            return Err(Unseen::TooDeep);
        }
        let own = channel.validity_since(position, self.book.validity);
        self.book.validity = before.state().price_of(channel.state().price_of(own));
        let is_live = self.book.validity == Validity::Live;
        // The publisher is checked after the slot: the content was current at its last statement.
        // mutant: live: the book of a stalled publisher is live in a lookup
        if is_live && (self.publisher.is_none() || self.reading.is_stalled()) {
            self.book.validity = Validity::Stale;
        }
        Ok(&self.book)
    }

    /// Last trade, trading status and statistics of an instrument, as far as known and readable.
    pub fn last_values(&mut self, instrument: Instrument) -> impl Iterator<Item = LastValue> + '_ {
        let table = &self.reading.tables[LAST_VALUES];
        let content = &mut self.last_values;
        let found = self.images_retry.read(table, |table| {
            table.read(last_values::slot_of(instrument), content)
        });
        let is_there =
            matches!(found, Found::Content { .. }) && self.reading.is_of_writer(self.generation);
        let entries = if is_there { 0..ENTRIES } else { 0..0 };
        let content = &self.last_values;
        entries.filter_map(move |entry| last_values::read(content, entry, Some(instrument)))
    }

    /// Present liveness of the publisher; `None` if it states no activity.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// State of the channel. Without it no book can be judged.
    fn channel(&self) -> Result<ChannelImage, Unseen> {
        let mut content = [0; channel_image::WORDS];
        let found = self
            .images_retry
            .read(&self.reading.tables[IMAGES], |table| {
                table.read(channel_image::SLOT, &mut content)
            });
        Ok(match position(found)? {
            Some(_) => ChannelImage::take(&content),
            None => ChannelImage::default(),
        })
    }

    fn is_of_same_writer(&self) -> bool {
        self.reading.is_of_writer(self.generation)
    }
}

/// Stream position of a slot; `None` if it is empty.
fn position(found: Found) -> Result<Option<u64>, Unseen> {
    match found {
        Found::Content { position } => Ok(Some(position)),
        Found::Nothing => Ok(None),
        Found::Busy(_) => Err(Unseen::Torn),
        Found::Overwritten => Err(Unseen::Overwritten),
    }
}
