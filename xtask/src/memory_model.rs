//! Memory orderings of the shared-memory code, under tools that show errors which x86 hides.
//!
//! On x86 a missing fence has no effect: the processor keeps most orders by itself. loom tries all orders that the
//! language allows on small models, Miri runs the tests with the language's weak memory, and ThreadSanitizer looks for
//! accesses that are not atomic.

use crate::changed;
use crate::command::passes;
use anyhow::{Result, bail};
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

/// The tests with threads. Ring and last-value tables are safe Rust, so these tools can find nothing else in them.
const RACES: &[&str] = &["threads::", "middle_of_a_read"];

/// Seeds of Miri; each is another interleaving.
const SEEDS: usize = 8;
const SEEDS_LONG: usize = 64;

/// A seed takes most of a minute: a commit runs one of this number of parts.
const PARTS: usize = 4;

/// Tests that the tools run.
pub const JUDGED: &[&str] = &["crates/shm", "xtask/src/memory_model.rs"];

/// Options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    long: bool,
    if_changed: bool,
    /// Seeds of Miri.
    seeds: (usize, usize),
}

impl Options {
    /// Parses `[--long | --commit ID] [--if-changed]`.
    ///
    /// # Errors
    /// Names the unknown argument.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let (if_changed, arguments) = match arguments {
            [before @ .., last] if *last == changed::OPTION => (true, before),
            all => (false, all),
        };
        let (long, seeds) = match *arguments {
            [] => (false, (0, SEEDS)),
            ["--long"] => (true, (0, SEEDS_LONG)),
            ["--commit", id] => {
                let part = changed::part_of(id, PARTS)?;
                let seeds = SEEDS / PARTS;
                (false, (part * seeds, (part + 1) * seeds))
            }
            _ => bail!(
                "unknown argument '{}'; memory-model takes --long or --commit ID, then --if-changed",
                arguments.join(" ")
            ),
        };
        Ok(Self {
            long,
            if_changed,
            seeds,
        })
    }

    fn choose<T>(self, short: T, long: T) -> T {
        if self.long { long } else { short }
    }
}

/// Runs all three tools, also after a failure. A missing tool is reported as left out.
///
/// # Errors
/// Names the tools with findings, which are printed above.
pub fn run(root: &Path, options: Options) -> Result<()> {
    if options.if_changed
        && let Some(base) = changed::unchanged_since(root, JUDGED)
    {
        println!("memory-model: left out, the shared-memory code did not change since {base}");
        return Ok(());
    }
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

/// A tool with its tests.
struct Run {
    about: String,
    command: Command,
}

impl Run {
    fn passes(mut self) -> Result<bool> {
        passes(self.command.stdin(Stdio::null()))
    }
}

/// `cargo` with a separate target folder, because the compiler flags differ. Through the PATH, so that a toolchain can
/// be given.
fn cargo(root: &Path, tool: &str) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .env(
            "CARGO_TARGET_DIR",
            crate::target_folder(root).join("memory-model").join(tool),
        )
        // Little is built and much is run.
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
    has_nightly()?;
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

/// A nightly toolchain with Miri and the sources of the standard library, or the reason why there is none.
fn has_nightly() -> Result<(), String> {
    if has_miri() || installs_miri() && has_miri() {
        return Ok(());
    }
    Err("there is no Miri and it cannot be installed; try 'rustup toolchain install nightly --component \
         miri,rust-src'"
        .to_owned())
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

/// ThreadSanitizer does not support fences, and need not: words are atomic to it in any order, everything else must be in order. The
/// standard library is built with it, because locks and counters of a library without instrumentation order nothing for
/// ThreadSanitizer: it then finds races in the test harness.
fn thread_sanitizer(root: &Path, options: Options) -> Result<Run, String> {
    let host = crate::host().map_err(|error| error.to_string())?;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!("not tried on {host}"));
    }
    has_nightly()?;
    let messages = options.choose("500000", "10000000");
    let mut command = cargo(root, "tsan");
    command
        .args(["+nightly", "test", "-Zbuild-std", "--quiet"])
        .args(["--target", &host])
        .args(["-p", "touchline-shm", "--test", "shm"])
        .args(["--", "--test-threads=1"])
        .args(RACES)
        .env("RUSTFLAGS", "-Zsanitizer=thread")
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
        assert!(
            Options::parse(&["--commit", "00000003", "--if-changed"])
                .unwrap()
                .if_changed
        );
        assert!(Options::parse(&["--if-changed"]).unwrap().if_changed);
        assert!(Options::parse(&["--short"]).is_err());
        assert!(Options::parse(&["--long", "--long"]).is_err());
    }

    #[test]
    fn a_failing_test_fails_the_run() {
        let run = |program| Run {
            about: String::new(),
            command: Command::new(program),
        };
        assert!(run("true").passes().unwrap());
        assert!(!run("false").passes().unwrap());
        assert!(run("no such program").passes().is_err());
    }
}
