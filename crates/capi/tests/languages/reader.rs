//! Readers: one program in each language that says each event as a line.

use crate::compile::{Language, program};
use crate::publisher::BUS;
use crate::tools::{has, package};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use touchline_client::{Aggressor, Bus, Connection, Error, Event, Events, Quote, Side, State};

/// Tells a process of this test program that it is the reader in Rust, in this directory.
const DIRECTORY: &str = "TOUCHLINE_TEST_READER";
/// Longest time for a line.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program of a language.
#[derive(Clone, Debug)]
pub struct Reader {
    pub language: &'static str,
    command: Vec<PathBuf>,
    environment: Vec<(&'static str, PathBuf)>,
}

/// The readers of all languages that this machine can build, made in this folder.
pub fn readers(folder: &Path) -> Vec<Reader> {
    let mut readers = vec![rust()];
    if has("gcc") {
        let made = program(
            "gcc",
            Language::C,
            "tests/programs/scenario.c",
            &folder.join("c"),
        );
        readers.push(compiled("C", made));
    } else {
        touchline_testing::skip("the reader in C: there is no gcc");
    }
    if has("g++") {
        let made = program(
            "g++",
            Language::Cpp,
            "tests/programs/scenario.cpp",
            &folder.join("cpp"),
        );
        readers.push(compiled("C++", made));
    } else {
        touchline_testing::skip("the reader in C++: there is no g++");
    }
    if has("python3") {
        readers.push(python(folder));
    } else {
        touchline_testing::skip("the reader in Python: there is no python3");
    }
    readers
}

fn rust() -> Reader {
    let program = std::env::current_exe().expect("this program");
    Reader {
        language: "Rust",
        command: [
            program.as_os_str().to_str().expect("UTF-8"),
            "--exact",
            "reader::the_reader_in_rust_says_why_it_cannot_join",
            "--nocapture",
        ]
        .map(PathBuf::from)
        .to_vec(),
        environment: Vec::new(),
    }
}

fn compiled(language: &'static str, program: PathBuf) -> Reader {
    Reader {
        language,
        command: vec![program],
        environment: Vec::new(),
    }
}

fn python(folder: &Path) -> Reader {
    let packages = touchline_testing::built::python_package(&folder.join("python"));
    Reader {
        language: "Python",
        command: vec![interpreter(), package("tests/programs/scenario.py")],
        environment: vec![("PYTHONPATH", packages)],
    }
}

/// The system's interpreter, which every user may start; another one only if there is none.
fn interpreter() -> PathBuf {
    let system = Path::new("/usr/bin/python3");
    if system.exists() {
        system.to_owned()
    } else {
        "python3".into()
    }
}

/// A running reader and its lines.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Reader {
    /// Starts it; `user` is another one that it runs as.
    pub fn start(&self, directory: &Path, user: Option<u32>) -> Running {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .env(DIRECTORY, directory)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped());
        if self.language != "Rust" {
            command.arg(BUS).arg(directory);
        }
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().expect("the reader starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let sent = said_line(&line).map(|line| send.send(line.to_owned()));
                if sent.is_some_and(|sent| sent.is_err()) {
                    return;
                }
            }
        });
        Running { child, lines }
    }
}

/// What a reader says; the test harness of the reader in Rust says lines of its own.
fn said_line(line: &str) -> Option<&str> {
    let after_the_harness = || Some(line.split_once(" ... : ")?.1);
    line.strip_prefix(": ").or_else(after_the_harness)
}

impl Running {
    /// The next line.
    pub fn line(&self) -> Option<String> {
        self.lines.recv_timeout(PATIENCE).ok()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) {
        crate::tools::run(Command::new("kill").args([signal, &self.child.id().to_string()]));
    }

    /// Ends it.
    pub fn end(mut self) {
        let _ = self.child.kill();
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("our child").is_none() {
            assert!(Instant::now() < until, "a killed reader does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// With the environment's word this is the reader; without it, it says why it cannot join.
#[test]
fn the_reader_in_rust_says_why_it_cannot_join() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        let error = join(Path::new("/nowhere"))
            .map(drop)
            .expect_err("there is no bus");
        assert_eq!(
            said(&error),
            "error no_bus no bus is called test; there is none in /nowhere: start its gateway, as the same user and with the same directory"
        );
        return;
    };
    let mut bus = match join(Path::new(&directory)) {
        Ok(bus) => bus,
        Err(error) => return say(&said(&error)),
    };
    while let Some(event) = bus.next() {
        say(&line(&bus, &event));
        if let Event::Connection(Connection::CaughtUp { .. }) = event {
            for instrument in bus.instruments() {
                say(&kept(&bus, instrument));
            }
            let error = bus.instrument("ESU5").map(drop).expect_err("there is none");
            say(&said(&error));
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, ": {line}").expect("the test reads it");
    out.flush().expect("the test reads it");
}

fn join(directory: &Path) -> Result<Bus, Error> {
    let kinds = Events::TOPS | Events::TRADES | Events::BOOKS;
    Bus::options().directory(directory).events(kinds).join(BUS)
}

fn said(error: &Error) -> String {
    format!("error {} {error}", error.kind().name())
}

fn quote(quote: Option<Quote>) -> String {
    match quote {
        Some(quote) => format!("{} {}", quote.price.0, quote.quantity.mantissa()),
        None => "- -".to_owned(),
    }
}

fn line(bus: &Bus, event: &Event) -> String {
    let kind = event.kind().name();
    let symbol = event
        .instrument()
        .map_or("-", |instrument| bus.symbol(instrument));
    match event {
        Event::Top(top) => {
            format!(
                "{kind} {symbol} {} {} {}",
                top.state,
                quote(top.bid),
                quote(top.ask)
            )
        }
        Event::Book(change) => format!("{kind} {symbol} {}", change.state),
        Event::State(change) => format!("{kind} {symbol} {}", change.state),
        Event::Trade(trade) => format!(
            "{kind} {symbol} {} {} {}",
            trade.price.0,
            trade.quantity.mantissa(),
            aggressor(trade.aggressor)
        ),
        Event::Connection(what) => format!("{kind} {}", what.kind().name()),
        _ => format!("{kind} {symbol}"),
    }
}

fn aggressor(aggressor: Aggressor) -> &'static str {
    aggressor.name()
}

fn kept(bus: &Bus, instrument: touchline_client::Instrument) -> String {
    let book = bus.book(instrument).expect("a handle of this bus");
    let best = |side| {
        let level = book.levels(side).next();
        level.map_or("- -".to_owned(), |level| {
            format!("{} {}", level.price.0, level.quantity.mantissa())
        })
    };
    let state: State = book.state();
    format!(
        "kept {} {state} {} {}",
        book.symbol(),
        best(Side::Bid),
        best(Side::Ask)
    )
}
