//! Building the fuzz program: every crate instrumented, libFuzzer linked.

use anyhow::{Context, Result, bail};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// What libFuzzer needs to see: edges taken, and the operands of comparisons. Overflow is a fault.
const INSTRUMENTATION: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg=fuzzing",
];

/// The fuzz program, ready to run.
#[derive(Debug)]
pub struct Program(PathBuf);

impl Program {
    /// The program with its order; `fuzz/src/libfuzzer.rs` lists the orders.
    pub fn command(&self, order: &str) -> Command {
        let mut command = Command::new(&self.0);
        command.env("TOUCHLINE_FUZZ", order);
        command
    }

    /// The names of all targets.
    ///
    /// # Errors
    /// When the program does not answer.
    pub fn targets(&self) -> Result<Vec<String>> {
        let output = self
            .command("list")
            .output()
            .context("cannot run the fuzz program")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = text
            .lines()
            .filter_map(|line| line.split('\t').next())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            bail!(
                "the fuzz program lists no targets: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(names)
    }

    /// Writes the seeds of `target` into `folder`.
    ///
    /// # Errors
    /// When there is no such target, or the folder cannot be written.
    pub fn write_seeds(&self, target: &str, folder: &Path) -> Result<()> {
        let output = self
            .command(&format!("seeds:{target}:{}", folder.display()))
            .output()?;
        if !output.status.success() {
            let known = self.targets()?.join(", ");
            bail!(
                "{} Targets: {known}.",
                String::from_utf8_lossy(&output.stderr).trim_end()
            );
        }
        Ok(())
    }
}

/// Builds the program; with `asan`, under AddressSanitizer.
///
/// # Errors
/// When there is no C++ compiler, or the build fails.
pub fn build(root: &Path, asan: bool) -> Result<Program> {
    require_cxx()?;
    let host = crate::host()?;
    let folder = crate::target_folder(root).join(if asan { "fuzz-asan" } else { "fuzz" });
    let mut flags = INSTRUMENTATION.to_vec();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if asan {
        // The sanitizer is there on stable, behind a flag that the compiler wants to be asked for.
        flags.push("-Zsanitizer=address");
        cargo.env("RUSTC_BOOTSTRAP", "1");
    }
    let status = cargo
        .args([
            "build",
            "--quiet",
            "--package",
            "touchline-fuzz",
            "--features",
            "libfuzzer",
            "--bin",
            "libfuzzer",
        ])
        // With a target named, build scripts and macros are not instrumented; they could not be linked.
        .args(["--profile", "fuzz", "--target", &host])
        .current_dir(root)
        .env("RUSTFLAGS", flags.join(" "))
        .env("CARGO_TARGET_DIR", &folder)
        .status()
        .context("cannot run cargo build; is cargo on the PATH?")?;
    if !status.success() {
        bail!("the fuzz targets do not build; cargo's reason stands above");
    }
    Ok(Program(folder.join(host).join("fuzz/libfuzzer")))
}

/// Whether there is a C++ compiler: libFuzzer is written in C++, and nothing else here is.
pub fn has_cxx() -> bool {
    Command::new(cxx())
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn require_cxx() -> Result<()> {
    if !has_cxx() {
        bail!(
            "fuzzing needs a C++ compiler for libFuzzer, and '{}' does not run; install one (Debian: apt-get install \
             g++) or name it in CXX",
            cxx()
        );
    }
    Ok(())
}

fn cxx() -> String {
    env::var("CXX").unwrap_or_else(|_| "c++".to_owned())
}
