//! The counting allocator, as the allocator of this test program.

use std::hint::black_box;
use std::process::Command;
use std::sync::Barrier;
use touchline_lab::frozen::{Count, Frozen};

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;

#[test]
fn a_frozen_thread_is_counted() {
    let mut kept = Vec::<u64>::with_capacity(4);
    Frozen::freeze();
    kept.extend([1, 2, 3]);
    assert_eq!(Frozen::thaw(), Count::default(), "no memory was needed");

    Frozen::freeze();
    let block = black_box(vec![0u8; 100]);
    kept.reserve_exact(7);
    drop(block);
    let count = Frozen::thaw();
    assert_eq!(
        count,
        Count {
            allocations: 2,
            bytes: 100 + 80,
            frees: 1
        }
    );
    drop(black_box(vec![0u8; 100]));
    assert_eq!(Frozen::thaw(), count, "a thawed thread is not counted");
}

#[test]
fn other_threads_are_not_counted() {
    let turn = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            turn.wait();
            black_box(vec![0u8; 100]);
            turn.wait();
        });
        Frozen::freeze();
        turn.wait();
        turn.wait();
        assert_eq!(Frozen::thaw(), Count::default());
    });
}

/// Set in the copy of this program that is to die.
const VICTIM: &str = "TOUCHLINE_FROZEN_VICTIM";

#[test]
fn an_allocation_aborts_the_process_if_configured() {
    if std::env::var_os(VICTIM).is_some() {
        Frozen::freeze_and_abort();
        black_box(vec![0u8; 1_234]);
        Frozen::thaw();
        return;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args([
            "--exact",
            "an_allocation_aborts_the_process_if_configured",
            "--nocapture",
        ])
        .env(VICTIM, "1")
        .output()
        .expect("this program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("allocated 1234 bytes"),
        "{errors}"
    );
}
