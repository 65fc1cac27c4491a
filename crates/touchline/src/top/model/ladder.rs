//! Which instrument is shown, and its book.

use super::STATES;
use crate::book::{ONLY, find::label, mirror_of};
use crate::ladder::ladder;
use crate::paint::Paint;
use touchline_transport::shm::Images;
use touchline_types::{InstrumentDefinition, Validity};

/// The book of an instrument as text.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// How far its book may be trusted; `None` if it cannot be seen.
    pub validity: Option<Validity>,
    /// The lines of the ladder, its heading first; or why there is none.
    pub lines: Vec<String>,
    /// Place of the instrument in the list, from 1.
    pub place: usize,
}

/// The instruments of a bus, and the one that is shown.
#[derive(Debug, Default)]
pub struct Choice {
    /// By venue id.
    all: Vec<InstrumentDefinition>,
    /// How many there were to look at, defined or not.
    numbered: usize,
    /// By its name, which a restart does not change.
    chosen: Option<String>,
    /// What was asked for, and no instrument is called like that so far.
    awaited: Option<String>,
    /// The one whose book has changed last, until one is chosen.
    busiest: Option<String>,
}

/// More levels than any screen has rows.
const ROWS_MAX: usize = 100;

impl Choice {
    /// What there is on the bus now.
    pub fn learn(&mut self, images: &Images) {
        let numbered: Vec<_> = images.instruments().collect();
        let defined = numbered
            .iter()
            .filter_map(|instrument| images.definition(*instrument));
        self.all = defined.collect();
        self.all.sort_by_key(|definition| definition.security_id);
        self.numbered = numbered.len();
        if let Some(wanted) = self.awaited.take() {
            self.choose(&wanted);
        }
    }

    /// How many there are.
    pub fn instruments(&self) -> usize {
        self.numbered
    }

    /// Counts the states of all books.
    pub fn count(&mut self, images: &mut Images, books: &mut [usize; STATES.len() + 1]) {
        let mut busiest = 0;
        for definition in &self.all {
            let Ok(book) = images.book(definition.instrument) else {
                books[STATES.len()] += 1;
                continue;
            };
            let place = STATES.iter().position(|state| *state == book.validity);
            books[place.unwrap_or(STATES.len())] += 1;
            if self.is_free() && book.sequence > busiest {
                busiest = book.sequence;
                self.busiest = Some(label(definition));
            }
        }
        // It stays, or the screen would show another at each look.
        if self.is_free() {
            self.chosen = self.busiest.take();
        }
    }

    /// Nobody has asked for an instrument.
    fn is_free(&self) -> bool {
        self.chosen.is_none() && self.awaited.is_none()
    }

    /// By symbol or id, else the first whose symbol has this in it.
    pub fn choose(&mut self, wanted: &str) -> bool {
        let upper = wanted.to_uppercase();
        let is_it = |definition: &&InstrumentDefinition| {
            label(definition).to_uppercase() == upper
                || definition.security_id.to_string() == wanted
        };
        let has_it =
            |definition: &&InstrumentDefinition| label(definition).to_uppercase().contains(&upper);
        let found = self
            .all
            .iter()
            .find(is_it)
            .or_else(|| self.all.iter().find(has_it));
        match found {
            Some(definition) => self.chosen = Some(label(definition)),
            // Who has chosen another one before keeps it; else it may come yet.
            None if self.chosen.is_none() => self.awaited = Some(wanted.to_owned()),
            None => {}
        }
        found.is_some()
    }

    /// The next of the list, or the one before.
    pub fn step(&mut self, by: isize) {
        if self.all.is_empty() {
            return;
        }
        let last = self.all.len() - 1;
        let place = self.place().unwrap_or(0);
        let place = place.saturating_add_signed(by).min(last);
        self.chosen = Some(label(&self.all[place]));
        self.awaited = None;
    }

    /// The book of the chosen one.
    pub fn ladder(&self, images: &mut Images) -> Option<Ladder> {
        if let Some(wanted) = &self.awaited {
            return Some(Ladder {
                validity: None,
                lines: vec![format!(" no instrument is called like {wanted}")],
                place: 0,
            });
        }
        let place = self.place()?;
        let definition = &self.all[place];
        let (validity, lines) = match images.book(definition.instrument) {
            Err(unseen) => (None, vec![format!(" {}: {unseen}", label(definition))]),
            Ok(book) => {
                let mirror = mirror_of(book);
                let levels = mirror.book(ONLY)?;
                let text = ladder(definition, book.validity, levels, ROWS_MAX, Paint::plain());
                (
                    Some(book.validity),
                    text.lines().map(str::to_owned).collect(),
                )
            }
        };
        Some(Ladder {
            validity,
            lines,
            place: place + 1,
        })
    }

    fn place(&self) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        self.all
            .iter()
            .position(|definition| label(definition) == *chosen)
    }
}
