//! Faults of FIX sessions.

use super::Mutant;

/// Numbers, order of store and wire, accepted counterparties.
pub const SESSION: &[Mutant] = &[
    Mutant {
        name: "fix session: a message is sent before it is stored",
        find: "let stored = if keep == Keep::Message { message } else { &[] };",
        replace: "        if self.phase.state() != State::Down {\n            self.output.put(message);\n        }\n        let stored = if keep == Keep::Message { message } else { &[] };",
        test: "-p touchline-session --test session a_kill_at_every_point",
    },
    Mutant {
        name: "fix session: a message is counted before the application processed it",
        find: "link.deliver(number);",
        replace: "                link.expect(number + 1);",
        test: "-p touchline-session --test session a_kill_at_every_point",
    },
    Mutant {
        name: "fix session: a resent message has no PossDupFlag",
        find: ".flag(tag::POSS_DUP_FLAG, true)\n                .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)",
        replace: "                .timestamp(tag::SENDING_TIME, wall_ns, settings.precision)",
        test: "-p touchline-session --test session our_scenarios_hold",
    },
    Mutant {
        name: "fix session: a resent message that was processed is executed again",
        find: "if number < expected {\n            return sequence_too_low(link, message, parsed, number);\n        }",
        replace: "        if number < expected && !parsed.header.poss_dup {\n            return sequence_too_low(link, message, parsed, number);\n        }",
        test: "-p touchline-session --test session our_scenarios_hold",
    },
    Mutant {
        name: "fix session: the second of two equal header tags is used",
        find: "fault: Some(reject.into()),",
        replace: "fault: Some(reject).filter(|_| message.is_empty()).map(Fault::from),",
        test: "-p touchline-session --test session our_scenarios_hold",
    },
    Mutant {
        name: "fix session: a reset by a Logon with another number is accepted",
        find: "(is_reset && number != 1).then_some",
        replace: "(is_reset && number == 0).then_some",
        test: "-p touchline-session --test session a_logon_with_impossible_terms_is_answered_with_the_reason",
    },
    Mutant {
        name: "fix session: the answer to a Logon has another HeartBtInt",
        find: "link.logon(theirs_s, true, |_| {});",
        replace: "link.logon(link.heartbeat_s(), true, |_| {});",
        test: "-p touchline-session --test session the_answer_to_a_reset_has_the_heart_bt_int_of_the_counterparty",
    },
    Mutant {
        name: "fix session: a password of a message is in the log",
        find: "if let Some(tag) = secret {",
        replace: "        if let Some(tag) = secret.filter(|_| false) {",
        test: "-p touchline-session --lib a_message_is_printed_without_its_passwords",
    },
    Mutant {
        name: "fix market data: a new level without a quantity contradicts the book",
        find: "if is_empty(&level) {",
        replace: "            if false {",
        test: "-p touchline-feed --test fix_md sizes_of_zero_are_no_levels",
    },
    Mutant {
        name: "fix market data: a change without a type has no side",
        find: "(None, UpdateAction::Change) => {",
        replace: "(None, UpdateAction::Delete) => {",
        test: "-p touchline-feed --test fix_md a_change_by_id_needs_no_type",
    },
    Mutant {
        name: "fix market data: a negative quantity is a level",
        find: "..0 => Err(Malformed::Negative),",
        replace: "..0 => Ok(Quantity(0)),",
        test: "-p touchline-feed --test fix_md negative_sizes_are_never_live",
    },
    Mutant {
        name: "fix session: a message that is not the next one is delivered",
        find: "parsed.header.msg_seq_num == Some(link.sequencer().next_in())",
        replace: "parsed.header.msg_seq_num >= Some(link.sequencer().next_in())",
        test: "-p touchline-session --test session the_result_does_not_depend_on_who_verifies_the_checksum",
    },
    Mutant {
        name: "fix market data: a body that the session rejects is market data",
        find: "true => {\n            batch.events.clear();\n            Step::Missed(Cause::Invalid)\n        }",
        replace: "true => step,",
        test: "-p touchline-feed --test fix_md no_book_is_live_after_a_rejected_or_skipped_message",
    },
    Mutant {
        name: "fix market data: a rejected message changes no book",
        find: "Said::Invalid(_) => Step::Missed(Cause::Invalid),",
        replace: "            Said::Invalid(_) => Step::Noted,",
        test: "-p touchline-feed --test fix_md no_book_is_live_after_a_rejected_or_skipped_message",
    },
    Mutant {
        name: "fix market data: the batch is too small for short entries",
        find: "self.settings.session.limits.message_bytes_max * 4 / 18;",
        replace: "self.settings.session.limits.message_bytes_max / 20;",
        test: "-p touchline --test allocations a_message_of_the_shortest_entries",
    },
    Mutant {
        name: "fix market data: messages of an earlier connection count",
        find: "Said::Application(..) if !self.subscriptions.is_up() => Step::Noted,",
        replace: "",
        test: "-p touchline-feed --test fix_md goes_on",
    },
    Mutant {
        name: "fix market data: books are requested while old messages are resent",
        find: "Step::LoggedOn if request.session.is_catching_up() =>",
        replace: "Step::LoggedOn if false =>",
        test: "-p touchline-feed --test fix_md goes_on",
    },
    Mutant {
        name: "fix market data: a request of an earlier connection is resent",
        find: "&APPLICATION_THAT_GOES_ON",
        replace: "&APPLICATION",
        test: "-p touchline-feed --test fix_md goes_on",
    },
    Mutant {
        name: "fix market data: a new connection makes every book live",
        find: "rows.iter().filter(|row| row.was_published)",
        replace: "rows.iter().filter(|_| false)",
        test: "-p touchline-feed --test fix_md only_live_books_are_live_after_a_feed_timeout",
    },
    Mutant {
        name: "fix market data: an old quote stays at the price that it left",
        find: "new.is_none_or(|new| new.price != old.price)",
        replace: "new.is_none()",
        test: "-p touchline-feed --test fix_md changes_by_id",
    },
    Mutant {
        name: "fix market data: a redefined instrument keeps its book",
        find: "if is_other && row.was_published {",
        replace: "if is_other && !row.was_published {",
        test: "-p touchline-feed --test fix_md redefined",
    },
    Mutant {
        name: "fix market data: the stated number of legs is believed",
        find: "(stated, received) => unsigned(stated).ok() == Some(received as u64),",
        replace: "(stated, received) => unsigned(stated).is_ok() || received == 0,",
        test: "-p touchline-feed --test fix_md wrong_legs",
    },
    Mutant {
        name: "fix market data: a message with many unreadable instruments is counted many times",
        find: "counters.messages_malformed += u64::from(!is_readable);",
        replace: "counters.messages_malformed += counters.securities * u64::from(!is_readable);",
        test: "-p touchline-feed --test fix_md wrong_legs",
    },
    Mutant {
        name: "fix market data: legs that are listed after their combination stay unknown",
        find: "if row.missing_legs.fill_in(&mut legs, out.instruments) {",
        replace: "if row.missing_legs.fill_in(&mut legs, out.instruments) && false {",
        test: "-p touchline-feed --test fix_md a_combination_is_published_again",
    },
    Mutant {
        name: "fix market data: a quantity in round lots is published",
        find: "_ => Quantity::NULL,",
        replace: "_ => quantity(text),",
        test: "-p touchline-feed --test fix_md limits_in_other_units",
    },
    Mutant {
        name: "fix market data: a limit in ticks is published as a price",
        find: "_ => Price::NULL,",
        replace: "_ => price(text),",
        test: "-p touchline-feed --test fix_md limits_in_other_units",
    },
    Mutant {
        name: "fix market data: a set with a number of entries is complete at once",
        find: "if !set.is_last.unwrap_or(is_all) {",
        replace: "if !set.is_last.unwrap_or(true) {",
        test: "-p touchline-feed --test fix_md a_book_in_parts",
    },
    Mutant {
        name: "fix market data: changes overtake an incomplete set",
        find: "b\"X\" | b\"W\" if decoder.parts.is_awaited()",
        replace: "b\"X\" if decoder.parts.is_awaited()",
        test: "-p touchline-feed --test fix_md an_invalid_continuation_of_a_set_closes_the_connection",
    },
    Mutant {
        name: "fix session: a Logon is stored for resending",
        find: "self.write(b\"A\", Keep::Number, None, |body| {",
        replace: "self.write(b\"A\", Keep::Message, None, |body| {",
        test: "-p touchline-session --test session a_password_is_sent_and_nowhere_kept",
    },
    Mutant {
        name: "fix session: steps of the host's clock are followed",
        find: "let wall = if is_off { steady } else { time.wall_ns };",
        replace: "let wall = time.wall_ns;",
        test: "-p touchline-session --test session a_clock_that_is_set",
    },
    Mutant {
        name: "fix session: an application's policy is not asked",
        find: "Ok(Frame::Whole(message)) if applications.is_sent_again(message.msg_type()) => {",
        replace: "            Ok(Frame::Whole(message)) if !super::applications::is_admin(message.msg_type()) || applications.is_sent_again(b\"0\") => {",
        test: "-p touchline-session --test session a_resend_request_gap_fills_orders_and_resends_market_data",
    },
    Mutant {
        name: "fix session: a message waits in a store that keeps none",
        find: "if !self.sequencer.store().keeps_messages() {",
        replace: "if !self.sequencer.store().keeps_messages() && first > last {",
        test: "-p touchline-session --test session a_message_behind_a_long_request_is_sent",
    },
];
