//! Faults that a new user meets: refusals, their fixes, and leftovers.

use super::Mutant;

/// All of them.
pub const FIRST_USE: &[Mutant] = &[
    Mutant {
        name: "sim: groups are not claimed",
        find: "claim.add(addresses).map_err",
        replace: "claim.add(addresses.filter(|_| false)).map_err",
        test: "-p touchline --test system exchanges_on_the_same_groups",
    },
    Mutant {
        name: "sim: captures are sent to any groups",
        find: ".add([group])",
        replace: ".add([group; 0])",
        test: "-p touchline --test system captures_are_not_sent_to_the_groups",
    },
    Mutant {
        name: "sim: a claim does not name its owner",
        find: "process: holder(address),",
        replace: "process: None,",
        test: "-p touchline-lab --lib an_address_is_claimed_once",
    },
    Mutant {
        name: "demo: files of a killed demo are not removed",
        find: "while path.exists() && Instant::now() < patience {",
        replace: "while false && path.exists() && Instant::now() < patience {",
        test: "-p touchline --test system a_killed_demo_leaves_nothing",
    },
    Mutant {
        name: "demo: the next demo does not clean up",
        find: "if is_running(process) {",
        replace: "if is_running(process) || true {",
        test: "-p touchline --test system a_demo_removes_the_buses_of_killed_ones",
    },
    Mutant {
        name: "demo: a second demo is not rejected",
        find: "let Some(holder) = publisher(&self.bus) else {",
        replace: "let Some(holder) = publisher(&self.bus).filter(|_| false) else {",
        test: "-p touchline --test system a_second_demo_is_refused",
    },
    Mutant {
        name: "fix initiator: it reconnects without backoff",
        find: "BACKOFF
                .saturating_mul(1 << self.in_vain.min(16))",
        replace: "BACKOFF.saturating_mul(1)",
        test: "-p touchline --test system an_initiator_reports_refused_connections_and_retries_with_backoff",
    },
    Mutant {
        name: "fix initiator: answers to its orders are sent back",
        find: ".is_some_and(|orders| orders.take(&message))",
        replace: ".is_some_and(|orders| orders.take(&message) && false)",
        test: "-p touchline --test system an_initiator_sends_an_order_a_second",
    },
    Mutant {
        name: "fix initiator: the text of a refusal is lost",
        find: "Event::LoggedOut(message) => self.text = text(&message),",
        replace: "Event::LoggedOut(_) => {}",
        test: "-p touchline --test system an_initiator_reports_why_its_logon_was_refused",
    },
    Mutant {
        name: "config: a misspelt key has no suggestion",
        find: "nearest(name, own.iter().copied())",
        replace: "nearest(name, [])",
        test: "-p touchline-gateway --lib an_invalid_line_is_refused_with_the_valid_form",
    },
    Mutant {
        name: "config: the unit of a name is not known",
        find: "\"ms\" => 1_000_000,",
        replace: "\"ms\" => return None,",
        test: "-p touchline-gateway --lib an_invalid_line_is_refused_with_the_valid_form",
    },
    Mutant {
        name: "config: an error prints the whole file",
        find: ".map(|letter| if letter.is_control() { ' ' } else { letter })",
        replace: ".map(|letter| letter)",
        test: "-p touchline-gateway --lib a_mistake_is_one_short_line",
    },
    Mutant {
        name: "bus: existing buses are not listed",
        find: "Ok(buses) if buses.iter().all(|other| other != bus) =>",
        replace: "Ok(buses) if buses.iter().all(|other| other != bus) && false =>",
        test: "-p touchline --test system a_path_that_is_not_a_bus_is_reported",
    },
];
