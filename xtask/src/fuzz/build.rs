//! Building the fuzz program: every crate instrumented, libFuzzer linked.

use crate::command::{self, cargo, is_there, must};
use anyhow::{Result, bail, ensure};
use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Instrumentation for libFuzzer: edges, and operands of comparisons. Overflow is a fault.
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
    /// The program with a subcommand; `fuzz/src/libfuzzer.rs` lists them.
    pub fn command(&self, order: &str) -> Command {
        let mut command = Command::new(&self.0);
        command.env("TOUCHLINE_FUZZ", order);
        command
    }

    /// Names of all targets.
    ///
    /// # Errors
    /// The program fails.
    pub fn targets(&self) -> Result<Vec<String>> {
        let text = must(&mut self.command("list"))?;
        let names = text.lines().filter_map(|line| line.split('\t').next());
        let names: Vec<String> = names.map(str::to_owned).collect();
        ensure!(
            !names.is_empty(),
            "the fuzz program lists no targets: {text}"
        );
        Ok(names)
    }

    /// Writes the seeds of `target` into `folder`.
    ///
    /// # Errors
    /// The target does not exist, or the folder cannot be written.
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

/// Builds the program: quickly, or with `asan` everything instrumented and under AddressSanitizer.
///
/// # Errors
/// There is no C++ compiler, or the build fails.
pub fn build(root: &Path, asan: bool) -> Result<Program> {
    require_cxx()?;
    let mut cargo = cargo(root);
    cargo
        .args(["build", "--quiet", "--bin", "libfuzzer"])
        .args(["--features", "touchline-fuzz/libfuzzer"]);
    let program = match asan {
        true => instrument_everything(root, &mut cargo)?,
        false => instrument_ours(root, &mut cargo)?,
    };
    command::run(&mut cargo, "the fuzz targets do not build")?;
    Ok(Program(program))
}

/// The crates of the workspace alone: their dependencies are those of the tests, and are not built again.
fn instrument_ours(root: &Path, cargo: &mut Command) -> Result<PathBuf> {
    let folder = crate::target_folder(root);
    let compiler = folder.join("instrumenting-rustc");
    let flags = INSTRUMENTATION.join(" ");
    fs::create_dir_all(&folder)?;
    fs::write(&compiler, compiler_script(&flags))?;
    fs::set_permissions(&compiler, Permissions::from_mode(0o755))?;
    let programs = folder.join("fuzz");
    cargo
        .arg("--workspace")
        // Optimised, a comparison of a few bytes is one of numbers, whose operands libFuzzer sees.
        .args(crate::optimised(root, 3)?)
        .env("RUSTC_WORKSPACE_WRAPPER", compiler)
        .env("CARGO_TARGET_DIR", &programs)
        .env("CARGO_BUILD_BUILD_DIR", &folder);
    Ok(programs.join("debug/libfuzzer"))
}

/// A compiler that adds `flags`, except to build scripts: they run by themselves and could not be linked.
fn compiler_script(flags: &str) -> String {
    format!(
        "#!/bin/sh\ncase \" $* \" in\n*\" --crate-name build_script_\"*) exec \"$@\" ;;\nesac\nexec \"$@\" {flags}\n"
    )
}

/// Every crate, and optimised: for long searches.
fn instrument_everything(root: &Path, cargo: &mut Command) -> Result<PathBuf> {
    let host = crate::host()?;
    let folder = crate::target_folder(root).join("fuzz-asan");
    cargo
        .args(["--package", "touchline-fuzz"])
        // With a target named, build scripts and macros are not instrumented; they could not be linked.
        .args(["--profile", "fuzz", "--target", &host])
        // The sanitizer is there on stable, behind a flag that the compiler wants to be asked for.
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "RUSTFLAGS",
            format!("{} -Zsanitizer=address", INSTRUMENTATION.join(" ")),
        )
        .env("CARGO_TARGET_DIR", &folder);
    Ok(folder.join(host).join("fuzz/libfuzzer"))
}

/// Whether there is a C++ compiler: libFuzzer is written in C++, and no other part is.
pub fn has_cxx() -> bool {
    is_there(Command::new(cxx()).arg("--version"))
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
