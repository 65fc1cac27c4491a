//! `touchline demo`.

use crate::command::{Desk, until};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use touchline_testing::Process;

/// Four processes each: one demo at a time.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A demo that has shown its first line about packets.
pub(super) fn running(desk: &Desk, arguments: &str) -> Process {
    let mut demo = desk.start(arguments);
    demo.wait_for_line("packets");
    demo
}

#[test]
fn every_book_of_the_subscriber_equals_the_exchange_s() {
    let _alone = alone();
    let desk = Desk::bare("demo");
    let page = desk
        .run("demo --seconds 6 --seed 9 --version 9 --instruments 12")
        .done()
        .stdout;
    for words in [
        "a ring of 8.0 MiB in ",
        "12 of 12 price books equal the exchange's",
        "12 of 12 order books equal the exchange's",
        " books live  packet p50 ",
        "packet_ns",
        "wire_to_published_ns",
        "received_to_consumed_ns",
        "outage",
        "lost on both lines in",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains('\x1b'), "colours are for terminals");
    let left = std::fs::read_dir(desk.path("buses")).map(Iterator::count);
    assert_eq!(
        left.expect("the directory of the buses"),
        0,
        "it left a bus behind"
    );
}

#[test]
fn ctrl_c_ends_the_demo_with_a_summary() {
    let _alone = alone();
    let desk = Desk::bare("demo-interrupted");
    let mut demo = running(&desk, "demo");
    let status = demo.end("INT");
    let page = demo.out();
    assert!(
        page.contains("8 of 8 price books equal the exchange's"),
        "{page}"
    );
    assert_eq!(status, Some(0));
}

/// The standby takes over from the engine that the demo kills, and the positions at the end are the banks'.
#[test]
fn a_demo_with_a_standby_promotes_it_and_ends_with_the_positions_of_the_banks() {
    let _alone = alone();
    let desk = Desk::bare("demo-fx-standby");
    let page = desk
        .run("demo fx --standby --seconds 6 --plain")
        .done()
        .stdout;
    for words in [
        "its standby was promoted: epoch 2",
        "equal: every position and its cash are those of the banks' books",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

/// A page that shows figures names the profile of the build that they are of, unless it is one for use; the exporter has the
/// build of each publisher.
#[test]
fn figures_of_a_build_that_is_not_for_use_name_its_profile() {
    let _alone = alone();
    let desk = Desk::bare("demo-profile");
    let mut demo = running(&desk, "demo");
    let head = demo.out();
    let profile = env!("TOUCHLINE_PROFILE");
    let is_unusual = !matches!(profile, "release" | "dist");
    let word = format!("profile {profile}");
    let buses = desk.run("stat").done().stdout;
    let frame = desk.run("top demo --once --size 80x24").done().stdout;
    let heading = frame.lines().next().unwrap_or_default();
    for page in [head.as_str(), &buses, heading] {
        assert_eq!(page.contains(&word), is_unusual, "{page}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let stat = desk.run("stat demo").done().stdout;
    let build = stat.lines().find(|line| line.starts_with("build "));
    let build = build.expect("a line of the build");
    assert!(build.contains(version) && build.ends_with(&word), "{stat}");
    let json = desk.run("stat demo --json").done().stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(json["build"]["profile"], profile, "{json}");
    let metrics = desk.run("metrics --print").done().stdout;
    let family = "touchline_bus_publisher_build_info{bus=\"demo\",version=";
    let line = metrics.lines().find(|line| line.starts_with(family));
    let line = line.expect("the build of the publisher");
    assert!(
        line.ends_with(&format!("profile=\"{profile}\"}} 1")),
        "{line}"
    );
    assert_eq!(demo.end("INT"), Some(0));
}

/// However the demo ends, its processes and its bus end with it.
#[test]
fn a_killed_demo_leaves_no_process_and_no_bus_behind() {
    let _alone = alone();
    let desk = Desk::bare("demo-killed");
    let mut child = running(&desk, "demo");
    let before = desk.run("stat demo").done().stdout;
    assert!(before.contains("touchline gateway"), "{before}");
    let processes = children_of(&child);
    assert!(processes.len() >= 4, "{processes:?}");
    let bus = desk.path("buses").join("demo");
    assert!(bus.exists());
    child.kill();
    until("the bus is gone", || !bus.exists());
    for (process, line) in processes {
        // A process that was not waited for has no arguments any more.
        let arguments = || std::fs::read(format!("/proc/{process}/cmdline"));
        until(&format!("{line} has ended"), || {
            arguments().unwrap_or_default().is_empty()
        });
    }
}

/// Processes of a demo, with their arguments.
fn children_of(demo: &Process) -> Vec<(u32, String)> {
    let is_child = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // Behind the name are the state and the parent.
        let parent = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1));
        parent == Some(&demo.id().to_string())
    };
    let line = |process: u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        (process, String::from_utf8_lossy(&line).replace('\0', " "))
    };
    let entries = std::fs::read_dir("/proc").expect("the processes").flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(is_child).map(line).collect()
}

/// A demo whose temporary folder is one of the desk.
fn demo_with_folder(desk: &Desk) -> Process {
    std::fs::create_dir_all(desk.path("tmp")).expect("our folder");
    let mut command = desk.command("demo");
    Process::start(command.env("TMPDIR", desk.path("tmp")))
}

fn left(desk: &Desk) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path("tmp")).expect("our folder");
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// During the start as well as later.
#[test]
fn a_killed_demo_leaves_nothing_in_the_temporary_folder() {
    let _alone = alone();
    let desk = Desk::bare("demo-folder");
    let stages: [fn(&Desk, &mut Process); 3] = [
        |desk, _| until("a folder", || !left(desk).is_empty()),
        |_, child| until("a gateway", || children_of(child).len() >= 3),
        |_, child| drop(child.wait_for_line("packets")),
    ];
    for stage in stages {
        let mut child = demo_with_folder(&desk);
        stage(&desk, &mut child);
        let children = children_of(&child);
        assert!(
            children
                .iter()
                .any(|(_, line)| line.contains("--clean-up-after"))
        );
        child.kill();
        until("an empty folder", || left(&desk).is_empty());
        until("no process", || {
            !children.iter().any(|(process, _)| is_there(*process))
        });
        assert_eq!(left(&desk), [""; 0], "a process has written into it again");
    }
}

/// Whether the process runs; one that ended and was not waited for does not.
fn is_there(process: u32) -> bool {
    std::path::Path::new(&format!("/proc/{process}/exe")).exists()
}

/// If its cleaner was killed, too, the next demo cleans up, and spares running ones.
#[test]
fn a_demo_removes_the_buses_of_killed_ones() {
    let _alone = alone();
    let desk = Desk::bare("demo-sweep");
    let mut first = demo_with_folder(&desk);
    until("all processes", || children_of(&first).len() >= 4);
    let children = children_of(&first);
    for (process, line) in &children {
        if line.contains("--clean-up-after") {
            let kill = format!("kill -KILL {process}");
            assert!(
                Command::new("sh")
                    .args(["-c", &kill])
                    .status()
                    .expect("a shell")
                    .success()
            );
        }
    }
    first.kill();
    let dead = format!("touchline-demo-{}", first.id());
    assert_eq!(left(&desk), [dead.as_str()]);
    until("no publisher", || {
        desk.run("stat demo").stdout.contains("none")
    });
    assert!(desk.path("buses/demo").exists(), "the bus must stay");
    // A folder is removed when its lock is free; a dying process may still hold it.
    until("no process", || {
        !children.iter().any(|(process, _)| is_there(*process))
    });
    let mut second = demo_with_folder(&desk);
    until("all processes", || children_of(&second).len() >= 4);
    let running = format!("touchline-demo-{}", second.id());
    assert_eq!(left(&desk), [running.as_str()]);
    // A third one is refused, and does not touch the folder of the second one.
    let mut third = demo_with_folder(&desk);
    assert_eq!(third.wait().code(), Some(2));
    assert_eq!(left(&desk), [running.as_str()]);
    second.kill();
    until("an empty folder", || left(&desk).is_empty());
    until("the bus is gone", || !desk.path("buses/demo").exists());
}

#[test]
fn a_second_demo_is_refused_with_the_fix_and_runs_beside_the_first_one_with_it() {
    let _alone = alone();
    let desk = Desk::bare("demo-second");
    let set = 1 + std::process::id() % 16_000;
    let mut first = running(&desk, "demo");
    desk.run("demo --seconds 2").refused(
        2,
        &[
            "bus demo in ",
            "is being written by process ",
            "--groups 1 ",
            "stop that one",
        ],
    );
    let mut second = running(&desk, &format!("demo --groups {set}"));
    let buses = desk.run("stat").done().stdout;
    assert!(buses.contains(&format!("\ndemo-{set} ")), "{buses}");
    let third = desk.run(&format!("demo --groups {set} --dir elsewhere"));
    assert_eq!(third.status, 2, "{third:?}");
    let said = "touchline: the exchange: 239.";
    assert!(third.stderr.starts_with(said), "{third:?}");
    assert!(third.stderr.contains("; give --groups "), "{third:?}");
    for child in [&mut first, &mut second] {
        let status = child.end("INT");
        assert_eq!(status, Some(0), "{} {}", child.out(), child.err());
    }
}

#[test]
fn a_process_that_cannot_start_is_named_with_its_reason() {
    let _alone = alone();
    let desk = Desk::bare("demo-refused");
    desk.write("buses", "a file, no directory");
    let run = desk.run("demo --seconds 3");
    let said = run.stderr;
    assert_eq!(run.status, 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("buses"), "{said}");
}

#[test]
fn a_saved_session_replays_to_the_exchange_s_books() {
    let desk = Desk::new("save");
    let page = desk.run("demo --save saved").done().stdout;
    assert!(
        page.contains("lost on both lines: recovered from snapshots"),
        "{page}"
    );
    desk.run(
        "replay --config saved/cme.toml --pcap saved/session.pcap --books b --orders o --quiet",
    )
    .done();
    assert_eq!(desk.read("b"), desk.read("saved/truth-books.jsonl"));
    assert_eq!(desk.read("o"), desk.read("saved/truth-orders.jsonl"));
    desk.run("demo --save /proc/nowhere")
        .refused(1, &["/proc/nowhere", "cannot be written"]);
}
