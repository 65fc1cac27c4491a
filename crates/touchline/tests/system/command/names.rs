//! Files of a bus are removed while a command publishes on it: the command names the file and ends.

use super::Desk;
use std::path::Path;
use touchline_testing::{PATIENCE, Process, until};

#[track_caller]
fn gateway(desk: &Desk) -> Process {
    let mut gateway = desk.start("gateway --config live.toml");
    gateway.wait_for_line("listening");
    gateway
}

/// Status of a process that must end soon, and its messages.
#[track_caller]
fn ended(process: &mut Process, context: &str) -> (Option<i32>, String) {
    until(context, PATIENCE, || !process.is_running());
    (process.wait().code(), process.err())
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
        let (status, said) = ended(&mut gateway, name);
        assert_eq!(status, Some(1), "{name}: {said}");
        let last = said.lines().last().unwrap_or_default();
        let path = path.to_str().expect("a plain name");
        for word in ["removed or replaced", path, "RemoveIPC"] {
            assert!(last.contains(word), "{name}: {word}: {said}");
        }
    }
    let mut last = gateway(&desk);
    // A removed lock file does not allow a second publisher before the gateway detects it.
    last.signal("STOP");
    remove(&desk.path("buses/lab/lock"));
    let process = format!("process {}", last.id());
    desk.run("gateway --config live.toml")
        .refused(1, &["still being written by", &process]);
    last.signal("CONT");
    assert_eq!(ended(&mut last, "after the stop").0, Some(1));
}

#[test]
fn a_replay_whose_bus_is_removed_ends_with_an_error() {
    let desk = Desk::new("names-replay");
    let speed = desk.speed_for(600.0);
    let replay =
        format!("replay --config bus.toml --pcap session.pcap --publish --quiet --speed {speed}");
    for name in ["buses/lab", "buses/lab/ring", "buses/lab/counters"] {
        let mut replay = desk.start(&replay);
        desk.wait_for_messages(1);
        remove(&desk.path(name));
        let (status, said) = ended(&mut replay, name);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("removed or replaced"), "{said}");
    }
}
