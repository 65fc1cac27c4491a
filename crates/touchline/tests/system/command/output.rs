//! Output files: content, place, and time of writing.

use crate::command::{Desk, PIPE_BYTES, program, until};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use touchline_lab::capture::Feed;
use touchline_testing::Process;

#[test]
fn books_orders_and_tops_equal_those_of_the_exchange() {
    let desk = Desk::new("truth");
    desk.replay("--quiet --books books --orders orders --tops tops")
        .done();
    let expected_books = &desk.session.expected;
    assert_eq!(desk.read("books"), expected_books.books_jsonl());
    assert_eq!(desk.read("orders"), expected_books.orders_jsonl());
    assert_eq!(desk.read("tops"), expected_books.tops_jsonl());
}

#[test]
fn a_replay_writes_the_same_bytes_at_any_speed() {
    let desk = Desk::new("again");
    let outputs = |run: u8, arguments: &str| {
        let names = ["books", "orders", "tops"].map(|kind| format!("{kind}{run}"));
        let [books, orders, tops] = &names;
        let run = desk.replay(&format!(
            "--books {books} --orders {orders} --tops {tops} {arguments}"
        ));
        run.done();
        names.map(|name| desk.read(&name))
    };
    let first = outputs(1, "");
    assert!(first.iter().all(|text| text.lines().count() >= 10));
    assert_eq!(
        outputs(2, "--speed max --wait-ms 20 --join snapshot"),
        first
    );
    let [begin, end] = [desk.arrivals.first(), desk.arrivals.last()]
        .map(|arrival| arrival.expect("a session").time_ns);
    let started = Instant::now();
    assert_eq!(outputs(3, "--speed 10"), first);
    let due = Duration::from_nanos((end - begin) / 10);
    assert!(
        started.elapsed() >= due,
        "{:?} of {due:?}",
        started.elapsed()
    );
}

#[test]
fn one_output_may_be_standard_output() {
    let desk = Desk::new("stdout");
    desk.replay("--books books --tops tops -q").done();
    for kind in ["books", "tops"] {
        let run = desk.replay(&format!("--{kind} -"));
        assert_eq!((run.status, run.stdout), (0, desk.read(kind)));
        assert!(
            run.stderr.contains("messages by template"),
            "{}",
            run.stderr
        );
        let quiet = desk.replay(&format!("--{kind} - --quiet")).done();
        assert_eq!(quiet.stdout, desk.read(kind));
    }
}

#[test]
fn an_existing_output_is_replaced_and_a_link_stays_one() {
    let desk = Desk::new("replace");
    desk.write("real", "old");
    std::os::unix::fs::symlink(desk.path("real"), desk.path("link")).expect("our folder");
    desk.replay("--quiet --books link").done();
    assert_eq!(desk.read("real"), desk.session.expected.books_jsonl());
    let link = std::fs::symlink_metadata(desk.path("link")).expect("the link");
    assert!(link.is_symlink());
}

#[test]
fn a_killed_run_leaves_no_output_and_the_next_removes_its_temporary_files() {
    let desk = Desk::new("killed");
    desk.write("tops", "old");
    let before = desk.files();
    let mut child =
        desk.start("replay --config cme.toml --pcap session.pcap --tops tops --speed 0.000001");
    until("the first file", || desk.files() != before);
    child.kill();
    assert_eq!(desk.read("tops"), "old");
    assert_eq!(desk.files().len(), before.len() + 1);
    desk.replay("--quiet --tops tops").done();
    assert_eq!(desk.files(), before);
    assert_eq!(desk.read("tops"), desk.session.expected.tops_jsonl());
}

#[test]
fn packets_are_printed_as_readable_text() {
    let desk = Desk::new("print");
    let mut arrivals = desk.arrivals.clone();
    let at = arrivals
        .iter()
        .position(|arrival| arrival.feed == Feed::Incremental && arrival.payload.len() > 40)
        .expect("a packet with messages");
    let sequence = u32::from_le_bytes(arrivals[at].payload[..4].try_into().expect("4 bytes"));
    let line = arrivals[at].line.code();
    arrivals[at].payload.pop();
    let desk = Desk::with("print-damaged", desk.session.clone(), arrivals);
    let printed = desk.replay("--print --quiet").done().stdout;
    let packets = printed.lines().filter(|line| !line.starts_with(' '));
    assert_eq!(packets.clone().count(), desk.arrivals.len());
    let first = packets.clone().next().expect("a packet");
    assert!(
        first.starts_with("2026-01-05T00:00:00.") && first.contains(" definition "),
        "{first}"
    );
    let damaged: Vec<_> = packets.filter(|line| line.contains("invalid")).collect();
    let [damaged] = damaged[..] else {
        panic!("one packet is damaged: {damaged:?}")
    };
    for words in [
        format!("Z incremental {line}, from 10.0.0.2:"),
        format!("packet {sequence} is invalid: a message reaches beyond its packet"),
    ] {
        assert!(damaged.contains(&words), "{words}: {damaged}");
    }
    for words in [
        "  MDIncrementalRefreshBook46(46) TransactTime=2026-01-05T",
        "    NoMDEntries[1] ",
    ] {
        assert!(printed.contains(words), "{words}");
    }
}

#[test]
fn a_closed_pipe_ends_the_printing() {
    let desk = Desk::new("enough");
    for (arguments, left) in [("--print", &[][..]), ("--print --books books", &["books"])] {
        let arguments = format!("replay --config cme.toml --pcap session.pcap {arguments}");
        let before: BTreeSet<_> = desk.files().into_iter().collect();
        let mut child = Process::with_streams(desk.command(&arguments).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(child.pipe())
            .read_line(&mut line)
            .expect("a line");
        assert!(line.starts_with("2026-01-05T"), "{line}");
        // The pipe is closed by now; later writes fail.
        assert!(child.wait().success());
        let after = desk
            .files()
            .into_iter()
            .filter(|name| !before.contains(name));
        assert_eq!(after.collect::<Vec<_>>(), left);
    }
    assert_eq!(desk.read("books"), desk.session.expected.books_jsonl());
}

/// The end of the input or of the terminal has asked for the end. The first signal behind it does not count as a second request: the
/// books, whose reader is slow, are still written.
#[test]
fn the_first_signal_behind_a_closed_input_or_terminal_cuts_nothing_off() {
    let desk = Desk::new("first-signal");
    desk.publish("").done();
    let made = Command::new("mkfifo").arg(desk.path("books")).status();
    assert!(made.expect("a command of every system").success());
    for (name, closes_input) in [("no-input", true), ("no-terminal", false)] {
        let mut options = File::options();
        let opened = options.read(true).write(true).open(desk.path("books"));
        let mut pipe = opened.expect("our pipe");
        pipe.write_all(&[b'x'; PIPE_BYTES]).expect("its capacity");
        // These tests may themselves be run with a SIGHUP that is ignored.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").arg(program("follow"));
        let line = format!("follow lab --books books --name {name} --quiet --until-eof");
        command.args(line.split(' ')).current_dir(&desk.folder);
        command.env("TOUCHLINE_DIR", desk.path("buses"));
        let mut follow = Process::start(command.stdin(Stdio::piped()));
        until("it reads", || desk.run("stat lab").stdout.contains(name));
        match closes_input {
            true => follow.close(),
            false => follow.signal("HUP"),
        }
        // Time to begin with the books.
        std::thread::sleep(Duration::from_millis(300));
        follow.signal("TERM");
        std::thread::sleep(Duration::from_millis(50));
        let mut full = vec![0; PIPE_BYTES];
        pipe.read_exact(&mut full).expect("our pipe");
        assert_eq!(follow.wait().code(), Some(0), "{}", follow.err());
        let count = pipe.read(&mut full).expect("our pipe");
        assert!(full[..count].ends_with(b"}\n"), "{count} bytes");
    }
}

/// Standard error is a full disk.
#[test]
fn a_summary_that_cannot_be_written_does_not_fail_the_run() {
    let desk = Desk::new("summary-full");
    desk.publish("").done();
    let mut command = desk.command("follow lab --books - --seconds 1");
    let full = File::options().write(true).open("/dev/full");
    let run = command.stderr(full.expect("a device")).output();
    let run = run.expect("the command starts");
    assert_eq!(run.status.code(), Some(0));
    assert!(run.stdout.ends_with(b"}\n"));
}

#[test]
fn the_effective_configuration_is_a_configuration() {
    let desk = Desk::new("configuration");
    let printed = desk
        .run("replay --config-xml config.xml --channel 998 --join natural --wait-ms 7 --print-config")
        .done()
        .stdout;
    assert!(
        printed.contains("\njoin = \"natural\"\n") && printed.contains("\nwait_ms = 7\n"),
        "{printed}"
    );
    std::fs::create_dir(desk.path("elsewhere")).expect("our folder");
    desk.write("elsewhere/effective.toml", &printed);
    let again = desk
        .run("replay --config elsewhere/effective.toml --print-config")
        .done();
    assert_eq!(again.stdout, printed);
    desk.run("replay -q --config elsewhere/effective.toml --pcap session.pcap --books books")
        .done();
    assert_eq!(desk.read("books"), desk.session.expected.books_jsonl());
}

#[test]
fn output_is_limited_to_the_selected_symbols() {
    let desk = Desk::new("symbols");
    let toml = desk.read("cme.toml") + "symbols = [\"ZQA*\", \"ZQC0\"]\n";
    desk.write("cme.toml", toml);
    desk.replay("--quiet --books books --orders orders --tops tops")
        .done();
    let expected_books = &desk.session.expected;
    let few = |text: String| {
        let few = text
            .lines()
            .filter(|line| line.contains("\"ZQA0\"") || line.contains("\"ZQC0\""));
        few.map(|line| format!("{line}\n")).collect::<String>()
    };
    assert_eq!(few(expected_books.books_jsonl()).lines().count(), 2);
    assert_eq!(desk.read("books"), few(expected_books.books_jsonl()));
    assert_eq!(desk.read("orders"), few(expected_books.orders_jsonl()));
    let is_published = |symbol: &Option<String>| matches!(symbol.as_deref(), Some("ZQA0" | "ZQC0"));
    let rows = expected_books
        .books
        .iter()
        .filter(|row| is_published(&row.symbol));
    let ids: Vec<_> = rows
        .map(|row| format!("\"security_id\":{},", row.security_id))
        .collect();
    let tops = expected_books.tops_jsonl();
    let of_these = |line: &&str| ids.iter().any(|id| line.contains(id.as_str()));
    let expected: String = tops
        .lines()
        .filter(of_these)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(desk.read("tops"), expected);
}
