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
        name: "hash: order books have a fixed secret",
        find: "HashKeys::drawn_from(&RandomState::new())",
        replace: "{ let _ = RandomState::new(); HashKeys::from_seed(1) }",
        test: "-p touchline-book --lib each_table_has_a_secret_of_its_own",
    },
    Mutant {
        name: "hash: instruments have a fixed secret",
        find: "HashKeys::drawn_from(&RandomState::new())",
        replace: "{ let _ = RandomState::new(); HashKeys::from_seed(1) }",
        test: "-p touchline-instruments --lib each_table_has_a_secret_of_its_own",
    },
    Mutant {
        name: "hash: the lowest bits choose the chain",
        find: "let high = (sum >> 64) as u64;\n        (high ^ (high >> 32)).wrapping_mul(SPREAD)",
        replace: "let low = sum as u64;\n        low.wrapping_shl(48)",
        test: "-p touchline-book --lib adversarial_ids_have_the_cost_of_random_ones",
    },
    Mutant {
        name: "hash: consecutive ids map to consecutive chains",
        find: "(high ^ (high >> 32)).wrapping_mul(SPREAD)",
        replace: "high.wrapping_mul(SPREAD)",
        test: "-p touchline-types --lib consecutive_ids_have_ordinary_chains_under_any_secret",
    },
    Mutant {
        name: "hash: the key of an order omits the instrument",
        find: "self.keys.hash([order_id, u64::from(instrument)])",
        replace: "self.keys.hash([order_id, u64::from(instrument) & 0])",
        test: "-p touchline-book --lib adversarial_ids_have_the_cost_of_random_ones",
    },
    Mutant {
        name: "hash: a chain of orders has no length limit",
        find: "(_, Err(CHAIN_MAX..)) =>",
        replace: "(_, Err(usize::MAX)) if CHAIN_MAX > 0 =>",
        test: "-p touchline-book --lib a_full_chain_is_an_error_and_changes_nothing",
    },
    Mutant {
        name: "hash: a chain of instruments has no length limit",
        find: "if self.length(chain) >= CHAIN_MAX {",
        replace: "if self.length(chain) >= CHAIN_MAX + 1 {",
        test: "-p touchline-instruments --lib a_chain_has_an_end",
    },
    Mutant {
        name: "hash: a chain keeps removed orders",
        find: "self.heads[chain.0] = NONE;",
        replace: "let _ = chain;",
        test: "-p touchline-book --lib an_emptied_index_has_no_entry_of_few_or_many_orders",
    },
    Mutant {
        name: "hash: removal of an order removes the rest of its chain",
        find: "pool.set_next(place.before, next);",
        replace: "pool.set_next(place.before, next | NONE);",
        test: "-p touchline-book --lib orders_are_removed_from_the_middle_of_a_chain",
    },
];
