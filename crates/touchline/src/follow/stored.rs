//! What happened to a bus while it was followed, and the states of its books on the way.

use crate::output::Failure;
use crate::states::States;
use touchline_client::{Bus, ChannelChange, Event, Instrument, State};

/// A tally, and the outputs of states.
#[derive(Debug)]
pub struct StoredBooks {
    /// What happened.
    pub seen: Seen,
    states: Option<States>,
    order_states: Option<States>,
}

/// What happened to the subscription.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Events of the venue.
    pub updates: u64,
    /// Batches that ended.
    pub batches: u64,
    /// Losses of the channel.
    pub gaps: u64,
    /// Times that the venue began anew.
    pub resets: u64,
}

impl StoredBooks {
    /// Nothing has happened yet.
    pub fn new(states: Option<States>, order_states: Option<States>) -> StoredBooks {
        StoredBooks {
            seen: Seen::default(),
            states,
            order_states,
        }
    }

    /// Takes an event that the bus has just given.
    pub fn event(&mut self, bus: &Bus, event: &Event) {
        self.seen.updates += u64::from(!matches!(event, Event::Connection(_)));
        self.seen.batches += u64::from(event.end_of_batch());
        match event {
            Event::Book(change) => self.note_book(bus, change.instrument),
            Event::State(change) => self.note_book(bus, change.instrument),
            Event::Orders(change) => self.note_orders(bus, change.instrument),
            Event::Channel(event) => match event.what {
                ChannelChange::Gap { .. } => self.seen.gaps += 1,
                ChannelChange::Reset => self.seen.resets += 1,
                // Every book is what it is by itself again.
                ChannelChange::State { .. } => self.note_all(bus),
                _ => {}
            },
            _ => {}
        }
    }

    /// Notes the state of a price book that an event left live.
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

    /// The same of its orders.
    fn note_orders(&mut self, bus: &Bus, instrument: Instrument) {
        let Some(states) = &mut self.order_states else {
            return;
        };
        if bus.orders_state(instrument) == Ok(State::Live) {
            states.note_orders(bus.trace().packet, bus, instrument);
        }
    }

    /// Notes the states of all books, those that are live.
    fn note_all(&mut self, bus: &Bus) {
        if self.states.is_none() && self.order_states.is_none() {
            return;
        }
        for instrument in bus.instruments() {
            self.note_book(bus, instrument);
            self.note_orders(bus, instrument);
        }
    }

    /// Closes the files of states.
    pub fn finish(self) -> Result<(), Failure> {
        let mut all = self.states.into_iter().chain(self.order_states);
        all.try_for_each(States::finish)
    }
}
