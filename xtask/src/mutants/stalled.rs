//! Faults of what is called live: in the middle of an event, and while a publisher does nothing.

use super::Mutant;

/// All of them.
pub const STALLED: &[Mutant] = &[
    Mutant {
        name: "live: an event without room shows its books as changes",
        file: "crates/gateway/src/gathered.rs",
        find: "self.touched[*owner as usize].rebuilt = true;",
        replace: "self.touched[*owner as usize].rebuilt = false;",
        test: "-p touchline-gateway --test rules an_event_with_more_changes",
    },
    Mutant {
        name: "live: orders without room are not published whole",
        file: "crates/gateway/src/stages.rs",
        find: "            self.order_changes.spill();",
        replace: "            self.order_changes.clear();",
        test: "-p touchline-gateway --test rules order_changes_without_room",
    },
];
