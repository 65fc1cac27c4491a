//! Looking at a bus now and then: what stands there, without the stream.

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

/// Definitions and books as they are at the moment of asking. For screens and reports: a book that
/// changes a thousand times between two looks is read twice.
///
/// A book that is in the middle of a change is waited for, 2 ms at most. While a publisher is dead or
/// stopped in that change, it is waited for no more: all books of a bus cost one wait together.
#[derive(Debug)]
pub struct Images {
    root: Root,
    bus: String,
    reading: MarketReading,
    /// The writer whose tables are read.
    generation: u64,
    /// Who that is, as of the last look; `None` if it is gone.
    publisher: Option<Holder>,
    content: Box<[u64]>,
    book: BookImage,
    last_values: Box<[u64]>,
    /// How long each of the two tables is waited for.
    definitions_retry: ReadRetry,
    images_retry: ReadRetry,
}

/// Why a book cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// Nothing was published of it.
    #[error("no book of it was published yet")]
    Nothing,
    /// It is deeper than its image.
    #[error("its book is deeper than its image: publish with more image_levels_max")]
    TooDeep,
    /// Its publisher died or was stopped in the middle of a change.
    #[error(
        "its publisher died or was stopped while it changed the image: if it is gone, start it again"
    )]
    Torn,
    /// It changed during each copy.
    #[error("its book changes faster than it can be copied: look again")]
    Overwritten,
    /// Another publisher has begun since the last look.
    #[error("another publisher is just beginning: look again")]
    Restarted,
}

impl Images {
    /// Looks at a bus for the first time.
    ///
    /// # Errors
    /// Among others: there is no such bus, or it is not ours to read.
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

    /// Looks anew: who publishes, and whether another publisher has begun. `true` if so: then
    /// instruments are numbered anew.
    ///
    /// # Errors
    /// As [`Images::open`].
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let is_same = !self.reading.is_replaced() && self.is_of_same_writer();
        if is_same {
            self.publisher = self.reading.publisher()?;
        } else {
            *self = Images::open(&self.root, &self.bus)?;
        }
        Ok(!is_same)
    }

    /// The bus as a whole, at this moment, and just before that its named readers. As
    /// [`Overview::with_readers`], without opening everything anew.
    ///
    /// # Errors
    /// As [`Images::open`].
    pub fn overview(&mut self) -> Result<(Overview, Vec<ReaderView>), Error> {
        let mut readers = stats::views(&self.root, &self.bus)?;
        let overview = Overview::see(&mut self.reading, &self.bus)?;
        stats::measure(&mut readers, overview.position);
        Ok((overview, readers))
    }

    /// Who publishes; `None` if nobody does. As of the last look.
    pub fn publisher(&self) -> Option<&Holder> {
        self.publisher.as_ref()
    }

    /// Which writer of the bus this is, counted from 1.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All instruments that something was published of, and perhaps some between them.
    pub fn instruments(&self) -> impl Iterator<Item = Instrument> + use<> {
        let books = self.reading.tables[IMAGES].used().saturating_sub(1);
        (0..self.reading.tables[DEFINITIONS].used().max(books) as u32).map(Instrument)
    }

    /// The definition of an instrument, if there is one.
    pub fn definition(&self, instrument: Instrument) -> Option<InstrumentDefinition> {
        let definitions = &self.reading.tables[DEFINITIONS];
        // As long as its writer made the slots, whichever version that was.
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
            Body::InstrumentDefinition(view) => Some(view.value()),
            _ => None,
        }
    }

    /// Where in the stream the definition of an instrument is; `None` if there is none, or it is being written. Whoever
    /// remembers it sees whether the definition is another one, without reading it.
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

    /// The book of an instrument. One that would be live is stale if its publisher is gone or
    /// stalled.
    ///
    /// # Errors
    /// Why it cannot be seen.
    pub fn book(&mut self, instrument: Instrument) -> Result<&BookImage, Unseen> {
        let levels_max = book_image::levels_max(self.content.len());
        // Before the image as well: where a book of an earlier connection is taken back one by one, the channel is live
        // again only behind that, and may become so between the two looks.
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
        // After the image: a loss or a reset since then counts.
        let channel = self.channel();
        if !self.is_of_same_writer() {
            return Err(Unseen::Restarted);
        }
        let position = position(found)?.ok_or(Unseen::Nothing)?;
        // mutant: image: a book is shown whatever may hold for the channel
        let (before, channel) = (before?, channel?);
        let whole = self.book.take(&self.content, levels_max);
        if channel.is_reset_since(position) {
            self.book.clear(Validity::Live);
        } else if !whole {
            return Err(Unseen::TooDeep);
        }
        let own = channel.validity_since(position, self.book.validity);
        self.book.validity = before.state().price_of(channel.state().price_of(own));
        let is_live = self.book.validity == Validity::Live;
        // After the image: what it held was current when the publisher last said so.
        // mutant: bus: the book of a publisher that is gone is live
        // mutant: live: the book of a stalled publisher is live to who looks
        if is_live && (self.publisher.is_none() || self.reading.is_stalled()) {
            self.book.validity = Validity::Stale;
        }
        Ok(&self.book)
    }

    /// Last trade, trading status and figures of an instrument, as far as they are known and can be read.
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

    /// When the publisher last gave a sign of life, as of now; `None` of one that states no such
    /// thing.
    pub fn liveness(&self) -> Option<Liveness> {
        self.reading.liveness()
    }

    /// What holds for every book. Without it none can be judged.
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

/// Where in the ring a content is; `None` if there is no content.
fn position(found: Found) -> Result<Option<u64>, Unseen> {
    match found {
        Found::Content { position } => Ok(Some(position)),
        Found::Nothing => Ok(None),
        Found::Busy(_) => Err(Unseen::Torn),
        Found::Overwritten => Err(Unseen::Overwritten),
    }
}
