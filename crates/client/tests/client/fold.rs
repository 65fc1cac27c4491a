//! A program that keeps books of its own from the steps of its events alone, and compares them with the kept ones.

use std::collections::BTreeMap;
use touchline_client::{
    BookKind, Bus, Event, Instrument, Level, LevelAction, OrderAction, OrderChange, Side, State,
};

const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

/// Folded books by the index of the instrument.
#[derive(Default)]
pub struct Fold {
    books: BTreeMap<usize, Folded>,
    /// Lists of levels and sides of orders that were emptied.
    pub cleared: u64,
    /// Books that were compared.
    pub checked: u64,
}

/// Books of one instrument; a state is `None` before the first event of the book.
#[derive(Default)]
struct Folded {
    state: Option<State>,
    lists: [Vec<Level>; 4],
    orders_state: Option<State>,
    orders: BTreeMap<u64, OrderChange>,
}

impl Fold {
    /// Takes the last event of the bus.
    pub fn event(&mut self, bus: &Bus, event: &Event) {
        let Some(instrument) = event.instrument() else {
            return;
        };
        let folded = self.books.entry(instrument.index()).or_default();
        match event {
            Event::Book(change) => {
                folded.state = Some(change.state);
                self.cleared += folded.levels(bus);
            }
            Event::Orders(change) => {
                folded.orders_state = Some(change.state);
                self.cleared += folded.orders(bus);
            }
            Event::State(change) => folded.state = Some(change.state),
            _ => {}
        }
    }

    /// Compares the folded books with those that the bus keeps, when each event was taken.
    #[track_caller]
    pub fn check(&mut self, bus: &Bus, context: &str) {
        for instrument in bus.instruments() {
            // An instrument without an event has empty books.
            let folded = self.books.entry(instrument.index()).or_default();
            folded.check(bus, instrument, context);
            self.checked += 1;
        }
    }
}

impl Folded {
    /// Returns how many lists with levels were emptied.
    fn levels(&mut self, bus: &Bus) -> u64 {
        let mut cleared = 0;
        for step in bus.changes() {
            let at = LISTS.iter().position(|of| *of == (step.book, step.side));
            let list = &mut self.lists[at.expect("one of the four")];
            let index = usize::from(step.index);
            match step.action {
                LevelAction::Insert => list.insert(index, step.level),
                LevelAction::Replace => list[index] = step.level,
                LevelAction::Remove => drop(list.remove(index)),
                LevelAction::Clear => {
                    cleared += u64::from(!list.is_empty());
                    list.clear();
                }
            }
        }
        cleared
    }

    /// Returns how many sides with orders were emptied.
    fn orders(&mut self, bus: &Bus) -> u64 {
        let mut cleared = 0;
        for step in bus.order_changes() {
            match step.action {
                OrderAction::New | OrderAction::Update => {
                    self.orders.insert(step.order_id, *step);
                }
                OrderAction::Delete => drop(self.orders.remove(&step.order_id)),
                OrderAction::Clear => {
                    let before = self.orders.len();
                    self.orders.retain(|_, order| order.side != step.side);
                    cleared += u64::from(self.orders.len() < before);
                }
            }
        }
        cleared
    }

    #[track_caller]
    fn check(&self, bus: &Bus, instrument: Instrument, context: &str) {
        let book = bus.book(instrument).expect("our handle");
        let symbol = book.symbol();
        for ((kind, side), list) in LISTS.into_iter().zip(&self.lists) {
            let kept: Vec<Level> = book.list(kind, side).collect();
            assert_eq!(*list, kept, "{context}: {kind:?} {side:?} of {symbol}");
        }
        for side in Side::BOTH {
            let mut kept = Vec::new();
            let collected = bus.orders(instrument, side, |order| {
                kept.push((order.order_id, order.price, order.quantity, order.priority));
            });
            collected.expect("our handle");
            kept.sort_unstable_by_key(|order| order.0);
            let own = self.orders.values().filter(|order| order.side == side);
            let own: Vec<_> = own
                .map(|order| (order.order_id, order.price, order.quantity, order.priority))
                .collect();
            assert_eq!(own, kept, "{context}: {side:?} orders of {symbol}");
        }
        let orders_state = bus.orders_state(instrument).expect("our handle");
        for (folded, kept, what) in [
            (self.state, book.state(), "price book"),
            (self.orders_state, orders_state, "order book"),
        ] {
            let is_same = folded.is_none_or(|folded| folded == kept);
            assert!(
                is_same,
                "{context}: the {what} of {symbol} is {kept}, and folded {folded:?}"
            );
        }
    }
}
