//! Changes of books behind an event that waits, for a reader whose books make no events. They are applied when the event has been returned:
//! the books at a trade are those before what its packet does to them. Behind a top, which is of its book, they are applied at once; and one that
//! changes the top of a reader of tops waits as its event, which returns the one before.

use super::{Reading, Took};
use crate::pending::{Kind, Pending};
use crate::values::{Meta, StoredValues};
use crate::{Event, Events};
use touchline_types::native::TopOfBook;
use touchline_types::{BookUpdate, Update};

/// Messages of a packet without further memory, and steps of each.
const MESSAGES: usize = 32;
const STEPS: usize = 64;

/// Messages behind the event that waits.
#[derive(Debug)]
pub(super) struct Behind {
    /// Those of any time, for their memory; the first ones wait.
    messages: Vec<Pending>,
    waiting: usize,
    /// Whether books make no events.
    is_used: bool,
    /// The event before them was returned.
    is_due: bool,
}

impl Behind {
    /// Memory for a reader of these events.
    pub fn new(wanted: Events) -> Behind {
        let is_used = !wanted.has(Events::BOOKS);
        let messages = if is_used { MESSAGES } else { 0 };
        Behind {
            messages: (0..messages)
                .map(|_| Pending::with_room(STEPS, 0, 0))
                .collect(),
            waiting: 0,
            is_used,
            is_due: false,
        }
    }

    fn put(&mut self, update: &Update<'_>, meta: Meta) {
        if self.waiting == self.messages.len() {
            self.messages.push(Pending::with_room(STEPS, 0, 0));
        }
        self.messages[self.waiting].put(update, meta);
        self.waiting += 1;
    }

    /// The event that waited is returned.
    #[inline]
    pub fn note_given(&mut self) {
        self.is_due = self.waiting > 0;
    }
}

impl Reading {
    /// Whether a change of a book must wait for the event before it.
    #[inline]
    pub(super) fn waits_behind(&self) -> bool {
        let is_behind = match &self.current {
            Some(event) => !matches!(event, Event::Top(_)),
            None => self.stored.is_some() && !self.stored.is_top(),
        };
        // mutant: client: books are applied before the trade that they follow
        self.behind.is_used && is_behind
    }

    /// The top that an update will leave, behind the changes of its book that wait.
    #[inline]
    pub(super) fn top_behind(&self, book: &BookUpdate<'_>) -> TopOfBook {
        let mut implied = self.kept.implied_of(book.instrument);
        for message in &self.behind.messages[..self.behind.waiting] {
            match &message.kind {
                Kind::Book(head) if head.instrument == book.instrument => {
                    implied.apply(&message.changes);
                }
                Kind::Whole(of, validity, counts) if *of == book.instrument => {
                    let whole = message.whole(*of, *validity, *counts);
                    implied.replace([whole.implied_bids, whole.implied_asks]);
                }
                _ => {}
            }
        }
        StoredValues::top_after(book, implied)
    }

    /// Takes a change of a book behind an event that waits.
    pub(super) fn put_behind(&mut self, update: &Update<'_>, meta: Meta) -> Took {
        self.behind.put(update, meta);
        self.applied(meta.batch_end)
    }

    /// Applies the messages behind the event that was returned last.
    #[inline]
    pub(super) fn apply_behind(&mut self) {
        if self.behind.is_due {
            let waiting = std::mem::take(&mut self.behind.waiting);
            for message in &self.behind.messages[..waiting] {
                apply_book(&mut self.kept, message);
            }
            self.behind.is_due = false;
        }
    }
}

/// Applies a stored change or whole price book.
pub(super) fn apply_book(kept: &mut StoredValues, stored: &Pending) {
    let (update, top) = match &stored.kind {
        Kind::Book(head) => {
            let book = stored.book(head);
            let implied = kept.implied_of(book.instrument);
            (Update::Book(book), StoredValues::top_after(&book, implied))
        }
        Kind::Whole(instrument, validity, counts) => {
            let book = stored.whole(*instrument, *validity, *counts);
            (Update::BookSnapshot(book), TopOfBook::from(&book))
        }
        _ => return,
    };
    if let Some((instrument, _)) = kept.registry.of_publisher(top.instrument) {
        kept.apply_book(instrument, &stored.meta, &update);
        kept.apply_top(instrument, &top, &stored.meta);
    }
}
