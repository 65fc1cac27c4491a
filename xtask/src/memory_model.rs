//! The orderings of shared memory, under tools that see what x86 hides.
//!
//! On x86 a forgotten fence goes unnoticed: the processor keeps most orders by itself. loom tries the orders that the
//! language allows on small models, Miri runs the tests with the language's own weak memory, and ThreadSanitizer looks
//! for accesses that are not atomic at all.

use crate::changed;
use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

/// The tests in which threads race. Ring and images are safe Rust: nothing else is to be found in them.
const RACES: &[&str] = &["threads::", "middle_of_a_read"];

/// The standard library is not instrumented. Where the one for tests says over a channel that a test has ended, it is
/// accused for nothing; that channel carries nothing else.
const SUPPRESSIONS: &str = "race:test::event::CompletedTest\n";

/// Seeds of Miri, each an order of things that happened at once.
const SEEDS: usize = 8;
const SEEDS_LONG: usize = 64;

/// A seed takes Miri most of a minute: a commit tries one of so many parts of them.
const PARTS: usize = 4;

/// How thorough to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    long: bool,
    /// The seeds of Miri.
    seeds: (usize, usize),
}

impl Options {
    /// Reads `[--long | --commit ID]`.
    ///
    /// # Errors
    /// Names the argument that was not understood.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let (long, seeds) = match *arguments {
            [] => (false, (0, SEEDS)),
            ["--long"] => (true, (0, SEEDS_LONG)),
            ["--commit", id] => {
                let part = changed::part_of(id, PARTS)?;
                let seeds = SEEDS / PARTS;
                (false, (part * seeds, (part + 1) * seeds))
            }
            _ => bail!(
                "'{}' is not understood; memory-model takes --long or --commit ID",
                arguments.join(" ")
            ),
        };
        Ok(Self { long, seeds })
    }

    fn choose<T>(self, short: T, long: T) -> T {
        if self.long { long } else { short }
    }
}

/// Runs all three, also after a failure. A tool that cannot be had is left out, visibly.
///
/// # Errors
/// Names the tools that found something; what they found stands above.
pub fn run(root: &Path, options: Options) -> Result<()> {
    let mut found = Vec::new();
    for (name, prepare) in [
        ("loom", loom as fn(&Path, Options) -> Result<Run, String>),
        ("Miri", miri),
        ("ThreadSanitizer", thread_sanitizer),
    ] {
        let started = Instant::now();
        let outcome = match prepare(root, options) {
            Err(reason) => format!("LEFT OUT: {reason}"),
            Ok(run) => {
                println!("memory-model: {name}: {}", run.about);
                if run.passes()? {
                    "nothing found".to_owned()
                } else {
                    found.push(name);
                    "FOUND SOMETHING, see above".to_owned()
                }
            }
        };
        let seconds = started.elapsed().as_secs();
        println!("memory-model: {name}: {outcome}, {seconds} s");
    }
    if !found.is_empty() {
        bail!("found something: {}", found.join(", "));
    }
    Ok(())
}

/// A tool over tests, ready to go.
struct Run {
    about: String,
    command: Command,
}

impl Run {
    fn passes(mut self) -> Result<bool> {
        let status = self.command.stdin(Stdio::null()).status();
        let status = status.context("cannot run cargo test; is cargo on the PATH?")?;
        Ok(status.success())
    }
}

/// `cargo` with its own target folder: what is built with other flags does not disturb the rest. Through the PATH, so
/// that a toolchain can be named.
fn cargo(root: &Path, tool: &str) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .env(
            "CARGO_TARGET_DIR",
            crate::target_folder(root).join("memory-model").join(tool),
        )
        // Little is built here and much is tried.
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "2")
        .env_remove("SEED")
        .env("RUST_BACKTRACE", "0");
    command
}

fn loom(root: &Path, options: Options) -> Result<Run, String> {
    let bound = options.choose("2", "3");
    let mut command = cargo(root, "loom");
    command
        .args(["test", "--quiet", "-p", "touchline-shm", "--test", "loom"])
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("RUSTFLAGS", "--cfg loom")
        .env("LOOM_MAX_PREEMPTIONS", bound);
    Ok(Run {
        about: format!("the models of crates/shm/tests/loom, at most {bound} preemptions"),
        command,
    })
}

fn miri(root: &Path, options: Options) -> Result<Run, String> {
    let is_there = has_miri() || installs_miri() && has_miri();
    if !is_there {
        return Err(
            "there is no Miri and it cannot be installed; try 'rustup toolchain install nightly --component \
             miri,rust-src'"
                .to_owned(),
        );
    }
    let (first, end) = options.seeds;
    let mut command = cargo(root, "miri");
    command
        .args(["+nightly", "miri", "test", "--quiet"])
        .args(["-p", "touchline-shm"])
        .args(["--test", "shm", "--"])
        .args(RACES)
        .env("MIRIFLAGS", format!("-Zmiri-many-seeds={first}..{end}"));
    Ok(Run {
        about: format!(
            "readers and a writer in threads, in a small size, seeds {first} to {}",
            end - 1
        ),
        command,
    })
}

fn has_miri() -> bool {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "miri", "--version"]);
    succeeds(command)
}

fn installs_miri() -> bool {
    println!("memory-model: installing Miri for the nightly toolchain");
    let mut command = Command::new("rustup");
    command.args(["component", "add", "miri", "rust-src"]);
    command.args(["--toolchain", "nightly"]);
    succeeds(command)
}

fn succeeds(mut command: Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// It does not know fences, and need not: words are atomic to it in any order, everything else must be in order.
fn thread_sanitizer(root: &Path, options: Options) -> Result<Run, String> {
    let host = crate::host().map_err(|error| error.to_string())?;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!("not tried on {host}"));
    }
    let folder = crate::target_folder(root).join("memory-model");
    let suppressions = folder.join("tsan.suppressions");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&suppressions, SUPPRESSIONS))
        .map_err(|error| format!("{}: {error}", suppressions.display()))?;
    let messages = options.choose("500000", "10000000");
    let mut command = cargo(root, "tsan");
    command
        .args(["test", "--quiet", "--target", &host])
        .args(["-p", "touchline-shm", "--test", "shm"])
        .args(["--", "--test-threads=1"])
        .args(RACES)
        // The sanitizer is there on stable, behind a flag that the compiler wants to be asked for.
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTFLAGS",
            "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        )
        .env(
            "TSAN_OPTIONS",
            format!("suppressions={}", suppressions.display()),
        )
        .env("MESSAGES", messages)
        .env("CHANGES", options.choose("500000", "10000000"))
        .env("FLIPS", options.choose("20000", "1000000"));
    Ok(Run {
        about: format!("readers and a writer in threads, {messages} messages"),
        command,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let seeds = |arguments: &[&str]| Options::parse(arguments).unwrap().seeds;
        assert_eq!((seeds(&[]), seeds(&["--long"])), ((0, 8), (0, 64)));
        assert!(Options::parse(&["--long"]).unwrap().long);
        assert_eq!(seeds(&["--commit", "00000003"]), (6, 8));
        assert!(Options::parse(&["--short"]).is_err());
        assert!(Options::parse(&["--long", "--long"]).is_err());
    }

    #[test]
    fn a_test_that_fails_is_not_passed_over() {
        let run = |program| Run {
            about: String::new(),
            command: Command::new(program),
        };
        assert!(run("true").passes().unwrap());
        assert!(!run("false").passes().unwrap());
        assert!(run("no such program").passes().is_err());
    }
}
