//! Events of books: the steps of a change, of a whole book, and of one that is empty from now on.

use super::Reading;
use crate::event::{BookChange, Event, LevelChange, OrderAction, OrderChange, OrdersChange};
use crate::pending::BookHead;
use crate::registry::Slot;
use crate::values::{LISTS, Meta, level_of, quote, quotes};
use crate::{Instrument, Times};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, LevelAction, OrdersSnapshot, OrdersUpdate, Price, Quantity, Side, Update, Validity,
};

impl Reading {
    pub(super) fn book_event(&mut self, head: &BookHead, meta: &Meta) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(head.instrument)?;
        self.changes.clear();
        let changes = self.stored.changes.iter().map(|change| LevelChange {
            side: change.side,
            book: change.book,
            action: change.action,
            index: change.index,
            level: level_of(&change.level, &slot),
        });
        self.changes.extend(changes);
        let book = self.kept.mirror.book(head.instrument);
        let best = |side| quote(book.and_then(|book| book.touch(side)), &slot);
        let (bid, ask) = (best(Side::Bid), best(Side::Ask));
        Some(Event::Book(BookChange {
            instrument,
            state: self.kept.state(instrument),
            changes: self.changes.len() as u32,
            is_whole: false,
            is_direct: head.direct,
            is_cut: !head.whole,
            bid,
            ask,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    /// A whole book as steps: each list cleared, then filled.
    pub(super) fn whole_event(
        &mut self,
        index: touchline_types::Instrument,
        validity: Validity,
        counts: [usize; 4],
        meta: &Meta,
    ) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(index)?;
        let book = self.stored.whole(index, validity, counts);
        let lists = [book.bids, book.asks, book.implied_bids, book.implied_asks];
        self.changes.clear();
        for ((kind, side), levels) in LISTS.into_iter().zip(lists) {
            self.changes.push(clear_of_list(kind, side, &slot));
            let filled = levels.iter().enumerate();
            self.changes
                .extend(filled.map(|(index, level)| LevelChange {
                    side,
                    book: kind,
                    action: LevelAction::Insert,
                    index: index as u16,
                    level: level_of(level, &slot),
                }));
        }
        let (bid, ask) = quotes(&TopOfBook::from(&book), &slot);
        Some(Event::Book(BookChange {
            instrument,
            state: self.kept.state(instrument),
            changes: self.changes.len() as u32,
            is_whole: true,
            is_direct: true,
            is_cut: false,
            bid,
            ask,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    pub(super) fn orders_event(
        &mut self,
        index: touchline_types::Instrument,
        validity: Validity,
        is_whole: bool,
        meta: &Meta,
    ) -> Option<Event> {
        let (instrument, slot) = self.kept.registry.of_publisher(index)?;
        let orders = &self.stored.orders;
        let update = match is_whole {
            true => Update::OrdersSnapshot(OrdersSnapshot {
                instrument: index,
                validity,
                orders,
            }),
            false => Update::Orders(OrdersUpdate {
                instrument: index,
                validity,
                changes: orders,
            }),
        };
        self.kept.play(meta, &update);
        self.order_changes.clear();
        if is_whole {
            self.order_changes.extend(clear_of_orders(&slot));
        }
        self.order_changes
            .extend(orders.iter().map(|order| OrderChange {
                order_id: order.order_id,
                priority: order.priority,
                price: slot.price(order.price),
                quantity: slot.quantity(order.quantity),
                side: order.side,
                action: OrderAction::of(order.action),
            }));
        Some(Event::Orders(OrdersChange {
            instrument,
            state: self.kept.orders_state(instrument),
            changes: self.order_changes.len() as u32,
            is_whole,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        }))
    }

    /// A price book without a level, as steps: each list cleared.
    pub(super) fn emptied_event(&mut self, instrument: Instrument, meta: &Meta) -> Event {
        let slot = self.kept.registry.slot_of(instrument);
        self.changes.clear();
        let steps = LISTS.map(|(kind, side)| clear_of_list(kind, side, &slot));
        self.changes.extend(steps);
        Event::Book(BookChange {
            instrument,
            state: self.kept.state(instrument),
            changes: self.changes.len() as u32,
            is_whole: true,
            is_direct: true,
            is_cut: false,
            bid: None,
            ask: None,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        })
    }

    /// An order book whose state changed with those of all books, or that is empty from now on: then both sides are cleared.
    pub(super) fn orders_changed_event(
        &mut self,
        instrument: Instrument,
        is_emptied: bool,
        meta: &Meta,
    ) -> Event {
        let slot = self.kept.registry.slot_of(instrument);
        self.order_changes.clear();
        if is_emptied {
            self.order_changes.extend(clear_of_orders(&slot));
        }
        Event::Orders(OrdersChange {
            instrument,
            state: self.kept.orders_state(instrument),
            changes: self.order_changes.len() as u32,
            is_whole: is_emptied,
            times: Times::of(&meta.timestamps),
            sequence: meta.sequence,
            end_of_batch: false,
        })
    }
}

/// The step that empties a list of levels.
fn clear_of_list(book: BookKind, side: Side, slot: &Slot) -> LevelChange {
    LevelChange {
        side,
        book,
        action: LevelAction::Clear,
        index: 0,
        level: level_of(&touchline_types::Level::UNKNOWN, slot),
    }
}

/// The steps that empty an order book.
fn clear_of_orders(slot: &Slot) -> [OrderChange; 2] {
    Side::BOTH.map(|side| OrderChange {
        order_id: 0,
        priority: 0,
        price: Price::NULL,
        quantity: slot.quantity(Quantity::NULL),
        side,
        action: OrderAction::Clear,
    })
}
