//! Builds the command for speed beyond the profile `dist`, and measures what it brings: guided by the profile of a run,
//! and for newer processors, if this host is one.
//!
//! ```text
//! instrumented ──► benchmarks as training ──► llvm-profdata ──► target/pgo/profile.profdata ──► guided
//! ```
//!
//! The programs stay in `target/pgo/VARIANT/`. Counts are by alternating runs of one host.

use crate::command::{self, cargo, must};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Benchmarks that the profile is taken of: the paths of packets, of FIX, and of a bus.
const TRAINING: [&[&str]; 5] = [
    &["event", "--rounds", "40"],
    &["event", "--market", "channel-384", "--rounds", "4"],
    &["event", "--venue", "deribit", "--rounds", "40"],
    &["decode-fix"],
    &[
        "fx-compose",
        "--banks",
        "20",
        "--samples",
        "20000",
        "--rounds",
        "1",
    ],
];

/// Benchmarks that are compared, each with the subjects whose means are printed.
const COMPARED: [(&[&str], [&str; 2]); 2] = [
    (
        &["event"],
        ["touchline-cme-packet", "touchline-cme-packet-bus"],
    ),
    (
        &["event", "--venue", "deribit"],
        ["touchline-deribit", "touchline-deribit-bus"],
    ),
];

/// Runs of each program, alternating.
const ROUNDS: usize = 7;

/// A build of the command.
struct Variant {
    name: &'static str,
    flags: String,
}

/// Builds, trains and compares.
///
/// # Errors
/// A build or a benchmark fails, or there is no `llvm-profdata` of the compiler's version.
pub fn run(root: &Path) -> Result<()> {
    let merge = profdata()?;
    let folder = crate::target_folder(root).join("pgo");
    let raw = folder.join("raw");
    let _ = fs::remove_dir_all(&raw);
    let instrumented = build(
        root,
        &folder,
        &Variant {
            name: "instrumented",
            flags: format!("-Cprofile-generate={}", raw.display()),
        },
    )?;
    for arguments in TRAINING {
        println!("training: bench {}", arguments.join(" "));
        bench(&instrumented, arguments)?;
    }
    let profile = folder.join("profile.profdata");
    let mut merging = Command::new(&merge);
    merging.args(["merge", "-o"]).args([&profile, &raw]);
    command::run(
        &mut merging,
        &format!("the profiles of {} are not merged", raw.display()),
    )?;
    let mut programs = Vec::new();
    for variant in compared(&profile, runs_v3()) {
        programs.push((variant.name, build(root, &folder, &variant)?));
    }
    compare(&programs)?;
    for (name, program) in programs {
        println!("{name:<14} {}", program.display());
    }
    Ok(())
}

/// The builds that are compared; that for newer processors only if this host runs it.
fn compared(profile: &Path, runs_v3: bool) -> Vec<Variant> {
    let mut variants = vec![Variant {
        name: "dist",
        flags: String::new(),
    }];
    match runs_v3 {
        true => variants.push(Variant {
            name: "v3",
            flags: "-Ctarget-cpu=x86-64-v3".to_owned(),
        }),
        false => println!("left out: v3, because this host does not run x86-64-v3"),
    }
    variants.push(Variant {
        name: "guided",
        flags: format!("-Cprofile-use={}", profile.display()),
    });
    variants
}

/// Whether this host has the instructions of x86-64-v3, as the psABI lists them.
#[cfg(target_arch = "x86_64")]
fn runs_v3() -> bool {
    // All of them: hypervisors hide single ones.
    is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe")
        && is_x86_feature_detected!("xsave")
}

#[cfg(not(target_arch = "x86_64"))]
fn runs_v3() -> bool {
    false
}

/// The merging tool of the compiler's own LLVM: a profile of another version is refused.
fn profdata() -> Result<PathBuf> {
    let sysroot = must(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let tool = Path::new(sysroot.trim()).with_file_name("bin/llvm-profdata");
    match tool.exists() {
        true => Ok(tool),
        false => bail!(
            "{} is missing: rustup component add llvm-tools",
            tool.display()
        ),
    }
}

/// Builds the command with further flags of the compiler, in a target folder of its own.
fn build(root: &Path, folder: &Path, variant: &Variant) -> Result<PathBuf> {
    println!("building: {}", variant.name);
    let target = folder.join(variant.name);
    let host = must(Command::new("rustc").args(["--print", "host-tuple"]))?;
    // Named, so that build scripts and derives are built without the flags.
    let mut build = cargo(root);
    build
        .args(["build", "--quiet", "--locked", "--profile", "dist"])
        .args(["--package", "touchline", "--target", host.trim()])
        .env("CARGO_TARGET_DIR", &target)
        // Separated by a character that no path has.
        .env("CARGO_ENCODED_RUSTFLAGS", &variant.flags);
    command::run(
        &mut build,
        &format!("the variant '{}' does not build", variant.name),
    )?;
    Ok(target.join(host.trim()).join("dist/touchline"))
}

fn bench(program: &Path, arguments: &[&str]) -> Result<String> {
    must(
        Command::new(program)
            .arg("bench")
            .args(arguments)
            .arg("--json"),
    )
}

/// Prints the median over the rounds of each subject's mean, and its ratio to the first program.
fn compare(programs: &[(&str, PathBuf)]) -> Result<()> {
    println!(
        "{:<26} {:<14} {:>9} {:>7}",
        "subject", "build", "mean, ns", "ratio"
    );
    for (arguments, subjects) in COMPARED {
        let mut runs = vec![Vec::new(); programs.len()];
        for _ in 0..ROUNDS {
            for ((_, program), runs) in programs.iter().zip(&mut runs) {
                runs.push(bench(program, arguments)?);
            }
        }
        for subject in subjects {
            let mut first = None;
            for ((name, _), runs) in programs.iter().zip(&runs) {
                let means: Result<_> = runs.iter().map(|json| mean(json, subject)).collect();
                let value = median(means?);
                let ratio = value / *first.get_or_insert(value);
                println!("{subject:<26} {name:<14} {value:>9.1} {ratio:>7.2}");
            }
        }
    }
    Ok(())
}

/// The mean of a subject in the JSON lines of a benchmark.
fn mean(json: &str, subject: &str) -> Result<f64> {
    for line in json.lines() {
        let line: Value = serde_json::from_str(line).context("the benchmark printed no JSON")?;
        if line["subject"] == subject {
            return line["mean"]
                .as_f64()
                .context("the benchmark printed no mean");
        }
    }
    bail!("the benchmark has no subject '{subject}'")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_found_and_their_middle_is_taken() {
        let json = "{\"subject\":\"a\",\"mean\":3.5}\n{\"subject\":\"b\",\"mean\":7}\n";
        assert_eq!(mean(json, "b").unwrap(), 7.0);
        assert!(mean(json, "c").is_err());
        assert!(mean("no JSON", "a").is_err());
        assert_eq!(median(vec![9.0, 1.0, 4.0]), 4.0);
    }

    #[test]
    fn a_build_that_the_host_does_not_run_is_left_out() {
        let names = |runs_v3| {
            let variants = compared(Path::new("profile"), runs_v3);
            variants.iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(names(true), ["dist", "v3", "guided"]);
        assert_eq!(names(false), ["dist", "guided"]);
    }
}
