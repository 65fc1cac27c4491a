//! `stat` of processes: those whose counters cannot be read, and relays.

use super::exposition::Page;
use super::{Desk, until};
use serde_json::Value;
use touchline_transport::shm::{ProcessStats, Root};

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

/// A relay is left out of the list if `stat BUS` shows it, and a bus that `stat BUS` cannot show is an error in the list.
#[test]
fn relays_without_a_bus_are_listed() {
    let desk = Desk::new("stat-relays");
    desk.publish("").done();
    let root = Root::at(desk.path("buses"));
    let names = ["relay-lab-7340", "relay-gone-7340"];
    let _relays = names.map(|name| {
        let stats = ProcessStats::create(&root, name, 1.0, [], []);
        stats.expect("a free name")
    });
    let listed = || {
        let text = desk.run("stat").done().stdout;
        let json = desk.run("stat --json").done().stdout;
        names.map(|name| {
            let is_in_text = text.lines().any(|line| line.starts_with(name));
            let is_in_json = json.contains(&format!("\"process\":\"{name}\""));
            assert_eq!(is_in_text, is_in_json, "{text} {json}");
            is_in_text
        })
    };
    assert_eq!(listed(), [false, true]);
    let of_bus = desk.run("stat lab").done().stdout;
    let shown = names.map(|name| of_bus.contains(name));
    assert_eq!(shown, [true, false], "{of_bus}");

    std::fs::write(desk.path("buses/lab/counters"), [7; 8192]).expect("our file");
    desk.run("stat lab").refused(1, &["lab/counters"]);
    assert_eq!(listed(), [true, true]);
    let list = desk.run("stat").done().stdout;
    let is_told = |line: &str| line.starts_with("lab ") && line.contains("lab/counters");
    assert!(list.lines().any(is_told), "{list}");
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
