//! Examples of the client, compiled and run against a replay; their output is that of the page of the first subscriber.

use super::Desk;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use touchline_testing::built::{self, cargo, root};
use touchline_testing::{PATIENCE, Process, until};

/// A desk with the session of `demo --save`, published once on the bus `demo`.
pub(super) fn published(name: &str) -> Desk {
    let desk = Desk::bare(name);
    assert_eq!(desk.run("demo --save demo").status, 0);
    desk.run(PUBLISH).done();
    desk
}

pub(super) const PUBLISH: &str =
    "replay --config demo/cme.toml --pcap demo/session.pcap --publish --quiet";

/// A running program.
pub(super) struct Running(Process);

impl Running {
    fn start(desk: &Desk, program: &Path) -> Running {
        Running::of(desk, &mut Command::new(program))
    }

    /// A program with its arguments, on the buses of the desk.
    pub(super) fn of(desk: &Desk, command: &mut Command) -> Running {
        command.current_dir(&desk.folder).stdin(Stdio::null());
        Running(Process::start(
            command.env("TOUCHLINE_DIR", desk.path("buses")),
        ))
    }

    /// Lines of standard output and of standard error so far.
    fn lines(&self) -> (Vec<String>, Vec<String>) {
        let lines = |text: String| text.lines().map(str::to_owned).collect();
        (lines(self.0.out()), lines(self.0.err()))
    }

    /// Waits until the lines of standard output and of standard error are so.
    pub(super) fn wait(&self, what: &str, mut holds: impl FnMut(&[String], &[String]) -> bool) {
        until(what, PATIENCE, || {
            let (out, err) = self.lines();
            match holds(&out, &err) {
                true => Ok(()),
                false => Err((out, err)),
            }
        });
    }

    /// Lines on standard output so far.
    pub(super) fn printed(&self) -> usize {
        self.lines().0.len()
    }

    /// Ends it with a signal, and returns its output.
    pub(super) fn end(mut self, name: &str) -> (Vec<String>, Vec<String>) {
        self.0.end(name);
        self.lines()
    }
}

/// Builds the examples with the features of the workspace: `cargo test --workspace` has built nearly all of it.
pub fn build_examples() {
    let mut build = cargo("build --quiet --workspace --examples");
    assert!(build.status().expect("cargo").success());
}

pub fn example(name: &str) -> PathBuf {
    built::folder().join("examples").join(name)
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/first-subscriber.md")).expect("the page")
}

/// Text of the block after a comment of the page.
fn block(comment: &str) -> String {
    let page = page();
    let (_, behind) = page
        .split_once(comment)
        .unwrap_or_else(|| panic!("no {comment}"));
    let (_, text) = behind.split_once("```").expect("a block");
    let (_, text) = text.split_once('\n').expect("a block");
    let (text, _) = text.split_once("```").expect("its end");
    text.to_owned()
}

/// The lines that the page shows of a program are in its output, in order.
#[track_caller]
fn assert_shown(name: &str, printed: &[String]) {
    assert_shown_as(name, printed, str::to_owned);
}

/// [`assert_shown`] of lines in this form.
#[track_caller]
fn assert_shown_as(name: &str, printed: &[String], form: fn(&str) -> String) {
    let text = block(&format!("<!-- output: {name} -->"));
    let shown: Vec<String> = text.lines().map(form).collect();
    let printed: Vec<String> = printed.iter().map(|line| form(line)).collect();
    let mut windows = printed.windows(shown.len());
    assert!(
        windows.any(|window| window == shown),
        "{name} prints\n{}\nand the page shows\n{text}",
        printed[..printed.len().min(60)].join("\n")
    );
}

/// A line with `N` in place of each word that starts with a digit: times differ from run to run.
fn without_times(line: &str) -> String {
    let is_time = |word: &str| word.starts_with(|start: char| start.is_ascii_digit());
    let words = line.split(' ');
    let words = words.map(|word| if is_time(word) { "N" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The project of the page, with the path of the crate, in a separate folder.
#[test]
fn the_first_subscriber_is_built_as_the_page_says_and_prints_what_it_shows() {
    let main = block("<!-- file: first-subscriber/src/main.rs -->");
    let example_text = root().join("crates/client/examples/top_of_book.rs");
    let example_text = std::fs::read_to_string(example_text).expect("an example");
    assert_eq!(
        main, example_text,
        "the page and the example are one program"
    );
    let code = main
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("//"));
    assert!(code.count() <= 20, "20 lines, the page says");

    let desk = published("first-subscriber");
    let crate_path = root()
        .join("crates/client")
        .canonicalize()
        .expect("the crate");
    let manifest = block("<!-- file: first-subscriber/Cargo.toml -->").replace(
        "../touchline/crates/client",
        crate_path.to_str().expect("a plain path"),
    );
    std::fs::create_dir_all(desk.path("first-subscriber/src")).expect("our folder");
    desk.write("first-subscriber/Cargo.toml", manifest);
    desk.write("first-subscriber/src/main.rs", &main);
    // The versions of this repository, which are available offline.
    let lock = std::fs::read(root().join("Cargo.lock")).expect("a lock file");
    desk.write("first-subscriber/Cargo.lock", lock);
    let mut build = cargo("build --offline --quiet");
    build.current_dir(desk.path("first-subscriber"));
    let target = built::folder().with_file_name("first-subscriber");
    build.env("CARGO_TARGET_DIR", &target);
    assert!(build.status().expect("cargo").success());

    let running = Running::start(&desk, &target.join("debug/first-subscriber"));
    let times =
        |err: &[String], words: &str| err.iter().filter(|line| line.contains(words)).count();
    running.wait("the kept tops", |_, err| times(err, "caught up") == 1);
    let kept = running.printed();
    desk.run(PUBLISH).done();
    running.wait("the second session", |_, err| {
        times(err, "publisher gone") == 2
    });
    let (out, err) = running.end("KILL");
    // The connection event comes first, on another stream.
    assert_shown("first", &[&err[..1], &out[..kept], &err[1..2]].concat());
    assert_shown("second", &[&err[2..3], &out[kept..]].concat());
}

/// The other programs of the page, each run over a second session of the publisher.
#[test]
fn the_other_examples_print_what_the_page_shows() {
    build_examples();

    let desk = published("examples");
    let other = format!("{PUBLISH} --bus other");
    desk.run(&other).done();
    let names = ["trades", "keep_books", "latency", "many_buses"];
    let running = names.map(|name| Running::start(&desk, &example(name)));
    // Each has joined when it has its part of the first session, or some time later.
    thread::sleep(Duration::from_secs(2));
    let before = running.each_ref().map(|running| running.printed());
    desk.run(PUBLISH).done();
    desk.run(&other).done();
    let [trades, keep_books, latency, many_buses] = running;
    for (running, before) in [&trades, &keep_books, &latency, &many_buses]
        .into_iter()
        .zip(before)
    {
        running.wait("the second session", |out, _| out.len() > before + 100);
        settle(running);
    }
    let (trades, _) = trades.end("KILL");
    assert_eq!(trades[0], "exchange_ns,symbol,price,quantity,aggressor");
    assert_shown("trades", &trades);
    // A third session: the example has certainly joined before, and sees a restart.
    let second = keep_books.printed();
    desk.run(PUBLISH).done();
    keep_books.wait("the third session", |out, _| out.len() > second + 100);
    settle(&keep_books);
    let (books, said) = keep_books.end("INT");
    assert_shown("keep_books", &books[..second]);
    assert_shown("keep_books", &books[second..]);
    let stats = said.last().expect("its counts");
    // The reader waits for a publisher and joins while the second one starts: before or after the generation changes. The third
    // session is one restart more.
    let is_expected =
        |restarts| stats.ends_with(&format!(" events, 0 overruns, {restarts}, 0 inconsistent"));
    assert!(
        is_expected("1 restart") || is_expected("2 restarts"),
        "{stats}"
    );
    let (latencies, _) = latency.end("KILL");
    assert!(
        latencies
            .iter()
            .all(|line| line.contains("published to here ")),
        "{latencies:?}"
    );
    assert_shown_as("latency", &latencies, without_times);
    let (tops, _) = many_buses.end("KILL");
    for name in ["demo", "other"] {
        let of: Vec<_> = tops
            .iter()
            .filter(|line| line.starts_with(name))
            .cloned()
            .collect();
        assert_shown(&format!("many_buses {name}"), &of);
    }
}

#[test]
fn a_lossless_recorder_prints_what_the_page_shows_and_is_refused_elsewhere() {
    build_examples();
    let desk = published("lossless");
    let refused = Command::new(example("lossless"))
        .env("TOUCHLINE_DIR", desk.path("buses"))
        .output()
        .expect("it starts");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("bus demo is not lossless"), "{said}");

    let config = desk.read("demo/cme.toml");
    let lossless = "\n[publication.lossless]\nreaders_max = 3\nwait_ms = 60000\n";
    desk.write("demo/lossless.toml", config + lossless);
    let publish = PUBLISH.replace("cme.toml", "lossless.toml");
    desk.run(&publish).done();
    let running = Running::start(&desk, &example("lossless"));
    thread::sleep(Duration::from_secs(1));
    let before = running.printed();
    desk.run(&publish).done();
    running.wait("the second session", |out, _| out.len() > before + 100);
    settle(&running);
    let (trades, said) = running.end("INT");
    assert_shown("lossless", &trades);
    let last = said.last().expect("its counts");
    assert!(
        last.starts_with(&format!("recorder: {} trades", trades.len()))
            && last.ends_with(" 0 messages lost"),
        "{last}"
    );
}

/// Like `head`: the program ends without output.
#[test]
fn an_example_exits_quietly_when_its_pipe_is_closed() {
    build_examples();
    let desk = published("gone");
    let mut command = Command::new(example("top_of_book"));
    command.env("TOUCHLINE_DIR", desk.path("buses"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = Process::with_streams(&mut command);
    drop(child.pipe());
    desk.run(PUBLISH).done();
    assert!(child.wait().success());
}

/// Waits until four looks a quarter of a second apart find no further output: the host may stop the program during one of them.
pub(super) fn settle(running: &Running) {
    let (mut before, mut quiet) = (usize::MAX, 0);
    while quiet < 4 {
        let now = running.printed();
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        thread::sleep(Duration::from_millis(250));
    }
}
