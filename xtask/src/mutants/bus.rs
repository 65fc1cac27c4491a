//! Faults of the bus as its users see it: the gateway that publishes, the commands that look.

use super::Mutant;

/// All of them.
pub const USERS: &[Mutant] = &[
    Mutant {
        name: "bus: an instrument has no name before its definition",
        find: "if !definition.defined {",
        replace: "if false {",
        test: "-p touchline-gateway --test gateway an_instrument_is_announced_once_before_its_other_messages",
    },
    Mutant {
        name: "bus: the last counts are not shown",
        find: "pipeline.finish();\n        show(counters_file, pipeline, ticks());",
        replace: "pipeline.finish();",
        test: "-p touchline --test system counters_can_be_read_after_the_end",
    },
    Mutant {
        name: "bus: a reset that was published already empties price books",
        find: "return Verdict::Skip;",
        replace: "            return Verdict::DeliverAndRejoin;\n",
        test: "-p touchline-transport --test bus a_reset_that_was_reported_does_not_empty_a_newer_price_book",
    },
    Mutant {
        name: "bus: the book of a publisher that has ended is live",
        find: "(self.publisher.is_none() || ",
        replace: "(",
        test: "-p touchline --test system a_bus_without_publisher_can_be_read",
    },
    Mutant {
        name: "bus: an ended publisher is reported twice",
        find: "self.watch.gone_notified = true;",
        replace: "",
        test: "-p touchline --test system the_books_of_tail_equal_those_of_replay",
    },
    Mutant {
        name: "bus: the end of a restart is not reported",
        find: "ahead_until: Some(position),",
        replace: "",
        test: "-p touchline-transport --test bus caught_up_with_the_next_publisher",
    },
    Mutant {
        name: "bus: books are not reloaded after a loss",
        find: "broadcast::RingEvent::Overrun(overrun) => {\n                self.resync();",
        replace: "            broadcast::RingEvent::Overrun(overrun) => {",
        test: "-p touchline --test system an_overrun_reader_has_correct_books_in_the_end",
    },
    Mutant {
        name: "bus: a reader's overrun is not detected",
        find: "counters.overrun_messages += overrun.messages;",
        replace: "",
        test: "-p touchline-transport --test bus an_overrun_reader_is_shown_with_its_loss",
    },
    Mutant {
        name: "top: the last interval is all of it",
        find: "Points::of(&view.since(before))",
        replace: "Points::of(view)",
        test: "-p touchline --bin touchline rates_and_latencies_cover_the_time_between_two_samples",
    },
    Mutant {
        name: "top: a book that is not live is displayed as live",
        find: "let is_live = ladder.state == Some(BookState::Live);",
        replace: "let is_live = true;",
        test: "-p touchline --bin touchline faults_are_red_and_books_that_are_not_live_are_dim_and_labelled",
    },
    Mutant {
        name: "top: an engine that does not write its counters is shown as trading",
        find: "Freshness::Late(_) => EngineState::Stalled,",
        replace: "Freshness::Late(_) if false => EngineState::Stalled,",
        test: "-p touchline --bin touchline old_counters_are_not_a_trading_engine",
    },
    Mutant {
        name: "top: the last session of an engine that has ended is shown as up",
        find: "is_up: is_current.then(|| of(\"session\") > 0),",
        replace: "is_up: Some(of(\"session\") > 0),",
        test: "-p touchline --bin touchline old_counters_are_not_a_trading_engine",
    },
    Mutant {
        name: "metrics: counters of a stopped engine are current",
        find: "let is_stale = u64::from(!freshness.is_fresh());",
        replace: "let is_stale = u64::from(process.process.is_none());",
        test: "-p touchline --bin touchline counters_of_a_stopped_process_are_stale",
    },
];
