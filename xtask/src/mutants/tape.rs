//! Recordings of market data.

use super::Mutant;

/// Recorders and readers of tapes.
pub const TAPE: &[Mutant] = &[
    Mutant {
        name: "tape: a segment begins between the parts of an update",
        find: "Item::Undecoded(bytes) => is_continued(bytes),",
        replace: "Item::Undecoded(_) => false,",
        test: "-p touchline-tape --test tape a_segment_does_not_divide_an_update",
    },
    Mutant {
        name: "tape: an event ends an update between its parts",
        find: "Item::SubscriptionEvent(event) => open.is_in_parts && !interrupts(event),",
        replace: "Item::SubscriptionEvent(_) => false,",
        test: "-p touchline-tape --test tape events_between_two_parts_leave_the_update_whole",
    },
    Mutant {
        name: "tape: a segment begins without the state",
        find: "bus.is_state_due |= !bus.is_joining;",
        replace: "bus.is_state_due |= false;",
        test: "-p touchline-tape --test tape each_segment_is_read_alone",
    },
    Mutant {
        name: "tape: a recorder that starts again repeats messages",
        find: "if sequence <= open.sequence {",
        replace: "if sequence == u64::MAX {",
        test: "-p touchline-tape --test tape a_recorder_that_starts_again_leaves_a_gap_and_repeats_nothing",
    },
    Mutant {
        name: "tape: a bus that was made again is the one before",
        find: "self == before && self.boot != 0 && self.ring != 0",
        replace: "(&self.bus, self.generation) == (&before.bus, before.generation)",
        test: "-p touchline-tape --test tape a_bus_that_is_made_again_is_another_publication",
    },
    Mutant {
        name: "tape: a reader passes over removed segments",
        find: "if self.follow.is_overtaken()? {",
        replace: "if false && self.follow.is_overtaken()? {",
        test: "-p touchline-tape --test tape a_limit_of_size_removes_the_oldest_segments",
    },
];
