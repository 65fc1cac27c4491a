//! `stat` of processes: those whose counters cannot be read.

use super::exposition::Page;
use super::{Desk, until};
use serde_json::Value;

/// A process whose counters cannot be read is an error, also while it lives.
#[test]
fn a_process_whose_counters_cannot_be_read_is_an_error_everywhere() {
    let desk = Desk::bare("stat-damaged");
    let process = desk.start("journal receive 127.0.0.1:1 copy");
    let name = "journal-receive";
    until("its counters", || {
        desk.run(&format!("stat {name}")).status == 0
    });
    assert_eq!(row(&desk, name)["error"], Value::Null);
    let unreadable = |page: &Page| {
        page.labelled("touchline_process_unreadable", &[("process", name)])
            .expect("a value")
    };
    assert_eq!(unreadable(&desk.page()), 0.0);

    let counters = format!("{name}/counters");
    let file = desk.path("buses/.processes").join(&counters);
    let damaged = std::fs::read(&file).map(|bytes| vec![7; bytes.len()]);
    // A new file: the process goes on to write the one that it has.
    std::fs::remove_file(&file).expect("our file");
    std::fs::write(&file, damaged.expect("our file")).expect("our file");
    for arguments in ["", " --json", " --filter copy"] {
        desk.run(&format!("stat {name}{arguments}"))
            .refused(1, &[&counters]);
    }
    desk.run(&format!("top {name} --once"))
        .refused(1, &[&counters]);
    let list = desk.run("stat").done().stdout;
    let holder = format!("{name} process {} ", process.id());
    let is_told = |line: &str| line.starts_with(&holder) && line.contains(&counters);
    assert!(list.lines().any(is_told), "{list}");
    let row = row(&desk, name);
    assert_eq!(row["stale"], true, "{row}");
    let error = row["error"].as_str().unwrap_or_default();
    assert!(error.contains(&counters), "{row}");
    assert_eq!(unreadable(&desk.page()), 1.0);
}

/// Row of a process in the list.
fn row(desk: &Desk, process: &str) -> Value {
    let list = desk.run("stat --json").done().stdout;
    let rows = list
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object"));
    let mut rows = rows.filter(|row: &Value| row["process"] == process);
    rows.next().expect("a row")
}
