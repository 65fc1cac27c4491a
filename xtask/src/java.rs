//! Programs in Java that ours are held against: whether there is a JDK and Maven, and how they are run.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

/// Short runs: compiling to machine code at length costs more than it gains.
pub const SHORT_RUN: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// What is needed and not here; `None`: everything is.
pub fn missing() -> Option<&'static str> {
    ["java", "javac", "mvn"]
        .into_iter()
        .find(|tool| !is_there(tool))
}

fn is_there(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("-version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

/// The compiler of Java, for a short run.
pub fn compiler() -> Command {
    let mut compiler = Command::new("javac");
    compiler.args(SHORT_RUN.map(|option| format!("-J{option}")));
    compiler
}

/// Runs it, and gives what it said if it fails.
///
/// # Errors
/// It cannot be run, or fails.
pub fn output(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
