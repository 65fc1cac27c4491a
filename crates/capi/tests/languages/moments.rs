//! Readers in Python in bad moments: no message is lost or given twice, and no program is aborted. Also times that are absent.

use crate::compile::folder;
use crate::publisher::{BUS, Kind, Process};
use crate::tools::{package, run};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use touchline_testing::built;

/// Messages of a part, and the pause behind it.
const PART: u64 = 40;
const PAUSE: Duration = Duration::from_millis(1);

/// Random runs of forks, threads, signals, cancels and ends on a lossless bus; the program checks each. `RUNS=2000 SEED=1` gives more.
#[test]
fn readers_in_bad_moments_get_each_message_once() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let folder = folder();
    let directory = folder.join("buses");
    let mut publisher = Process::start_as(&directory, Kind::Lossless);
    publisher.step(&["define", "0", "ESU4", "100"]);
    let is_over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = 1;
            while !is_over.load(Ordering::Relaxed) {
                publisher.step(&["numbered", "0", &from.to_string(), &PART.to_string()]);
                from += PART;
                thread::sleep(PAUSE);
            }
        });
        let output = Command::new(python)
            .arg(package("tests/programs/moments.py"))
            .args([BUS.as_ref(), directory.as_os_str()])
            .env("PYTHONPATH", built::python_package(&folder.join("python")))
            .stdin(Stdio::null())
            .output();
        is_over.store(true, Ordering::Relaxed);
        output.expect("an interpreter")
    });
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{failed}");
    assert!(failed.is_empty(), "{failed}");
    drop(publisher);
}

/// A time that a venue does not state is `None` in events and lists, and `NaT` in arrays.
#[test]
fn times_that_are_not_there_are_not_1970() {
    const PROGRAM: &str = r#"
import sys, numpy, touchline
with touchline.Bus(sys.argv[1], directory=sys.argv[2]) as bus:
    (top,) = bus.read(timeout=5).tops
    event = bus.top("BARE")
    table = bus.definitions()
assert (event.exchange_ns, event.receive_ns) == (None, None), event
assert [table[name] for name in ("expiry_ns", "maturity", "strike")] == [[None]] * 3, table
times = numpy.array([top["exchange_ns"], top["receive_ns"]])
assert numpy.isnat(times.astype("datetime64[ns]")).all(), times
"#;
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let folder = folder();
    let directory = folder.join("buses");
    let mut publisher = Process::start(&directory);
    publisher.step(&["bare", "0", "BARE", "100"]);
    let mut command = Command::new(python);
    command.args(["-c", PROGRAM, BUS]).arg(&directory);
    command.env("PYTHONPATH", built::python_package(&folder.join("python")));
    run(&mut command);
    drop(publisher);
}
