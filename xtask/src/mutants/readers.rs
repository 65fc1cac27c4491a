//! Events and books of readers, readers that a publisher waits for, and readers of other users.

use super::Mutant;

/// Events and books of readers, readers that a publisher waits for, and readers of other users.
pub const READERS: &[Mutant] = &[
    Mutant {
        name: "bus: a reader that polls rarely looks late",
        find: "self.step = if is_rare { 1 } else { POLLS.min(2 * self.step) };",
        replace: "        self.step = if is_rare { POLLS } else { POLLS };",
        test: "-p touchline-transport --lib a_reader_that_polls_rarely_looks_in_time",
    },
    Mutant {
        name: "bus: a reader passes over a corrupt message without an event",
        find: "let at = (*position, next);",
        replace: "                let at = (*position, 0 * next);",
        test: "-p touchline-transport --lib a_jump_from_a_corrupt_message_is_no_repetition",
    },
    Mutant {
        name: "ring: a reader states its position too late for a writer that waits",
        find: "(self.geometry.capacity() / 32).min(self.geometry.block())",
        replace: "self.geometry.capacity() / 32",
        test: "-p touchline-shm --test shm lossless::a_reader_that_left_a_block_has_made_room",
    },
    Mutant {
        name: "ring: a reader that was too slow once is never waited for again",
        find: "if cursor.cursors.lease(cursor.slot) != cursor.lease {",
        replace: "if false {",
        test: "-p touchline-shm --test shm lossless::a_reader_that_went_on_before_it_was_overrun",
    },
    Mutant {
        name: "ring: a header may state a message that is too long",
        find: "if length > geometry.message_max() {",
        replace: "if length as u64 > geometry.capacity() {",
        test: "-p touchline-shm --test shm hostile::a_header_with_the_length_of_no_message",
    },
    Mutant {
        name: "guests: a name that another user took is given up",
        find: "let key = is_taken.then(|| RandomState::new().build_hasher().finish() as u32);",
        replace: "let key = (is_taken && false).then_some(0);",
        test: "-p touchline-transport --test bus a_member_that_takes_the_name_of_another_users_file_keeps_that_user_from_no_name",
    },
    Mutant {
        name: "places: a reader states any position",
        find: "let moves = is_ahead(stated, now) && !is_ahead(stated, next);",
        replace: "let moves = stated != now;",
        test: "-p touchline-transport --lib a_position_ahead_of_the_stream_is_none",
    },
    Mutant {
        name: "places: a reader of another user states any place",
        find: "if slot.and_then(&user_of) != reader.user {",
        replace: "if false && slot.and_then(&user_of) != reader.user {",
        test: "-p touchline-transport --test bus a_reader_of_another_user_is_named_by_its_place_and_by_no_other",
    },
    Mutant {
        name: "places: a reader that creeps is waited for without end",
        find: "Seen::Moved if !policy.is_over(slot) => return None,",
        replace: "Seen::Moved => return None,",
        test: "-p touchline-transport --lib a_reader_that_creeps_is_waited_for_no_longer_than_one_that_stops",
    },
    Mutant {
        name: "places: a reader that was too slow once is never waited for again",
        find: "true => at,",
        replace: "true => at.filter(|_| false),",
        test: "-p touchline-transport --lib a_reader_that_was_left_behind_without_a_loss",
    },
    Mutant {
        name: "bus: a reader that moved while the publisher was stopped is too slow",
        find: "match is_over && std::mem::replace(&mut waiting.tried_again, true) {",
        replace: "match is_over {",
        test: "-p touchline-transport --lib after_a_wait_each_reader_is_tried_once_more",
    },
    Mutant {
        name: "bus: a lossless reader cannot follow a publisher that waits for no reader",
        find: "Err(Error::NotLossless { .. } | Error::Segment(segment::Error::NoFreeSlot { .. })) => {",
        replace: "Err(Error::Segment(segment::Error::NoFreeSlot { .. })) => {",
        test: "-p touchline-transport --test bus a_lossless_reader_reads_on_when_the_next_publisher_waits_for_nobody",
    },
    Mutant {
        name: "bus: a restart with another number of places forgets the readers that have one",
        find: "old.filter(|_| continues)",
        replace: "old.filter(|_| continues && false)",
        test: "-p touchline-transport --test bus a_restart_with_another_number_of_places_forgets_no_reader",
    },
    Mutant {
        name: "bus: the memory of a larger bus is not looked for before it is joined again",
        find: "place::check_memory(&reading, &self.bus, &self.settings)?;",
        replace: "",
        test: "-p touchline-transport --test bus a_reader_without_memory_for_the_larger_bus_is_told",
    },
    Mutant {
        name: "bus: each look at a reader is counted as a wait",
        find: "!was_waiting && policy.is_waiting()",
        replace: "policy.is_waiting() || was_waiting",
        test: "-p touchline-transport --test bus a_registered_reader_that_stops_for_too_long_is_overrun_and_notified",
    },
    Mutant {
        name: "image: a lookup has no book that was never published after a reset",
        find: "(reset.wrapping_sub(1), true)",
        replace: "                let _ = reset;\n                return Err(Unseen::Nothing);",
        test: "-p touchline-transport --test bus books_that_were_never_published_are_live_after_a_reset",
    },
    Mutant {
        name: "orders: a row of an instrument beyond the tables is taken",
        find: ".filter(|order| self.has(order.instrument))",
        replace: "",
        test: "-p touchline-transport --test bus an_order_of_an_instrument_beyond_the_tables_is_left_out",
    },
    Mutant {
        name: "image: a definition of another instrument is taken from its slot",
        find: "definition.instrument != instrument",
        replace: "definition.instrument != instrument && false",
        test: "-p touchline-transport --test bus a_definition_in_the_slot_of_another_instrument_is_none",
    },
    Mutant {
        name: "bus: a refused move to other files is not reported",
        find: "self.refusals == 2",
        replace: "false",
        test: "-p touchline-transport --test bus a_reader_is_told_once_that_it_cannot_join_the_bus_that_was_created_again",
    },
    Mutant {
        name: "places: readers that take turns are waited for without end",
        find: "since: waiting.since,",
        replace: "since: now,",
        test: "-p touchline-transport --lib readers_that_take_turns_are_waited_for_as_one",
    },
    Mutant {
        name: "client: books are applied before the trade that they follow",
        find: "self.behind.is_used && is_behind",
        replace: "        false",
        test: "-p touchline-client --test client books_at_a_trade_are_those_before_what_follows_it",
    },
    Mutant {
        name: "client: a late joiner has no corrected trade",
        find: "self.rows[trade.instrument.index()].last_trade = (!is_busted).then_some(*trade);",
        replace: "        if !is_busted { self.apply_trade(trade); }",
        test: "-p touchline-client --test client a_late_joiner_has_a_corrected_trade",
    },
    Mutant {
        name: "client: books have room for the orders of the bus, and not for those of an event",
        find: "let event_orders = if is_of_bus { EVENT_ORDERS_MAX } else { 0 };",
        replace: "        let _ = is_of_bus;\n        let event_orders = 0;",
        test: "-p touchline-client --test client an_event_on_a_full_bus_leaves_no_live_order_book",
    },
    Mutant {
        name: "mirror: an order book without an order is live",
        find: "self.row(instrument).1 = Validity::Recovering;",
        replace: "",
        test: "-p touchline-transport --test bus a_mirror_without_room_for_an_order",
    },
    Mutant {
        name: "mirror: an order book without an order is live again by its next step",
        find: "let is_whole = !self.overflowed.contains(&update.instrument);",
        replace: "                let is_whole = true;",
        test: "-p touchline-transport --test bus a_mirror_without_room_for_an_order",
    },
    Mutant {
        name: "stream state: trades and statistics outlive a loss of messages",
        find: "self.values.iter_mut().for_each(Values::delete);",
        replace: "",
        test: "-p touchline-transport --test bus a_loss_of_messages_voids",
    },
    Mutant {
        name: "client: a trade whose bust an overrun lost stays the last one",
        find: "(row.top, row.last_trade) = (None, None);",
        replace: "                    row.top = None;",
        test: "-p touchline-client --test client a_trade_that_was_busted_in_an_overrun",
    },
    Mutant {
        name: "instruments: an instrument that was selected by its id is lost with its symbol",
        find: "let stays = self.rows[index] && self.symbols.names_id(definition.security_id);",
        replace: "        let stays = false;",
        test: "-p touchline-instruments --lib an_instrument_is_chosen_by_its_last_definition",
    },
    Mutant {
        name: "joining: a selected instrument ends without a word",
        find: "wanted || was_wanted",
        replace: "        wanted",
        test: "-p touchline-client --test client a_selected_instrument_that_becomes_another_one",
    },
    Mutant {
        name: "client: the last event of a tape that ends within a packet is lost",
        find: "let took = reading.take(Item::BatchEnd);",
        replace: "        let took = Took::Applied { batch_end: false };",
        test: "-p touchline-client --test client a_tape_that_ends_within_a_packet",
    },
    Mutant {
        name: "capi: a loop that never waits ends within a tape",
        find: "0 if bus.bus.is_tape() => bus.bus.next_within(Duration::ZERO),",
        replace: "            0 if bus.bus.is_tape() && false => bus.bus.next_within(Duration::ZERO),",
        test: "-p touchline-capi --test languages a_loop_that_never_waits",
    },
];
