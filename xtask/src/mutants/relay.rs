//! Relays between hosts, and the load test.

use super::Mutant;

/// Relays between hosts, and the load test.
pub const RELAY: &[Mutant] = &[
    Mutant {
        name: "load: a reader drops one message",
        find: "if let Some(sequence) = trade.trade_id.checked_sub(1) {",
        replace: "if let Some(sequence) = trade.trade_id.checked_sub(1).filter(|at| *at != 500) {",
        test: "-p touchline --test system load_quick",
    },
    Mutant {
        name: "load: a message behind the last one is not counted",
        find: ">= QUIET_NS {",
        replace: ">= QUIET_NS * 0 {",
        test: "-p touchline-load --lib receive::tests::messages_behind_the_last_one_are_checked",
    },
    Mutant {
        name: "load: messages before the start is known are lost",
        find: "checker.take(bytes, role.clock.now_ns())",
        replace: "drop((&mut checker, bytes))",
        test: "-p touchline-load --lib part::tests::messages_that_arrive_before_the_start_is_known_are_received",
    },
    Mutant {
        name: "relay: an event that ends beyond the limit is not committed",
        find: "if !self.is_beyond(message) {",
        replace: "if self.is_beyond(message) { return; } else {",
        test: "-p touchline-relay --test relay core::an_event_that_ends_beyond_the_limit_is_committed",
    },
    Mutant {
        name: "relay: a bus whose counters come later is of this host",
        find: "return match writer.is_some() && self.waits(subscriber.generation(), now_ns) {",
        replace: "return match writer.is_some() && self.waits(subscriber.generation(), now_ns) && false {",
        test: "-p touchline-relay --test relay origin::nothing_is_sent_before_it_is_known_whose_data_it_is",
    },
    Mutant {
        name: "relay: a restarted bus keeps the origin of the one before",
        find: "self.is_origin_due = true;",
        replace: "",
        test: "-p touchline-relay --test relay origin::a_bus_that_a_relay_takes_over_is_not_sent_on_without_forward",
    },
    Mutant {
        name: "relay: a book that did not fit is never asked for again",
        find: "if self.has_refused() && !self.progress.is_incomplete {",
        replace: "if false {",
        test: "-p touchline-relay --test relay core::an_order_book_that_fits_again_is_live_again",
    },
    Mutant {
        name: "relay: a bus without some of the sender's instruments is ready",
        find: "&& !self.is_beyond_limit",
        replace: "",
        test: "-p touchline-relay --test relay core::instruments_beyond_the_limit_are_dropped",
    },
    Mutant {
        name: "relay: data of a named origin may come back",
        find: ".chain(named)",
        replace: ".chain(named.take(0))",
        test: "-p touchline-relay --lib start::tests::a_host_has_its_own_name_and_those_of_its_sending_links",
    },
    Mutant {
        name: "relay: the end of a round has no number",
        find: "        self.end_unit(now, link);\n        self.send_refresh(HeadFlags::ROUND_END, now, link);",
        replace: "        self.send_refresh(HeadFlags::ROUND_END, now, link);",
        test: "-p touchline-relay --test relay refreshes::the_end_of_a_round_shows_that_refreshes_before_it_were_lost",
    },
    Mutant {
        name: "relay: any answer proves that books are fresh",
        find: "let Ok(at) = self.sent.binary_search(&probe_ns) else {\n            return;\n        };",
        replace: "let at = 0;",
        test: "-p touchline-relay --lib receiver::freshness::tests::only_an_answer_to_a_recent_probe_of_this_receiver_is_proof",
    },
    Mutant {
        name: "relay: books that lag stay live",
        find: "if self.is_lagging || self.lag_ns(now_ns) <= self.lag_ns_max {",
        replace: "if self.is_lagging || self.lag_ns(now_ns) <= u64::MAX {",
        test: "-p touchline-relay --test relay core::books_older_than_the_limit_are_stale_although_batches_arrive",
    },
    Mutant {
        name: "relay: the queue of a receiver has no limit in time",
        find: "if now_ns < self.settle_until_ns || self.queued_ns(now_ns) <= self.limit_ns(2) {",
        replace: "if now_ns < self.settle_until_ns || self.queued_ns(now_ns) <= u64::MAX {",
        test: "-p touchline-relay --lib link::window::tests::a_receiver_is_held_while_its_queue_is_long_and_given_up_in_the_end",
    },
    Mutant {
        name: "relay: a number far ahead blinds a receiver",
        find: "if is_answer && self.freshness.is_due(head.sent_ns, peer.in_order_ns) {",
        replace: "if is_answer && self.freshness.is_due(head.sent_ns, u64::MAX) {",
        test: "-p touchline-relay --test relay core::a_number_far_ahead_does_not_blind_the_receiver",
    },
    Mutant {
        name: "relay: a new instrument has no books after a reset",
        find: "let lacks = !known.values\n            || match message.body {",
        replace: "let lacks = !known.values\n            && !matches!(message.body, Body::BookSnapshot(_) | Body::OrdersSnapshot(_))\n            || match message.body {",
        test: "-p touchline-relay --test relay refreshes::readers_have_the_books_of_instruments_that_are_defined_after_a_reset",
    },
    Mutant {
        name: "relay: new instruments stay unknown after a loss",
        find: "*known = WHOLE;",
        replace: "let _ = (known, WHOLE);",
        test: "-p touchline-relay --test relay refreshes::books_of_instruments_that_are_named_after_a_round_are_published",
    },
    Mutant {
        name: "relay: a round makes known what was withheld during it",
        find: "if known.is_withheld {",
        replace: "if known.is_withheld && false {",
        test: "-p touchline-relay --test relay refreshes::an_instrument_that_is_named_during_a_round_is_known_after_the_next",
    },
    Mutant {
        name: "relay: a loss behind a part is ignored",
        find: "books.apply(&update, timestamps, is_image, counters, out);",
        replace: "let _ = (&update, &books, timestamps, is_image, &counters, &out);",
        test: "-p touchline-relay --test relay refreshes::a_loss_behind_a_part_is_a_loss",
    },
];
