//! `cargo xtask simulate`: seeds of the simulation of the trading engine, which is a test of its crate.

use crate::command::{self, cargo};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The test that runs the seeds.
const TEST: &str = "execution::trader::simulation::seeds_execute_nothing_twice_and_lose_no_fill";

/// Options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The first seed.
    pub seed: u64,
    /// How many from it on.
    pub seeds: u64,
    /// How many run at once.
    pub threads: u64,
}

impl Options {
    /// Reads `--seed N`, `--seeds M` and `--threads T`.
    ///
    /// # Errors
    /// An unknown option, or no number.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let (mut seed, mut seeds, mut threads) = (None, None, None);
        let mut rest = arguments.iter();
        while let Some(name) = rest.next() {
            let value = rest
                .next()
                .with_context(|| format!("{name}: give a number"))?;
            let number = value
                .parse()
                .with_context(|| format!("{name}: {value} is not a number"))?;
            match *name {
                "--seed" => seed = Some(number),
                "--seeds" => seeds = Some(number),
                "--threads" => threads = Some(number),
                other => bail!("{other}: give --seed, --seeds or --threads"),
            }
        }
        Ok(Options {
            seed: seed.unwrap_or(0),
            seeds: seeds.unwrap_or(if seed.is_some() { 1 } else { 1_000 }),
            threads: threads.unwrap_or(1).max(1),
        })
    }
}

/// Runs the seeds.
///
/// # Errors
/// One of them failed.
pub fn run(root: &Path, options: Options) -> Result<()> {
    let Options {
        seed,
        seeds,
        threads,
    } = options;
    let mut tests = cargo(root);
    tests
        .args(["test", "-q", "-p", "touchline-fx-live", "--lib"])
        .args(["--", TEST, "--exact", "--nocapture"])
        .env("SEED", seed.to_string())
        .env("SEEDS", seeds.to_string())
        .env("THREADS", threads.to_string());
    command::run(&mut tests, "the simulation failed, with its seed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_seeds_select_the_first_seed_and_their_number() {
        let parse = |arguments: &[&str]| Options::parse(arguments).ok();
        let options = |seed, seeds, threads| {
            Some(Options {
                seed,
                seeds,
                threads,
            })
        };
        assert_eq!(parse(&[]), options(0, 1_000, 1));
        assert_eq!(parse(&["--seed", "7"]), options(7, 1, 1));
        let many = ["--seed", "7", "--seeds", "9", "--threads", "2"];
        assert_eq!(parse(&many), options(7, 9, 2));
        assert_eq!(parse(&["--seed"]), None);
        assert_eq!(parse(&["--sed", "7"]), None);
    }
}
