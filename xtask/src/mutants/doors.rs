//! Faults of whoever listens: who is let in, who waits, and what is lost at the end of a connection.

use super::Mutant;

/// Addresses, pauses, and what counterparties keep.
pub const DOORS: &[Mutant] = &[
    Mutant {
        name: "door: an address is not looked at",
        file: "crates/lab/src/fix/seat.rs",
        find: " & self.addresses.have(from)",
        replace: "",
        test: "-p touchline-lab --test fix whoever_comes_from_elsewhere",
    },
    Mutant {
        name: "door: a wrong address is refused before anything is compared",
        file: "crates/lab/src/deribit/credentials.rs",
        find: "        let mut hash = Context::new(&SHA256);\n        hash.update(&proof.raw_data);\n        hash.update(self.secret",
        replace: "        if !self.addresses.have(from) {\n            return Err(Doubt::Identity);\n        }\n        let mut hash = Context::new(&SHA256);\n        hash.update(&proof.raw_data);\n        hash.update(self.secret",
        test: "-p touchline-lab --lib a_refusal_takes_as_long",
    },
    Mutant {
        name: "door: whoever is on no list is heard",
        file: "crates/lab/src/door/strangers.rs",
        find: "if !is_listed(from) || is_full",
        replace: "if is_full",
        test: "-p touchline-lab --test fix --test deribit list_takes_no_place",
    },
    Mutant {
        name: "door: an acceptor lists everybody",
        file: "crates/lab/src/fix/acceptor.rs",
        find: "seat.takes(from)",
        replace: "seat.takes(from) || true",
        test: "-p touchline-lab --test fix whoever_is_on_no_list",
    },
    Mutant {
        name: "door: the exchange lists everybody",
        file: "crates/lab/src/deribit/exchange.rs",
        find: "self.venue.credentials.takes(from)",
        replace: "self.venue.credentials.takes(from) || true",
        test: "-p touchline-lab --test deribit whoever_is_not_on_the_list",
    },
    Mutant {
        name: "door: the exchange gives one address all places",
        file: "crates/lab/src/deribit/exchange.rs",
        find: "strangers_per_address: STRANGERS_PER_ADDRESS,",
        replace: "strangers_per_address: CLIENTS_MAX + STRANGERS_PER_ADDRESS,",
        test: "-p touchline-lab --test deribit strangers_of_one_address",
    },
    Mutant {
        name: "door: a turn takes as many connections as come",
        file: "crates/lab/src/door/strangers.rs",
        find: "for taken in 0..ACCEPTS {",
        replace: "for taken in 0..ACCEPTS * ACCEPTS {",
        test: "-p touchline-lab --test deribit strangers_of_one_address",
    },
    Mutant {
        name: "door: connections that stand go round a pause",
        file: "crates/lab/src/fix/acceptor.rs",
        find: "            Known::Seat(seat) if !is_waiting && !self.seats[seat].is_taken() => {",
        replace: "            Known::Seat(seat) if !self.seats[seat].is_taken() => {",
        test: "-p touchline-lab --test fix a_pause_is_for_connections",
    },
    Mutant {
        name: "door: what comes in a pause prolongs it",
        file: "crates/lab/src/door/strangers.rs",
        find: "            if !is_listed(from) || is_full",
        replace: "            if self.pauses.is_waiting(from, when.now_ns) {\n                self.pauses.failed(from, when.now_ns);\n            }\n            if !is_listed(from) || is_full",
        test: "-p touchline-lab --test fix an_address_whose_logons_fail_waits",
    },
    Mutant {
        name: "door: noise is a failed Logon",
        file: "crates/lab/src/fix/acceptor.rs",
        find: "        _ => Known::NoLogon,",
        replace: "        _ => Known::Nobody,",
        test: "-p touchline-lab --test fix silence_and_noise",
    },
    Mutant {
        name: "door: a refusal by a fault is a failed Logon",
        file: "crates/lab/src/deribit/client.rs",
        find: "                        self.session.refuse(credentials::REFUSAL);",
        replace: "                        self.is_unknown = true;\n                        self.session.refuse(credentials::REFUSAL);",
        test: "-p touchline-lab --test deribit a_refusal_by_a_fault",
    },
    Mutant {
        name: "door: the latest failure is forgotten first",
        file: "crates/lab/src/door/pauses.rs",
        find: "(0..self.rows.len()).min_by_key(",
        replace: "(0..self.rows.len()).max_by_key(",
        test: "-p touchline-lab --lib whoever_comes_from_many_addresses",
    },
    Mutant {
        name: "deribit: snapshots go whether there is room or not",
        file: "crates/lab/src/deribit/client.rs",
        find: "> waiting_max / 2 {",
        replace: "> usize::MAX - waiting_max {",
        test: "-p touchline-lab --test deribit whoever_asks_for_hundreds",
    },
    Mutant {
        name: "fix seat: a failure of the store is forgotten with the connection",
        file: "crates/lab/src/fix/seat.rs",
        find: "        if let Some(Closing::Store(error)) = self.session.closing() {\n            self.store_failed",
        replace: "        if exchanged.is_ok()\n            && let Some(Closing::Store(error)) = self.session.closing()\n        {\n            self.store_failed",
        test: "-p touchline-lab --test fix a_failure_of_the_store",
    },
    Mutant {
        name: "fix store: a message is kept that the next start refuses",
        file: "crates/gateway/src/session_store.rs",
        find: "            return Err(*self.failed.insert(StoreError::TooLong));",
        replace: "            self.failed = None;",
        test: "-p touchline-gateway --lib a_message_that_could_not_be_read_again",
    },
];
