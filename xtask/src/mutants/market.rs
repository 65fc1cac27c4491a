//! Faults of the simulated markets, and of their display.

use super::Mutant;

/// Books that could be real.
pub const MARKET: &[Mutant] = &[
    Mutant {
        name: "market: implied prices stay when the direct book moves",
        find: "self.markets[index].fit_implied(REACH_TICKS * instrument.tick);",
        replace: "",
        test: "-p touchline-lab --lib books_are_never_crossed_by_implied_prices_and_stay_near_the_mid",
    },
    Mutant {
        name: "market: implied prices are made through the other side",
        find: "(Side::Bid, Some(ask)) => price.min(ask - instrument.tick),",
        replace: "(Side::Bid, Some(_)) => price,",
        test: "-p touchline-lab --lib books_are_never_crossed_by_implied_prices_and_stay_near_the_mid",
    },
    Mutant {
        name: "market: a wide spread is never narrowed",
        find: "if is_left || width > SPREAD_TICKS_MAX * instrument.tick {",
        replace: "if is_left {",
        test: "-p touchline-lab --lib books_are_never_crossed_by_implied_prices_and_stay_near_the_mid",
    },
    Mutant {
        name: "market: some instruments stay empty",
        find: "self.turns[index].is_multiple_of(QUIET_TURNS)",
        replace: "false",
        test: "-p touchline-lab --lib books_are_never_crossed_by_implied_prices_and_stay_near_the_mid",
    },
    Mutant {
        name: "market: prices wander off",
        find: "(Side::Bid, Some(ask)) => (ask - distance).min(centre + reach),",
        replace: "(Side::Bid, Some(ask)) => ask - distance,",
        test: "-p touchline-lab --lib books_are_never_crossed_by_implied_prices_and_stay_near_the_mid",
    },
    Mutant {
        name: "a new depth drops entries queued for a snapshot",
        find: "self.rows.row_mut(instrument).price.gap = true;\n        out.push(Event::BookLost(instrument, missing));",
        replace: "self.rows.forget_prices(instrument);\n        self.rows.row_mut(instrument).price.gap = true;\n        out.push(Event::BookLost(instrument, missing));",
        test: "-p touchline-gateway --test gateway a_new_depth_of_a_book_in_recovery_keeps_its_queue",
    },
    Mutant {
        name: "market: perpetuals have any spread",
        find: "if offer - bid <= SPREAD_TICKS_MAX {",
        replace: "if true {",
        test: "-p touchline-lab --lib books_are_never_crossed_or_empty_and_changes_lead_from_one_to_the_next",
    },
];

/// Display of a market.
pub const SHOWN: &[Mutant] = &[
    Mutant {
        name: "touch: quantities of one price are not summed",
        find: "quantity: sum(direct.quantity, implied.quantity),",
        replace: "quantity: direct.quantity,",
        test: "-p touchline-book --lib the_better_price_of_direct_and_implied_is_the_touch_and_equal_prices_are_summed",
    },
    Mutant {
        name: "touch: the implied ask is better when it is higher",
        find: "Side::Ask => implied.price < direct.price,",
        replace: "Side::Ask => implied.price > direct.price,",
        test: "-p touchline-book --lib the_better_price_of_direct_and_implied_is_the_touch_and_equal_prices_are_summed",
    },
    Mutant {
        name: "touch: a best level that was never stated is skipped",
        find: "if !direct.iter().chain(&implied).all(known) {",
        replace: "if false {",
        test: "-p touchline-book --lib a_side_whose_best_level_was_never_stated",
    },
    Mutant {
        name: "books crossed by implied prices are not counted",
        find: "Touch::of(side, direct, self.implied(side).first().copied())",
        replace: "Touch::of(side, direct, None)",
        test: "-p touchline-gateway --test gateway a_book_crossed_by_implied_prices_is_counted",
    },
    Mutant {
        name: "series: a trade has the time of the previous event",
        find: "self.timestamps.exchange_ns = *begun_ns;",
        replace: "                let _ = begun_ns;\n",
        test: "-p touchline --test system trades_equal_those_of_the_exchange_with_event_times",
    },
    Mutant {
        name: "series: an unchanged quote is written",
        find: "if *last == Some(quote) {",
        replace: "if false {",
        test: "-p touchline --test system quotes_are_the_changes_of_the_top_of_book",
    },
    Mutant {
        name: "series: trades have the venue's prices with --display",
        find: "self.prices.of(self.definition, trade.price)",
        replace: "trade.price",
        test: "-p touchline --test system replay_writes_prices_as_sent_and_with_display_as_quoted",
    },
    Mutant {
        name: "series: the file extension is ignored",
        find: "_ => Err(format!(",
        replace: "_ if true => Ok(Form::Csv),\n            _ => Err(format!(",
        test: "-p touchline --test system an_unknown_file_extension_is_refused_before_the_replay",
    },
    Mutant {
        name: "client: the last event of a packet is not marked",
        find: "event.mark_end_of_batch();",
        replace: "                    let _ = &mut event;",
        test: "-p touchline-client --test client a_top_precedes_its_book_change_and_the_last_event_of_a_packet_is_marked",
    },
    Mutant {
        name: "client: an id that names another contract keeps its handle",
        find: "old.symbol == new.symbol || old.symbol.is_empty() || new.symbol.is_empty()",
        replace: "    let _ = (old, new);\n    true",
        test: "-p touchline-client --test client an_id_with_another_symbol",
    },
    Mutant {
        name: "client: an instrument that a restart does not announce has another one's book",
        find: "row.publisher = None;",
        replace: "            let _ = row;",
        test: "-p touchline-client --test client handles_stay_when_the_next_publisher_assigns_other_indexes",
    },
    Mutant {
        name: "client: an overrun leaves books as they were",
        find: "self.mirror.begin_recovery();",
        replace: "",
        test: "-p touchline-client --test client an_overrun_is_reported_once_with_its_loss_and_books_return_at_once",
    },
    Mutant {
        name: "client: an unchanged top is delivered",
        find: "row.is_none_or(|row| row.top.as_ref() != Some(top))",
        replace: "        let _ = (row, top);\n        true",
        test: "-p touchline-client --test client a_top_precedes_its_book_change_and_the_last_event_of_a_packet_is_marked",
    },
    Mutant {
        name: "client: a poll returns nothing although an event is pending",
        find: "Step::Progress => {}",
        replace: "                Step::Progress => return None,",
        test: "-p touchline-client --test client a_poll_skips_messages_without_an_event",
    },
    Mutant {
        name: "client: books that a dead publisher leaves get no event",
        find: "if before.state != self.state(instrument) {",
        replace: "            if false {",
        test: "-p touchline-client --test client each_live_book_has_its_event_when_a_publisher_ends",
    },
    Mutant {
        name: "client: a top that is live again after a stall is no news",
        find: "for top in self.rows.iter_mut().filter_map(|row| row.top.as_mut()) {",
        replace: "                for top in self.rows.iter_mut().take(0).filter_map(|row| row.top.as_mut()) {",
        test: "-p touchline-client --test client a_top_that_did_not_change_in_a_stall_is_an_event_behind_it",
    },
    Mutant {
        name: "client: a reader has caught up before an instrument is known",
        find: "self.download != Some(Phase::Begun) && (self.kept.registry.defined() > 0 || has_unselected())",
        replace: "        let _ = has_unselected;\n        true",
        test: "-p touchline-client --test client a_reader_has_caught_up_when_the_instruments_are_known",
    },
    Mutant {
        name: "client: a definition without a symbol erases a known one",
        find: "match old.is_defined && !new.is_defined {",
        replace: "    match false {",
        test: "-p touchline-client --test client symbol_and_scale_of_a_known_instrument_stay_until_it_is_defined_again",
    },
    Mutant {
        name: "client: a state in a stream is overtaken by an older top",
        find: "(Some(Streamed::Event(Event::Top(top))), Event::State(change)) => { top.state = change.state; }",
        replace: "            (Some(Streamed::Event(Event::Top(_))), Event::State(_)) => {}",
        test: "-p touchline-client --lib a_slow_program_has_the_last_state",
    },
    Mutant {
        name: "bus: a reader ahead of the next publisher waits for it to catch up",
        find: "std::mem::replace(&mut self.unread, unread) == unread && unread.is_some()",
        replace: "        let _ = unread;\n        false",
        test: "-p touchline-transport --test bus a_reader_ahead_of_the_next_publisher_follows_it_at_once",
    },
    Mutant {
        name: "ring: a ring whose control words are zero is continued",
        find: "if !counted.into_iter().all(is_counted) {",
        replace: "        let _ = (counted, is_counted);\n        if false {",
        test: "-p touchline-transport --test bus overwritten_ring_stops_and_follows_the_next_publisher",
    },
    Mutant {
        name: "joining: after a restart during a join the ring continues from books that were not delivered",
        find: "if self.awaits_restart && is_of_books(&message.body) {",
        replace: "        if false && is_of_books(&message.body) {",
        test: "-p touchline-client --test client kept_books_are_those_of_the_publisher",
    },
    Mutant {
        name: "last values: a statistic in a slot is replaced by an older one",
        find: "match row.wanted && (!ahead || is_before(row.last_values, end)) {",
        replace: "        match row.wanted && (!ahead || true) {",
        test: "-p touchline-transport --test bus statistics_of_the_ring_do_not_replace_newer_ones_of_the_table",
    },
    Mutant {
        name: "tail: the best prices are the direct book's",
        find: "let touch = self.book?.touch(side)?;",
        replace: "let touch = touchline_book::Touch::of(side, self.book?.best(side), None)?;",
        test: "-p touchline --test system the_screens_of_a_bus_agree",
    },
    Mutant {
        name: "ladder: a crossed book is not marked",
        find: "Spread::Crossed => Some(\"CROSSED\"),",
        replace: "Spread::Crossed => None,",
        test: "-p touchline --bin touchline locked_and_crossed_books_are_marked_also_by_implied_prices",
    },
    Mutant {
        name: "print-config: paths stay relative",
        find: "config.starts_at(&here);",
        replace: "            let _ = here;\n",
        test: "-p touchline-gateway --lib a_printed_configuration_is_equivalent_in_any_folder",
    },
    Mutant {
        name: "print-config: defaults are left out",
        find: "let _ = write!(text, \"# {} =\", setting.name);",
        replace: "",
        test: "-p touchline-gateway --lib every_key_is_printed_with_its_own_description",
    },
];
