//! Processes that count without a bus.

use crate::world::Buses;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;
use touchline_testing::{Process, with_role};
use touchline_transport::shm::{Error, ProcessStats, ProcessView, Root};
use touchline_types::CounterInfo;

const COUNTERS: [CounterInfo; 1] = [CounterInfo {
    name: "fills",
    unit: "fills",
    help: "Fills that were booked.",
}];

fn begin(root: &Root) -> Result<ProcessStats, Error> {
    ProcessStats::create(root, "strategy-1", 1.0, &COUNTERS, [])
}

fn only(buses: &Buses) -> ProcessView {
    let mut all = ProcessView::all(&buses.root()).expect("our folder");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn the_counters_of_a_process_are_removed_when_it_ends_in_order() {
    let buses = Buses::new();
    let none = ProcessView::all(&buses.root()).expect("no folder is an empty one");
    assert!(none.is_empty());
    let mut stats = begin(&buses.root()).expect("the name is free");
    stats.counters_file().show([7]);
    let seen = only(&buses);
    assert_eq!(seen.name, "strategy-1");
    assert_eq!(
        seen.process.map(|process| process.pid),
        Some(std::process::id())
    );
    let view = seen.counters_file.expect("whole").expect("it was begun");
    assert_eq!(view.counter("fills"), Some(7));
    assert!(view.age().expect("it says when") < Duration::from_secs(60));
    assert!(begin(&buses.root()).is_err(), "the name is taken");
    let found = buses.root().buses().expect("our folder");
    assert!(found.is_empty(), "it is no bus: {found:?}");
    stats.finish();
    let left = ProcessView::all(&buses.root()).expect("our folder");
    assert!(left.is_empty());
}

/// A process that fails drops what it has, and is reported by its last values until another one has its name or somebody removes them.
#[test]
fn the_counters_of_a_process_that_fails_stay_until_they_are_removed() {
    let buses = Buses::new();
    let remove = || ProcessStats::remove(&buses.root(), "strategy-1");
    remove().expect_err("there are none");
    let mut stats = begin(&buses.root()).expect("the name is free");
    stats.counters_file().show([7]);
    let refused = remove().expect_err("its process lives").to_string();
    let pid = std::process::id().to_string();
    assert!(refused.contains(&pid), "{refused}");
    drop(stats);
    let left = only(&buses);
    assert!(left.process.is_none());
    let view = left.counters_file.expect("whole").expect("it was begun");
    assert_eq!(view.counter("fills"), Some(7));
    remove().expect("its process is gone");
    let left = ProcessView::all(&buses.root()).expect("our folder");
    assert!(left.is_empty());
}

/// Last values of a killed process stay, with their age and without a process, until the next
/// process of its name.
#[test]
fn the_counters_of_a_killed_process_stay_readable() {
    let buses = Buses::new();
    let mut command = with_role(&[], "processes::play", "counts", buses.root().path());
    let mut child = Process::start(command.stdin(Stdio::piped()));
    child.wait_for_line(READY);
    assert_eq!(
        only(&buses).process.map(|process| process.pid),
        Some(child.id())
    );
    child.kill();
    let left = only(&buses);
    assert!(left.process.is_none());
    let view = left.counters_file.expect("whole").expect("it was begun");
    assert_eq!(
        (view.counter("fills"), view.origin().pid),
        (Some(9), child.id())
    );
    assert!(view.age().is_some());
    let _next = begin(&buses.root()).expect("the name is free again");
    assert!(only(&buses).process.is_some());
}

const READY: &str = "the process counts";

/// Entry of the child process; without effect in the run of all tests.
#[test]
fn play() {
    let Some((_, root)) = touchline_testing::role() else {
        return;
    };
    let mut stats = begin(&Root::at(root)).expect("the name is free");
    stats.counters_file().show([9]);
    println!("{READY}");
    // Until the parent ends, or longer if this is killed first.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
