//! Java programs for comparisons: whether there are a JDK and Maven, and how to run them.

use crate::command::is_there;
use std::process::Command;

/// Short runs: optimised compilation would take longer than it saves.
pub const SHORT_RUN: [&str; 2] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// The missing tool; `None` if all are present.
pub fn missing() -> Option<&'static str> {
    ["java", "javac", "mvn"]
        .into_iter()
        .find(|tool| !is_there(Command::new(tool).arg("-version")))
}

/// The Java compiler, for a short run.
pub fn compiler() -> Command {
    let mut compiler = Command::new("javac");
    compiler.args(SHORT_RUN.map(|option| format!("-J{option}")));
    compiler
}
