//! Faults of the trading engine around its rules.

use super::Mutant;

/// Journal before orders, recovery, an engine that was stopped, commands.
pub const EXECUTION: &[Mutant] = &[
    Mutant {
        name: "execution: an order that is not in the journal is sent",
        find: "is_journaled && !self.is_journal_dead",
        replace: "true",
        test: "-p touchline-execution --test execution journal::an_order_waits_for_the_disk_or_is_not_sent",
    },
    Mutant {
        name: "execution: an order does not wait for the disk",
        find: "self.is_disk && count > 0",
        replace: "false",
        test: "-p touchline-execution --test execution journal::an_order_waits_for_the_disk_or_is_not_sent",
    },
    Mutant {
        name: "execution: a journal that failed is no kill",
        find: "self.kill(\"auto:journal\", time);",
        replace: "",
        test: "-p touchline-execution --test execution journal::an_order_waits_for_the_disk_or_is_not_sent",
    },
    Mutant {
        name: "execution: a journal that was removed is not noticed",
        find: "!self.directory.is_there()",
        replace: "false",
        test: "-p touchline-execution --test execution journal::a_journal_that_is_removed_is_a_kill",
    },
    Mutant {
        name: "execution: an engine that was stopped trades on the first quotes that it reads",
        find: "last_ns > 0 &&",
        replace: "false &&",
        test: "-p touchline-execution --test execution freeze::nothing_is_sent_on_prices_of_the_time_in_which_it_was_stopped",
    },
    Mutant {
        name: "execution: a round that was stopped trades on its quotes",
        find: "self.watch_round(time, 0);",
        replace: "",
        test: "-p touchline-execution --lib a_round_that_was_stopped_makes_and_sends_no_order",
    },
    Mutant {
        name: "execution: an order of a round that was stopped is sent",
        find: "|| self.watch_round(time, disk_ns)",
        replace: "",
        test: "-p touchline-execution --lib a_round_that_was_stopped_makes_and_sends_no_order",
    },
    Mutant {
        name: "execution: a fill that the journal refused is counted, and once more when the next run tells it",
        find: "if line.is_journaled {\n                each(",
        replace: "if line.kind > 0 {\n                each(",
        test: "-p touchline-execution --lib a_line_that_the_journal_refused_is_not_counted",
    },
    Mutant {
        name: "execution: a screen shows a fill twice that a failed journal refused",
        find: "self.beyond.take_if(|beyond| at_ns > beyond.at_ns);",
        replace: "let _ = at_ns;",
        test: "-p touchline-execution --lib what_a_failed_journal_refused_is_shown_until_the_next_run_tells_it",
    },
    Mutant {
        name: "execution: records follow one that the journal refused",
        find: "self.out.give_up();",
        replace: "",
        test: "-p touchline-execution --lib no_record_follows_one_that_the_journal_refused",
    },
    Mutant {
        name: "execution: a report is not in the journal",
        find: "self.append(at_ns, &record)",
        replace: "self.append_raw(0, at_ns, &[])",
        test: "-p touchline-execution --test execution restart::a_killed_engine_asks_for_its_order_and_has_its_position",
    },
    Mutant {
        name: "execution: the numbers of orders are used again after a restart",
        find: "self.sent(order.bank, order.sequence);",
        replace: "",
        test: "-p touchline-execution --test execution restart::a_killed_engine_asks_for_its_order_and_has_its_position",
    },
    Mutant {
        name: "execution: an adopted order is not canceled by the name of its parent",
        find: "parents.to_cancel(id).next().is_some();",
        replace: "parents.find(id).is_some_and(|at| parents.get(at).is_working());",
        test: "-p touchline-execution --test execution restart::an_adopted_order_is_canceled_by_the_name_of_a_parent_that_the_journal_has",
    },
    Mutant {
        name: "execution: banks are not asked for orders after a reboot",
        find: "start.epoch > 1 &&",
        replace: "false &&",
        test: "-p touchline-execution --test execution restart::an_order_that_a_loss_of_power_took_from_the_journal_is_adopted",
    },
    Mutant {
        name: "execution: a command is accepted twice",
        find: "request <= self.last_request",
        replace: "request < self.last_request",
        test: "-p touchline-execution --lib a_command_is_admitted_once_and_in_its_time",
    },
    Mutant {
        name: "execution: a client has no rate",
        find: "has_room(&mut self.recent, self.per_second, now_ns)",
        replace: "has_room(&mut self.recent, usize::MAX, now_ns)",
        test: "-p touchline-execution --lib a_client_has_a_rate",
    },
    Mutant {
        name: "execution: refused commands without number fill the journal",
        find: "has_room(&mut self.refused, self.per_second, now_ns)",
        replace: "has_room(&mut self.refused, usize::MAX, now_ns)",
        test: "-p touchline-execution --lib refused_commands_have_the_same_rate_and_leave_that_of_good_ones_alone",
    },
    Mutant {
        name: "execution: a client has no largest order",
        find: "quantity > client.max_order",
        replace: "false",
        test: "-p touchline-execution --test execution desk::a_client_has_a_largest_order",
    },
    Mutant {
        name: "execution: a replayed command is not in the journal",
        find: "self.journal_command(time, client, command);",
        replace: "if admitted != Err(Unfit::Replayed) { self.journal_command(time, client, command); }",
        test: "-p touchline-execution --test execution desk::a_replayed_command_is_answered_and_in_the_journal",
    },
    Mutant {
        name: "execution: a refused ring is told at each attempt",
        find: "self.told.as_ref() == Some(&why)",
        replace: "false",
        test: "-p touchline-execution --test execution desk::a_ring_of_another_user_is_refused_once_and_not_read",
    },
    Mutant {
        name: "execution: each message behind a gap tells it again",
        find: "if first > *gap_end",
        replace: "if first > 0",
        test: "-p touchline-execution --lib a_gap_is_told_once_and_not_as_an_alarm_behind_a_logon",
    },
    Mutant {
        name: "execution: every repeated report is a line",
        find: "self.told_ns.is_some_and(is_early)",
        replace: "false",
        test: "-p touchline-execution --lib faults_are_told_at_intervals_with_their_number",
    },
    Mutant {
        name: "execution: a marked repetition is a fault",
        find: "&& !self.sessions[bank].is_marked()",
        replace: "",
        test: "-p touchline --test system fx::session_faults::a_report_that_is_repeated",
    },
    Mutant {
        name: "execution: decrypted bytes wait for the next readiness of the socket",
        find: "|| self.link.has_unread()",
        replace: "",
        test: "-p touchline-execution --lib reports_that_wait_in_the_tls_library_are_read",
    },
    Mutant {
        name: "execution: every bank makes a step of its handshake in a round",
        find: "connecting == Some(bank)",
        replace: "connecting.is_some()",
        test: "-p touchline-execution --lib a_round_makes_one_step_of_one_handshake_and_no_bank_starves",
    },
    Mutant {
        name: "execution: a bank whose handshake does not end keeps the others from theirs",
        find: "(bank + 1) % count",
        replace: "0",
        test: "-p touchline-execution --lib a_round_makes_one_step_of_one_handshake_and_no_bank_starves",
    },
    Mutant {
        name: "execution: a session that soon ends shortens the pause",
        find: "&& time.mono_ns.saturating_sub(self.up_ns) >= self.backoff_ns[1]",
        replace: "",
        test: "-p touchline-execution --lib a_bank_that_accepts_and_closes_is_tried_less_and_less_often",
    },
    Mutant {
        name: "drop copy: failed TLS handshakes are not throttled",
        find: "caller.link.is_handshaking()",
        replace: "false",
        test: "-p touchline-execution --lib failed_handshakes_are_throttled",
    },
    Mutant {
        name: "drop copy: a connection that is closed in its TLS handshake is not throttled",
        find: "caller.link.is_handshaking()",
        replace: "matches!(caller.end, Some(Error::Tls(_)))",
        test: "-p touchline-execution --lib connections_that_are_closed_in_the_handshake_are_throttled",
    },
    Mutant {
        name: "execution: the number of a question in front of an order is the order's",
        find: "ahead[line.bank] += u64::from(!Variant::QuestionsUncounted.is_on());",
        replace: "",
        test: "-p touchline-execution --lib seeds_execute_nothing_twice_and_lose_no_fill",
    },
    Mutant {
        name: "fx: a copy that lacks records is called complete",
        find: "match self.missing() {",
        replace: "match self.missing().min(0) {",
        test: "-p touchline-execution --lib a_copy_says_what_it_lacks",
    },
    Mutant {
        name: "fx: a promotion does not say what its copy lacks",
        find: "if let Some(copied) = Copied::of_start(trader.start())",
        replace: "if let Some(copied) = None::<Copied>",
        test: "-p touchline --test system fx::copied::a_promotion_says",
    },
];
