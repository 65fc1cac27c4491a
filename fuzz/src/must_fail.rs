//! A fault on purpose, behind a few bytes, which the search must find.

use crate::Target;

/// Panics on input that starts with a certain word; not one of the targets.
pub const MUST_FAIL: Target = Target {
    name: "must_fail",
    about: "fails on purpose, so that the search itself can be tested",
    run,
    seeds: || vec![vec![0; 8]],
};

fn run(bytes: &[u8]) {
    // One byte after the other: each right one is new coverage, which is how the search gets there.
    for (at, expected) in b"LAPPED".iter().enumerate() {
        if bytes.get(at) != Some(expected) {
            return;
        }
    }
    panic!("the fault that must be found");
}
