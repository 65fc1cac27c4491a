//! Books that are live by mistake: in the middle of an event, and while a publisher is stalled.

use super::Mutant;

/// All of them.
pub const STALLED: &[Mutant] = &[
    Mutant {
        name: "live: an event without room shows its books as changes",
        find: "self.touched[*owner as usize].rebuilt = true;",
        replace: "self.touched[*owner as usize].rebuilt = false;",
        test: "-p touchline-gateway --test gateway changes_beyond_the_limit_are_published_as_snapshots_at_the_end_of_the_event",
    },
    Mutant {
        name: "live: orders without room are not published whole",
        find: "self.order_changes.spill();",
        replace: "            self.order_changes.clear();",
        test: "-p touchline-gateway --test gateway order_changes_beyond_the_limit_are_published_as_an_order_snapshot",
    },
    Mutant {
        name: "live: the book of a stalled publisher is live in a lookup",
        find: "|| self.reading.is_stalled())",
        replace: ")",
        test: "-p touchline-transport --test bus snapshots_and_overview_report_a_stalled_publisher",
    },
    Mutant {
        name: "live: a reader that was stopped reports its publisher as stalled",
        find: "match stated == again {",
        replace: "match true {",
        test: "-p touchline-transport --lib a_publisher_is_stalled_after_its_timeout",
    },
    Mutant {
        name: "live: a clock that is ahead counts as activity",
        find: "now_ns.abs_diff(again.at_ns)",
        replace: "now_ns.saturating_sub(again.at_ns)",
        test: "-p touchline-transport --lib a_publisher_is_stalled_after_its_timeout",
    },
    Mutant {
        name: "live: updates of a stalled publisher are live",
        find: "mark_stale(bytes);",
        replace: "",
        test: "-p touchline-transport --test bus a_stalled_publisher_has_no_live_book",
    },
    Mutant {
        name: "live: order books stay stale when the publisher resumes",
        find: "(Known::Whole, _) => {}",
        replace: "(Known::Whole, _) if is_again => book.snapshot.validity = Validity::Stale,\n            (Known::Whole, _) => {}",
        test: "-p touchline-transport --test bus a_stalled_publisher_has_no_live_book",
    },
    Mutant {
        name: "live: a reset by a stalled publisher makes books live",
        find: "self.joining = Some(Joining::stalled());",
        replace: "",
        test: "-p touchline-transport --test bus a_reset_by_a_stalled_publisher",
    },
    Mutant {
        name: "live: books are live before earlier messages are read",
        find: "None if self.watch.is_any_seen() => Step::Passed,",
        replace: "            None if std::mem::take(&mut self.watch.turn_seen) => {\n                Step::Given(take(Item::SubscriptionEvent(self.turn())))\n            }\n            None if self.watch.is_any_seen() => Step::Passed,",
        test: "-p touchline-transport --lib messages_before_an_activity_statement_are_read_before_a_book_is_live",
    },
    Mutant {
        name: "live: the state of one publisher is applied to the next",
        find: "super::Activity::default().store(writer.memory.words());",
        replace: "        let _ = super::Activity::default();",
        test: "-p touchline-transport --test bus a_publisher_without_activity_statements_is_never_stalled",
    },
    Mutant {
        name: "live: a gateway is current in the round in which it was stopped",
        find: "is_drained: false,",
        replace: "is_drained: is_empty,",
        test: "-p touchline-gateway --lib a_pause_lasts_until_a_later_round",
    },
    Mutant {
        name: "live: what the kernel dropped in the pause was dropped before it",
        find: "dropped: self.dropped,",
        replace: "dropped,",
        test: "-p touchline-gateway --lib a_pause_lasts_until_a_later_round",
    },
    Mutant {
        name: "live: a packet that waited through a pause ends it",
        find: "arrived_ns > pause.noticed_ns",
        replace: "arrived_ns > 0",
        test: "-p touchline-gateway --lib a_channel_without_idle_moments",
    },
    Mutant {
        name: "live: a raised timestamp ends a pause",
        find: "_ if !is_latest => 0,",
        replace: "",
        test: "-p touchline-gateway --lib only_a_timestamp_of_its_own",
    },
];
