//! Readers in C and Python, in processes of their own.

use crate::BUS;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use touchline_testing::built;

/// A reader in a process of its own, which obeys words on its standard input.
pub struct Other {
    pub name: &'static str,
    child: Child,
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Ways to read, as the programs of this bench name them.
const WAYS: [(&str, &str); 4] = [
    ("C, tops and trades, books kept", "c"),
    ("Python, read(): arrays of tops and trades", "read"),
    ("Python, iterator", "iterate"),
    ("Python, iterator, kind, bid and ask of each", "fields"),
];

/// Starts those that this machine can build.
pub fn start(folder: &Path) -> Vec<Other> {
    WAYS.iter()
        .filter_map(|(name, way)| Other::start(name, way, folder))
        .collect()
}

/// Private memory of each, and the sizes of what a user installs.
pub fn sizes(others: &mut [Other]) {
    println!("{:<46} {:>8}   MiB", "private memory of the process", "");
    for other in others {
        println!("{:<46} {:>8.1}", other.name, other.private_mib());
    }
    let built = built::folder();
    for file in ["libtouchline.so", "libtouchline_python.so"] {
        let bytes = fs::metadata(built.join(file)).map_or(0, |file| file.len());
        println!("{file:<46} {:>8.2}", bytes as f64 / f64::from(1 << 20));
    }
}

impl Other {
    /// Starts a reader; `None` without its language.
    pub fn start(name: &'static str, way: &str, folder: &Path) -> Option<Other> {
        let mut command = match way {
            "c" => c_program(folder)?,
            way => python_program(folder, way)?,
        };
        let mut child = command
            .args([Path::new(BUS), folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was just built");
        let words = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut other = Other {
            name,
            child,
            words,
            answers,
        };
        assert_eq!(other.line(), "ready", "{name}");
        Some(other)
    }

    /// Reads everything that is there: events and nanoseconds.
    pub fn drain(&mut self) -> (u64, u128) {
        self.say("drain");
        let line = self.line();
        let numbers = line.split_once(' ').expect("two numbers");
        let (events, nanoseconds) = numbers;
        (
            events.parse().expect("a number"),
            nanoseconds.parse().expect("a number"),
        )
    }

    /// Tells it something.
    pub fn say(&mut self, word: &str) {
        writeln!(self.words, "{word}").expect("the reader runs");
        self.words.flush().expect("the reader runs");
    }

    /// The next line of its answers.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("a pipe");
        assert!(!line.is_empty(), "{} has ended", self.name);
        line.trim_end().to_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {signal}");
    }

    fn private_mib(&self) -> f64 {
        let rollup = format!("/proc/{}/smaps_rollup", self.child.id());
        let text = fs::read_to_string(rollup).unwrap_or_default();
        let of = |name: &str| -> f64 {
            let line = text.lines().find(|line| line.starts_with(name));
            let number = line.and_then(|line| line.split_whitespace().nth(1));
            number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
        };
        (of("Private_Dirty:") + of("Private_Clean:")) / 1_024.0
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn package(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn c_program(folder: &Path) -> Option<Command> {
    let built = built::build("-p touchline-capi");
    let program = folder.with_extension("reader");
    let compiled = Command::new("gcc")
        .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(package("include"))
        .arg(package("benches/programs/reader.c"))
        .arg("-o")
        .arg(&program)
        .arg(built.join("libtouchline.so"))
        .arg(format!("-Wl,-rpath,{}", built.display()))
        .status();
    match compiled {
        Ok(status) => assert!(status.success(), "gcc has said why"),
        Err(error) => {
            println!("left out: cannot run gcc: {error}");
            return None;
        }
    }
    Some(Command::new(program))
}

fn python_program(folder: &Path, way: &str) -> Option<Command> {
    let python = built::python("python-tests", &["numpy", "pytest"])?;
    let package_folder = built::python_package(&folder.with_extension("python"));
    let mut command = Command::new(python);
    command
        .arg(package("benches/programs/reader.py"))
        .arg(way)
        .env("PYTHONPATH", package_folder);
    Some(command)
}
