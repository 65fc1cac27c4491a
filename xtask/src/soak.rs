//! Long runs of the random tests: many more seeds, and longer searches.
//!
//! Tests that run for minutes with every change run here for hours before a release. Every failure names its seed, and
//! `SEED=n` runs that seed only.

use crate::command::{self, cargo, passes};
use crate::{aarch64, fuzz, memory_model};
use anyhow::{Context, Result, bail};
use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::Command,
    time::Instant,
};

/// A property, and its tests.
struct Promise {
    name: &'static str,
    /// Arguments of `cargo test` that select the test program.
    program: &'static [&'static str],
    tests: &'static str,
    /// Environment variable of the amount, and the amount for each seed.
    amount: (&'static str, f64),
}

/// The tests of `crates/touchline/tests/system`: whole sessions, and the command.
const TOUCHLINE: &[&str] = &["-p", "touchline", "--test", "system"];
/// The tests of `crates/shm/tests/shm/broadcast`.
const RING: &[&str] = &["-p", "touchline-shm", "--test", "shm"];
/// The tests of `crates/lab/tests/lab/ring_processes`.
const PROCESSES: &[&str] = &["-p", "touchline-lab", "--test", "lab"];

/// The tests of `crates/touchline/tests/live`.
const LIVE: &[&str] = &["-p", "touchline", "--test", "live"];

const LIVE_AERON: &[&str] = &["-p", "touchline", "--features", "aeron", "--test", "live"];

const PROMISES: &[Promise] = &[
    Promise {
        name: "loss on one line changes no output",
        program: TOUCHLINE,
        tests: "sessions::lines::",
        amount: ("SEEDS", 1.0),
    },
    Promise {
        name: "loss on both lines is detected, reported and recovered",
        program: TOUCHLINE,
        tests: "sessions::recovery::",
        amount: ("SEEDS", 1.0),
    },
    Promise {
        name: "books are right",
        program: TOUCHLINE,
        tests: "sessions::reference::",
        // Sessions of these tests are short.
        amount: ("SEEDS", 6.0),
    },
    Promise {
        name: "with forged packets no wrong book is live, and two snapshot cycles recover all books",
        program: TOUCHLINE,
        // Includes the comparison with the reference.
        tests: "sessions::hostile::",
        amount: ("SEEDS", 1.0),
    },
    Promise {
        name: "a reader of shared memory receives the next message or the count of lost ones",
        program: RING,
        tests: "broadcast::threads::",
        amount: ("MESSAGES", 100_000.0),
    },
    Promise {
        name: "the ring behaves like its model",
        program: RING,
        tests: "broadcast::model::",
        amount: ("SEEDS", 10.0),
    },
    Promise {
        name: "readers survive damaged shared memory",
        program: RING,
        tests: "broadcast::hostile::",
        amount: ("SEEDS", 1.0),
    },
    Promise {
        name: "the death of any process leaves shared memory usable",
        program: PROCESSES,
        tests: "ring_processes::kills::",
        amount: ("KILLS", 0.5),
    },
    Promise {
        name: "a killed FIX session neither loses nor repeats an order",
        program: TOUCHLINE,
        tests: "command::fix_kills::",
        // In each of the two roles.
        amount: ("KILLS", 0.1),
    },
    Promise {
        name: "killed processes of an FX desk neither repeat an order nor lose a fill",
        program: TOUCHLINE,
        tests: "command::fx::kills::",
        amount: ("KILLS", 0.1),
    },
    Promise {
        name: "no void quote is live when processes of a composite are killed or frozen",
        program: TOUCHLINE,
        tests: "command::fx::voids::",
        // Ten minutes for 200.
        amount: ("KILLS", 0.02),
    },
    Promise {
        name: "no order is executed twice, and no fill is lost, in simulated crashes",
        program: &["-p", "touchline-fx-live", "--lib", "-q"],
        tests: "trader::simulation::seeds",
        amount: ("SEEDS", 10.0),
    },
    Promise {
        name: "killed processes recover without intervention, and no wrong book is live",
        program: LIVE,
        tests: "soak::",
        // An hour for 10,000 seeds.
        amount: ("SOAK_SECONDS", 0.36),
    },
    Promise {
        name: "no wrong book is live after a stop, and neither memory nor descriptors grow",
        program: LIVE,
        tests: "stops::",
        amount: ("SOAK_SECONDS", 0.36),
    },
    Promise {
        name: "a tape of a live run has the books of a live subscriber at the end of each event, and plays to equal bytes",
        program: LIVE,
        tests: "taped::",
        // Ten minutes for 10,000 seeds.
        amount: ("SOAK_SECONDS", 0.06),
    },
    Promise {
        name: "relays of two hosts recover from kills, stops and a link that is down, over TCP and Aeron",
        program: LIVE_AERON,
        tests: "relay::relays_of_two_hosts",
        // One run of each: they have no amount.
        amount: ("SEEDS", 0.001),
    },
    Promise {
        name: "memory, descriptors and drivers' files of busy relays do not grow, over TCP and Aeron",
        program: LIVE_AERON,
        tests: "relay::a_busy_relay",
        amount: ("SOAK_SECONDS", 0.36),
    },
];

/// Options.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Sessions for each test.
    seeds: u64,
    /// Seconds for each fuzz target; 0 skips fuzzing.
    seconds: u32,
}

impl Options {
    /// Parses `[--seeds N] [--seconds N]`.
    ///
    /// # Errors
    /// Names the unknown argument.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            seeds: 10_000,
            seconds: 600,
        };
        for pair in arguments.chunks(2) {
            match *pair {
                ["--seeds", number] => {
                    let seeds = number.parse().ok().filter(|seeds| *seeds > 0);
                    options.seeds = seeds.context("--seeds needs a whole number above 0")?;
                }
                ["--seconds", number] => {
                    let seconds = number.parse().ok();
                    options.seconds = seconds.context("--seconds needs a whole number")?;
                }
                _ => bail!(
                    "unknown argument '{}'; soak takes [--seeds N] [--seconds N]",
                    pair.join(" ")
                ),
            }
        }
        Ok(options)
    }
}

/// Runs all tests, also after a failure, and reports failures.
///
/// # Errors
/// Names each violated property, with its first failing seed, and the findings of fuzzing.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    build(root)?;
    let mut broken = Vec::new();
    for promise in PROMISES {
        let (started, amount) = (Instant::now(), promise.amount(options.seeds));
        println!("soak: {}, {}={amount}", promise.name, promise.amount.0);
        let outcome = test(root, promise, amount)?;
        let seconds = started.elapsed().as_secs();
        match outcome {
            Outcome::Held => println!("soak: {}: held, {seconds} s", promise.name),
            Outcome::Broken { seed } => {
                let seed = seed.map_or("no seed named".to_owned(), |seed| format!("SEED={seed}"));
                println!("soak: {}: BROKEN, {seed}, {seconds} s", promise.name);
                broken.push(format!("{} ({seed})", promise.name));
            }
        }
    }
    if !publish_cost(root, options.seeds)? {
        broken.push("the readers' cost for the writer cannot be measured".to_owned());
    }
    if let Err(error) = memory_model::run(root, memory_model::Options::parse(&["--long"])?) {
        broken.push(format!("the orderings of shared memory ({error:#})"));
    }
    if let Err(error) = aarch64::run(root) {
        broken.push(format!("{error:#}"));
    }
    if options.seconds > 0 {
        let seconds = options.seconds.to_string();
        let options = fuzz::Options::parse(&["--asan", "--seconds", &seconds])?;
        if let Err(error) = fuzz::run(root, &options) {
            broken.push(format!("no input stops the process ({error:#})"));
        }
    }
    if broken.is_empty() {
        println!("soak: everything held");
        return Ok(());
    }
    bail!("broken: {}", broken.join("; "))
}

/// Result of a run of tests.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Held,
    Broken { seed: Option<u64> },
}

impl Promise {
    /// Amount for this number of seeds, at least 1.
    fn amount(&self, seeds: u64) -> u64 {
        (seeds as f64 * self.amount.1).ceil() as u64
    }
}

/// Runs the tests of a property, prints their output, and finds the first failing seed.
fn test(root: &Path, promise: &Promise, amount: u64) -> Result<Outcome> {
    let (reader, writer) = io::pipe()?;
    let mut command = program(root, promise.program);
    command
        .args(["--", promise.tests, "--nocapture"])
        .env_remove("SEEDS")
        .env_remove("SEED")
        .env(promise.amount.0, amount.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdin(std::process::Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command
        .spawn()
        .context("cannot run cargo test; is cargo on the PATH?")?;
    // The command holds the pipe open; the reading below ends when it is closed.
    drop(command);
    let mut seed = None;
    for line in BufReader::new(reader).lines() {
        let line = line?;
        seed = seed.or_else(|| failing_seed(&line));
        writeln!(io::stdout(), "  {line}")?;
    }
    Ok(match child.wait()?.success() {
        true => Outcome::Held,
        false => Outcome::Broken { seed },
    })
}

/// Measures that a slow reader does not slow the writer. The ratios depend on the machine, so a person judges them; the
/// command only fails if they cannot be measured.
fn publish_cost(root: &Path, seeds: u64) -> Result<bool> {
    let rounds = seeds.div_ceil(100).to_string();
    println!("soak: a slow reader does not slow the writer, {rounds} rounds");
    let mut bench = cargo(root);
    bench.args(["run", "--quiet", "--profile", "dist", "-p", "touchline"]);
    passes(bench.args(["--", "bench", "publish", "--rounds", &rounds]))
}

/// Builds first: a build failure is not a violated property.
fn build(root: &Path) -> Result<()> {
    for tests in [TOUCHLINE, RING, PROCESSES, LIVE, LIVE_AERON] {
        let mut build = program(root, tests);
        command::run(build.arg("--no-run"), "the tests do not build")?;
    }
    Ok(())
}

fn program(root: &Path, tests: &[&str]) -> Command {
    let mut command = cargo(root);
    command
        .args(["test", "--quiet", "--profile", "soak"])
        .args(tests);
    command
}

/// The seed in the message of a failure; passing tests print the word only as `n seeds`.
fn failing_seed(line: &str) -> Option<u64> {
    let rest = line.split_once("seed ")?.1;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let options = Options::parse(&["--seconds", "0", "--seeds", "7"]).unwrap();
        assert_eq!((options.seeds, options.seconds), (7, 0));
        assert_eq!(Options::parse(&[]).unwrap().seeds, 10_000);
        for wrong in [
            &["--seeds"][..],
            &["--seeds", "0"],
            &["--seconds", "-1"],
            &["fast", "1"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_soak_test_runs_also_with_few_seeds() {
        for promise in PROMISES {
            assert!(promise.amount(1) >= 1, "{}", promise.name);
        }
        let messages = PROMISES
            .iter()
            .find(|promise| promise.amount.0 == "MESSAGES");
        assert_eq!(messages.unwrap().amount(10_000), 1_000_000_000);
        let kills = PROMISES.iter().find(|promise| promise.amount.0 == "KILLS");
        assert_eq!(kills.unwrap().amount(10_000), 5_000);
        let hostile = PROMISES
            .iter()
            .find(|promise| promise.tests == "sessions::hostile::");
        assert_eq!(hostile.unwrap().amount(10_000), 10_000);
        let live = PROMISES.iter().filter(|promise| promise.program == LIVE);
        let seconds: Vec<_> = live.map(|promise| promise.amount(10_000)).collect();
        assert_eq!(seconds, [3_600, 3_600, 600]);
    }

    #[test]
    fn the_failing_seed_is_found_in_the_output_of_the_tests() {
        for (line, seed) in [
            ("books, seed 63, line 7:", Some(63)),
            ("seed 5, update 18874:", Some(5)),
            ("SEED seed 12", Some(12)),
            ("lines::a_test: 1000 seeds so far", None),
            ("8484403 packets under loss on one line", None),
        ] {
            assert_eq!(failing_seed(line), seed, "{line}");
        }
    }
}
