//! Faults of the simulated exchange's misbehaviour.

use super::Mutant;

/// All of them.
pub const SIMULATOR: &[Mutant] = &[
    Mutant {
        name: "sim: a clock that steps back stands still",
        find: "self.last_sent.clear();",
        replace: "",
        test: "-p touchline-lab --lib a_clock_that_steps",
    },
    Mutant {
        name: "sim: a restarted exchange repeats the earlier course",
        find: "course: Some(course),",
        replace: "            course: self.options.course.filter(|_| course > 0),",
        test: "-p touchline-lab --lib an_exchange_that_starts_again_has",
    },
    Mutant {
        name: "sim: the expected books of a restarted exchange are not emptied",
        find: "self.publisher.keep_order_states = before.publisher.keep_order_states;\n        self.publisher.note_all_states();",
        replace: "        self.publisher.keep_order_states = before.publisher.keep_order_states;",
        test: "-p touchline-lab --lib an_exchange_that_starts_again_has",
    },
    Mutant {
        name: "sim: old packets are the first ones of the session before",
        find: "before.iter().skip(skipped)",
        replace: "before.iter().take(before.len() - skipped)",
        test: "-p touchline-lab --lib old_packets_are",
    },
];
