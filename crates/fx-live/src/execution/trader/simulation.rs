//! Simulation of the whole engine in one process, from one seed and one clock: the core with its real recovery, the
//! journal on a disk that tears, reorders and loses sectors, order sessions over a network that delays, cuts and loses,
//! the simulated banks, and a desk. `docs/design/execution.md` lists the simulated and the omitted parts.
//!
//! `cargo xtask simulate --seed 7` repeats a seed and prints its trace, `--seeds 100000` runs that many from it on.

mod banks;
mod checks;
mod counts;
mod machine;
mod network;
mod rules;
mod scenario;
mod standby;
mod traders;
mod watch;
mod weeks;
mod world;

use counts::Counts;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_lab::random;
use world::World;

/// Seeds of a usual test run.
const SEEDS: u64 = 200;
/// Seeds of a usual run of weeks.
const WEEK_SEEDS: u64 = 60;
/// Seeds of a usual run with lists that change.
const LIST_SEEDS: u64 = 60;
/// Failures after which a usual run ends.
const FAILURES_MAX: u64 = 5;

/// What a run has beside its faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One day, with one configuration.
    Plain,
    /// Weeks.
    Weeks,
    /// Lists of pairs that change between two starts.
    Lists,
}

/// A run of a seed.
///
/// # Errors
/// Runs a seed. The error has the violated property, and with `traces` the events before it.
fn run(seed: u64, traces: bool, kind: Kind) -> Result<Counts, (String, Vec<String>)> {
    let mut world = World::new(seed, traces, kind);
    let done = catch_unwind(AssertUnwindSafe(|| {
        world.run()?;
        checks::check(&mut world)
    }));
    let failure = match done {
        Ok(Ok(())) => return Ok(world.counts()),
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            format!("panic: {}", text.unwrap_or_default())
        }
    };
    Err((failure, world.trace()))
}

/// Runs seeds until too many have failed. Returns the sum of all counts, and the failures.
fn run_all((first, count): (u64, u64), threads: u64, kind: Kind) -> (Counts, Vec<(u64, String)>) {
    let next = AtomicU64::new(first);
    let failures_max = random::amount("FAILURES", FAILURES_MAX) as usize;
    let results = Mutex::new((Counts::default(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let result = run(seed, false, kind);
                    let (sum, failures) = &mut *results.lock().expect("no thread panics in it");
                    match result {
                        Ok(counts) => sum.add(&counts),
                        Err((what, _)) => failures.push((seed, what)),
                    }
                    if failures.len() >= failures_max {
                        return;
                    }
                }
            });
        }
    });
    results.into_inner().expect("no thread panics in it")
}

/// `SEED` is the first seed, `SEEDS` their number, `THREADS` how many run at once, `FAILURES` how many seeds may fail before it ends.
#[test]
fn seeds_execute_nothing_twice_and_lose_no_fill() {
    let is_given = std::env::var("SEED").is_ok();
    let first = random::amount("SEED", 0);
    let count = random::amount("SEEDS", if is_given { 1 } else { SEEDS });
    let threads = random::amount("THREADS", 1);
    let (counts, failures) = run_all((first, count), threads, Kind::Plain);
    println!("{count} seeds from {first}, {} failed", failures.len());
    for (name, count) in counts.each() {
        println!("{count:>12} {name}");
    }
    for (seed, what) in &failures {
        println!("seed {seed}: {what}");
    }
    if let Some((seed, what)) = failures.first() {
        let (_, trace) = run(*seed, true, Kind::Plain).err().unwrap_or_default();
        trace.iter().for_each(|line| println!("{line}"));
        panic!("seed {seed}: {what}; again: cargo xtask simulate --seed {seed}");
    }
    // A run in which nothing happens shows nothing.
    let idle: Vec<String> = counts
        .each()
        .filter(|(name, count)| *count == 0 && name != "days" && name != "lists changed")
        .map(|(name, _)| name)
        .collect();
    assert!(count < SEEDS || idle.is_empty(), "none of: {idle:?}");
}

/// Three weeks of each seed, and ten of some, in one journal, with deaths, losses of power and promotions: no order leaves with a date that is
/// not its own, positions by value date are those of the banks, and no name is used twice.
#[test]
fn weeks_have_their_own_dates_on_both_sides() {
    let is_given = std::env::var("SEED").is_ok();
    let first = random::amount("SEED", 0);
    let count = random::amount("SEEDS", if is_given { 1 } else { WEEK_SEEDS });
    let counts = held((first, count), Kind::Weeks);
    assert!(counts.days > 20 * count, "{counts:?}");
    assert!(counts.orders > 0 && counts.fills > 0, "{counts:?}");
}

/// A pair is added before the others and removed again between the starts of an engine: orders, fills, bookings and positions stay with
/// their pair.
#[test]
fn lists_of_pairs_change_between_starts() {
    let is_given = std::env::var("SEED").is_ok();
    let first = random::amount("SEED", 0);
    let count = random::amount("SEEDS", if is_given { 1 } else { LIST_SEEDS });
    let counts = held((first, count), Kind::Lists);
    assert!(counts.lists_changed > count, "{counts:?}");
    assert!(counts.adopted > 0 && counts.fills > 0, "{counts:?}");
}

/// The counts of seeds of which none fails.
fn held((first, count): (u64, u64), kind: Kind) -> Counts {
    let (counts, failures) = run_all((first, count), random::amount("THREADS", 1), kind);
    println!("{count} seeds from {first}, {} failed", failures.len());
    if let Some((seed, what)) = failures.first() {
        let (_, trace) = run(*seed, true, kind).err().unwrap_or_default();
        trace.iter().for_each(|line| println!("{line}"));
        panic!("seed {seed}: {what}");
    }
    counts
}
