//! Faults of the sockets.

use super::Mutant;

/// Received packets, and their counts.
pub const RECEPTION: &[Mutant] = &[
    Mutant {
        name: "sockets: packets of every source are accepted",
        find: "self.sources.is_empty() || self.sources.contains(&source)",
        replace: "self.sources.is_empty() || !source.is_unspecified()",
        test: "-p touchline-net --test net another_source_is_counted",
    },
    Mutant {
        name: "sockets: a group is joined for all sources",
        find: "if sources.is_empty() || settings.any_source_joins",
        replace: "if !sources.is_empty() || settings.any_source_joins",
        test: "-p touchline-net --test net another_source_does_not_even_reach",
    },
    Mutant {
        name: "sockets: a truncated packet is delivered",
        find: "if arrived.truncated {",
        replace: "if false {",
        test: "-p touchline-net --test net a_packet_too_long",
    },
    Mutant {
        name: "sockets: receive times step back",
        find: "self.latest_ns = self.latest_ns.max(timestamp_ns);",
        replace: "self.latest_ns = timestamp_ns;",
        test: "-p touchline-net --test net never_step_back",
    },
    Mutant {
        name: "sockets: quiet endpoints starve",
        find: "self.urgent_in_a_row >= URGENT_IN_A_ROW_MAX",
        replace: "self.urgent_in_a_row == u32::MAX",
        test: "-p touchline-net --test net take_turns_and_do_not_starve",
    },
    Mutant {
        name: "sockets: the kernel's drop counter is not requested",
        find: "libc::SO_RXQ_OVFL, 1)",
        replace: "libc::SO_RXQ_OVFL, 0)",
        test: "-p touchline-net --test net the_next_packet_carries",
    },
    Mutant {
        name: "sockets: an address of this host is shared",
        find: "let group = address.ip().is_multicast();",
        replace: "let group = true;",
        test: "-p touchline-net --test net a_port_in_exclusive_use",
    },
    Mutant {
        name: "sockets: an implausible hardware timestamp is accepted",
        find: "if hardware_ns.abs_diff(near_ns) <= TIMESTAMPS_APART_MAX_NS {",
        replace: "if hardware_ns > 0 {",
        test: "-p touchline-net --lib the_cards_stamp_is_taken_unless",
    },
    Mutant {
        name: "sockets: a group whose interface went away counts as joined",
        find: "sockets.iter_mut().for_each(|socket| socket.lose(*index));",
        replace: "let _ = (index, &sockets);",
        test: "-p touchline-net --lib a_lost_group_is_rejoined_at_the_next_check",
    },
    Mutant {
        name: "sockets: a group that was lost is never joined again",
        find: "if is_lost && (changed.any || now >= self.retry) {",
        replace: "if is_lost && changed.any && now < self.retry {",
        test: "-p touchline-net --lib a_lost_group_is_rejoined_at_the_next_check",
    },
    Mutant {
        name: "sockets: a lost interface is not reported",
        find: "(libc::RTM_DELLINK, true, Some(index))",
        replace: "(libc::RTM_NEWLINK, true, Some(index))",
        test: "-p touchline-net --lib an_interface_that_went_away_is_told",
    },
    Mutant {
        name: "sockets: a missing interface is not a configuration error",
        find: "| Error::NoInterface { .. }",
        replace: "",
        test: "-p touchline-net --test net an_interface_that_does_not_exist",
    },
];
