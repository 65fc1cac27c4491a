//! Changes of all books at once: the end, stall or start of a publisher, a loss, and messages of the channel; and of the
//! books of a handle whose id or index is another instrument's now. Events of each instrument whose books they change
//! precede theirs, with the steps that empty a book, so that a program that keeps tops, or books of its own, needs no other
//! event, and theirs is still the last one of its packet.

use super::{Given, Reading};
use crate::event::{Event, StateChange, Top};
use crate::pending::Kind;
use crate::values::{Changed, Meta};
use crate::{Instrument, Times};
use touchline_transport::SubscriptionEvent;

/// Progress of the events of a change of all books.
#[derive(Debug)]
pub(super) struct AllBooks {
    /// Index of the next handle.
    from: usize,
    meta: Meta,
    /// The event of the change itself.
    own: Option<Event>,
}

impl AllBooks {
    /// State of a change of all books, whose earlier state is stored.
    pub fn new(meta: &Meta) -> AllBooks {
        AllBooks {
            from: 0,
            meta: *meta,
            own: None,
        }
    }
}

impl Reading {
    /// Before a message is applied: notes the books if it may change all of them.
    pub(super) fn begin_change_of_all(&mut self, kind: &Kind, meta: &Meta) {
        let is_of_all = match kind {
            Kind::Gap(_) | Kind::Reset | Kind::Channel(_) => true,
            Kind::Subscription(event) => !matches!(event, SubscriptionEvent::CaughtUp),
            _ => false,
        };
        if is_of_all {
            self.kept.begin_change();
            self.all_books = Some(AllBooks::new(meta));
        }
    }

    /// The index of a selected instrument is that of another one now, which is not selected: the last event of the old handle is its state.
    pub(super) fn unselected_event(&mut self, meta: &Meta) -> Option<Event> {
        let definition = self.stored.definition;
        let instrument = self.kept.unselect(meta, &definition)?;
        self.all_books = Some(AllBooks::new(meta));
        Some(self.state_event(instrument, meta))
    }

    /// The present state of an instrument's book as an event.
    pub(super) fn state_event(&self, instrument: Instrument, meta: &Meta) -> Event {
        Event::State(StateChange {
            instrument,
            state: self.kept.state(instrument),
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        })
    }

    /// Gives the events of the changed books, then that of the applied message.
    #[cold]
    pub(super) fn give_with_all_books(&mut self, own: Event) -> Given {
        if let Some(all_books) = &mut self.all_books {
            all_books.own = Some(own);
        }
        self.next_of_all()
    }

    /// Gives the next event of a change of all books.
    #[cold]
    pub(super) fn next_of_all(&mut self) -> Given {
        if let Some(event) = self.change_of_all() {
            self.current_trace.is_of_all = true;
            return self.give(event);
        }
        self.current_trace.is_of_all = false;
        let all_books = self.all_books.take();
        match all_books.and_then(|all_books| Some((all_books.own?, all_books.meta))) {
            Some((own, meta)) => self.give_last_of(own, &meta),
            None => Given::Nothing,
        }
    }

    /// Event of the next changed book.
    fn change_of_all(&mut self) -> Option<Event> {
        let AllBooks { from, meta, .. } = self.all_books.as_mut()?;
        let (instrument, changed) = self.kept.next_change(from, self.wanted)?;
        let meta = *meta;
        let (state, times) = (self.kept.state(instrument), Times::of(&meta.timestamps));
        let (sequence, end_of_batch) = (meta.sequence, false);
        Some(match changed {
            Changed::NoTop => Event::Top(Top {
                instrument,
                state,
                bid: None,
                ask: None,
                times,
                sequence,
                end_of_batch,
            }),
            Changed::Emptied => self.emptied_event(instrument, &meta),
            Changed::State => self.state_event(instrument, &meta),
            Changed::Orders { is_emptied } => {
                self.orders_changed_event(instrument, is_emptied, &meta)
            }
        })
    }
}
