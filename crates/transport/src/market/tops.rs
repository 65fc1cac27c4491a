//! Last published top of each book.

use std::hint::black_box;
use touchline_book::ImpliedLists;
use touchline_book::price::IMPLIED_MAX;
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Instrument, LevelChange, Update, Validity,
};

/// Detects changes of tops.
#[derive(Debug)]
pub struct Tops {
    last: Vec<Option<TopOfBook>>,
    /// Up to the last instrument with an implied level: an update has the first levels of the direct book alone.
    implied: Vec<ImpliedLists>,
    instruments_max: usize,
}

impl Tops {
    /// Allocates room for this many instruments; others have no top.
    pub fn new(instruments_max: usize) -> Tops {
        Tops {
            last: Vec::with_capacity(instruments_max),
            implied: Vec::with_capacity(instruments_max),
            instruments_max,
        }
    }

    /// The instrument's top after an update, if it changed.
    #[inline]
    pub fn changed_by(&mut self, update: &Update<'_>) -> Option<TopOfBook> {
        let top = match update {
            Update::Book(book) => self.after(book),
            Update::BookSnapshot(book) => {
                self.replace_implied(book);
                TopOfBook::from(book)
            }
            Update::State(state) => TopOfBook {
                validity: state.validity,
                ..self
                    .place(state.instrument)?
                    .unwrap_or(TopOfBook::unknown(state.instrument))
            },
            // The message itself makes each reader's live tops gapped, and a state alone may follow it: prices stay.
            Update::Gap(_) => {
                let last = self.last.iter_mut().flatten();
                for top in last.filter(|top| top.validity == Validity::Live) {
                    top.validity = Validity::Gapped;
                }
                return None;
            }
            Update::Reset => {
                self.last.fill(None);
                self.implied.fill(none());
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
        let implied = self.implied.get(instrument.index());
        black_box(implied.map(|lists| lists.touches([None; 2])));
    }

    /// The top after the steps of an update.
    #[inline]
    fn after(&mut self, update: &BookUpdate<'_>) -> TopOfBook {
        let direct = [update.best_bid, update.best_ask];
        let is_implied = |change: &LevelChange| change.book == BookKind::Implied;
        if update.changes.iter().any(is_implied)
            && let Some(lists) = self.lists(update.instrument)
        {
            lists.apply(update.changes);
        }
        let touches = match self.implied.get(update.instrument.index()) {
            Some(lists) => lists.touches(direct),
            None => none().touches(direct),
        };
        TopOfBook::new(update.instrument, update.validity, touches)
    }

    fn replace_implied(&mut self, book: &BookSnapshot<'_>) {
        let levels = [book.implied_bids, book.implied_asks];
        let is_any = levels.iter().any(|list| !list.is_empty());
        if (is_any || book.instrument.index() < self.implied.len())
            && let Some(lists) = self.lists(book.instrument)
        {
            lists.replace(levels);
        }
    }

    /// The implied lists of an instrument, for a change.
    fn lists(&mut self, instrument: Instrument) -> Option<&mut ImpliedLists> {
        let index = instrument.index();
        if index >= self.implied.len() {
            if index >= self.instruments_max {
                return None;
            }
            self.implied.resize(index + 1, none());
        }
        self.implied.get_mut(index)
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

fn none() -> ImpliedLists {
    ImpliedLists::new(IMPLIED_MAX as u8)
}
