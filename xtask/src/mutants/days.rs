//! Calendars, spot dates and the hours of sessions.

use super::Mutant;

/// Calendars, spot dates and the hours of sessions.
pub const DAYS: &[Mutant] = &[
    Mutant {
        name: "fx days: the instant of the roll is of the old day",
        find: "local.time() >= time(17, 0, 0, 0)",
        replace: "local.time() > time(17, 0, 0, 0)",
        test: "-p touchline-fx-days --test fx_days spots::dates_are_those_of_the_examples",
    },
    Mutant {
        name: "fx days: a dollar holiday between counts",
        find: "*currency != USD || with_dollar",
        replace: "true || with_dollar",
        test: "-p touchline-fx-days --test fx_days spots::dates_are_those_of_the_examples",
    },
    Mutant {
        name: "fx days: a cross of the Canadian dollar settles after a day",
        find: "self.has(USD) && ONE_DAY",
        replace: "ONE_DAY",
        test: "-p touchline-fx-days --test fx_days spots::dates_are_those_of_the_examples",
    },
    Mutant {
        name: "fx days: the Federal Reserve closes on the Friday before",
        find: "(ToMonday | SundayToMonday, Weekday::Sunday) => plus(day, 1),",
        replace: "(ToMonday | SundayToMonday, Weekday::Sunday) => plus(day, 1),\n            (SundayToMonday, Weekday::Saturday) => plus(day, -1),",
        test: "-p touchline-fx-days --test fx_days calendars::holidays_by_rule_are_those_of_the_published_years",
    },
    Mutant {
        name: "fx days: a time that does not exist is an hour later",
        find: "let AmbiguousOffset::Gap { before, .. } = zone.to_ambiguous_timestamp(local).offset() else {",
        replace: "let AmbiguousOffset::Fold { before, .. } = zone.to_ambiguous_timestamp(local).offset() else {",
        test: "-p touchline-fx-days --test fx_days sessions::sessions_are_those_of_the_examples",
    },
    Mutant {
        name: "fx days: days roll at 21:00 UTC all year",
        find: "let local = known(\"America/New_York\").to_datetime(at);",
        replace: "let local = known(\"Etc/GMT+4\").to_datetime(at);",
        test: "-p touchline-fx-days --test fx_days spots::dates_are_those_of_the_examples",
    },
    Mutant {
        name: "fx days: a stated spot date that differs is taken",
        find: "of.spot_date.is_empty() || of.spot_date.parse() == Ok(spot)",
        replace: "true || spot == 0",
        test: "-p touchline-fx-live --test execution dates::spot_dates_follow_from_calendars",
    },
    Mutant {
        name: "fx: quotes outlive the day of their pair",
        find: "self.quotes.clear_pair(&self.setup, day.pair);",
        replace: "",
        test: "-p touchline-fx --test fx days::quotes_of_the_old_day_do_not_count_until_the_bank_quotes_again",
    },
    Mutant {
        name: "fx: orders keep the value date of the day before",
        find: "Arc::make_mut(&mut self.setup).begin_day(day, step.now_ns);",
        replace: "",
        test: "-p touchline-fx-live --lib weeks_have_their_own_dates_on_both_sides",
    },
    Mutant {
        name: "fx: the credit of the day before is not free",
        find: "self.orders.begin_bank_day(bank, by, trade);",
        replace: "let _ = by;",
        test: "-p touchline-fx --test fx days::credit_is_free_again_with_the_day_or_with_the_value_date",
    },
    Mutant {
        name: "fx: a fill is booked to the newest value date",
        find: "dates.binary_search_by_key(&value_date, |(other, _)| *other);",
        replace: "dates.len().checked_sub(1).ok_or(0);",
        test: "-p touchline-fx-live --lib weeks_have_their_own_dates_on_both_sides",
    },
    Mutant {
        name: "fx: orders that are open free the credit of the other side",
        find: "(self.all[other] - self.open[other])",
        replace: "(self.all[other] - 0 * self.open[other])",
        test: "-p touchline-fx --test fx days::net_credit_counts_what_is_left_of_both_sides",
    },
    Mutant {
        name: "fx: an order of yesterday is adopted with the date of today",
        find: "Some(day.trade % 1_000_000) == named",
        replace: "named.is_none() && day.trade == 0",
        test: "-p touchline-fx-live --lib weeks_have_their_own_dates_on_both_sides",
    },
    Mutant {
        name: "fx: a report of yesterday's order is judged by the date of today",
        find: "ShortText::unsigned(u64::from(terms.value_date));",
        replace: "ShortText::unsigned(u64::from(pair.spot_date));",
        test: "-p touchline-fx --test fx days::orders_have_the_date_of_their_day_and_reports_are_judged_by_it",
    },
    Mutant {
        name: "execution: a quote of yesterday counts today",
        find: "quotes.receive_ns < setup.pairs[quotes.pair].began_ns",
        replace: "setup.pairs[quotes.pair].began_ns == u64::MAX",
        test: "-p touchline-fx-live --lib days::",
    },
    Mutant {
        name: "fx: an order is gone before its bank's last look is over",
        find: "let due_ns = answered_ns.max(step.now_ns);",
        replace: "let due_ns = answered_ns.min(step.now_ns);",
        test: "-p touchline-fx --test fx losses::a_last_look_that_outlives_the_connection_is_waited_for",
    },
    Mutant {
        name: "fx: an order is gone by a rule before all missed messages have come",
        find: "is_dropped && now_ns < self.rule_ns(terms.bank)",
        replace: "is_dropped && now_ns == u64::MAX",
        test: "-p touchline-fx --test fx losses::questions_without_an_answer_end_no_order_before_everything_has_come",
    },
    Mutant {
        name: "fx: orders are planned for a bank whose hours are over",
        find: "self.sessions.set_closing(bank);",
        replace: "",
        test: "-p touchline-fx --test fx losses::no_order_is_sent_between_the_questions_and_the_next_session",
    },
    Mutant {
        name: "fx: a mass status without an answer leaves an order unknown",
        find: "order.asking.ask_later(due_ns);",
        replace: "",
        test: "-p touchline-fx --test fx losses::a_mass_status_without_an_answer_ends_by_the_rule_of_the_bank",
    },
    Mutant {
        name: "fx: a refused mass status leaves an order unknown",
        find: "mention != Mention::NotAsked",
        replace: "mention == Mention::Mentioned",
        test: "-p touchline-fx --test fx losses::a_mass_status_that_is_refused_or_never_complete_ends_at_the_desk",
    },
    Mutant {
        name: "fx: a rule ends an order whose report may be lost",
        find: "self.is_kept = true;",
        replace: "self.is_dropped = false;",
        test: "-p touchline-fx --test fx losses::an_order_in_doubt_stays_in_doubt_behind_a_further_loss",
    },
    Mutant {
        name: "execution: rules of the configuration change the past",
        find: "engine.set_restoring(true);",
        replace: "engine.set_restoring(false);",
        test: "-p touchline-fx-live --lib rules_of_the_configuration_do_not_change_the_past",
    },
    Mutant {
        name: "execution: an order that a crash lost is judged by the rule of the next run",
        find: "self.handle(last, &Input::Desk(Desk::Restart));",
        replace: "self.engine.begin_drops();\n            self.handle(last, &Input::Desk(Desk::Restart));",
        test: "-p touchline-fx-live --lib a_start_loses_the_orders_of_a_crash_by_the_rule_of_before",
    },
    Mutant {
        name: "execution: an order is gone before the report of its last look was read",
        find: "self.tests > 0 && !session.is_testing()",
        replace: "self.is_due(time.mono_ns)",
        test: "-p touchline-fx-live --lib a_session_settles_with_the_answer_to_a_test_request",
    },
    Mutant {
        name: "execution: a session that comes up near its end gets orders",
        find: "self.banks[bank].session.is_closing()",
        replace: "self.banks[bank].session.is_closing() && false",
        test: "-p touchline-fx-live --lib no_order_is_sent_in_the_last_seconds_of_a_session_that_came_up_in_them",
    },
    Mutant {
        name: "execution: messages that are skipped behind our Logout open the bank again",
        find: "At::Closed(_) => true,",
        replace: "At::Closed(_) => false,",
        test: "-p touchline-fx-live --lib no_order_is_planned_between_the_logouts",
    },
    Mutant {
        name: "execution: an update within a session frees its credit again",
        find: "self.bank_days_ns[bank] < *began_ns",
        replace: "*began_ns > 0",
        test: "-p touchline-fx-live --lib an_update_within_a_session_frees_no_credit",
    },
    Mutant {
        name: "execution: a clock that is set back frees credit",
        find: "(0..=BACK_DAYS).contains(&days)",
        replace: "days == i32::MAX",
        test: "-p touchline-fx-live --lib a_clock_that_is_set_back_frees_no_credit",
    },
    Mutant {
        name: "execution: a clock that is set ahead frees credit",
        find: "true => is_latest && !self.landing.is_step",
        replace: "true => is_latest",
        test: "-p touchline-fx-live --lib a_clock_that_is_far_ahead_frees_no_credit",
    },
    Mutant {
        name: "execution: a bank with hours begins its credit with New York's day",
        find: "self.banks[bank].session.has_days()",
        replace: "self.banks[bank].session.has_days() && false",
        test: "-p touchline-fx-live --lib the_credit_of_a_bank_begins_with_its_own_day",
    },
    Mutant {
        name: "execution: a missed day is given twice",
        find: "self.begin_day(at, Desk::Day(day));",
        replace: "self.handle(at, &Input::Desk(Desk::Day(day)));",
        test: "-p touchline-fx-live --lib each_missed_day_is_given_once",
    },
    Mutant {
        name: "gateway: the numbers of a pricing session begin again at every connection",
        find: "self.connected.is_none() || self.connected != self.begun",
        replace: "true",
        test: "-p touchline-gateway --test gateway numbers_begin_again_as_configured_and_missed_quotes_do_not_count",
    },
];
