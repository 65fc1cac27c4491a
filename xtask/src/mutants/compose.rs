//! Faults of the composer, and of the gateway that it reads.

use super::Mutant;

/// The composer.
pub const COMPOSE: &[Mutant] = &[
    Mutant {
        name: "compose: bands are added up if the configuration does not say that they are bands",
        find: "quote.is_full_amount == self.is_full",
        replace: "quote.is_full_amount == self.is_full || true",
        test: "-p touchline-compose --lib source::tests::bands_are_refused_where_the_configuration_says_sweep",
    },
    Mutant {
        name: "compose: the end of a silence is published for one pair",
        find: "silences_ended == self.engine.silences_ended()",
        replace: "silences_ended <= self.engine.silences_ended()",
        test: "-p touchline-compose --test compose pairs::the_end_of_a_silence_is_published_for_every_pair",
    },
    Mutant {
        name: "compose: a conflated composite keeps the quotes of a lost bank",
        find: "|| is_withdrawn",
        replace: "",
        test: "-p touchline-compose --test compose pairs::a_lost_bank_leaves_a_conflated_composite_at_once",
    },
    Mutant {
        name: "compose: a conflated composite keeps withdrawn quotes",
        find: "=> quotes.is_unquoted",
        replace: "=> quotes.is_unquoted && quotes.receive_ns == 0",
        test: "-p touchline-compose --test compose pairs::ended_quotes_leave_a_conflated_composite_at_once",
    },
    Mutant {
        name: "compose: a conflated composite keeps expired quotes",
        find: "is_some_and(is_other)",
        replace: "is_some_and(|_| false)",
        test: "-p touchline-compose --test compose pairs::ended_quotes_leave_a_conflated_composite_at_once",
    },
    Mutant {
        name: "gateway: quotes of a pair whose request the bank rejects stay",
        find: "settings.stream.withdraw(time.wall_ns, pair);",
        replace: "let _ = pair;",
        test: "-p touchline-gateway --test gateway fx_bank_path::a_rejected_request_withdraws_the_quotes_of_its_pair",
    },
    Mutant {
        name: "compose: a composite without a live bank is live",
        find: "false => Validity::Stale,",
        replace: "false => Validity::Live,",
        test: "-p touchline-compose --test compose the_composite_contains_the_connected_banks",
    },
    Mutant {
        name: "compose: quotes from before the state of the channel count",
        find: "self.is_live && self.is_trusted && self.is_current",
        replace: "self.is_live && self.is_trusted",
        test: "-p touchline-compose --test compose the_composite_contains_the_connected_banks",
    },
    Mutant {
        name: "compose: a composer that paused states activity before it judges the gateways",
        find: "if began_ns >= self.timers.look_ns {",
        replace: "if false {",
        test: "-p touchline-compose --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: a composer that is behind states activity",
        find: "if taken.is_drained {",
        replace: "{",
        test: "-p touchline-compose --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: quotes outlive a loss of messages",
        find: "self.lose(counters, tell);",
        replace: "",
        test: "-p touchline-compose --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: quotes outlive a gateway that stalls",
        find: "self.lose(counters, tell);",
        replace: "",
        test: "-p touchline-compose --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "compose: quotes outlive the session of their bank",
        find: "(false, _) => self.lose(counters, tell),",
        replace: "(false, _) => {}",
        test: "-p touchline-compose --test compose faults::a_void_quote_is_never_shown_as_live",
    },
    Mutant {
        name: "live: the feed is not told of a step of the wall clock",
        find: "self.pipeline.wall_stepped(step_ns);",
        replace: "let _ = step_ns;",
        test: "-p touchline-gateway --lib a_step_of_the_wall_clock_is_counted",
    },
    Mutant {
        name: "fx bank: quotes live by the wall clock",
        find: "self.settings.stream.wall_stepped(step_ns);",
        replace: "let _ = step_ns;",
        test: "-p touchline-gateway --test gateway a_step_of_the_wall_clock_neither_keeps_nor_ends_a_quote",
    },
    Mutant {
        name: "fx: the end of a quote is not by the wall clock",
        find: "let by_wall = |ns: u64| ns.saturating_add_signed(-self.wall_ahead_ns);",
        replace: "let by_wall = |ns: u64| ns;",
        test: "-p touchline-gateway --test gateway an_end_that_the_bank_gives_is_by_the_wall_clock",
    },
];
