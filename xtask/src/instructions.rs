//! Counts the instructions of a benchmark: figures that repeat where times do not.
//!
//! Runs `touchline bench event` under valgrind's callgrind, which collects only inside the function that the
//! benchmark measures, and divides by the messages that went through it.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Rounds under callgrind: enough to make what happens once in a round small.
const ROUNDS: &str = "2";

/// Builds, counts and prints. `arguments` go to `bench event` as they are.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let target = crate::target_folder(root);
    let build = ["build", "--release", "--package", "touchline"];
    let built = Command::new(env!("CARGO"))
        .args(build)
        .current_dir(root)
        .status();
    if !built.context("cannot run cargo")?.success() {
        bail!("the command does not build; see above");
    }
    let output = target.join("instructions.callgrind");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*one_packet*"])
        .arg(format!("--callgrind-out-file={}", output.display()))
        .arg(target.join("release/touchline"))
        .args(["bench", "event", "--json", "--rounds", ROUNDS])
        .args(arguments)
        .output()
        .context("cannot run valgrind; install it (Debian: apt-get install valgrind)")?;
    if !run.status.success() {
        bail!(
            "the benchmark failed under valgrind:\n{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
    let collected = collected(&fs::read_to_string(&output).context("callgrind wrote no result")?)?;
    let messages = messages(&String::from_utf8_lossy(&run.stdout))?;
    println!(
        "{collected} instructions for {messages} messages: {} a message",
        collected / messages.max(1)
    );
    println!("by function: callgrind_annotate {}", output.display());
    Ok(())
}

/// The total of a callgrind file.
fn collected(text: &str) -> Result<u64> {
    let totals = text.lines().find_map(|line| {
        line.strip_prefix("totals:")
            .or(line.strip_prefix("summary:"))
    });
    totals
        .and_then(|total| total.trim().parse().ok())
        .context("callgrind's result has no total")
}

/// The messages of all rounds: the per-message lines of the benchmark, with and without marks.
fn messages(json: &str) -> Result<u64> {
    let mut messages = 0;
    for line in json.lines() {
        let line: Value = serde_json::from_str(line).context("the benchmark printed no JSON")?;
        let subject = line["subject"].as_str().unwrap_or_default();
        if ["touchline-cme", "touchline-cme-no-marks"].contains(&subject) {
            messages += line["count"].as_u64().unwrap_or(0);
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_messages_are_read() {
        assert_eq!(
            collected("events: Ir\nsummary: 7\ntotals: 12\n").unwrap(),
            7
        );
        assert!(collected("events: Ir\n").is_err());
        let json = "{\"subject\":\"touchline-cme\",\"count\":3}\n{\"subject\":\"touchline-cme-copy\",\"count\":9}\n";
        assert_eq!(messages(json).unwrap(), 3);
        assert!(messages("no JSON").is_err());
    }
}
