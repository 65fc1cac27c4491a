//! Readers: one program in each language that says each event as a line.

use crate::compile::{Language, SANITIZED, program, with_options};
use crate::publisher::BUS;
use crate::recorder::tape_of;
use crate::tools::{has, package};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use touchline_client::names::{STATISTICS, TRADE_ACTIONS};
use touchline_client::{
    Aggressor, Bus, Connection, Error, Event, Events, Instrument, Lag, LevelAction, OrderAction,
    Quote, Side, State, TapePlace, UpdateAction,
};
use touchline_testing::{PATIENCE, until};

/// Tells a process of this test program that it is the reader in Rust, in this directory.
const DIRECTORY: &str = "TOUCHLINE_TEST_READER";
/// Tells a reader how to join: `wait`, `ready`, `books`, `lossless` or nothing; or to read a tape: `tape`, `tape-books`, or
/// `tape-other` for a bus that it does not have; or a bus `with-tape`, or one that begins
/// `from-tape`.
const MODE: &str = "TOUCHLINE_TEST_MODE";

/// The program of a language.
#[derive(Clone, Debug)]
pub struct Reader {
    pub language: &'static str,
    /// Lines that it cannot say.
    pub silent: &'static [&'static str],
    command: Vec<PathBuf>,
    environment: Vec<(&'static str, PathBuf)>,
}

/// The readers of all languages that this machine can build, made in this folder.
pub fn readers(folder: &Path) -> Vec<Reader> {
    let mut readers = vec![rust()];
    if has("gcc") {
        // Memory that is not freed at its end is an error.
        let (source, to) = ("tests/programs/scenario.c", folder.join("c"));
        let made = with_options(&SANITIZED, "gcc", Language::C, source, &to);
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
        let packages = touchline_testing::built::python_package(&folder.join("python"));
        readers.push(python("Python", interpreter(), packages.clone()));
        if let Some(numpy) = touchline_testing::built::python("python-tests", &["numpy", "pytest"])
        {
            let mut arrays = python("Python, arrays", numpy, packages);
            arrays
                .environment
                .push(("TOUCHLINE_TEST_ARRAYS", "yes".into()));
            // An array has no definitions and no events of the channel, and it holds all rows at once, so its reader has no lag. Another user may not
            // start this interpreter, so the case of a bus of another user is left out.
            arrays.silent = &["defined ", "lag ", "channel ", "error not_yours"];
            readers.push(arrays);
        }
    } else {
        touchline_testing::skip("the readers in Python: there is no python3");
    }
    readers
}

fn rust() -> Reader {
    let program = std::env::current_exe().expect("this program");
    Reader {
        language: "Rust",
        silent: &[],
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
        silent: &[],
        command: vec![program],
        environment: Vec::new(),
    }
}

fn python(language: &'static str, interpreter: PathBuf, packages: PathBuf) -> Reader {
    Reader {
        language,
        silent: &[],
        command: vec![interpreter, package("tests/programs/scenario.py")],
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
    /// Starts it with a mode; `user` is another one that it runs as.
    pub fn start(&self, directory: &Path, mode: &str, user: Option<u32>) -> Running {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .env(DIRECTORY, directory)
            .env(MODE, mode)
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

/// A reader's line; the test harness of the reader in Rust prints lines of its own.
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
    pub fn kill(mut self) {
        let _ = self.child.kill();
        self.end();
    }

    /// Waits until it has ended, and returns its status.
    pub fn end(mut self) -> ExitStatus {
        until("the end of a reader", PATIENCE, || {
            self.child.try_wait().expect("our child")
        })
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
    match join(Path::new(&directory)).and_then(|mut bus| read(&mut bus)) {
        Ok(()) => {}
        Err(error) => say(&said(&error)),
    }
}

fn read(bus: &mut Bus) -> Result<(), Error> {
    bus.stopper().on_signals()?;
    if mode() == "ready" {
        bus.ready(Duration::from_secs(2))?;
        say("ready");
    }
    while let Some(event) = bus.next() {
        say(&line(bus, &event));
        match event {
            Event::Connection(Connection::CaughtUp { .. }) => {
                for instrument in bus.instruments() {
                    say(&kept(bus, instrument));
                }
                let error = bus.instrument("ESU5").map(drop).expect_err("there is none");
                say(&said(&error));
            }
            Event::Trade(trade) if trade.quantity.mantissa() == 1 => {
                let Lag { messages, bytes } = bus.lag();
                let lag = if bytes > messages { "behind" } else { "none" };
                say(&format!("lag {lag}"));
            }
            _ => {}
        }
    }
    bus.check_process()?;
    let stats = bus.stats();
    let lost = if stats.lost > 0 { "yes" } else { "no" };
    say(&format!(
        "stopped overruns {} lost {lost} restarts {} unknown {} undefined {} inconsistent {}",
        stats.overruns, stats.restarts, stats.unknown, stats.undefined, stats.inconsistent
    ));
    Ok(())
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, ": {line}").expect("the test reads it");
    out.flush().expect("the test reads it");
}

fn mode() -> String {
    std::env::var(MODE).unwrap_or_default()
}

fn join(directory: &Path) -> Result<Bus, Error> {
    let kinds = match mode().as_str() {
        "books" | "tape-books" => Events::BOOKS | Events::ORDERS,
        _ => Events::TOPS | Events::TRADES | Events::BOOKS | Events::STATISTICS,
    };
    let options = Bus::options().directory(directory).events(kinds);
    let options = match mode().as_str() {
        "wait" => {
            say("waiting");
            options.wait(PATIENCE)
        }
        "lossless" => options.name("recorder").lossless(),
        "with-tape" => options.tape(tape_of(directory)).tape_wait(PATIENCE),
        "from-tape" => options
            .tape(tape_of(directory))
            .tape_wait(PATIENCE)
            .tape_from(TapePlace::Sequence(1)),
        mode if mode.starts_with("tape") => {
            let bus = if mode == "tape-other" { "other" } else { BUS };
            return options.open_journal(tape_of(directory), Some(bus));
        }
        _ => options,
    };
    options.join(BUS)
}

fn said(error: &Error) -> String {
    format!("error {} {error}", error.kind().name())
}

fn quote(quote: Option<Quote>) -> String {
    match quote {
        Some(quote) => format!(
            "{} {} {}",
            quote.price.0,
            quote.quantity.mantissa(),
            quote.source.name()
        ),
        None => "- - -".to_owned(),
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
        Event::Book(change) => {
            let steps = bus.changes().iter();
            let cleared = steps.filter(|step| step.action == LevelAction::Clear);
            assert_eq!(cleared.count(), if change.is_whole { 4 } else { 0 });
            format!("{kind} {symbol} {}", change.state)
        }
        Event::Orders(change) => {
            let steps = bus.order_changes().iter();
            let cleared = steps.filter(|step| step.action == OrderAction::Clear);
            assert_eq!(cleared.count(), if change.is_whole { 2 } else { 0 });
            format!("{kind} {symbol} {}", change.state)
        }
        Event::State(change) => format!("{kind} {symbol} {}", change.state),
        Event::Trade(trade) => format!(
            "{kind} {symbol} {} {} {} {}",
            trade.price.0,
            trade.quantity.mantissa(),
            aggressor(trade.aggressor),
            action(trade.action)
        ),
        Event::Statistic(of) => format!(
            "{kind} {symbol} {} {} {} {}",
            STATISTICS.word(of.kind as i64).expect("a kind"),
            of.price.map_or("-".to_owned(), |price| price.0.to_string()),
            of.quantity
                .map_or("-".to_owned(), |quantity| quantity.mantissa().to_string()),
            action(of.action)
        ),
        Event::Connection(what) => format!("{kind} {}", what.kind().name()),
        Event::Defined(defined) => {
            let of = bus
                .definition(defined.instrument)
                .expect("a handle of this bus");
            let tick = of.tick.expect("the publisher states it").0;
            format!(
                "{kind} {symbol} {} {} {} {} {tick}",
                of.security_id, of.venue, of.currency, of.maturity
            )
        }
        _ => format!("{kind} {symbol}"),
    }
}

fn aggressor(aggressor: Aggressor) -> &'static str {
    aggressor.name()
}

fn action(action: UpdateAction) -> &'static str {
    TRADE_ACTIONS.word(action as i64).expect("an action")
}

fn kept(bus: &Bus, instrument: Instrument) -> String {
    let book = bus.book(instrument).expect("a handle of this bus");
    let best = |side| {
        let level = book.levels(side).next();
        level.map_or("- - -".to_owned(), |level| {
            let book = match (level.direct.mantissa(), level.implied.mantissa()) {
                (_, 0) => "direct",
                (0, _) => "implied",
                _ => "merged",
            };
            format!("{} {} {book}", level.price.0, level.quantity.mantissa())
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
