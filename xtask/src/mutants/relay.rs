//! Faults of the relay.

use super::Mutant;

/// Refreshes, and the judgement of a relay's losses.
pub const RELAY: &[Mutant] = &[
    Mutant {
        name: "load: a reader drops one message",
        find: "if let Some(sequence) = trade.trade_id.checked_sub(1) {",
        replace: "if let Some(sequence) = trade.trade_id.checked_sub(1).filter(|at| *at != 500) {",
        test: "-p touchline --test system load_quick",
    },
    Mutant {
        name: "relay: the end of a round has no number",
        find: "        self.end_unit(now, link);\n        self.send_refresh(HeadFlags::ROUND_END, now, link);",
        replace: "        self.send_refresh(HeadFlags::ROUND_END, now, link);",
        test: "-p touchline-relay --test relay core::the_end_of_a_round_shows_that_refreshes_before_it_were_lost",
    },
];
