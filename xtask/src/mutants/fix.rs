//! FIX: messages, sessions, their store, market data.

use super::Mutant;

/// FIX: messages, sessions, their store, market data.
pub const FIX: &[Mutant] = &[
    Mutant {
        name: "execution: a report of an old time is rejected",
        find: "settings.sending_time_s = 0;",
        replace: "        settings.sending_time_s = 120;",
        test: "-p touchline-fx-live --lib a_report_of_an_old_time_is_used",
    },
    Mutant {
        name: "fix session: heartbeats wait behind a resend",
        find: "if !self.has_waiting() {",
        replace: "                if !self.has_waiting() || true {",
        test: "-p touchline-session --test session no_heartbeat_waits_behind_a_resend",
    },
    Mutant {
        name: "fix: a wrong checksum is taken",
        find: "if stated != u32::from(S::sum(fields)) {",
        replace: "if stated > 255 {",
        test: "-p touchline-wire --test wire an_invalid_header_is_refused_at_its_first_invalid_byte",
    },
    Mutant {
        name: "fix: a group of a later version is rejected",
        find: "if !self.options.unknown {\n                    unknown_fields.meet(field.tag)?;",
        replace: "                {\n                    unknown_fields.meet(field.tag)?;",
        test: "-p touchline-fx-live --lib fields_that_fix_44_does_not_have_are_passed_over",
    },
    Mutant {
        name: "fix: market data finds entries inside of data",
        find: "if data_of(tag.number).is_some() {",
        replace: "        if data_of(tag.number) == Some(0) {",
        test: "-p touchline-wire --test wire wrong_group_counts_and_repeated_fields_are_errors",
    },
    Mutant {
        name: "fix session: a message is sent before it is stored",
        find: "let stored = if keep == Keep::Message { message } else { &[] };",
        replace: "        if self.phase.state() != State::Down {\n            self.output.put(message);\n        }\n        let stored = if keep == Keep::Message { message } else { &[] };",
        test: "-p touchline-session --test session a_kill_at_every_point",
    },
    Mutant {
        name: "fix session: a message that is always too long ends each connection",
        find: "if self.gap.is_open(expected) && number == expected + link.too_long_before() {",
        replace: "        if self.gap.is_open(expected) && number == expected {",
        test: "-p touchline-session --test session messages_that_are_too_long_twice_are_given_up",
    },
    Mutant {
        name: "fix session: a Logout that refuses a Logon leaves a gap",
        find: "if is_next && !self.logons.is_resetting() {",
        replace: "if is_next && self.logons.is_resetting() {",
        test: "-p touchline-session --test session a_refusal_of_our_logon_is_no_gap_in_the_session_before",
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
        name: "fix session: a reset by a Logon with another number is accepted",
        find: "(is_reset && number != 1).then_some",
        replace: "(is_reset && number == 0).then_some",
        test: "-p touchline-session --test session a_logon_with_impossible_terms_is_answered_with_the_reason",
    },
    Mutant {
        name: "fix session: a gap fill of one number skips nothing",
        find: "parsed.header.poss_dup || self.gap.is_open(number)",
        replace: "false",
        test: "-p touchline-fx-live --lib a_gap_fill_of_one_number_is_a_skip",
    },
    Mutant {
        name: "fix session: a session that has restarted waits for messages of before",
        find: "self.logons.logged_on(number);",
        replace: "",
        test: "-p touchline-session --test session a_reset_during_the_session_ends_its_gaps",
    },
    Mutant {
        name: "fix session: a repeated answer to a reset is answered",
        find: "self.logons.has_reset() && link.sequencer().is_behind_logons()",
        replace: "false",
        test: "-p touchline-session --test session a_repeated_answer_to_a_reset_is_not_answered",
    },
    Mutant {
        name: "fix session: a message that is not the next one is delivered",
        find: "header.msg_seq_num == Some(link.sequencer().next_in())",
        replace: "header.msg_seq_num >= Some(link.sequencer().next_in())",
        test: "-p touchline-session --test session the_result_does_not_depend_on_who_verifies_the_checksum",
    },
    Mutant {
        name: "fix session: a Logon is stored for resending",
        find: "self.write(b\"A\", Keep::Number, None, |body| {",
        replace: "self.write(b\"A\", Keep::Message, None, |body| {",
        test: "-p touchline-session --test session a_password_is_sent_and_nowhere_kept",
    },
    Mutant {
        name: "fix market data: entries that are not counted are none",
        find: "                Name::MdUpdateAction | Name::MdEntryType | Name::MdEntryPx | Name::MdEntrySize => {\n                    return Err(Malformed::Group);\n                }\n",
        replace: "",
        test: "-p touchline-wire --test wire wrong_group_counts_and_repeated_fields_are_errors",
    },
    Mutant {
        name: "fix market data: bytes without a message end a feed timeout",
        find: "if self.health.has(Condition::FeedTimeout) && session.has_message() {",
        replace: "        let _ = session;\n        if self.health.has(Condition::FeedTimeout) {",
        test: "-p touchline-gateway --test gateway a_venue_that_answers_no_test_request_is_stale",
    },
    Mutant {
        name: "fix market data: messages of an earlier connection count",
        find: "if !self.subscriptions.is_up() {\n            return Step::Noted;\n        }",
        replace: "",
        test: "-p touchline-feed --test fix_md goes_on",
    },
    Mutant {
        name: "fix market data: a body that was not read is not judged",
        find: "if matches!(step, Step::Events) {",
        replace: "    if matches!(step, Step::Events | Step::Noted) {",
        test: "-p touchline-feed --test fix_md every_changed_field",
    },
    Mutant {
        name: "fix market data: a message is of the instrument of the last one",
        find: "if !self.rows.get(self.last).is_some_and(is_last) {",
        replace: "        if !self.rows.get(self.last).is_some_and(|row| is_last(row) || !name.is_empty()) {",
        test: "-p touchline-feed --test fix_md messages_of_several_instruments",
    },
    Mutant {
        name: "fix market data: trades are dropped while a book waits to be requested again",
        find: "self.is_asked() || self == Book::Inconsistent",
        replace: "self.is_asked()",
        test: "-p touchline-feed --test fix_md trades_are_published_while_a_book_waits",
    },
    Mutant {
        name: "fix market data: a new connection makes every book live",
        find: "rows.iter().filter(|row| row.was_published)",
        replace: "rows.iter().filter(|_| false)",
        test: "-p touchline-feed --test fix_md only_live_books_are_live_after_a_feed_timeout",
    },
    Mutant {
        name: "fix market data: changes overtake an incomplete set",
        find: "b\"X\" | b\"W\" if decoder.parts.is_awaited()",
        replace: "b\"X\" if decoder.parts.is_awaited()",
        test: "-p touchline-feed --test fix_md an_invalid_continuation_of_a_set_closes_the_connection",
    },
    Mutant {
        name: "fix store: a damaged last sent message is removed",
        find: "let is_unsent_last = behind == size && number >= slot.next_out;",
        replace: "let is_unsent_last = behind == size;",
        test: "-p touchline-session --test session a_last_message",
    },
    Mutant {
        name: "fix store: a truncated record counts as not sent",
        find: "Found::Begun if next < slot.next_out => break Some(missing(next, &slot)),",
        replace: "Found::Begun if next < slot.next_out => break None,",
        test: "-p touchline-session --test session every_cut",
    },
    Mutant {
        name: "fix store: one valid slot is accepted",
        find: "let (even, odd) = (sound(1)?, sound(2)?);",
        replace: "let (even, odd) = match (sound(1), sound(2)) {\n        (Ok(even), Ok(odd)) => (even, odd),\n        (Ok(one), _) | (_, Ok(one)) => return Ok(one),\n        (Err(bad), _) => return Err(bad),\n    };",
        test: "-p touchline-session --test session every_changed_byte",
    },
    Mutant {
        name: "fix store: the file is renamed before its bytes are written",
        find: "Rewrite::write_head,\n            Rewrite::write_records,\n            Rewrite::synchronise,\n            Rewrite::rename,",
        replace: "Rewrite::rename,\n            Rewrite::write_head,\n            Rewrite::write_records,\n            Rewrite::synchronise,",
        test: "-p touchline-session --lib a_crash_after_any_step_leaves_a_complete_store",
    },
    Mutant {
        name: "fix session: a heartbeat that answers nothing answers a test",
        find: "self.tested.is_some_and(|first| number >= Some(first))",
        replace: "self.tested.is_some()",
        test: "-p touchline-fx-live --lib a_session_settles_with_the_answer_to_a_test_request",
    },
];
