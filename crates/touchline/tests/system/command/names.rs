//! Files of a bus are removed while a command publishes on it: the command names the file and ends.

use super::{Desk, signal};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time within which a removal must be detected; on a loaded host the process must get the
/// processor first.
const SEEN_MAX: Duration = Duration::from_secs(10);

/// A command that publishes on the bus `lab`, with its output in `publisher.err`.
fn publishing(desk: &Desk, arguments: &str) -> Child {
    let errors = std::fs::File::create(desk.path("publisher.err")).expect("our folder");
    let mut command = desk.command(arguments);
    let command = command.stdout(Stdio::null()).stderr(errors);
    command.spawn().expect("the command starts")
}

#[track_caller]
fn gateway(desk: &Desk) -> Child {
    let mut child = publishing(desk, "gateway --config live.toml");
    let start = Instant::now();
    while !desk.read("publisher.err").contains("listening") {
        let said = desk.read("publisher.err");
        assert!(start.elapsed() < Duration::from_secs(30), "{said}");
        assert!(child.try_wait().expect("our child").is_none(), "{said}");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[track_caller]
fn wait(child: &mut Child, context: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our child") {
            return status;
        }
        assert!(start.elapsed() < SEEN_MAX, "{context}: it goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn remove(path: &Path) {
    match path.is_dir() {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    }
    .expect("it was there");
}

#[test]
fn a_gateway_whose_files_are_removed_ends_and_the_next_one_starts() {
    let desk = Desk::bare("names-gateway");
    let toml = desk.read("bus.toml").replace(
        "config_xml = \"config.xml\"\n",
        "config_xml = \"config.xml\"\ninterface = \"127.0.0.1\"\n",
    );
    desk.write("live.toml", toml);
    for name in ["lock", "ring", "definitions", "images", "counters", ""] {
        let mut gateway = gateway(&desk);
        let path = match name {
            "" => desk.path("buses/lab"),
            file => desk.path("buses/lab").join(file),
        };
        remove(&path);
        let status = wait(&mut gateway, name);
        let said = desk.read("publisher.err");
        assert_eq!(status.code(), Some(1), "{name}: {said}");
        let last = said.lines().last().unwrap_or_default();
        let path = path.to_str().expect("a plain name");
        for word in ["removed or replaced", path, "RemoveIPC"] {
            assert!(last.contains(word), "{name}: {word}: {said}");
        }
    }
    let mut last = gateway(&desk);
    // A removed lock file does not allow a second publisher before the gateway detects it.
    signal(&last, "STOP");
    remove(&desk.path("buses/lab/lock"));
    let process = format!("process {}", last.id());
    desk.run("gateway --config live.toml")
        .refused(1, &["still being written by", &process]);
    signal(&last, "CONT");
    assert_eq!(wait(&mut last, "after the stop").code(), Some(1));
}

#[test]
fn a_replay_whose_bus_is_removed_ends_with_an_error() {
    let desk = Desk::new("names-replay");
    let speed = desk.speed_for(600.0);
    let replay =
        format!("replay --config bus.toml --pcap session.pcap --publish --quiet --speed {speed}");
    for name in ["buses/lab", "buses/lab/ring", "buses/lab/counters"] {
        let mut replay = publishing(&desk, &replay);
        desk.wait_for_messages(1);
        remove(&desk.path(name));
        let status = wait(&mut replay, name);
        let said = desk.read("publisher.err");
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("removed or replaced"), "{said}");
    }
}
