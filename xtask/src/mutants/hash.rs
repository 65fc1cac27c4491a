//! Faults of tables whose keys a venue chooses.

use super::Mutant;

/// Secrets and chains.
pub const TABLES: &[Mutant] = &[
    Mutant {
        name: "hash: every table has the same secret",
        find: "HashKeys::of(|number| source.hash_one(number))",
        replace: "HashKeys::of(|number| source.hash_one(number) ^ source.hash_one(number) ^ number as u64)",
        test: "-p touchline-instruments --lib each_table_has_a_secret_of_its_own",
    },
    Mutant {
        name: "hash: order books have a secret that everybody knows",
        find: "HashKeys::drawn_from(&RandomState::new())",
        replace: "{ let _ = RandomState::new(); HashKeys::from_seed(1) }",
        test: "-p touchline-book --lib each_table_has_a_secret_of_its_own",
    },
    Mutant {
        name: "hash: instruments have a secret that everybody knows",
        find: "HashKeys::drawn_from(&RandomState::new())",
        replace: "{ let _ = RandomState::new(); HashKeys::from_seed(1) }",
        test: "-p touchline-instruments --lib each_table_has_a_secret_of_its_own",
    },
    Mutant {
        name: "hash: its lowest bits choose the chain",
        find: "let high = (sum >> 64) as u64;\n        (high ^ (high >> 32)).wrapping_mul(SPREAD)",
        replace: "let low = sum as u64;\n        low.wrapping_shl(48)",
        test: "-p touchline-book --lib chosen_ids_cost_what_random_ones_do",
    },
    Mutant {
        name: "hash: ids in a row lie on a line",
        find: "(high ^ (high >> 32)).wrapping_mul(SPREAD)",
        replace: "high.wrapping_mul(SPREAD)",
        test: "-p touchline-types --lib ids_in_a_row_return_to_no_place_whatever_the_secret",
    },
    Mutant {
        name: "hash: the instrument is no part of an order's key",
        find: "self.keys.hash([order_id, u64::from(instrument)])",
        replace: "self.keys.hash([order_id, u64::from(instrument) & 0])",
        test: "-p touchline-book --lib chosen_ids_cost_what_random_ones_do",
    },
    Mutant {
        name: "hash: a chain of orders has no end",
        find: "(_, Err(CHAIN_MAX..)) =>",
        replace: "(_, Err(usize::MAX)) if CHAIN_MAX > 0 =>",
        test: "-p touchline-book --lib a_full_chain_is_said_and_changes_nothing",
    },
    Mutant {
        name: "hash: a chain of instruments has no end",
        find: "if self.length(chain) >= CHAIN_MAX {",
        replace: "if self.length(chain) >= CHAIN_MAX + 1 {",
        test: "-p touchline-instruments --lib a_chain_has_an_end",
    },
    Mutant {
        name: "hash: a chain outlives its orders",
        find: "self.heads[chain.0] = NONE;",
        replace: "let _ = chain;",
        test: "-p touchline-book --lib nothing_is_left_of_few_orders_or_of_many",
    },
    Mutant {
        name: "hash: taking an order out takes the rest of its chain with it",
        find: "pool.set_next(place.before, next);",
        replace: "pool.set_next(place.before, next | NONE);",
        test: "-p touchline-book --lib orders_are_taken_out_of_the_middle_of_a_chain",
    },
];
