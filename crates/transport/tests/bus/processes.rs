//! Processes that count without a bus.

use crate::stage::Stage;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
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

fn only(stage: &Stage) -> ProcessView {
    let mut all = ProcessView::all(&stage.root()).expect("our folder");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn the_counters_of_a_process_are_removed_when_it_ends() {
    let stage = Stage::new();
    let none = ProcessView::all(&stage.root()).expect("no folder is an empty one");
    assert!(none.is_empty());
    let mut stats = begin(&stage.root()).expect("the name is free");
    stats.counters_file().show([7]);
    let seen = only(&stage);
    assert_eq!(seen.name, "strategy-1");
    assert_eq!(
        seen.process.map(|process| process.pid),
        Some(std::process::id())
    );
    let view = seen.counters_file.expect("whole").expect("it was begun");
    assert_eq!(view.counter("fills"), Some(7));
    assert!(view.age().expect("it says when") < Duration::from_secs(60));
    assert!(begin(&stage.root()).is_err(), "the name is taken");
    let buses = stage.root().buses().expect("our folder");
    assert!(buses.is_empty(), "it is no bus: {buses:?}");
    drop(stats);
    let left = ProcessView::all(&stage.root()).expect("our folder");
    assert!(left.is_empty());
}

/// Last values of a killed process stay, with their age and without a process, until the next
/// process of its name.
#[test]
fn the_counters_of_a_killed_process_stay_readable() {
    let stage = Stage::new();
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "processes::role", "--nocapture"])
        .env(ROOT, stage.root().path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let is_ready = lines.any(|line| line.expect("text").contains(READY));
    assert!(is_ready, "it ended early");
    assert_eq!(
        only(&stage).process.map(|process| process.pid),
        Some(child.id())
    );
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    let left = only(&stage);
    assert!(left.process.is_none());
    let view = left.counters_file.expect("whole").expect("it was begun");
    assert_eq!(
        (view.counter("fills"), view.origin().pid),
        (Some(9), child.id())
    );
    assert!(view.age().is_some());
    let _next = begin(&stage.root()).expect("the name is free again");
    assert!(only(&stage).process.is_some());
}

const ROOT: &str = "TOUCHLINE_TEST_PROCESS_ROOT";
const READY: &str = "the process counts";

/// Entry of the child process; without effect in the run of all tests.
#[test]
fn role() {
    let Some(root) = std::env::var_os(ROOT) else {
        return;
    };
    let mut stats = begin(&Root::at(PathBuf::from(root))).expect("the name is free");
    stats.counters_file().show([9]);
    println!("{READY}");
    // Until the parent ends, or longer if this is killed first.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
