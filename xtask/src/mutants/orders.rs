//! Faults of the order tables: writes of the publisher, and books that a reader builds from them.

use super::Mutant;

/// All of them.
pub const ORDERS: &[Mutant] = &[
    Mutant {
        name: "orders: rows of an emptied book count",
        find: "        let is_of_book = self\n            .cleared_at\n            .is_none_or(|cleared| !is_before(position, cleared));",
        replace: "        let is_of_book = true;",
        test: "-p touchline-transport --test bus a_book_with_an_order_without_a_row_is_not_live_to_joiners",
    },
    Mutant {
        name: "orders: orders that arrive during the read of the rows are left out",
        find: "match &message.body {",
        replace: "match &Body::Heartbeat {",
        test: "-p touchline-transport --test bus a_joined_order_book_is_that_of_its_message",
    },
    Mutant {
        name: "orders: a joining reader gets no order books",
        find: "self.go_on(Part::Orders(OrderPart::Begin));",
        replace: "self.end_orders();",
        test: "-p touchline-transport --test bus an_order_reuses_a_row_that_was_freed_in_the_same_batch",
    },
    Mutant {
        name: "orders: a change contained in a slot is delivered again",
        find: "if !is_before(until, end) {",
        replace: "if false {",
        test: "-p touchline-transport --test bus a_slow_reader_receives_only_order_books_that_existed",
    },
    Mutant {
        name: "orders: only live books continue from undelivered rows",
        find: "return match std::mem::replace(&mut row.orders, missing) {",
        replace: "let _ = missing;\n            return match row.orders {",
        test: "-p touchline-transport --test bus a_change_that_was_not_live",
    },
    Mutant {
        name: "orders: the row of a removed order is emptied whatever order uses it",
        find: "OrderAction::Delete if held == Some(number) =>",
        replace: "OrderAction::Delete if held.is_some() =>",
        test: "-p touchline-transport --test bus an_order_reuses_a_row_that_was_freed_in_the_same_batch",
    },
    Mutant {
        name: "orders: an order takes the row of a newer one",
        find: "_ if held.is_some_and(|held| held > number) => None,",
        replace: "",
        test: "-p touchline-transport --test bus a_joined_order_book_is_that_of_its_message",
    },
    Mutant {
        name: "orders: a reset empties order books that contain it",
        find: "if scan.is_ahead_of(self.rows.told()) {",
        replace: "if false {",
        test: "-p touchline-transport --test bus a_slow_reader_receives_only_order_books_that_existed",
    },
    Mutant {
        name: "bus: rings of any layout are read",
        find: "readable(&ring, bus)?;",
        replace: "",
        test: "-p touchline-transport --test bus a_bus_of_another_layout_is_refused",
    },
];
