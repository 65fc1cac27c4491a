//! Last published top of each book.

use std::hint::black_box;
use touchline_types::native::TopOfBook;
use touchline_types::{Instrument, Update};

/// Detects changes of tops.
#[derive(Debug)]
pub struct Tops {
    last: Vec<Option<TopOfBook>>,
    instruments_max: usize,
}

impl Tops {
    /// Allocates room for this many instruments; others have no top.
    pub fn new(instruments_max: usize) -> Tops {
        Tops {
            last: Vec::with_capacity(instruments_max),
            instruments_max,
        }
    }

    /// The instrument's top after an update, if it changed.
    #[inline]
    pub fn changed_by(&mut self, update: &Update<'_>) -> Option<TopOfBook> {
        let top = match update {
            Update::Book(book) => TopOfBook::from(book),
            Update::BookSnapshot(book) => TopOfBook::from(book),
            Update::State(state) => TopOfBook {
                validity: state.validity,
                ..self
                    .place(state.instrument)?
                    .unwrap_or(TopOfBook::unknown(state.instrument))
            },
            // All instruments change at once: the next top of each is published.
            Update::Gap(_) | Update::Reset => {
                self.last.fill(None);
                return None;
            }
            _ => return None,
        };
        let last = self.place(top.instrument)?;
        if *last == Some(top) {
            return None;
        }
        *last = Some(top);
        Some(top)
    }

    /// Reads an instrument's top, so that it is in the caches.
    pub fn warm(&self, instrument: Instrument) {
        black_box(self.last.get(instrument.index()).map(Option::is_some));
    }

    #[inline]
    fn place(&mut self, instrument: Instrument) -> Option<&mut Option<TopOfBook>> {
        let index = instrument.index();
        if index >= self.last.len() {
            if index >= self.instruments_max {
                return None;
            }
            self.last.resize(index + 1, None);
        }
        self.last.get_mut(index)
    }
}
