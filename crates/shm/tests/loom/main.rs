//! Shared memory under loom: every visible order of stores and loads, within a bound on preemptions.
//!
//! ```sh
//! CARGO_PROFILE_TEST_OPT_LEVEL=2 RUSTFLAGS="--cfg loom" cargo test -p touchline-shm --test loom
//! ```
//!
//! The bound is `LOOM_MAX_PREEMPTIONS`, 2 unless set.

#![cfg(loom)]

mod last_value;
mod ring;

use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;

type Memory = Arc<[AtomicU64]>;

fn check(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    // loom cannot count executions otherwise.
    let executions = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = executions.clone();
    builder.check(move || {
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        model();
    });
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    println!("{name}: {executions} executions");
    assert!(executions > 10, "that was no race");
}
