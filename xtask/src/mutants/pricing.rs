//! Quotes of banks, and composites.

use super::Mutant;

/// Quotes of banks, and composites.
pub const PRICING: &[Mutant] = &[
    Mutant {
        name: "compose: a conflated composite keeps the quotes of a lost bank",
        find: "|| is_withdrawn",
        replace: "",
        test: "-p touchline-fx-live --test compose pairs::a_lost_bank_leaves_a_conflated_composite_at_once",
    },
    Mutant {
        name: "compose: a composer that is behind states activity",
        find: "if taken.is_drained {",
        replace: "{",
        test: "-p touchline-fx-live --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: a conflated composite keeps quotes that their bank removed",
        find: "quotes.is_unquoted || is_fewer,",
        replace: "quotes.is_unquoted,",
        test: "-p touchline-fx-live --test compose pairs::removed_quotes_leave_a_conflated_composite_at_once",
    },
    Mutant {
        name: "compose: messages of pairs that are not used leave a bank silent",
        find: "if self.is_up && self.is_believed(stream) {",
        replace: "if false {",
        test: "-p touchline-fx-live --lib compose::source::tests::messages_that_are_not_used_are_heard",
    },
    Mutant {
        name: "compose: quotes outlive a loss of messages",
        find: "self.lose(counters, tell);",
        replace: "",
        test: "-p touchline-fx-live --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: quotes outlive a gateway that stalls",
        find: "self.lose(counters, tell);",
        replace: "",
        test: "-p touchline-fx-live --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "fx: a used quote is used again",
        find: "book.get(&key).is_some_and(is_same_quote)",
        replace: "book.get(&key).is_some_and(|known| is_same_quote(known) && false)",
        test: "-p touchline-fx --test fx router::an_entry_is_not_hit_twice",
    },
    Mutant {
        name: "fx: a quote is as old as its reading",
        find: "|at_ns| at_ns.min(now_ns));",
        replace: "|_| now_ns);",
        test: "-p touchline-fx --test fx joins::a_quote_that_is_read_late_is_as_old_as_its_receive_time",
    },
    Mutant {
        name: "fx: a pair whose quotes are unknown is live",
        find: "self.streams.forget_quoted(slot);",
        replace: "let _ = slot;",
        test: "-p touchline-fx-live --test compose pairs::a_pair_whose_quotes_are_not_known_is_stale",
    },
    Mutant {
        name: "fx: a used quote of an ended session is one of the next",
        find: "self.used[pair].forget();",
        replace: "",
        test: "-p touchline-fx --test fx used::",
    },
    Mutant {
        name: "fx: a used quote is used again behind a loss of the reader",
        find: "self.used[pair].mark(&mut self.books[pair], is_quoted);",
        replace: "let _ = is_quoted;",
        test: "-p touchline-fx --test fx used::a_used_quote_stays_used_over_a_loss_of_the_reader",
    },
    Mutant {
        name: "fx: a ticket is not in whole lots",
        find: "whole_lots(want.quantity, want.lot);",
        replace: "whole_lots(want.quantity, 1);",
        test: "-p touchline-fx --test fx plans::every_plan_of_an_open_quantity_is_in_whole_lots",
    },
    Mutant {
        name: "fx: a quote counts at its expiry",
        find: "now_ns >= entry.expires_ns",
        replace: "now_ns > entry.expires_ns",
        test: "-p touchline-fx --test fx quotes::a_quote_is_gone_at_the_earlier_of_its_ends",
    },
    Mutant {
        name: "fx: an inverted bank counts",
        find: "if is_inverted(best) {",
        replace: "if is_inverted(best) && false {",
        test: "-p touchline-fx --test fx quotes::an_inverted_bank_does_not_count",
    },
    Mutant {
        name: "fx: quotes outlive their session",
        find: "self.quotes.clear(&self.setup, bank);",
        replace: "",
        test: "-p touchline-fx --test fx quotes::a_session_that_comes_or_goes_takes_its_quotes_along",
    },
];
