//! The tables of a bus, from the writer's side: definitions, and an image of each book.

use super::book_image::{Drawing, Drawn, Moment, words};
use super::channel_state::{self, ChannelState};
use super::damage::Damage;
use super::files::{DEFINITION_WORDS, Error, TableWriter};
use std::sync::atomic::Ordering;
use touchline_types::{Instrument, LevelChange, Stamps, Update, Validity};

/// Instruments for which memory is taken at a time: so many, but no more than take so many words of
/// images, and one at least.
const CHUNK: usize = 256;
const CHUNK_WORDS: usize = 1 << 20;

/// Keeps what a late joiner needs.
#[derive(Debug)]
pub struct Tables {
    definitions: TableWriter,
    images: TableWriter,
    channel: ChannelState,
    /// What stands in each image.
    drawn: Vec<Drawn>,
    instruments_max: usize,
    levels_max: usize,
    chunk: usize,
    /// Instruments that have memory.
    reserved: usize,
}

/// The message that tells of an update.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Number of the last message of it.
    pub sequence: u64,
    /// Position behind that.
    pub end: u64,
    /// Its words.
    pub message: &'a [u64],
    /// Its bytes.
    pub length: usize,
}

/// What became of an update in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Who joins sees it.
    Whole,
    /// The book is deeper than its image.
    Cut,
    /// The instrument has no place in the tables.
    Refused,
}

impl Tables {
    /// Takes memory for the first instruments.
    pub fn new(
        definitions: TableWriter,
        images: TableWriter,
        instruments_max: usize,
        levels_max: usize,
    ) -> Result<Tables, Error> {
        let chunk = (CHUNK_WORDS / words(levels_max)).clamp(1, CHUNK);
        let mut tables = Tables {
            chunk,
            definitions,
            images,
            channel: ChannelState::default(),
            drawn: Vec::with_capacity(instruments_max),
            instruments_max,
            levels_max,
            reserved: 0,
        };
        tables.reserve(chunk.min(instruments_max))?;
        Ok(tables)
    }

    /// Keeps what an update changes for those who join after it.
    #[inline]
    pub fn keep(&mut self, update: &Update<'_>, stamps: &Stamps, told: &Told<'_>) -> Kept {
        match update {
            Update::Book(book) => {
                let moment = moment(book.validity, stamps, told);
                self.draw(book.instrument, told.end, &moment, |drawing| {
                    drawing.play(book.changes)
                })
            }
            _ => self.keep_rare(update, stamps, told),
        }
    }

    #[inline(never)]
    fn keep_rare(&mut self, update: &Update<'_>, stamps: &Stamps, told: &Told<'_>) -> Kept {
        match update {
            Update::BookSnapshot(book) => {
                let moment = moment(book.validity, stamps, told);
                self.draw(book.instrument, told.end, &moment, |drawing| {
                    drawing.replace(book)
                })
            }
            Update::State(state) => {
                let moment = moment(state.validity, stamps, told);
                self.draw(state.instrument, told.end, &moment, |drawing| {
                    drawing.play(NO_CHANGES)
                })
            }
            Update::Definition(definition) => self.define(definition.instrument, told),
            Update::Gap(gap) => {
                self.channel.gap = Some((told.end, *gap));
                self.draw_channel(told.end)
            }
            Update::Download(phase) => {
                self.channel.download = Some((told.end, *phase));
                self.draw_channel(told.end)
            }
            Update::Reset => {
                self.channel.reset = Some(told.end);
                self.drawn.fill(Drawn::default());
                self.draw_channel(told.end)
            }
            // Nobody joins late to a trade; order books come whole with their own snapshots.
            Update::Book(_) | Update::Trade(_) | Update::Statistic(_) | Update::Status(_) => {
                Kept::Whole
            }
            Update::Orders(_) | Update::OrdersSnapshot(_) => Kept::Whole,
        }
    }

    /// What somebody did to a table.
    pub fn check(&self) -> Result<(), Damage> {
        Damage::of_file(self.definitions.memory())?;
        Damage::of_file(self.images.memory())
    }

    #[inline]
    fn draw(
        &mut self,
        instrument: Instrument,
        end: u64,
        moment: &Moment,
        change: impl FnOnce(&mut Drawing<'_>) -> bool,
    ) -> Kept {
        let index = instrument.index();
        if index >= self.drawn.len() && !self.admit(index) {
            return Kept::Refused;
        }
        let (drawn, levels_max) = (&mut self.drawn[index], self.levels_max);
        let whole = self.images.change(slot_of(instrument), end, |content| {
            let mut drawing = Drawing::new(content, drawn, levels_max);
            let whole = change(&mut drawing);
            drawing.sign(moment);
            whole
        });
        match whole {
            Some(true) => Kept::Whole,
            Some(false) => Kept::Cut,
            None => Kept::Refused,
        }
    }

    fn define(&mut self, instrument: Instrument, told: &Told<'_>) -> Kept {
        let index = instrument.index();
        if index >= self.drawn.len() && !self.admit(index) {
            return Kept::Refused;
        }
        let words = told.length.div_ceil(8).min(DEFINITION_WORDS - 1);
        let written = self.definitions.change(index, told.end, |content| {
            content[0].store(told.length as u64, Ordering::Relaxed);
            for (word, value) in content[1..].iter().zip(&told.message[..words]) {
                word.store(*value, Ordering::Relaxed);
            }
        });
        written.map_or(Kept::Refused, |()| Kept::Whole)
    }

    fn draw_channel(&mut self, end: u64) -> Kept {
        let channel = self.channel;
        let drawn = self
            .images
            .change(channel_state::SLOT, end, |content| channel.draw(content));
        drawn.map_or(Kept::Refused, |()| Kept::Whole)
    }

    /// Finds room for an instrument that was not seen before.
    #[cold]
    fn admit(&mut self, index: usize) -> bool {
        if index >= self.instruments_max {
            return false;
        }
        if index >= self.reserved {
            let wanted = (index + 1)
                .next_multiple_of(self.chunk)
                .min(self.instruments_max);
            if self.reserve(wanted).is_err() {
                return false;
            }
        }
        self.drawn.resize(index + 1, Drawn::default());
        true
    }

    /// Takes memory for the first `instruments`.
    fn reserve(&mut self, instruments: usize) -> Result<(), Error> {
        for (table, slots) in [
            (&self.definitions, instruments),
            (&self.images, instruments + 1),
        ] {
            let bytes = table.shape().words_through(slots.saturating_sub(1)) * size_of::<u64>();
            table.memory().reserve(0..bytes)?;
        }
        self.reserved = instruments;
        Ok(())
    }
}

const NO_CHANGES: &[LevelChange] = &[];

/// Slot of an instrument among the images.
pub const fn slot_of(instrument: Instrument) -> usize {
    instrument.index() + 1
}

#[inline]
fn moment(validity: Validity, stamps: &Stamps, told: &Told<'_>) -> Moment {
    Moment {
        validity,
        sequence: told.sequence,
        exchange_ns: stamps.exchange_ns,
        receive_ns: stamps.packet.receive_ns,
    }
}
