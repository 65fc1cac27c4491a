//! `touchline record`, and `touchline replay --journal`: a tape has what the bus had.

use super::{Desk, full_pipe, until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchline_lab::capture::write_pcap;
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{FaultPlan, deliver};
use touchline_lab::market::values::seen;
use touchline_testing::Process;
use touchline_transport::Mirror;
use touchline_transport::shm::{Join, Root, Subscriber};
use touchline_types::Instrument;

/// Most instruments of the session.
const INSTRUMENTS: u32 = 64;

/// A recorder that waits for the bus of the session.
pub fn recorder(desk: &Desk, more: &str) -> Process {
    let mut recorder = desk.start_with_input(&format!(
        "record lab --journal tape --segment-mb 16 --until-eof {more}"
    ));
    recorder.wait_for_line("record_waiting");
    recorder
}

/// Records the session, played slowly enough that the recorder joins in it.
pub fn recorded(name: &str) -> Desk {
    let desk = Desk::new(name);
    let mut recorder = recorder(&desk, "");
    desk.publish("--speed 0.25").done();
    recorder.wait_for_line("record_source_down");
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    assert!(
        recorder.err().contains("gaps=0 lost=0"),
        "{}",
        recorder.err()
    );
    desk
}

/// Books of a reader that joins a bus now.
fn joined(root: &Path, bus: &str) -> Mirror {
    let mut reader = Subscriber::join(&Root::at(root), bus, Join::default()).expect("a bus");
    let mut mirror = Mirror::new(INSTRUMENTS as usize, 65_536);
    while reader.drain(usize::MAX, &mut mirror) > 0 {}
    mirror
}

fn rows(text: &str) -> Vec<Value> {
    let parsed = text.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().expect("JSON lines")
}

/// Rows of books without what a bus does not have, or has of its publisher.
fn contents(text: &str) -> Vec<Value> {
    let mut rows = rows(text);
    for row in &mut rows {
        let row = row.as_object_mut().expect("an object");
        row.remove("last_rpt_seq").expect("a column");
        row.remove("state").expect("a column");
    }
    rows
}

#[test]
fn a_tape_plays_the_books_and_trades_of_the_capture() {
    let desk = recorded("tape-books");
    desk.replay("--quiet --books captured --trades captured.csv")
        .done();
    let played = desk
        .run("replay --journal tape --books played --trades played.csv")
        .done();
    assert!(
        played.stdout.contains("0 gaps, 0 messages lost"),
        "{played:?}"
    );
    assert_eq!(
        contents(&desk.read("played")),
        contents(&desk.read("captured"))
    );
    let [captured, played] = ["captured.csv", "played.csv"].map(|name| desk.read(name));
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (captured, played) = (lines(&captured), lines(&played));
    assert!(
        !played.is_empty() && captured.ends_with(&played),
        "{played:?}"
    );
    assert_eq!(
        desk.run("journal verify tape")
            .done()
            .stdout
            .split(':')
            .next(),
        Some("clean")
    );
}

#[test]
fn a_tape_is_played_onto_a_bus() {
    let desk = recorded("tape-bus");
    desk.run("replay --journal tape --quiet --publish --bus again")
        .done();
    let buses = desk.path("buses");
    let (recorded, played) = (joined(&buses, "lab"), joined(&buses, "again"));
    for index in 0..INSTRUMENTS {
        let contents = |mirror: &Mirror| {
            let (levels, orders, ..) = seen(mirror, Instrument(index));
            (levels, orders)
        };
        assert_eq!(contents(&played), contents(&recorded), "instrument {index}");
    }
}

/// The second run of a gateway has other numbers of instruments: no row mixes the instruments of two runs, or calls a book of the first
/// run live in the second one.
#[test]
fn series_of_a_tape_over_a_restart_are_those_of_each_run() {
    let desk = Desk::new("tape-restart");
    let mut recorder = recorder(&desk, "");
    desk.publish("--speed 0.25").done();
    recorder.wait_for_line("record_source_down");
    let options = Options {
        instruments: 6,
        events: 150,
        ..Options::default()
    };
    let second = generate(&options, 9);
    let arrivals = deliver(&second, &FaultPlan::incremental([]), 9).arrivals;
    write_pcap(&arrivals, &desk.path("session.pcap")).expect("our folder");
    desk.publish("--speed 1").done();
    until("the recorder has seen the end of both runs", || {
        recorder.err().matches("record_source_down").count() == 2
    });
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    desk.run("replay --journal tape --quiet --quotes quotes.jsonl --books books")
        .done();
    let quotes = rows(&desk.read("quotes.jsonl"));
    let restart = quotes.iter().rposition(|row| row["state"] == "gapped");
    let (before, after) = quotes.split_at(restart.expect("it ends the books") + 1);
    let names = |rows: &[Value]| -> BTreeSet<(i64, String)> {
        let name = |row: &Value| {
            let symbol = row["symbol"].as_str().unwrap_or_default().to_owned();
            (row["security_id"].as_i64().expect("a number"), symbol)
        };
        rows.iter().map(name).collect()
    };
    let of = |session: &Session| -> BTreeSet<(i64, String)> {
        let books = session.expected.books.iter();
        let name = books.map(|book| {
            let symbol = book.symbol.clone().unwrap_or_default();
            (i64::from(book.security_id), symbol)
        });
        name.collect()
    };
    assert!(names(before).is_subset(&of(&desk.session)));
    assert!(!after.is_empty() && names(after).is_subset(&of(&second)));
    let mut states = BTreeMap::new();
    for row in before {
        states.insert(row["security_id"].to_string(), row["state"].clone());
    }
    assert!(states.values().all(|state| state == "gapped"), "{states:?}");
    let books = rows(&desk.read("books"));
    assert_eq!(names(&books), of(&second));
}

/// The same tape gives the same bytes, at any speed.
#[test]
fn two_replays_of_a_tape_are_equal() {
    let desk = recorded("tape-twice");
    let outputs = |name: &str, speed: &str| {
        let files = ["books", "orders", "tops", "quotes.csv", "trades.jsonl"];
        let arguments = files.map(|file| {
            let option = file.split('.').next().expect("a name");
            format!("--{option} {name}-{file}")
        });
        desk.run(&format!(
            "replay --journal tape --quiet --speed {speed} {}",
            arguments.join(" ")
        ))
        .done();
        files.map(|file| desk.read(&format!("{name}-{file}")))
    };
    assert_eq!(outputs("first", "max"), outputs("second", "5"));
}

#[test]
fn wrong_arguments_and_tapes_are_refused_in_one_line() {
    let desk = Desk::bare("tape-refused");
    desk.write("empty", "");
    std::fs::create_dir(desk.path("folder")).expect("our folder");
    for path in ["missing", "empty", "folder"] {
        let words = ["no segment of a tape", "0000000001.tlj"];
        desk.run(&format!("replay --journal {path}"))
            .refused(1, &words);
    }
    let both = "replay --journal folder --pcap session.pcap";
    desk.run(both)
        .refused(2, &["--pcap is for captures", "leave out --pcap"]);
    desk.run("record --journal tape").refused(2, &["BUS"]);
    desk.run("record lab").refused(2, &["--journal"]);
    desk.run("record lab --journal empty/tape --seconds 1")
        .refused(1, &["empty/tape"]);
}

/// As of a replay of captures: standard output has one writer, an output one path, and no output replaces an input.
#[test]
fn outputs_of_a_tape_replace_no_input_and_share_no_file() {
    let desk = recorded("tape-outputs");
    desk.run("definitions --journal tape --output d.jsonl")
        .done();
    let table = desk.read("d.jsonl");
    let segment = || std::fs::read(desk.path("tape/0000000001.tlj")).expect("a segment");
    let before = (desk.files(), segment());
    for (outputs, words) in [
        ("--books - --orders -", ["standard output can have one", ""]),
        ("--books same --tops ./same", ["./same", "two outputs"]),
        (
            "--definitions d.jsonl --books d.jsonl",
            ["d.jsonl", "is an input of this run"],
        ),
        (
            "--books tape/0000000001.tlj",
            ["0000000001.tlj", "is an input of this run"],
        ),
    ] {
        desk.run(&format!("replay --journal tape {outputs}"))
            .refused(2, &words);
    }
    assert_eq!((desk.files(), segment()), before);
    assert_eq!(desk.read("d.jsonl"), table);
}

/// A tape is written by one recorder, and a damaged one by none.
#[test]
fn a_tape_in_use_or_damaged_is_not_continued() {
    let desk = recorded("tape-in-use");
    let path = desk.path("tape/0000000001.tlj");
    let sound = std::fs::read(&path).expect("a segment");
    let mut damaged = sound.clone();
    damaged[5_000] ^= 1;
    std::fs::write(&path, damaged).expect("room");
    let files = std::fs::read_dir(desk.path("tape"))
        .expect("the tape")
        .count();
    let words = ["is damaged", "journal verify"];
    desk.run("record lab --journal tape --seconds 1")
        .refused(1, &words);
    desk.run("replay --journal tape").refused(1, &words);
    let left = std::fs::read_dir(desk.path("tape"))
        .expect("the tape")
        .count();
    assert_eq!(left, files, "nothing is written");
    std::fs::write(&path, sound).expect("room");
    let mut first =
        desk.start_with_input("record lab --journal tape --segment-mb 16 --until-eof --name first");
    first.wait_for_line("record_started recorded_bus=lab");
    desk.run("record lab --journal tape --name second --seconds 1")
        .refused(1, &["writes this journal"]);
    first.close();
    assert!(first.wait().success(), "{}", first.err());
}

/// A full disk stops the recorder alone, and the tape goes on when there is space.
#[test]
fn a_full_disk_is_said_and_survived() {
    let desk = Desk::new("tape-full");
    let limited = |bytes: u64| {
        let mut command = std::process::Command::new("prlimit");
        command
            .arg(format!("--fsize={bytes}"))
            .arg(super::program("record"));
        command
    };
    let mut command = limited(20 << 20);
    command
        .args("record lab --journal tape --segment-mb 32 --seconds 2".split(' '))
        .current_dir(&desk.folder)
        .env("TOUCHLINE_DIR", desk.path("buses"));
    let output = command.output().expect("prlimit of util-linux");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("File too large") && said.lines().count() <= 2,
        "{said}"
    );
    // With space the same directory is a tape.
    let mut recorder = recorder(&desk, "");
    desk.publish("").done();
    until("the recorder has joined", || {
        recorder.err().contains("record_started")
    });
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
}

/// Standard error is a full pipe without a reader: the recorder goes on, and ends when it is asked to.
#[test]
fn a_recorder_whose_log_nobody_reads_goes_on() {
    let desk = Desk::new("tape-unread");
    let (_unread, pipe) = full_pipe();
    let mut command =
        desk.command("record lab --journal tape --segment-mb 16 --until-eof --name unread");
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(pipe);
    let mut recorder = Process::with_streams(&mut command);
    let counter = |name: &str| {
        let run = desk.run("stat unread --json");
        let value = serde_json::from_str::<Value>(&run.stdout).ok()?;
        value["counters"][name].as_u64()
    };
    until("the recorder runs", || counter("record_position").is_some());
    let mut publisher =
        desk.start("replay --config bus.toml --pcap session.pcap --quiet --publish --speed 0.05");
    until("it records", || {
        counter("record_messages").is_some_and(|messages| messages > 10)
    });
    recorder.close();
    assert!(recorder.wait().success());
    publisher.kill();
    let verified = desk.run("journal verify tape").done();
    assert!(verified.stdout.starts_with("clean"), "{verified:?}");
}

/// A running recorder in the tools of an operator; a second one of its name is refused.
#[test]
fn a_recorder_is_shown_and_its_name_is_its_own() {
    let desk = Desk::new("tape-shown");
    let mut recorder =
        desk.start_with_input("record lab --journal tape --segment-mb 16 --until-eof --name shown");
    recorder.wait_for_line("record_waiting");
    let shown = desk.run("top shown --once --interval-ms 50").done().stdout;
    for words in ["shown", "waits for a bus", "segment 1", "free "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let listed = desk.run("stat").stdout;
    assert!(listed.contains("shown"), "{listed}");
    let checked = desk.run("doctor --tape tape --json");
    let line = |name: &str| {
        let mut lines = rows(&checked.stdout).into_iter();
        lines.find(|line| line["check"] == name).expect(name)
    };
    assert_eq!(line("tape_directory")["status"], "ok", "{checked:?}");
    let seen = line("tape_directory")["seen"].to_string();
    assert!(
        seen.contains(&format!("process {} writes it", recorder.id())),
        "{seen}"
    );
    assert_ne!(line("tape_space")["status"], "unknown", "{checked:?}");
    let second = "record lab --journal other --name shown --seconds 1";
    desk.run(second).refused(1, &["shown", "process"]);
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    desk.run("top shown --once").refused(1, &["shown"]);
}
