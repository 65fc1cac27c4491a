//! Book and order messages: levels by position, and the orders behind them.

use super::{Ending, ending};
use crate::Output;
use crate::cme::channel::Channel;
use crate::cme::normalise::{BookEntry, book_entry, order_action, update_action};
use crate::cme::queue::{Work, is_negative_level};
use touchline_types::{
    Event, Instrument, LevelEvent, OrderEvent, Place, Price, Quantity, Validity,
};
use touchline_wire::mdp3::*;

/// Fields of a level entry, in common widths.
struct Level {
    security_id: i32,
    rpt_seq: u32,
    orders: Option<i32>,
    price: Price,
    quantity: Quantity,
    position: u8,
    action: MdUpdateAction,
    entry_type: MdEntryTypeBook,
}

/// Fields of an order entry, in common widths.
struct Order {
    security_id: i32,
    order_id: Option<u64>,
    priority: Option<u64>,
    price: Price,
    quantity: Quantity,
    action: u8,
    entry_type: MdEntryTypeBook,
}

/// A book message; both generations and the messages with long quantities have the same fields, in different widths.
/// ReferenceID counts the level entries from 1; the action of the level does not affect its orders.
macro_rules! book_message {
    ($name:ident, $view:ident) => {
        #[inline]
        pub(super) fn $name(
            &mut self,
            raw: CheckedMessage<'_>,
            out: &mut Output<'_>,
        ) -> Option<Ending> {
            let message = $view::of(raw);
            let transact_ns = message.transact_time();
            let levels = message.no_md_entries();
            for entry in levels {
                let level = Level {
                    security_id: entry.security_id(),
                    rpt_seq: entry.rpt_seq(),
                    orders: entry.number_of_orders(),
                    price: self.price(entry.md_entry_px()),
                    quantity: self.quantity(entry.md_entry_size()),
                    position: entry.md_price_level(),
                    action: entry.md_update_action(),
                    entry_type: entry.md_entry_type(),
                };
                self.level(level, transact_ns, out);
            }
            if !self.settings.order_books {
                return ending!(message);
            }
            for entry in message.no_order_id_entries() {
                let reference = usize::from(entry.reference_id().unwrap_or(0)).checked_sub(1);
                let Some(level) = reference.and_then(|index| levels.get(index)) else {
                    self.counters.entries_unknown += 1;
                    continue;
                };
                let order = Order {
                    security_id: level.security_id(),
                    order_id: Some(entry.order_id()),
                    priority: entry.md_order_priority(),
                    price: self.price(level.md_entry_px()),
                    quantity: self.quantity(entry.md_display_qty()),
                    action: entry.order_update_action().0,
                    entry_type: level.md_entry_type(),
                };
                self.order(order, transact_ns, out);
            }
            ending!(message)
        }
    };
}

/// An order message, in both generations.
macro_rules! order_message {
    ($name:ident, $view:ident) => {
        #[inline]
        pub(super) fn $name(
            &mut self,
            raw: CheckedMessage<'_>,
            out: &mut Output<'_>,
        ) -> Option<Ending> {
            let message = $view::of(raw);
            if !self.settings.order_books {
                return ending!(message);
            }
            for entry in message.no_md_entries() {
                let order = Order {
                    security_id: entry.security_id(),
                    order_id: entry.order_id(),
                    priority: entry.md_order_priority(),
                    price: self.price(entry.md_entry_px()),
                    quantity: self.quantity(entry.md_display_qty()),
                    action: entry.md_update_action().0,
                    entry_type: entry.md_entry_type(),
                };
                self.order(order, message.transact_time(), out);
            }
            ending!(message)
        }
    };
}

impl Channel {
    book_message!(book46, MdIncrementalRefreshBook46);
    book_message!(book32, MdIncrementalRefreshBook32);
    book_message!(book64, MdIncrementalRefreshBookLongQty64);
    order_message!(order_book47, MdIncrementalRefreshOrderBook47);
    order_message!(order_book43, MdIncrementalRefreshOrderBook43);

    /// A level entry: applied here if it is the next one of a complete book, otherwise passed to code off the hot path.
    // Always inline: the fields of an entry are copied from the wire to the event without a call.
    #[inline(always)]
    fn level(&mut self, level: Level, transact_ns: u64, out: &mut Output<'_>) {
        let Some(instrument) = self.instrument(level.security_id, out) else {
            return;
        };
        let meaning = (book_entry(level.entry_type.0), update_action(level.action));
        let (BookEntry::Level(book, side), Some(action)) = meaning else {
            return self.other_entry(instrument, meaning.0, level.rpt_seq, transact_ns, out);
        };
        let event = LevelEvent {
            instrument,
            orders: level.orders.unwrap_or(-1),
            price: level.price,
            quantity: level.quantity,
            place: Place::Position(level.position),
            action,
            side,
            book,
        };
        // mutant: feed: a negative quantity is a level
        if is_negative_level(&event) {
            self.negative_level(instrument, event, level.rpt_seq, transact_ns, out);
        } else if self.take_next(instrument, level.rpt_seq, self.progress.packet(), out) {
            out.push(Event::Level(event, Validity::Live));
        } else {
            self.number_entry(
                instrument,
                Work::Level(event),
                level.rpt_seq,
                transact_ns,
                out,
            );
        }
    }

    /// A level entry that changes no level: it has a RptSeq, and may empty the book.
    #[cold]
    fn other_entry(
        &mut self,
        instrument: Instrument,
        entry: BookEntry,
        rpt_seq: u32,
        transact_ns: u64,
        out: &mut Output<'_>,
    ) {
        let work = match entry {
            BookEntry::Empty => Work::Empty,
            _ => Work::Nothing,
        };
        self.counters.entries_unknown += u64::from(work == Work::Nothing);
        self.number_entry(instrument, work, rpt_seq, transact_ns, out);
    }

    #[inline(always)]
    fn order(&mut self, order: Order, transact_ns: u64, out: &mut Output<'_>) {
        let Some(instrument) = self.instrument(order.security_id, out) else {
            return;
        };
        let (BookEntry::Level(_, side), Some(action), Some(order_id)) = (
            book_entry(order.entry_type.0),
            order_action(order.action),
            order.order_id,
        ) else {
            self.counters.entries_unknown += 1;
            return;
        };
        let event = OrderEvent {
            order_id,
            priority: order.priority,
            price: order.price,
            quantity: order.quantity,
            instrument,
            action,
            side,
        };
        self.order_entry(event, transact_ns, out);
    }
}
