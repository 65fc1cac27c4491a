//! What a subscriber holds: the books, and what happened to the subscription.

use crate::output::{Failure, Output};
use crate::tail::Known;
use touchline_book::LevelList;
use touchline_lab::cme::expected_books::{self, BookState};
use touchline_transport::{Envelope, Mirror, Subscribe, SubscriptionEvent};
use touchline_types::{BookKind, Instrument, InstrumentDefinition, Level, Side, Update, Validity};

/// Books, definitions, and a tally.
#[derive(Debug)]
pub struct StoredBooks {
    /// The books.
    pub mirror: Mirror,
    /// What happened.
    pub seen: Seen,
    known: Known,
    states: Option<States>,
    order_states: Option<States>,
}

/// What happened to the subscription.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Updates handed over.
    pub updates: u64,
    /// Batches that ended.
    pub batches: u64,
    /// Losses of the channel.
    pub gaps: u64,
    /// Times that the venue began anew.
    pub resets: u64,
    /// Messages lost because this reader was too slow.
    pub lost: u64,
    /// Publishers after the first.
    pub restarts: u64,
}

/// The states of live books, a line each.
#[derive(Debug)]
struct States {
    output: Output,
    /// The first that could not be written.
    failed: Option<Failure>,
}

const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

impl StoredBooks {
    /// Nothing is held yet. Memory grows with what the bus shows.
    pub fn new(states: Option<Output>, order_states: Option<Output>) -> StoredBooks {
        StoredBooks {
            mirror: Mirror::new(INSTRUMENTS, ORDERS_MAX),
            seen: Seen::default(),
            known: Known::default(),
            states: states.map(States::of),
            order_states: order_states.map(States::of),
        }
    }

    /// Every instrument that was named, by ascending venue id.
    pub fn by_security_id(&self) -> Vec<InstrumentDefinition> {
        let mut rows: Vec<_> = self.known.all().collect();
        rows.sort_by_key(|definition| definition.security_id);
        rows
    }

    /// How many price books are live, and how many there are.
    pub fn live(&self) -> (usize, usize) {
        let is_live = |definition: &InstrumentDefinition| {
            self.mirror.validity(definition.instrument) == Validity::Live
        };
        let known = self.known.all();
        (self.known.all().filter(is_live).count(), known.count())
    }
}

impl States {
    fn of(output: Output) -> States {
        States {
            output,
            failed: None,
        }
    }

    fn note(&mut self, state: BookState) {
        if self.failed.is_none() {
            self.failed = self.output.line(&state.to_string()).err();
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        match self.failed {
            Some(failed) => Err(failed),
            None => self.output.flush().and_then(|()| self.output.finish()),
        }
    }
}

impl StoredBooks {
    /// Closes the files of states.
    pub fn finish(self) -> Result<(), Failure> {
        let mut all = self.states.into_iter().chain(self.order_states);
        all.try_for_each(States::finish)
    }

    /// Notes the state of a book that an update left live.
    fn note_state(&mut self, instrument: Instrument, envelope: &Envelope<'_>) {
        let Some(states) = &mut self.states else {
            return;
        };
        if self.mirror.validity(instrument) != Validity::Live {
            return;
        }
        let book = self.mirror.book(instrument);
        let lists = LISTS.map(|(kind, side)| {
            let levels = book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
            levels.iter().map(numbers)
        });
        states.note(BookState {
            sequence: envelope.timestamps.packet.sequence,
            security_id: self.known.of(instrument).security_id as i32,
            hash: expected_books::hash(lists),
        });
    }

    /// Notes the states of all books, those that are live.
    fn note_all(&mut self, envelope: &Envelope<'_>) {
        if self.states.is_none() && self.order_states.is_none() {
            return;
        }
        let all: Vec<_> = self.known.all().collect();
        for InstrumentDefinition { instrument, .. } in all {
            self.note_state(instrument, envelope);
            self.note_order_state(instrument, envelope);
        }
    }

    /// The same of its orders.
    fn note_order_state(&mut self, instrument: Instrument, envelope: &Envelope<'_>) {
        let Some(states) = &mut self.order_states else {
            return;
        };
        if self.mirror.orders_validity(instrument) != Validity::Live {
            return;
        }
        let orders = self.mirror.orders();
        let sides = [Side::Bid, Side::Ask].map(|side| {
            let mut served = Vec::new();
            orders.visit(instrument, side, |order| {
                served.push((order.price.0, order.quantity.0, order.order_id));
            });
            served
        });
        states.note(BookState {
            sequence: envelope.timestamps.packet.sequence,
            security_id: self.known.of(instrument).security_id as i32,
            hash: expected_books::hash_of_orders(sides),
        });
    }
}

/// A level as the simulator's truth has it.
fn numbers(level: &Level) -> (i64, i64, i64) {
    (level.price.0, level.quantity.0, i64::from(level.orders))
}

/// Before it grows.
const INSTRUMENTS: usize = 1_024;

/// As many as a gateway's default.
const ORDERS_MAX: usize = 262_144;

impl Subscribe for StoredBooks {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.seen.updates += 1;
        self.known.note(envelope.update);
        self.mirror.update(envelope);
        match envelope.update {
            Update::Book(update) => self.note_state(update.instrument, envelope),
            Update::BookSnapshot(snapshot) => self.note_state(snapshot.instrument, envelope),
            Update::State(state) => self.note_state(state.instrument, envelope),
            Update::Orders(update) => self.note_order_state(update.instrument, envelope),
            Update::OrdersSnapshot(snapshot) => {
                self.note_order_state(snapshot.instrument, envelope);
            }
            Update::Gap(_) => self.seen.gaps += 1,
            Update::Reset => self.seen.resets += 1,
            // Every book is what it is by itself again.
            Update::Channel(_) => self.note_all(envelope),
            _ => {}
        }
    }

    fn batch_end(&mut self) {
        self.seen.batches += 1;
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.mirror.event(event);
        match event {
            SubscriptionEvent::Overrun { messages, .. } => self.seen.lost += messages,
            SubscriptionEvent::Restarted { .. } => {
                self.seen.restarts += 1;
                self.known.forget();
            }
            _ => {}
        }
    }
}
