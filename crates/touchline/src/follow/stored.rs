//! Counts of subscription events, and states of the books, of `follow`.

use crate::output::Failure;
use crate::states::States;
use touchline_client::{Bus, ChannelChange, Event, Instrument, State};

/// Counts and the outputs of states.
#[derive(Debug)]
pub struct StoredBooks {
    /// Counts.
    pub seen: Seen,
    states: Option<States>,
    order_states: Option<States>,
}

/// Counts of subscription events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Events of the venue.
    pub updates: u64,
    /// Batches that ended.
    pub batches: u64,
    /// Losses of the channel.
    pub gaps: u64,
    /// Sequence resets of the venue.
    pub resets: u64,
}

impl StoredBooks {
    /// No events yet.
    pub fn new(states: Option<States>, order_states: Option<States>) -> StoredBooks {
        StoredBooks {
            seen: Seen::default(),
            states,
            order_states,
        }
    }

    /// Counts an event of the bus and writes the states that it changed.
    pub fn event(&mut self, bus: &Bus, event: &Event) {
        self.seen.batches += u64::from(event.end_of_batch());
        // The states of a change of all books are written with its own event.
        if bus.trace().is_of_all {
            return;
        }
        self.seen.updates += u64::from(!matches!(event, Event::Connection(_)));
        match event {
            Event::Book(change) => self.note_book(bus, change.instrument),
            Event::State(change) => self.note_book(bus, change.instrument),
            Event::Orders(change) => self.note_orders(bus, change.instrument),
            Event::Channel(event) => match event.what {
                ChannelChange::Gap { .. } => self.seen.gaps += 1,
                ChannelChange::Reset => self.seen.resets += 1,
                // The states of books apply again.
                ChannelChange::State { .. } => self.note_all(bus),
                _ => {}
            },
            _ => {}
        }
    }

    /// Writes the state of a price book that is live after an event.
    fn note_book(&mut self, bus: &Bus, instrument: Instrument) {
        let Some(states) = &mut self.states else {
            return;
        };
        if let Ok(book) = bus.book(instrument)
            && book.state() == State::Live
        {
            states.note_book(bus.trace().packet, &book);
        }
    }

    /// Writes the state of an order book that is live after an event.
    fn note_orders(&mut self, bus: &Bus, instrument: Instrument) {
        let Some(states) = &mut self.order_states else {
            return;
        };
        if bus.orders_state(instrument) == Ok(State::Live) {
            states.note_orders(bus.trace().packet, bus, instrument);
        }
    }

    /// Writes the states of all live books.
    fn note_all(&mut self, bus: &Bus) {
        if self.states.is_none() && self.order_states.is_none() {
            return;
        }
        for instrument in bus.instruments() {
            self.note_book(bus, instrument);
            self.note_orders(bus, instrument);
        }
    }

    /// Closes the outputs.
    pub fn finish(self) -> Result<(), Failure> {
        let mut all = self.states.into_iter().chain(self.order_states);
        all.try_for_each(States::finish)
    }
}
