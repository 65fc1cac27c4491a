//! Java programs for comparisons: whether there are a JDK and Maven, and how to run them.

use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

/// Short runs: optimised compilation would take longer than it saves.
pub const SHORT_RUN: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// The missing tool; `None` if all are present.
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

/// The Java compiler, for a short run.
pub fn compiler() -> Command {
    let mut compiler = Command::new("javac");
    compiler.args(SHORT_RUN.map(|option| format!("-J{option}")));
    compiler
}

/// Runs a command; its output is in the error.
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
