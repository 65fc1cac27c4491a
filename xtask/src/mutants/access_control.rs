//! Faults of listeners: accepted and throttled connections, and losses at the end of a connection.

use super::Mutant;

/// Addresses, pauses, and state of counterparties.
pub const CONNECTIONS: &[Mutant] = &[
    Mutant {
        name: "access control: an address is not checked",
        find: "& self.addresses.have(from)",
        replace: "",
        test: "-p touchline-lab --test lab a_logon_from_an_unlisted_address_gets_no_information",
    },
    Mutant {
        name: "access control: a wrong address is rejected before the secret is compared",
        find: "let mut hash = Context::new(&SHA256);\n        hash.update(&proof.raw_data);\n        hash.update(self.secret",
        replace: "        if !self.addresses.have(from) {\n            return Err(CredentialError::Identity);\n        }\n        let mut hash = Context::new(&SHA256);\n        hash.update(&proof.raw_data);\n        hash.update(self.secret",
        test: "-p touchline-lab --lib a_refusal_takes_constant_time",
    },
    Mutant {
        name: "access control: an unlisted address is accepted",
        find: "if !is_listed(from) || is_full",
        replace: "if is_full",
        test: "-p touchline-lab --test lab connections_from_unlisted_addresses_take_no_slot",
    },
    Mutant {
        name: "access control: an acceptor accepts all addresses",
        find: "connection.peer().takes(from)",
        replace: "connection.peer().takes(from) || true",
        test: "-p touchline-lab --test lab connections_from_unlisted_addresses_take_no_slot",
    },
    Mutant {
        name: "access control: the exchange accepts all addresses",
        find: "self.venue.credentials.takes(from)",
        replace: "self.venue.credentials.takes(from) || true",
        test: "-p touchline-lab --test lab connections_from_unlisted_addresses_take_no_slot",
    },
    Mutant {
        name: "access control: one address may take all connections of the exchange",
        find: "unauthenticated_per_address: UNAUTHENTICATED_PER_ADDRESS,",
        replace: "unauthenticated_per_address: CLIENTS_MAX + UNAUTHENTICATED_PER_ADDRESS,",
        test: "-p touchline-lab --test lab unauthenticated_connections_of_one_address",
    },
    Mutant {
        name: "access control: a turn accepts any number of connections",
        find: "for taken in 0..ACCEPTS {",
        replace: "for taken in 0..ACCEPTS * ACCEPTS {",
        test: "-p touchline-lab --test lab unauthenticated_connections_of_one_address",
    },
    Mutant {
        name: "access control: open connections bypass the login throttle",
        find: "Known::Connection(connection)
                if !is_waiting && !self.connections[connection].is_taken() =>
            {",
        replace: "            Known::Connection(connection) if !self.connections[connection].is_taken() => {",
        test: "-p touchline-lab --test lab a_throttle_also_applies_to_open_connections",
    },
    Mutant {
        name: "access control: attempts during a throttle prolong it",
        find: "if !is_listed(from) || is_full",
        replace: "        if self.is_waiting(from, time) {\n            self.failed(from, time);\n        }\n        if !is_listed(from) || is_full",
        test: "-p touchline-lab --test lab an_address_whose_logons_fail_waits",
    },
    Mutant {
        name: "access control: a successful Logon clears failures",
        find: "self.connections[connection].connected(stream, &bytes, time);",
        replace: "                self.connections[connection].connected(stream, &bytes, time);\n                let throttle_limits = touchline_session::access_control::ThrottleLimits {\n                    failures_free: 2,\n                    ..Default::default()\n                };\n                let rules = Rules { throttle_limits, ..Rules::default() };\n                self.port.queue = touchline_session::access_control::LoginQueue::new(rules);\n",
        test: "-p touchline-lab --test lab a_logged_on_address_has_the_same_limit_of_failed_logons",
    },
    Mutant {
        name: "access control: failures never expire",
        find: "row.failures = 0;",
        replace: "",
        test: "-p touchline-session --lib failures_are_forgotten_after_a_long_pause",
    },
    Mutant {
        name: "access control: invalid bytes count as a failed Logon",
        find: "_ => Known::NoLogon,",
        replace: "        _ => Known::NoSession,",
        test: "-p touchline-lab --test lab silent_and_invalid_connections_are_not_failed_logons",
    },
    Mutant {
        name: "access control: a reject by an injected fault counts as a failed Logon",
        find: "self.session.reject_logon(credentials::REFUSAL);",
        replace: "                        self.is_unknown = true;\n                        self.session.reject_logon(credentials::REFUSAL);",
        test: "-p touchline-lab --test lab a_refusal_by_an_injected_fault_is_not_a_failed_logon",
    },
    Mutant {
        name: "access control: the latest failure is dropped first",
        find: "(0..self.rows.len()).min_by_key(",
        replace: "(0..self.rows.len()).max_by_key(",
        test: "-p touchline-session --lib memory_is_bounded_for_any_number_of_addresses",
    },
    Mutant {
        name: "deribit: snapshots are sent without room in the buffer",
        find: "> waiting_max / 2 {",
        replace: "> usize::MAX - waiting_max {",
        test: "-p touchline-lab --test lab hundreds_of_books_requested_at_once_are_all_sent",
    },
    Mutant {
        name: "fix connection: a store failure is lost with the connection",
        find: "if let Some(DisconnectReason::Store(error)) = self.session.disconnect_reason() {\n            self.store_failed",
        replace: "        if exchanged.is_ok()\n            && let Some(DisconnectReason::Store(error)) = self.session.disconnect_reason()\n        {\n            self.store_failed",
        test: "-p touchline-lab --test lab a_store_failure_persists_after_a_reconnect",
    },
    Mutant {
        name: "fix store: a message is stored that the next start rejects",
        find: "return Err(*self.failed.insert(StoreError::TooLong));",
        replace: "            self.failed = None;",
        test: "-p touchline-session --lib a_message_that_the_store_could_not_read_again",
    },
];
