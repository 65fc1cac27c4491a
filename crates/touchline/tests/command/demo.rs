//! `touchline demo`, the first thing that anybody runs.

use crate::{Desk, signal};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Every demo sends to the same groups.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A demo that has shown its first line about packets.
fn running(desk: &Desk, arguments: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = desk.start(arguments);
    let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("packets") {
        line.clear();
        let read = reader.read_line(&mut line).expect("it prints text");
        assert!(read > 0, "it ended: {:?}", child.wait());
    }
    (child, reader)
}

#[test]
fn every_book_of_the_subscriber_equals_the_exchange_s() {
    let _alone = alone();
    let desk = Desk::bare("demo");
    let page = desk
        .run("demo --seconds 4 --seed 9 --version 9 --instruments 12")
        .done()
        .stdout;
    for words in [
        "a ring of 8.0 MiB in ",
        "12 of 12 price books equal the truth",
        "12 of 12 order books equal the truth",
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
fn ctrl_c_ends_it_in_order_with_a_summary() {
    let _alone = alone();
    let desk = Desk::bare("demo-interrupted");
    let (mut child, mut reader) = running(&desk, "demo");
    signal(&child, "INT");
    let mut page = String::new();
    reader.read_to_string(&mut page).expect("it prints text");
    assert!(
        page.contains("8 of 8 price books equal the truth"),
        "{page}"
    );
    assert_eq!(child.wait().expect("our child").code(), Some(0));
}

/// Whatever becomes of the demo, nobody goes on without it.
#[test]
fn a_killed_demo_leaves_no_process_behind() {
    let _alone = alone();
    let desk = Desk::bare("demo-killed");
    let (mut child, _reader) = running(&desk, "demo");
    let before = desk.run("stat demo").done().stdout;
    assert!(before.contains("touchline gateway"), "{before}");
    child.kill().expect("our child");
    child.wait().expect("our child");
    let start = Instant::now();
    while !desk.run("stat demo").done().stdout.contains("nobody") {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "the gateway goes on"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_process_that_cannot_start_is_named_with_its_reason() {
    let _alone = alone();
    let desk = Desk::bare("demo-refused");
    desk.write("buses", "a file, no directory");
    let child = desk
        .command("demo --seconds 3")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("buses"), "{said}");
}

#[test]
fn a_saved_session_replays_to_the_exchange_s_books() {
    let desk = Desk::new("save");
    let page = desk.run("demo --save saved").done().stdout;
    assert!(
        page.contains("lost on both lines: only a snapshot heals these"),
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
