//! Timeouts that a feed states, and readiness as it was published.

use super::Mutant;

pub const READINESS: &[Mutant] = &[
    Mutant {
        name: "feed: a gap has no timeout",
        find: "(self.oldest_ns != u64::MAX).then(",
        replace: "false.then(",
        test: "-p touchline-gateway --test gateway rules::",
    },
    Mutant {
        name: "fix market data: a missing part has no timeout",
        find: "silent_ns, self.parts.next_timeout(),",
        replace: "silent_ns,",
        test: "-p touchline-feed --test fix_md a_missing_last_part_closes_the_connection",
    },
    Mutant {
        name: "readiness: a channel without packets is ready",
        find: "Update::Channel(state) => self.channel = **state,",
        replace: "",
        test: "-p touchline-gateway --lib no_book_of_a_channel_in_feed_timeout_is_live",
    },
    Mutant {
        name: "readiness: a lost book stays counted",
        find: "self.live -= usize::from(before == Validity::Live);",
        replace: "",
        test: "-p touchline-gateway --lib live_books_are_counted",
    },
];
