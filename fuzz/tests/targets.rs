//! Every target over its seeds and a short seeded search; and the search itself over a target that must fail.

use touchline_fuzz::{MUST_FAIL, TARGETS, Target, exercise, seeds, target};

/// Enough to reach every branch of a check, in about a second a target.
const ROUNDS: usize = 20_000;

/// A fixed seed, unless `SEED` states another.
fn seed() -> u64 {
    std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1)
}

#[test]
fn every_target_survives_its_seeds_and_their_mutations() {
    if std::env::var_os(seeds::CAPTURES).is_none() {
        println!(
            "skipped the seeds from real captures: {} is not set",
            seeds::CAPTURES
        );
    }
    for target in TARGETS {
        let inputs = (target.seeds)();
        assert!(!inputs.is_empty(), "{} has no seeds", target.name);
        let begun = std::time::Instant::now();
        if let Err(failure) = exercise(target, &inputs, seed(), ROUNDS) {
            panic!("SEED={}: {failure}", seed());
        }
        println!("{}: {:?}", target.name, begun.elapsed());
    }
}

#[test]
fn the_search_finds_the_fault_that_is_there() {
    let nearly = vec![b"LAPPEX".to_vec(), b"XAPPED".to_vec()];
    let failure = exercise(&MUST_FAIL, &nearly, seed(), ROUNDS).unwrap_err();
    assert!(failure.input.starts_with(b"LAPPED"), "{failure}");
    assert!(failure.to_string().contains("must be found"), "{failure}");
    assert!(
        failure.to_string().ends_with("4c4150504544") || failure.input.len() > 6,
        "{failure}"
    );
}

#[test]
fn a_hang_is_a_failure() {
    let slow = Target {
        name: "slow",
        about: "sleeps",
        run: |_| std::thread::sleep(std::time::Duration::from_millis(1100)),
        seeds: Vec::new,
    };
    let failure = exercise(&slow, &[vec![7]], seed(), 0).unwrap_err();
    assert_eq!(
        (failure.input, failure.what.as_str()),
        (vec![7], "took longer than 1s")
    );
}

#[test]
fn names_are_unique_and_lead_to_their_target() {
    for known in TARGETS.iter().chain([&MUST_FAIL]) {
        assert_eq!(
            target(known.name).map(|found| found.about),
            Some(known.about)
        );
    }
    assert!(target("no such target").is_none());
}
