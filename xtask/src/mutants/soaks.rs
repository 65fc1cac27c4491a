//! Faults that the soak and the end of the demo detect: stale without activity, no leaks, no leftovers.

use super::Mutant;

/// All of them.
pub const SOAKS: &[Mutant] = &[
    Mutant {
        name: "soak: books stay live after the feed timeout",
        find: "self.health.raise(Condition::FeedTimeout);",
        replace: "",
        test: "-p touchline --test live stopped_processes_recover_and_no_wrong_book_is_live",
    },
    Mutant {
        name: "soak: the feed timeout is measured by a clock that a busy host slows down",
        find: "sure + std::mem::replace(&mut self.unsure, round - sure);",
        replace: "sure;",
        test: "-p touchline-gateway --lib long_rounds_are_counted_completely_if_the_next_one_is_idle",
    },
    Mutant {
        name: "soak: a subscriber leaks memory with each read",
        find: "Next::Event(event) => stored.event(&bus, &event),",
        replace: "                Next::Event(event) => {\n                    stored.event(&bus, &event);\n                    std::mem::forget(std::hint::black_box(vec![1_u8; 4096]));\n                }",
        test: "-p touchline --test live stopped_processes_recover_and_no_wrong_book_is_live",
    },
    Mutant {
        name: "demo: the bus is not removed",
        find: "bus.remove(PATIENCE, NAP);",
        replace: "        let _ = bus;",
        test: "-p touchline --test system a_killed_demo_leaves_no_process",
    },
    Mutant {
        name: "demo: a foreign bus is removed",
        find: "Ok(Some(_)) | Err(_) => return,",
        replace: "Ok(Some(_)) | Err(_) => return drop(std::fs::remove_dir_all(root.path().join(&self.bus))),",
        test: "-p touchline --bin touchline a_left_bus_is_removed_once_it_has_no_publisher",
    },
    Mutant {
        name: "gateway: a missing interface is a configuration error",
        find: "if error.may_come_up() =>",
        replace: "if error.may_come_up() && false =>",
        test: "-p touchline --test system invalid_configurations_are_refused_in_one_line",
    },
    Mutant {
        name: "top: buses are not listed for one that does not exist",
        find: "missing::words_at(self.monitor.path(), &self.bus, error)",
        replace: "touchline_client::Error::to_string(&error)",
        test: "-p touchline --bin touchline a_bus_that_does_not_exist",
    },
    Mutant {
        name: "simulator: an order with a price level changes no order book of the expected books",
        find: "let index = index_of(&self.instruments, entry.security_id);\n                    self.changed_orders.insert(index);",
        replace: "let index = index_of(&self.instruments, entry.security_id);",
        test: "-p touchline-lab --lib the_exchange_ends_with_heartbeats_and_complete_cycles",
    },
];
