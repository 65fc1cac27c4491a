//! Faults of the relay.

use super::Mutant;

/// Refreshes.
pub const RELAY: &[Mutant] = &[Mutant {
    name: "relay: the end of a round has no number",
    find: "        self.end_unit(now, link);\n        self.send_refresh(HeadFlags::ROUND_END, now, link);",
    replace: "        self.send_refresh(HeadFlags::ROUND_END, now, link);",
    test: "-p touchline-relay --test relay core::the_end_of_a_round_shows_that_refreshes_before_it_were_lost",
}];
